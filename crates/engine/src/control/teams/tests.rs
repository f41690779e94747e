use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::*;

fn member(team: &str, member: &str) -> Option<MemberId> {
    Some(MemberId { team: team.to_owned(), member: member.to_owned() })
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// Teams with one team "crew" that has this configuration.
fn crew(config: &Value) -> (tempfile::TempDir, Teams) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("teams");
    private::folder(&root.join("crew")).unwrap();
    private::write(&root.join("crew/config.json"), config.to_string().as_bytes()).unwrap();
    let teams = Teams::open(&root).unwrap();
    (folder, teams)
}

#[test]
fn the_first_start_makes_a_team_with_the_local_user() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("wheelhouse/teams");
    let teams = Teams::open(&root).unwrap();
    let token = teams.credential(DEFAULT_TEAM, LOCAL_MEMBER).unwrap();
    assert_eq!(token.as_str().len(), 43);
    assert_eq!(teams.verify(token.as_str()), member("default", "local"));
    assert_eq!(mode(&root.join("default/credentials/local.token")), 0o600);
    assert_eq!(
        (mode(&root), mode(&root.join("default")), mode(&root.join("default/credentials"))),
        (0o700, 0o700, 0o700)
    );
    let again = Teams::open(&root).unwrap();
    assert_eq!(again.verify(token.as_str()), member("default", "local"));
    assert!(!format!("{token:?} {again:?}").contains(token.as_str()));
}

#[test]
fn no_default_team_is_created_if_teams_exist() {
    let (folder, teams) = crew(&json!({"members": [{"name": "ada"}]}));
    assert_eq!(teams.policy().teams.keys().collect::<Vec<_>>(), ["crew"]);
    assert!(!folder.path().join("teams/default").exists());
}

#[test]
fn only_the_exact_token_is_accepted() {
    let (_folder, mut teams) = crew(&json!({"members": []}));
    for name in ["ada", "ben"] {
        teams.add("crew", name, None).unwrap();
    }
    let token = teams.credential("crew", "ada").unwrap();
    assert_eq!(teams.verify(token.as_str()), member("crew", "ada"));
    assert_ne!(teams.credential("crew", "ben").unwrap(), token);
    let flipped = format!("{}{}", if token.as_str().starts_with('A') { "B" } else { "A" }, &token.as_str()[1..]);
    for wrong in ["", "ada", &token.as_str()[1..], &format!("{} ", token.as_str()), &flipped] {
        assert_eq!(teams.verify(wrong), None, "{wrong:?}");
    }
}

#[test]
fn a_configuration_of_another_tool_is_read_and_kept() {
    let (folder, mut teams) = crew(&json!({
        "name": "crew", "createdAt": 1_771_622_100_000u64, "leadAgentId": "lead@crew", "leadSessionId": "x", "extra": [1],
        "members": [
            {"agentId": "lead@crew", "name": "lead", "agentType": "general", "model": "m", "joinedAt": 1, "cwd": "/", "isActive": true},
            {"agentId": "arch@crew", "name": "arch", "subscriptions": [], "tmuxPaneId": "%1"}
        ]
    }));
    assert_eq!(teams.problems(), [] as [String; 0]);
    let known = &teams.policy().teams["crew"];
    assert_eq!(known.members.keys().collect::<Vec<_>>(), ["arch", "lead"]);
    assert_eq!(known.members["arch"].alias.as_deref(), Some("arch@crew"));
    teams.add("crew", "new", Some("member")).unwrap();
    teams.add("crew", "arch", None).unwrap();
    let text = fs::read_to_string(folder.path().join("teams/crew/config.json")).unwrap();
    let config: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&config["extra"], &config["members"][1]["tmuxPaneId"]), (&json!([1]), &json!("%1")));
    assert_eq!(config["members"][2], json!({"name": "new", "agentId": "new@crew", "role": "member"}));
    assert_eq!(config["members"].as_array().unwrap().len(), 3);
    assert_eq!(teams.verify(teams.credential("crew", "arch").unwrap().as_str()), member("crew", "arch"));
}

#[test]
fn the_token_of_a_removed_member_is_invalid() {
    let (folder, mut teams) = crew(&json!({"members": [{"name": "ada", "model": "m"}], "extra": 1}));
    teams.add("crew", "ben", None).unwrap();
    let token = teams.credential("crew", "ben").unwrap();
    assert!(teams.remove("crew", "ben").unwrap());
    assert_eq!(teams.verify(token.as_str()), None);
    let text = fs::read_to_string(folder.path().join("teams/crew/config.json")).unwrap();
    let config: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(config, json!({"members": [{"name": "ada", "model": "m"}], "extra": 1}), "the rest stays");
    assert!(!teams.remove("crew", "ben").unwrap() && !teams.remove("nobody", "ben").unwrap());
    assert!(teams.remove("../crew", "ada").is_err());
    // A member that is added again gets a new credential.
    teams.add("crew", "ben", None).unwrap();
    assert_ne!(teams.credential("crew", "ben").unwrap(), token);
}

