//! Codex's `app-server` protocol: JSON-RPC without its version, a message a line. `codex app-server generate-json-schema`
//! of the installed version specifies it. These are the parts that are used; all of it is read so that nothing is ever an
//! error: a field that is missing or of another type is empty, and what is not known at all is kept as it came.

mod ask;
mod item;
mod notification;
mod read;
mod reply;
mod request;

pub use ask::{Ask, CommandApproval, Decision, Elicitation, FileApproval, PermissionApproval, UserInput, UserQuestion};
pub use item::{Change, ChangeKind, Command, Item, ItemKind, Status, ToolUse};
pub use notification::{Notification, PlanStep, StepStatus, ThreadStatus, Tokens, Turn, TurnError, TurnStatus};
pub use reply::{Account, McpServer, Model, Started, Thread};
pub use request::{Client, Sandbox, Settings, interrupt, list, look, resume, settings, start, steer, turn};
