//! Capabilities and limits of the daemon. Clients query them before they send other commands.

use serde::{Deserialize, Serialize};

/// Response to `capabilities`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capabilities {
    /// Version of wh.
    pub server: String,
    /// Supported envelope versions.
    pub protocol_versions: Vec<u64>,
    /// Names of the supported commands.
    pub commands: Vec<String>,
    /// Capabilities of the `control` command.
    pub control: ControlCapabilities,
    /// Limits in force.
    pub limits: DaemonLimits,
    /// Optional features: `durable_dedupe`, `content_ref`, `audit`, `subscribe_resume`, ….
    #[serde(default)]
    pub features: Vec<String>,
    /// Directory for files named by a `content_ref`. Each team has a subdirectory with the name of the team.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_ref_base: Option<String>,
}

/// Capabilities of the `control` command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlCapabilities {
    /// Supported payload versions.
    pub v: Vec<u64>,
    /// Supported actions: `stdin`, `interrupt`, `answer`.
    pub actions: Vec<String>,
    /// Supported message forms: `type`, `action`.
    pub forms: Vec<String>,
    /// Supported content encodings.
    pub encodings: Vec<String>,
}

/// Size and age limits of the daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DaemonLimits {
    /// Text size in bytes above which a sender should warn.
    pub soft_bytes: u64,
    /// Maximum size of inline text in bytes.
    pub hard_bytes: u64,
    /// Maximum size of a `content_ref` file in bytes.
    pub content_ref_bytes: u64,
    /// Maximum length of a line in bytes.
    pub line_bytes: u64,
    /// Maximum age of a request in seconds.
    pub max_age_secs: u64,
    /// Maximum time in seconds by which the sender's clock may be ahead of the daemon's clock.
    pub max_skew_secs: u64,
    /// Time in seconds for which retries are recognised as duplicates.
    pub dedupe_secs: u64,
    /// Maximum number of remembered requests. If this number is reached, new requests are rejected.
    #[serde(default)]
    pub dedupe_capacity: u64,
}