#[test]
fn roles_and_rules_are_read() {
    let (_folder, teams) = crew(&json!({
        "members": [{"name": "ben", "role": "observer"}],
        "roles": {"observer": {"allow": ["interrupt"], "deny": ["*@precious"]}}
    }));
    let crew = &teams.policy().teams["crew"];
    assert_eq!(crew.members["ben"].role.as_deref(), Some("observer"));
    let rules = |rules: &[wh_core::gate::Rule]| rules.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(
        (rules(&crew.roles["observer"].allow), rules(&crew.roles["observer"].deny)),
        (vec!["interrupt".to_owned()], vec!["*@precious".to_owned()])
    );
}

#[test]
fn an_invalid_configuration_grants_no_access() {
    for wrong in [
        json!([]),
        json!({"members": [["ada"]]}),
        json!({"members": [{"name": "ada"}], "roles": {"member": [["*"]]}}),
        json!({"members": [{"agentId": "no-name"}]}),
        json!({"members": [{"name": "ada"}, {"name": "ada"}]}),
        json!({"members": [{"name": "ada", "agentId": "x"}, {"name": "ben", "agentId": "x"}]}),
        json!({"members": [{"name": "ada", "agentId": "ben"}, {"name": "ben"}]}),
        json!({"members": [{"name": "../ada"}]}),
        json!({"members": [{"name": "ada"}], "roles": {"member": {"allow": ["evrything"]}}}),
        json!({"members": [{"name": "ada"}], "roles": {"member": {"allow": ["*"], "denies": ["answer"]}}}),
    ] {
        let (_folder, teams) = crew(&wrong);
        assert!(teams.policy().teams.is_empty(), "{wrong}");
        assert!(teams.problems()[0].contains("crew/config.json"), "{:?}", teams.problems());
    }
}

#[test]
fn an_invalid_team_does_not_affect_the_others() {
    let (folder, mut teams) = crew(&json!({"members": "all"}));
    teams.add("second", "ada", None).unwrap();
    let token = teams.credential("second", "ada").unwrap();
    assert_eq!(teams.verify(token.as_str()), member("second", "ada"));
    assert_eq!(teams.problems().len(), 1);
    assert!(teams.add("crew", "ada", None).is_err());
    assert_eq!(fs::read_to_string(folder.path().join("teams/crew/config.json")).unwrap(), r#"{"members":"all"}"#);
}

#[test]
fn files_accessible_to_other_users_are_ignored() {
    let (folder, mut teams) = crew(&json!({"members": []}));
    let path = teams.add("crew", "ada", None).unwrap();
    let token = teams.credential("crew", "ada").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    assert!(teams.refresh().unwrap());
    assert_eq!(teams.verify(token.as_str()), None);
    assert!(teams.problems()[0].contains("chmod 600"), "{:?}", teams.problems());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    assert!(teams.refresh().unwrap());
    assert_eq!(teams.verify(token.as_str()), member("crew", "ada"));
    let config = folder.path().join("teams/crew/config.json");
    fs::set_permissions(&config, fs::Permissions::from_mode(0o662)).unwrap();
    assert!(teams.refresh().unwrap());
    assert_eq!(teams.verify(token.as_str()), None);
    assert!(teams.policy().teams.is_empty());
}

#[test]
fn a_linked_short_or_copied_token_is_ignored() {
    let (_folder, mut teams) = crew(&json!({"members": []}));
    let ada = teams.add("crew", "ada", None).unwrap();
    let ben = teams.add("crew", "ben", None).unwrap();
    let token = teams.credential("crew", "ada").unwrap();
    private::write(&ben, token.as_str().as_bytes()).unwrap();
    teams.refresh().unwrap();
    assert_eq!(teams.verify(token.as_str()), None);
    assert_eq!(teams.problems().len(), 2, "{:?}", teams.problems());
    fs::remove_file(&ben).unwrap();
    std::os::unix::fs::symlink(&ada, &ben).unwrap();
    teams.refresh().unwrap();
    assert_eq!(teams.verify(token.as_str()), member("crew", "ada"));
    assert!(teams.credential("crew", "ben").is_err());
    private::write(&ada, b"short").unwrap();
    teams.refresh().unwrap();
    assert_eq!(teams.verify("short"), None);
}

#[test]
fn a_change_is_noticed_and_an_unchanged_folder_is_not_read_again() {
    let (folder, mut teams) = crew(&json!({"members": []}));
    teams.add("crew", "ada", None).unwrap();
    let token = teams.credential("crew", "ada").unwrap();
    assert!(!teams.refresh().unwrap());
    // Another process removes the member; the token alone proves nothing.
    private::write(&folder.path().join("teams/crew/config.json"), br#"{"members": []}"#).unwrap();
    assert!(teams.refresh().unwrap());
    assert!(!teams.refresh().unwrap());
    assert_eq!(teams.verify(token.as_str()), None);
    let mut elsewhere = Teams::open(folder.path().join("teams")).unwrap();
    elsewhere.add("crew", "ada", Some("observer")).unwrap();
    assert!(teams.refresh().unwrap());
    assert_eq!(teams.verify(token.as_str()), member("crew", "ada"));
    assert_eq!(teams.policy().teams["crew"].members["ada"].role.as_deref(), Some("observer"));
}

#[test]
fn names_that_would_lead_elsewhere_are_refused() {
    let (folder, mut teams) = crew(&json!({"members": []}));
    for name in ["", "..", ".x", "a/b", "a b", "ä", &"x".repeat(65)] {
        assert!(teams.add("crew", name, None).is_err(), "{name:?}");
        assert!(teams.add(name, "ada", None).is_err(), "{name:?}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}
