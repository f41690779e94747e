//! Codex's `app-server` protocol: JSON-RPC without the version field, one message per line. Specified by the output of
//! `codex app-server generate-json-schema`; only the messages and fields in use are typed. Decoding never fails:
//! missing or malformed fields become empty, and unknown messages are preserved as received.

mod ask;
mod item;
mod notification;
mod read;
mod reply;
mod request;

pub use ask::{
    Ask, CommandApproval, Decision, Elicitation, FileApproval, PermissionApproval, UserInputRequest, UserQuestion,
};
pub use item::{Change, ChangeKind, CodexToolCall, CommandExecution, Item, ItemKind, ItemStatus};
pub use notification::{Notification, PlanStep, StepStatus, ThreadStatus, Tokens, Turn, TurnError, TurnStatus};
pub use reply::{Account, McpServer, Model, StartedThread, Thread};
pub use request::{CodexClient, Sandbox, Settings, interrupt, list, read_thread, resume, settings, start, steer, turn};
