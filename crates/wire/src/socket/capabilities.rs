//! What the daemon can do: to be asked before anything is sent.

use serde::{Deserialize, Serialize};

/// The answer to `capabilities`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capabilities {
    /// The version of wh.
    pub server: String,
    /// Versions of the envelope.
    pub protocol_versions: Vec<u64>,
    /// Commands.
    pub commands: Vec<String>,
    /// What `control` takes.
    pub control: ControlCapabilities,
    /// How much, and how old.
    pub limits: Limits,
    /// What else there is, by name: `durable_dedupe`, `content_ref`, `audit`, `subscribe_resume`, ….
    #[serde(default)]
    pub features: Vec<String>,
    /// Where contents must lie that a `content_ref` names; each team has a folder of its name there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_ref_base: Option<String>,
}

/// What `control` takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlCapabilities {
    /// Versions of its payload.
    pub v: Vec<u64>,
    /// `stdin`, `interrupt`, `answer`.
    pub actions: Vec<String>,
    /// Which shapes: `type`, `action`.
    pub forms: Vec<String>,
    /// Encodings of contents.
    pub encodings: Vec<String>,
}

/// How much, and how old.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Bytes of a text above which a sender warns.
    pub soft_bytes: u64,
    /// Bytes of a text that is sent inline.
    pub hard_bytes: u64,
    /// Bytes of a text behind a `content_ref`.
    pub content_ref_bytes: u64,
    /// Bytes of a line.
    pub line_bytes: u64,
    /// How old a request may be, in seconds.
    pub max_age_secs: u64,
    /// How far its clock may be ahead, in seconds.
    pub max_skew_secs: u64,
    /// How long a repetition is known as one, in seconds.
    pub dedupe_secs: u64,
    /// Requests that are remembered at once; beyond that a new one is refused.
    #[serde(default)]
    pub dedupe_capacity: u64,
}
