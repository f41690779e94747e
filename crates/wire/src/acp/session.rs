//! Replies of the agent: capabilities, login methods, and settings of sessions.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::lenient;

/// Reply to `initialize`.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InitializeReply {
    /// Protocol version of the agent.
    #[serde(deserialize_with = "lenient::field")]
    pub protocol_version: Option<u64>,
    /// Name and version of the agent.
    #[serde(deserialize_with = "lenient::field")]
    pub agent_info: Option<Implementation>,
    /// Capabilities of the agent.
    #[serde(deserialize_with = "lenient::field")]
    pub agent_capabilities: AgentCapabilities,
    /// Supported login methods.
    #[serde(deserialize_with = "lenient::list")]
    pub auth_methods: Vec<AuthMethod>,
}

/// Name and version of a program.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct Implementation {
    /// Machine-readable name of the program.
    #[serde(deserialize_with = "lenient::field")]
    pub name: Option<String>,
    /// Display name of the program.
    #[serde(deserialize_with = "lenient::field")]
    pub title: Option<String>,
    /// Version of the program.
    #[serde(deserialize_with = "lenient::field")]
    pub version: Option<String>,
}

/// Capabilities of an agent.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentCapabilities {
    /// True if the agent supports `session/load`, which resumes a session and replays its messages.
    #[serde(deserialize_with = "lenient::field")]
    pub load_session: bool,
    /// Other supported session methods, by name: `resume`, `list`, ….
    #[serde(deserialize_with = "lenient::field")]
    pub session_capabilities: Map<String, Value>,
}

impl AgentCapabilities {
    /// Returns true if the agent supports the method `session/{name}`.
    pub fn session(&self, name: &str) -> bool {
        self.session_capabilities.get(name).is_some_and(|value| !value.is_null() && value != &Value::Bool(false))
    }
}

/// Login method of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct AuthMethod {
    /// Id that selects the method.
    #[serde(deserialize_with = "lenient::field")]
    pub id: String,
    /// Display name of the method.
    #[serde(deserialize_with = "lenient::field")]
    pub name: Option<String>,
}

/// Reply to `session/new`, `session/load`, `session/resume` and `session/set_config_option`.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionReply {
    /// Session id assigned by the agent. Present only for a new session.
    #[serde(deserialize_with = "lenient::field")]
    pub session_id: Option<String>,
    /// Modes of the session.
    #[serde(deserialize_with = "lenient::field")]
    pub modes: Option<Modes>,
    /// Models of the session, as reported by agents without config options.
    #[serde(deserialize_with = "lenient::field")]
    pub models: Option<Models>,
    /// Config options of the session, including mode and model.
    #[serde(deserialize_with = "lenient::list")]
    pub config_options: Vec<ConfigOption>,
}

impl SessionReply {
    /// Returns the first config option of the given category, if there is one.
    pub fn option(&self, category: &str) -> Option<&ConfigOption> {
        self.config_options.iter().find(|option| option.category.as_deref() == Some(category))
    }
}

/// Modes of a session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Modes {
    /// Id of the current mode.
    #[serde(deserialize_with = "lenient::field")]
    pub current_mode_id: Option<String>,
    /// All available modes.
    #[serde(deserialize_with = "lenient::list")]
    pub available_modes: Vec<Mode>,
}

/// Mode of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Mode {
    /// Id that selects the mode.
    pub id: String,
    /// Display name of the mode.
    #[serde(default, deserialize_with = "lenient::field")]
    pub name: Option<String>,
    /// Description of the mode.
    #[serde(default, deserialize_with = "lenient::field")]
    pub description: Option<String>,
}

/// Models of a session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Models {
    /// Id of the current model.
    #[serde(deserialize_with = "lenient::field")]
    pub current_model_id: Option<String>,
    /// All available models.
    #[serde(deserialize_with = "lenient::list")]
    pub available_models: Vec<AcpModel>,
}

/// Model of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AcpModel {
    /// Id that selects the model.
    pub model_id: String,
    /// Display name of the model.
    #[serde(default, deserialize_with = "lenient::field")]
    pub name: Option<String>,
    /// Description of the model.
    #[serde(default, deserialize_with = "lenient::field")]
    pub description: Option<String>,
}

/// Config option of a session.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfigOption {
    /// Id of the option.
    pub id: String,
    /// Display name of the option.
    #[serde(default, deserialize_with = "lenient::field")]
    pub name: Option<String>,
    /// Category of the option: `mode`, `model`, `thought_level`, ….
    #[serde(default, deserialize_with = "lenient::field")]
    pub category: Option<String>,
    /// Current value of the option.
    #[serde(default)]
    pub current_value: Value,
    /// Possible values, or groups of values.
    #[serde(default)]
    pub options: Value,
}

/// Possible value of a config option.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ConfigChoice {
    /// Value to send to select this choice.
    pub value: String,
    /// Display name of the value.
    #[serde(default, deserialize_with = "lenient::field")]
    pub name: Option<String>,
    /// Description of the value.
    #[serde(default, deserialize_with = "lenient::field")]
    pub description: Option<String>,
}

impl ConfigOption {
    /// Returns all possible values, including the values in groups.
    pub fn choices(&self) -> Vec<ConfigChoice> {
        let entries = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let all = entries(&self.options).into_iter().flat_map(|entry| match &entry["options"] {
            Value::Array(group) => group.clone(),
            _ => vec![entry],
        });
        all.filter_map(|entry| serde_json::from_value(entry).ok()).collect()
    }
}

/// Reply to `session/list`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct SessionList {
    /// Sessions saved by the agent.
    #[serde(deserialize_with = "lenient::list")]
    pub sessions: Vec<ListedSession>,
}

/// Session saved by the agent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedSession {
    /// Session id assigned by the agent.
    pub session_id: String,
    /// Working directory of the session.
    #[serde(default, deserialize_with = "lenient::field")]
    pub cwd: Option<String>,
    /// Time of last use in ISO 8601 format.
    #[serde(default, deserialize_with = "lenient::field")]
    pub updated_at: Option<String>,
}
