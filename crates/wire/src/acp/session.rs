//! What an agent says of itself, and of a session that begins or goes on.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::soft;

/// The answer to `initialize`.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InitializeReply {
    /// The version that the agent speaks.
    #[serde(deserialize_with = "soft::field")]
    pub protocol_version: Option<u64>,
    /// Who it is.
    #[serde(deserialize_with = "soft::field")]
    pub agent_info: Option<Implementation>,
    /// What it can do.
    #[serde(deserialize_with = "soft::field")]
    pub agent_capabilities: AgentCapabilities,
    /// How somebody can log in.
    #[serde(deserialize_with = "soft::list")]
    pub auth_methods: Vec<AuthMethod>,
}

/// A program by name.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct Implementation {
    /// Its name for programs.
    #[serde(deserialize_with = "soft::field")]
    pub name: Option<String>,
    /// Its name for people.
    #[serde(deserialize_with = "soft::field")]
    pub title: Option<String>,
    /// Its version.
    #[serde(deserialize_with = "soft::field")]
    pub version: Option<String>,
}

/// What an agent can do.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentCapabilities {
    /// `session/load`: go on with a session, and tell again what was said in it.
    #[serde(deserialize_with = "soft::field")]
    pub load_session: bool,
    /// What else can be done with sessions, by name: `resume`, `list`, ….
    #[serde(deserialize_with = "soft::field")]
    pub session_capabilities: Map<String, Value>,
}

impl AgentCapabilities {
    /// Whether `session/WHAT` is there.
    pub fn session(&self, what: &str) -> bool {
        self.session_capabilities.get(what).is_some_and(|value| !value.is_null() && value != &Value::Bool(false))
    }
}

/// A way to log in.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct AuthMethod {
    /// What it is chosen by.
    #[serde(deserialize_with = "soft::field")]
    pub id: String,
    /// Its name for people.
    #[serde(deserialize_with = "soft::field")]
    pub name: Option<String>,
}

/// The answer to `session/new`, `session/load`, `session/resume` and `session/set_config_option`.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionReply {
    /// What the agent calls the session; only a new one says.
    #[serde(deserialize_with = "soft::field")]
    pub session_id: Option<String>,
    /// The modes that it can work in.
    #[serde(deserialize_with = "soft::field")]
    pub modes: Option<Modes>,
    /// The models that it can use, as agents told before there were options.
    #[serde(deserialize_with = "soft::field")]
    pub models: Option<Models>,
    /// What can be chosen, modes and models among it.
    #[serde(deserialize_with = "soft::list")]
    pub config_options: Vec<ConfigOption>,
}

impl SessionReply {
    /// The option of this category.
    pub fn option(&self, category: &str) -> Option<&ConfigOption> {
        self.config_options.iter().find(|option| option.category.as_deref() == Some(category))
    }
}

/// The modes of a session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Modes {
    /// The one in use.
    #[serde(deserialize_with = "soft::field")]
    pub current_mode_id: Option<String>,
    /// All of them.
    #[serde(deserialize_with = "soft::list")]
    pub available_modes: Vec<Mode>,
}

/// A mode of work.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Mode {
    /// What it is chosen by.
    pub id: String,
    /// Its name for people.
    #[serde(default, deserialize_with = "soft::field")]
    pub name: Option<String>,
    /// What it is like.
    #[serde(default, deserialize_with = "soft::field")]
    pub description: Option<String>,
}

/// The models of a session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Models {
    /// The one in use.
    #[serde(deserialize_with = "soft::field")]
    pub current_model_id: Option<String>,
    /// All of them.
    #[serde(deserialize_with = "soft::list")]
    pub available_models: Vec<Model>,
}

/// A model.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Model {
    /// What it is chosen by.
    pub model_id: String,
    /// Its name for people.
    #[serde(default, deserialize_with = "soft::field")]
    pub name: Option<String>,
    /// What it is like.
    #[serde(default, deserialize_with = "soft::field")]
    pub description: Option<String>,
}

/// Something that can be chosen in a session.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfigOption {
    /// What it is chosen by.
    pub id: String,
    /// Its name for people.
    #[serde(default, deserialize_with = "soft::field")]
    pub name: Option<String>,
    /// What it is about: `mode`, `model`, `thought_level`, ….
    #[serde(default, deserialize_with = "soft::field")]
    pub category: Option<String>,
    /// The value in use.
    #[serde(default)]
    pub current_value: Value,
    /// The values that there are, or groups of them.
    #[serde(default)]
    pub options: Value,
}

/// A value of an option.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Choice {
    /// What it is chosen by.
    pub value: String,
    /// Its name for people.
    #[serde(default, deserialize_with = "soft::field")]
    pub name: Option<String>,
    /// What it is like.
    #[serde(default, deserialize_with = "soft::field")]
    pub description: Option<String>,
}

impl ConfigOption {
    /// Its values, also those in groups.
    pub fn choices(&self) -> Vec<Choice> {
        let entries = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let all = entries(&self.options).into_iter().flat_map(|entry| match &entry["options"] {
            Value::Array(group) => group.clone(),
            _ => vec![entry],
        });
        all.filter_map(|entry| serde_json::from_value(entry).ok()).collect()
    }
}

/// The answer to `session/list`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct SessionList {
    /// Sessions that there are.
    #[serde(deserialize_with = "soft::list")]
    pub sessions: Vec<ListedSession>,
}

/// A session that there is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedSession {
    /// What the agent calls it.
    pub session_id: String,
    /// Where it works.
    #[serde(default, deserialize_with = "soft::field")]
    pub cwd: Option<String>,
    /// When it was last used, as ISO 8601.
    #[serde(default, deserialize_with = "soft::field")]
    pub updated_at: Option<String>,
}
