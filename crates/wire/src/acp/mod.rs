//! The Agent Client Protocol, version 1: what an agent says of itself, of a session and of a turn. Specified at
//! <https://agentclientprotocol.com>; JSON-RPC carries it, a message a line.
//!
//! Nothing that an agent says is an error: what is missing or of another type than it should be is absent, what has a
//! name that nobody knows is kept as it came.

mod content;
mod session;
mod soft;
mod tool;
mod turn;
mod update;

pub use content::ContentBlock;
pub use session::{
    AgentCapabilities, AuthMethod, Choice, ConfigOption, Implementation, InitializeReply, ListedSession, Mode, Model,
    Models, Modes, SessionList, SessionReply,
};
pub use tool::{
    Location, PermissionKind, PermissionOption, PermissionRequest, ToolCall, ToolContent, ToolKind, ToolStatus,
};
pub use turn::{PromptReply, StopReason, Tokens};
pub use update::{Chunk, Command, Cost, Level, Notice, PlanEntry, SessionUpdate, Update, UsageUpdate};

use serde::de::DeserializeOwned;
use serde_json::Value;

/// The version that is spoken here.
pub const VERSION: u64 = 1;

/// An error's number: somebody has to log in first.
pub const AUTH_REQUIRED: i64 = -32000;

/// An error's number: the request was cancelled.
pub const CANCELLED: i64 = -32800;

/// Reads what came as what it should be; what is nothing of the kind is empty.
pub fn read<T: DeserializeOwned + Default>(value: Value) -> T {
    serde_json::from_value(value).unwrap_or_default()
}
