//! The daemon's socket protocol, one JSON object per line: requests, responses, and events for subscribers. The
//! envelope is defined by the TUI control protocol; `docs/decisions/019` describes the admission of messages. Times are
//! RFC 3339 in UTC.

mod audit;
mod capabilities;
mod command;
mod control;
mod envelope;
mod stream;

pub use crate::control::{SessionKind, SessionStatus, SessionSummary};
pub use audit::{AuditAction, AuditRecord};
pub use capabilities::{Capabilities, ControlCapabilities, DaemonLimits};
pub use command::{
    AttachRequest, AttachResponse, CreatedSession, HealthResponse, JoinRequest, JoinResponse, ListSessions,
    ListedSessions, ReceiptQuery, ReceiptResponse, SOCKET_COMMANDS, SessionDetails, SessionQuery, SocketCommand,
    SubscribeRequest, SubscribeResponse, WindowSize,
};
pub use control::{
    AnswerDecision, CONTROL_VERSION, ContentRef, ControlAck, ControlAction, ControlAnswer, ControlContent, ControlKey,
    ControlKind, ControlMeta, ControlProblem, ControlReason, ControlRequest, ControlResult, ControlStdin,
};
pub use envelope::{
    Credential, ErrorCode, Failure, MAX_CREDENTIALS, ResponseBody, SOCKET_VERSION, SocketRequest, SocketResponse,
    UNKNOWN_REQUEST,
};
pub use stream::{Cursor, StreamLine};

/// Maximum length of a line in bytes. A text of 1 MiB fits even if every byte is escaped.
pub const MAX_SOCKET_LINE_BYTES: usize = 8 << 20;
