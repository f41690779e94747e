//! Parses and edits a team's `config.json`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};
use wh_core::gate::{InvalidRule, Member, Role, Rule, Team};

use super::is_name;

#[derive(Deserialize)]
struct TeamConfig {
    #[serde(default)]
    members: Vec<ConfigMember>,
    #[serde(default)]
    roles: BTreeMap<String, ConfigRole>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ConfigMember {
    name: String,
    agent_id: Option<String>,
    role: Option<String>,
}

/// Role with its permissions. Unknown fields are rejected, so that a misspelt `deny` cannot grant a permission.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ConfigRole {
    #[serde(default)]
    allow: Vec<String>,
    #[serde(default)]
    deny: Vec<String>,
}

/// Rejects arrays in place of objects. Without this check, serde would read an array as the fields of a struct in
/// order.
fn objects(config: &Value) -> Result<(), String> {
    if !config.is_object() {
        return Err("the file must contain a JSON object".to_owned());
    }
    let members = config["members"].as_array().into_iter().flatten();
    let roles = config["roles"].as_object().into_iter().flat_map(|roles| roles.values());
    match members.chain(roles).find(|part| !part.is_object()) {
        Some(other) => Err(format!("each member and each role must be a JSON object, not {other}")),
        None => Ok(()),
    }
}

/// Converts a configuration to a team.
pub(super) fn read(team: &str, config: &Value) -> Result<Team, String> {
    objects(config)?;
    let config = TeamConfig::deserialize(config).map_err(|error| error.to_string())?;
    let mut read = Team::default();
    let mut aliases = Vec::new();
    for member in config.members {
        if !is_name(&member.name) {
            return Err(format!("{:?} is not a valid member name", member.name));
        }
        let alias = member.agent_id.unwrap_or_else(|| format!("{}@{team}", member.name));
        aliases.push(alias.clone());
        let known = Member { alias: Some(alias), role: member.role };
        if read.members.insert(member.name.clone(), known).is_some() {
            return Err(format!("member {:?} is listed twice", member.name));
        }
    }
    aliases.sort();
    if let Some(twice) = aliases.windows(2).find(|two| two[0] == two[1]) {
        return Err(format!("agentId {:?} is used twice", twice[0]));
    }
    let taken =
        aliases.iter().find(|alias| read.members.get(*alias).is_some_and(|own| own.alias.as_ref() != Some(alias)));
    if let Some(alias) = taken {
        return Err(format!("agentId {alias:?} is the name of another member"));
    }
    for (name, role) in config.roles {
        let rules = |texts: Vec<String>| {
            let rules: Result<Vec<Rule>, InvalidRule> = texts.iter().map(|text| text.parse()).collect();
            rules.map_err(|error| format!("role {name:?}: {error}"))
        };
        let role = Role { allow: rules(role.allow)?, deny: rules(role.deny)? };
        read.roles.insert(name, role);
    }
    Ok(read)
}

/// Removes a member from a configuration, and keeps all other fields. Returns true if the member existed.
pub(super) fn remove_member(config: &mut Value, member: &str) -> Result<bool, String> {
    let Some(members) = config.get_mut("members").and_then(Value::as_array_mut) else {
        return Err("members must be a list".to_owned());
    };
    let before = members.len();
    members.retain(|known| known["name"] != member);
    Ok(members.len() < before)
}

/// Adds a member to a configuration, or changes the role of an existing member, and keeps all other fields. Returns
/// true if the configuration changed.
pub(super) fn add_member(config: &mut Value, team: &str, member: &str, role: Option<&str>) -> Result<bool, String> {
    let Some(fields) = config.as_object_mut() else { return Err("the file must contain a JSON object".to_owned()) };
    let Some(members) = fields.entry("members").or_insert_with(|| json!([])).as_array_mut() else {
        return Err("members must be a list".to_owned());
    };
    let index = members.iter().position(|known| known["name"] == member).unwrap_or(members.len());
    if index == members.len() {
        members.push(json!({"name": member, "agentId": format!("{member}@{team}")}));
    } else if role.is_none() || members[index]["role"].as_str() == role {
        return Ok(false);
    }
    if let Some(role) = role {
        members[index]["role"] = json!(role);
    }
    Ok(true)
}
