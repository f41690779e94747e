//! Claude Code's stream-json with its control protocol: requests and replies in both directions that share stdin and
//! stdout with the messages of the conversation. One JSON object a line, both ways.
//!
//! [`decode`] reads what the agent writes, [`Outgoing::encode`] writes what it reads. Of the agent's frames only what a
//! harness uses has a field; a frame of another kind, or of a known kind but another shape, comes as [`Unknown`] with
//! its whole text, because every version of the agent has new ones.
//!
//! ```
//! use wh_wire::claude::{Incoming, Outgoing, Request, decode, request_id};
//!
//! let id = request_id(1, 0xa1b2_c3d4);
//! let line = Outgoing::request(&id, Request::Interrupt { cancel_queued: None }).encode()?;
//! assert_eq!(line, "{\"type\":\"control_request\",\"request_id\":\"req_1_a1b2c3d4\",\"request\":{\"subtype\":\"interrupt\"}}\n");
//!
//! let reply = br#"{"type":"control_response","response":{"subtype":"success","request_id":"req_1_a1b2c3d4"}}"#;
//! let Incoming::Reply(reply) = decode(reply)? else { panic!("not a reply") };
//! assert!(reply.request_id == id && reply.outcome.is_ok());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
mod ask;
mod content;
mod decode;
mod json;
mod mend;
mod message;
mod outgoing;
mod permission;
mod reply;
mod request;
mod result;
mod stream;
mod system;
mod tagged;
mod task;

pub use answer::{
    Answer, ElicitationAction, ElicitationResult, HookOutput, McpReply, PermissionResult, UserDialogResult,
};
pub use ask::{Ask, AskKind, CanUseTool, Elicitation, HookCallback, McpMessage, UserDialog};
pub use content::{ContentBlock, ToolResult, ToolUse};
pub use decode::{DecodeError, Incoming, Unknown, decode};
pub use json::Json;
pub use message::{
    ApiMessage, AssistantMessage, AuthStatus, CommandLifecycle, CommandState, ConversationReset, Message,
    PromptSuggestion, RateLimit, RateLimitInfo, ToolProgress, ToolUseSummary, Usage, UserMessage,
};
pub use outgoing::{EncodeError, InputBlock, Outgoing, Priority, Response, UserContent, UserInput};
pub use permission::{PermissionBehavior, PermissionDestination, PermissionMode, PermissionRule, PermissionUpdate};
pub use reply::{CommandInfo, InitializeReply, InterruptReply, ModelInfo, Refusal, Reply, RewindReply};
pub use request::{HookMatcher, Initialize, OtherRequest, Request, request_id};
pub use result::{ModelUsage, PermissionDenial, TurnResult};
pub use stream::{Delta, StreamEvent, StreamMessage};
pub use system::{
    ApiRetry, CompactBoundary, CompactMetadata, ElicitationComplete, Informational, Init, LocalCommandOutput,
    McpServer, Notification, PermissionDenied, RefusalFallback, RefusalNoFallback, SessionState, SessionStateChanged,
    SessionTitle, Status, System, ThinkingTokens,
};
pub use task::{BackgroundTask, TaskNotification, TaskPatch, TaskProgress, TaskStarted, TaskUpdated, TaskUsage};
