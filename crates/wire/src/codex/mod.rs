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
    ApprovalDecision, CommandApproval, Elicitation, FileApproval, PermissionApproval, ServerRequest, UserInputRequest,
    UserQuestion,
};
pub use item::{
    ChangeKind, CodexFileChange, CodexToolCall, CommandExecution, ThreadItem, ThreadItemKind, ThreadItemStatus,
};
pub use notification::{
    CodexTurn, PlanStep, ServerNotification, StepStatus, ThreadStatus, TokenCounts, TurnError, TurnStatus,
};
pub use reply::{Account, CodexMcpServer, CodexModel, CodexThread, StartedThread};
pub use request::{
    CodexClient, Sandbox, ThreadSettings, interrupt, list, read_thread, resume, settings, start, steer, turn,
};
