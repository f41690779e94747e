//! The daemon's socket: one JSON object a line, a request and its answer, and lines of events for who subscribes.
//! The envelope is that of the TUI control protocol; `docs/decisions/019` says what a message passes. Times are RFC 3339 in UTC.

mod audit;
mod capabilities;
mod command;
mod control;
mod envelope;
mod stream;

pub use crate::control::{SessionKind, SessionStatus, SessionSummary};
pub use audit::{AuditAction, AuditRecord};
pub use capabilities::{Capabilities, ControlCapabilities, Limits};
pub use command::{
    Attach, Attached, COMMANDS, Command, Created, Health, Join, Joined, List, Listed, ReceiptFound, ReceiptWanted,
    Seen, Session, Subscribe, Subscribed, WindowSize,
};
pub use control::{
    CONTROL_VERSION, ContentRef, ControlAck, ControlAction, ControlAnswer, ControlContent, ControlKey, ControlKind,
    ControlProblem, ControlReason, ControlRequest, ControlResult, ControlStdin, Decision, Meta,
};
pub use envelope::{
    Body, Credential, ErrorCode, Failure, MAX_CREDENTIALS, Request, Response, UNKNOWN_REQUEST, VERSION,
};
pub use stream::{Cursor, StreamLine};

/// Bytes of one line. A text of a megabyte fits even if each of its bytes has to be escaped.
pub const LONGEST_LINE: usize = 8 << 20;
