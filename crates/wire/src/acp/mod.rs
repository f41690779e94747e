//! The Agent Client Protocol, version 1. Specified at <https://agentclientprotocol.com>; carried over JSON-RPC, one
//! message per line.
//!
//! Decoding never fails. Missing or malformed fields become empty; unknown kinds and values are preserved as received.

mod content;
mod lenient;
mod session;
mod tool;
mod turn;
mod update;

pub use content::ContentBlock;
pub use session::{
    AcpModel, AgentCapabilities, AuthMethod, ConfigChoice, ConfigOption, Implementation, InitializeReply,
    ListedSession, Mode, Models, Modes, SessionList, SessionReply,
};
pub use tool::{
    FileLocation, PermissionKind, PermissionOption, PermissionRequest, ToolCall, ToolContent, ToolKind, ToolStatus,
};
pub use turn::{PromptReply, StopReason, TurnTokenUsage};
pub use update::{
    AcpCommand, AcpNotice, Cost, Level, MessageChunk, PlanEntry, SessionUpdate, SessionUpdateKind, UsageUpdate,
};

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Supported protocol version.
pub const ACP_VERSION: u64 = 1;

/// JSON-RPC error code: the user must log in first.
pub const AUTH_REQUIRED_CODE: i64 = -32000;

/// JSON-RPC error code: the request was cancelled.
pub const REQUEST_CANCELLED_CODE: i64 = -32800;

/// Decodes a JSON value. Returns the default of `T` if the value does not match the type.
pub fn read<T: DeserializeOwned + Default>(value: Value) -> T {
    serde_json::from_value(value).unwrap_or_default()
}
