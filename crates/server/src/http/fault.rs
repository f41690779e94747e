//! Errors of the HTTP API: status, stable error text and code, and a detail message.

use axum::Json;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use wh_client::{CreateError, SessionGone, SurfaceError};
use wh_core::caller::CallerRefusal;
use wh_core::line::LineError;
use wh_core::reason::Reason;
use wh_core::session::TerminalRefusal;
use wh_core::space::command::SpaceRefusal;
use wh_core::space::extent::PieceError;
use wh_wire::control::ErrorBody;

use super::connections::ConnectionsFull;

#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    #[error("no such path; see /docs, or GET /openapi.json")]
    NoSuchPath,
    #[error("method not allowed for this path; see the Allow header")]
    NoSuchMethod,
    #[error("this path requires a WebSocket upgrade; for server-sent events use /control/events")]
    UpgradeRequired,
    #[error("too many open streams; close one")]
    TooManyWatchers,
    #[error("all connections are in use; close one or retry")]
    TooManyConnections,
    #[error("{0}")]
    Forbidden(String),
    #[error(transparent)]
    Caller(#[from] CallerRefusal),
    #[error("send the token as Authorization: Bearer TOKEN")]
    NoToken,
    #[error("the body is too large (limit {limit} bytes)")]
    TooLarge { limit: usize },
    #[error("the body did not arrive in time")]
    TooSlow,
    #[error("{0}")]
    Invalid(String),
    #[error("{1}")]
    Refused(&'static str, String),
    #[error("{message}")]
    Condition { message: String, position: usize },
    #[error("cannot render the screen: {0}")]
    Undrawable(String),
    #[error(transparent)]
    Refusal(#[from] TerminalRefusal),
    #[error("this is a terminal program, not an agent; it has no conversation")]
    NoConversation,
    #[error("the agent is starting: its composer is not on the screen yet; retry later")]
    AgentStarting,
    #[error("no command with this request_id")]
    NoSuchReceipt,
    #[error(
        "no last screen is stored for this session; only terminal programs of an earlier daemon have a stored screen"
    )]
    NoLastScreen,
    #[error("{0}")]
    Line(LineError),
    #[error("the program has not read the interrupt yet; retry with the same request_id to get the result")]
    Unread,
    #[error(transparent)]
    NoPiece(#[from] PieceError),
    #[error(transparent)]
    Space(#[from] SpaceRefusal),
    #[error(transparent)]
    Gone(#[from] SessionGone),
    #[error(transparent)]
    Create(#[from] CreateError),
    #[error("session {name:?} has not ended: {left}")]
    ProcessesLeft { name: String, left: String },
    #[error(
        "session {name:?} has ended, but the end could not be stored, so the next daemon may restore the session: {why}"
    )]
    EndNotStored { name: String, why: String },
    #[error("this session was lost: its daemon exited unexpectedly and the session could not be restored")]
    Lost,
}

impl From<ConnectionsFull> for Fault {
    fn from(ConnectionsFull: ConnectionsFull) -> Self {
        Self::TooManyConnections
    }
}

impl From<SurfaceError> for Fault {
    fn from(error: SurfaceError) -> Self {
        match error {
            SurfaceError::Refused(refusal) => Self::Refusal(refusal),
            SurfaceError::Gone(gone) => Self::Gone(gone),
        }
    }
}

impl Fault {
    /// Returns the machine-readable code: the code of the refusal reason, or without a reason the error text in snake
    /// case.
    fn code(&self) -> String {
        let reason = match self {
            Self::Refusal(refusal) => Some(refusal.reason()),
            Self::Space(refusal) => Some(refusal.reason()),
            Self::Caller(refusal) | Self::Create(CreateError::Refused(refusal)) => Some(refusal.reason()),
            Self::Create(CreateError::IdempotencyKeyReused(_)) => Some(Reason::RequestIdReused),
            Self::Create(CreateError::NoSuchSession(_)) => Some(Reason::NoSession),
            Self::NoConversation => Some(Reason::PlainProgram),
            Self::AgentStarting => Some(Reason::Busy),
            Self::Line(LineError::Shell) => Some(Reason::ShellNotAllowed),
            Self::Lost => Some(Reason::Ended),
            Self::Unread => Some(Reason::Unread),
            _ => None,
        };
        reason.map_or_else(|| self.kind().1.to_lowercase().replace(' ', "_"), |reason| reason.code().to_owned())
    }

    /// Returns the status and the stable error text.
    fn kind(&self) -> (StatusCode, &'static str) {
        match self {
            Self::NoSuchPath => (StatusCode::NOT_FOUND, "Not found"),
            Self::NoSuchMethod => (StatusCode::METHOD_NOT_ALLOWED, "Method not allowed"),
            Self::UpgradeRequired => (StatusCode::UPGRADE_REQUIRED, "Upgrade required"),
            Self::TooManyWatchers => (StatusCode::SERVICE_UNAVAILABLE, "Too many watchers"),
            Self::TooManyConnections => (StatusCode::SERVICE_UNAVAILABLE, "Too many connections"),
            Self::Forbidden(_) => (StatusCode::FORBIDDEN, "Forbidden"),
            Self::Caller(refusal) => caller_kind(refusal),
            Self::NoToken => (StatusCode::UNAUTHORIZED, "Unauthorized"),
            Self::TooLarge { .. } => (StatusCode::PAYLOAD_TOO_LARGE, "Body too large"),
            Self::TooSlow => (StatusCode::REQUEST_TIMEOUT, "Body too slow"),
            Self::Invalid(_) => (StatusCode::BAD_REQUEST, "Invalid request"),
            Self::Refused(error, _) => (StatusCode::BAD_REQUEST, error),
            Self::Condition { .. } => (StatusCode::BAD_REQUEST, "Invalid condition"),
            Self::Refusal(TerminalRefusal::QueueFull { .. }) => {
                (StatusCode::SERVICE_UNAVAILABLE, "Input component not ready")
            }
            Self::Refusal(TerminalRefusal::TooManyWaits) => (StatusCode::SERVICE_UNAVAILABLE, "Too many waits"),
            Self::Refusal(TerminalRefusal::LedgerFull) => (StatusCode::SERVICE_UNAVAILABLE, "Too many request ids"),
            Self::Refusal(TerminalRefusal::Ended) => (StatusCode::CONFLICT, "Program has ended"),
            Self::Refusal(TerminalRefusal::QuestionOpen) => (StatusCode::CONFLICT, "Question open"),
            Self::Refusal(TerminalRefusal::Attached) => (StatusCode::CONFLICT, "Terminal attached"),
            Self::Refusal(TerminalRefusal::NotWanted) => (StatusCode::CONFLICT, "Input not wanted"),
            Self::Refusal(TerminalRefusal::OffScreen(_)) => (StatusCode::BAD_REQUEST, "Off screen"),
            Self::Refusal(TerminalRefusal::TooLong(_)) => (StatusCode::PAYLOAD_TOO_LARGE, "Input too long"),
            Self::Refusal(TerminalRefusal::CutOff) => (StatusCode::CONFLICT, "Cut off"),
            Self::Refusal(TerminalRefusal::NotStored(_)) => (StatusCode::SERVICE_UNAVAILABLE, "Not stored"),
            Self::Refusal(TerminalRefusal::ResultNotStored(_)) => {
                (StatusCode::INTERNAL_SERVER_ERROR, "Result not stored")
            }
            Self::Refusal(TerminalRefusal::Interrupted) => (StatusCode::CONFLICT, "Interrupted"),
            Self::Refusal(TerminalRefusal::RequestIdReused) => (StatusCode::CONFLICT, "Request id reused"),
            Self::Refusal(TerminalRefusal::NoProcess) => (StatusCode::CONFLICT, "No process"),
            Self::NoConversation | Self::AgentStarting => {
                (StatusCode::SERVICE_UNAVAILABLE, "TUI bridge is not yet registered")
            }
            Self::Line(LineError::Slash(_)) => (StatusCode::BAD_REQUEST, "Invalid command"),
            Self::Line(LineError::Envelope(_)) => (StatusCode::BAD_REQUEST, "Invalid envelope"),
            Self::Line(LineError::Shell) => (StatusCode::CONFLICT, "Shell not allowed"),
            Self::Unread => (StatusCode::REQUEST_TIMEOUT, "Not read yet"),
            Self::NoSuchReceipt => (StatusCode::NOT_FOUND, "No such receipt"),
            Self::NoLastScreen => (StatusCode::NOT_FOUND, "No last screen"),
            Self::NoPiece(PieceError::NoSuchItem | PieceError::NoOutput) => (StatusCode::NOT_FOUND, "No such output"),
            Self::NoPiece(PieceError::BeyondTheEnd(_)) => (StatusCode::BAD_REQUEST, "Beyond the end"),
            Self::NoPiece(PieceError::NoLongerStored) => (StatusCode::GONE, "Not kept"),
            Self::Space(refusal) => space_kind(refusal),
            Self::Undrawable(_) => (StatusCode::INTERNAL_SERVER_ERROR, "Screen not drawn"),
            Self::Gone(_) => (StatusCode::SERVICE_UNAVAILABLE, "Session gone"),
            Self::Create(error) => create_kind(error),
            Self::ProcessesLeft { .. } => (StatusCode::INTERNAL_SERVER_ERROR, "Processes left"),
            Self::EndNotStored { .. } => (StatusCode::INTERNAL_SERVER_ERROR, "End not stored"),
            Self::Lost => (StatusCode::CONFLICT, "Session lost"),
        }
    }
}

fn caller_kind(refusal: &CallerRefusal) -> (StatusCode, &'static str) {
    let error = match refusal {
        CallerRefusal::OwnQuestion(_) => "Own question",
        CallerRefusal::Inside => "Inside a session",
        CallerRefusal::Untraceable => "Untraceable caller",
        CallerRefusal::Person => "Not outside",
    };
    (StatusCode::FORBIDDEN, error)
}

fn create_kind(error: &CreateError) -> (StatusCode, &'static str) {
    match error {
        CreateError::BadName(_) => (StatusCode::BAD_REQUEST, "Invalid name"),
        CreateError::InvalidIdempotencyKey(_) => (StatusCode::BAD_REQUEST, "Invalid request_id"),
        CreateError::IdempotencyKeyReused(_) => (StatusCode::CONFLICT, "Request id reused"),
        CreateError::Refused(refusal) => caller_kind(refusal),
        CreateError::PersonIsAgent => (StatusCode::BAD_REQUEST, "Invalid request"),
        CreateError::NoSuchTeam(_) => (StatusCode::BAD_REQUEST, "No such team"),
        CreateError::Returning(_) => (StatusCode::SERVICE_UNAVAILABLE, "Not back yet"),
        CreateError::NameTaken(_) => (StatusCode::CONFLICT, "Name taken"),
        CreateError::NoSuchSession(_) => (StatusCode::NOT_FOUND, "No such session"),
        CreateError::NoSuchAgent { .. } => (StatusCode::BAD_REQUEST, "No such agent"),
        CreateError::Nothing | CreateError::Arguments(_) => (StatusCode::BAD_REQUEST, "Invalid request"),
        CreateError::Failed { .. } => (StatusCode::CONFLICT, "Not started"),
        CreateError::TooMany(_) => (StatusCode::SERVICE_UNAVAILABLE, "Too many sessions"),
        CreateError::Store(_) => (StatusCode::SERVICE_UNAVAILABLE, "Not kept"),
        CreateError::Stopping => (StatusCode::SERVICE_UNAVAILABLE, "Stopping"),
    }
}

fn space_kind(refusal: &SpaceRefusal) -> (StatusCode, &'static str) {
    match refusal {
        SpaceRefusal::Empty => (StatusCode::BAD_REQUEST, "Message is required"),
        SpaceRefusal::TooLong(..) => (StatusCode::PAYLOAD_TOO_LARGE, "Message too long"),
        SpaceRefusal::NoSuchParticipant(_) => (StatusCode::NOT_FOUND, "No such participant"),
        SpaceRefusal::NoSuchAgent(_) => (StatusCode::NOT_FOUND, "No such agent"),
        SpaceRefusal::NoSuchConversation(..) => (StatusCode::NOT_FOUND, "No such conversation"),
        SpaceRefusal::NotAnAgent(_) => (StatusCode::BAD_REQUEST, "Not an agent"),
        SpaceRefusal::Gone(_) | SpaceRefusal::NoAgentPresent => (StatusCode::CONFLICT, "Agent gone"),
        SpaceRefusal::Busy(_) => (StatusCode::SERVICE_UNAVAILABLE, "Agent busy"),
        SpaceRefusal::NotSupported(..) | SpaceRefusal::NotAvailable(_) => (StatusCode::CONFLICT, "Not supported"),
        SpaceRefusal::Failed(_) => (StatusCode::CONFLICT, "Failed"),
        SpaceRefusal::NoSuchQuestion(_) => (StatusCode::NOT_FOUND, "No such question"),
        SpaceRefusal::Closed(..) => (StatusCode::CONFLICT, "Question closed"),
        SpaceRefusal::WrongAnswer(_) | SpaceRefusal::NoPlainAnswer => (StatusCode::BAD_REQUEST, "Invalid answer"),
        SpaceRefusal::NoSuchStream(_) => (StatusCode::NOT_FOUND, "No such stream"),
        SpaceRefusal::NotLiteral(..) => (StatusCode::CONFLICT, "Not literal"),
        SpaceRefusal::NothingToInterrupt => (StatusCode::CONFLICT, "Nothing to interrupt"),
        SpaceRefusal::NothingSelected(_) => (StatusCode::CONFLICT, "Nothing chosen"),
        SpaceRefusal::UnknownCommand(_) => (StatusCode::NOT_FOUND, "Unknown command"),
        SpaceRefusal::RequestIdReused | SpaceRefusal::UsedBefore => (StatusCode::CONFLICT, "Request id reused"),
        SpaceRefusal::LedgerFull => (StatusCode::SERVICE_UNAVAILABLE, "Too many request ids"),
        SpaceRefusal::NotStored(_) => (StatusCode::SERVICE_UNAVAILABLE, "Not stored"),
        SpaceRefusal::ResultNotStored(_) => (StatusCode::INTERNAL_SERVER_ERROR, "Result not stored"),
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let (status, error) = self.kind();
        let position = match &self {
            Self::Condition { position, .. } => Some(*position),
            _ => None,
        };
        let detail = match &self {
            Self::Create(error) => error.message_with_hint(),
            other => other.to_string(),
        };
        let code = Some(self.code());
        let body = ErrorBody { error: error.to_owned(), code, detail: Some(detail), position };
        let mut response = (status, Json(body)).into_response();
        let extra: Option<(HeaderName, &'static str)> = match status {
            StatusCode::UNAUTHORIZED => Some((header::WWW_AUTHENTICATE, "Bearer")),
            StatusCode::UPGRADE_REQUIRED => Some((header::UPGRADE, "websocket")),
            StatusCode::SERVICE_UNAVAILABLE => Some((header::RETRY_AFTER, "1")),
            _ => None,
        };
        if let Some((name, value)) = extra {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        if matches!(self, Self::TooManyConnections) {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

#[cfg(test)]
mod tests;
