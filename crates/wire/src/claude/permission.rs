//! Permission modes and rule changes.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Set of actions that the agent may take without asking.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PermissionMode {
    /// Actions allowed by the rules.
    Default,
    /// Another name for `default`; the agent reports it as `default`.
    Manual,
    /// Actions allowed by the rules, and file edits.
    AcceptEdits,
    /// All actions. Only available if the agent was started with the corresponding flag.
    BypassPermissions,
    /// Read-only actions, to produce a plan.
    Plan,
    /// Actions allowed by the rules. All other actions are denied without asking the user.
    DontAsk,
    /// Actions that a model classifies as safe.
    Auto,
    /// Unknown mode name.
    #[serde(untagged)]
    Other(String),
}

/// Change to the permission rules. Suggested changes, including changes of unknown kinds, are sent back unchanged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", deny_unknown_fields)]
pub enum PermissionUpdate {
    /// Adds rules to the destination.
    AddRules {
        /// Rules to add.
        rules: Vec<PermissionRule>,
        /// Effect of the rules.
        behavior: PermissionBehavior,
        /// Scope in which the rules are stored.
        destination: PermissionDestination,
    },
    /// Replaces the rules of the destination.
    ReplaceRules {
        /// New set of rules.
        rules: Vec<PermissionRule>,
        /// Effect of the rules.
        behavior: PermissionBehavior,
        /// Scope in which the rules are stored.
        destination: PermissionDestination,
    },
    /// Removes rules from the destination.
    RemoveRules {
        /// Rules to remove.
        rules: Vec<PermissionRule>,
        /// Effect of the rules.
        behavior: PermissionBehavior,
        /// Scope in which the rules are stored.
        destination: PermissionDestination,
    },
    /// Changes the permission mode.
    SetMode {
        /// New permission mode.
        mode: PermissionMode,
        /// Scope in which the mode is stored.
        destination: PermissionDestination,
    },
    /// Adds working directories.
    AddDirectories {
        /// Directories to add.
        directories: Vec<String>,
        /// Scope in which the directories are stored.
        destination: PermissionDestination,
    },
    /// Removes working directories.
    RemoveDirectories {
        /// Directories to remove.
        directories: Vec<String>,
        /// Scope in which the directories are stored.
        destination: PermissionDestination,
    },
    /// Unknown change, passed through unchanged.
    #[serde(untagged)]
    Other(Value),
}

/// Permission rule for a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PermissionRule {
    /// Name of the tool.
    pub tool_name: String,
    /// Pattern of the calls that the rule applies to. `None` for all calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule_content: Option<String>,
}

/// Effect of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PermissionBehavior {
    /// The tool may run.
    Allow,
    /// The tool must not run.
    Deny,
    /// The agent asks the user.
    Ask,
}

/// Scope in which a rule is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PermissionDestination {
    /// Settings of the user for all projects.
    UserSettings,
    /// Settings shared by all users of the project.
    ProjectSettings,
    /// Settings of the user for this project.
    LocalSettings,
    /// The current session only.
    Session,
    /// Same scope as rules from command-line arguments.
    CliArg,
}
