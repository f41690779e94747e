//! Permissions: the modes, and the changes to the rules that a question offers and an answer makes.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What the agent may do without asking.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PermissionMode {
    /// Only what the rules allow.
    Default,
    /// The same by another name; the agent answers `default`.
    Manual,
    /// Also changes of files.
    AcceptEdits,
    /// Everything. Only if it was launched for that.
    BypassPermissions,
    /// Nothing but reading, and a plan.
    Plan,
    /// Only what the rules allow, and the rest is denied without a question.
    DontAsk,
    /// What a model finds harmless.
    Auto,
    /// Another.
    #[serde(untagged)]
    Other(String),
}

/// A change to the rules. What a question suggests is sent back as it came, also what is not known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", deny_unknown_fields)]
pub enum PermissionUpdate {
    /// More rules.
    AddRules {
        /// The rules.
        rules: Vec<PermissionRule>,
        /// What they say.
        behavior: PermissionBehavior,
        /// Where they are kept.
        destination: PermissionDestination,
    },
    /// Other rules.
    ReplaceRules {
        /// The rules.
        rules: Vec<PermissionRule>,
        /// What they say.
        behavior: PermissionBehavior,
        /// Where they are kept.
        destination: PermissionDestination,
    },
    /// Fewer rules.
    RemoveRules {
        /// The rules.
        rules: Vec<PermissionRule>,
        /// What they say.
        behavior: PermissionBehavior,
        /// Where they are kept.
        destination: PermissionDestination,
    },
    /// Another mode.
    SetMode {
        /// The mode.
        mode: PermissionMode,
        /// Where it is kept.
        destination: PermissionDestination,
    },
    /// More directories to work in.
    AddDirectories {
        /// The directories.
        directories: Vec<String>,
        /// Where they are kept.
        destination: PermissionDestination,
    },
    /// Fewer directories to work in.
    RemoveDirectories {
        /// The directories.
        directories: Vec<String>,
        /// Where they are kept.
        destination: PermissionDestination,
    },
    /// Another change.
    #[serde(untagged)]
    Other(Value),
}

/// A rule about a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PermissionRule {
    /// The tool.
    pub tool_name: String,
    /// Which calls of it; all when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule_content: Option<String>,
}

/// What a rule says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PermissionBehavior {
    /// The tool may run.
    Allow,
    /// It may not.
    Deny,
    /// The person is asked.
    Ask,
}

/// Where a rule is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PermissionDestination {
    /// For the person, everywhere.
    UserSettings,
    /// For everybody in this project.
    ProjectSettings,
    /// For the person in this project.
    LocalSettings,
    /// Until the session ends.
    Session,
    /// As if given on the command line.
    CliArg,
}
