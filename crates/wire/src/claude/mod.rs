//! Claude Code's stream-json protocol with its control protocol. Both sides exchange JSON objects, one per line, over
//! stdin and stdout. Control requests and replies in both directions share the stream with conversation messages.
//!
//! [`decode`] parses a line from the agent, [`Outgoing::encode`] encodes a line to the agent. Only fields that a client
//! needs are typed. A frame of an unknown kind or with an unexpected structure is returned whole as [`UnknownFrame`],
//! because new agent versions add kinds of frames.
//!
//! ```
//! use wh_wire::claude::{ClientRequest, Incoming, Outgoing, decode, request_id};
//!
//! let id = request_id(1, 0xa1b2_c3d4);
//! let line = Outgoing::request(&id, ClientRequest::Interrupt { cancel_queued: None }).encode()?;
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
pub(crate) mod json;
mod message;
mod outgoing;
mod permission;
mod reply;
mod request;
mod result;
mod stream;
mod surrogates;
mod system;
mod tagged;
mod task;

pub use answer::{
    Answer, ElicitationAction, ElicitationResult, HookOutput, McpReply, PermissionResult, UserDialogResult,
};
pub use ask::{CanUseTool, Elicitation, HookCallback, IncomingRequest, IncomingRequestKind, McpMessage, UserDialog};
pub use content::{ContentBlock, ToolResult, ToolUse};
pub use decode::{DecodeError, Incoming, UnknownFrame, decode};
pub use json::Json;
pub use message::{
    ApiMessage, AssistantMessage, AuthStatus, ClaudeMessage, CommandLifecycle, CommandState, ConversationReset,
    PromptSuggestion, RateLimit, RateLimitInfo, TokenUsage, ToolProgress, ToolUseSummary, UserMessage,
};
pub use outgoing::{ClientResponse, EncodeError, InputBlock, Outgoing, Priority, UserContent, UserInput};
pub use permission::{PermissionBehavior, PermissionDestination, PermissionMode, PermissionRule, PermissionUpdate};
pub use reply::{CommandInfo, InitializeReply, InterruptReply, ModelInfo, Reply, ReplyError, RewindReply};
pub use request::{ClientRequest, HookMatcher, Initialize, OtherRequest, request_id};
pub use result::{ModelUsage, PermissionDenial, TurnResult};
pub use stream::{Delta, StreamEvent, StreamMessage};
pub use system::{
    AgentActivity, ApiRetry, CompactBoundary, CompactMetadata, ElicitationComplete, Informational, Init, InitMcpServer,
    LocalCommandOutput, Notification, PermissionDenied, RefusalFallback, RefusalNoFallback, SessionState,
    SessionStateChanged, SessionTitle, SystemMessage, ThinkingTokens,
};
pub use task::{BackgroundTask, TaskNotification, TaskPatch, TaskProgress, TaskStarted, TaskUpdated, TaskUsage};
