//! Hooks of coding agents: programs that an agent calls at certain events, with a JSON payload. The hook process sends
//! the payload to a listener as a [`HookRequest`], one line, and prints the [`HookExit`] that it receives, one line.
//!
//! [`HookMessage::decode`] turns the payload of any agent into a message of one type. [`HookReply::encode`] turns a
//! decision into the output that the agent expects. Verified with Claude Code 2.1.197, Codex 0.166.0 and Gemini CLI
//! 0.61.0; `fixtures/` has recorded payloads.
//!
//! ```
//! use wh_wire::hook::{HookAgent, HookEvent, HookMessage, HookReply};
//!
//! let payload = br#"{"session_id":"s1","hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{}}"#;
//! let message = HookMessage::decode(HookAgent::Claude, payload).expect("a payload of Claude Code");
//! assert!(message.event.is_permission());
//! let exit = HookReply::Deny { reason: "not now".to_owned() }.encode(message.agent, message.event.decision_point());
//! assert_eq!(
//!     exit.stdout,
//!     r#"{"hookSpecificOutput":{"decision":{"behavior":"deny","message":"not now"},"hookEventName":"PermissionRequest"}}"#
//! );
//! ```

mod agent;
mod frame;
mod message;
mod reply;

#[cfg(test)]
mod tests;

pub use agent::{
    EVENT_HOOK_TIMEOUT, EVENT_PROCESS_TIMEOUT, EVENT_REPLY_TIMEOUT, HookAgent, NOTIFY_PROCESS_TIMEOUT,
    PERMISSION_HOOK_TIMEOUT, PERMISSION_PROCESS_TIMEOUT, PERMISSION_REPLY_TIMEOUT, SHORT_HOOK_TIMEOUT,
};
pub use frame::{
    HOOK_DENIED_CODE, HOOK_SOCKET_VARIABLE, HookExit, HookFrameError, HookRequest, MAX_HOOK_PAYLOAD_BYTES,
    MAX_HOOK_REQUEST_BYTES, MAX_HOOK_RESPONSE_BYTES, is_permission_payload,
};
pub use message::{HookEvent, HookMessage};
pub use reply::{HookDecisionPoint, HookReply};
