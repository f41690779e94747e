//! Serves one connection: reads requests one after the other and sends the responses.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::OwnedWriteHalf;
use tokio::task::JoinHandle;
use wh_client::trace::TRACE_TIMEOUT;
use wh_client::{Caller, ConnectionOpener, CreateError, CreateOutcome, SessionHandle};
use wh_core::request::RequestId;
use wh_wire::control::NewSessionRequest;
use wh_wire::socket::{
    CreatedSession, ErrorCode, Failure, HealthResponse, ListedSessions, MAX_SOCKET_LINE_BYTES, ReceiptResponse,
    ResponseBody, SessionDetails, SocketCommand, SocketRequest, SocketResponse, UNKNOWN_REQUEST,
};

use super::lines::{self, LINE_TIMEOUT, ReceivedLine};
use super::reader::SocketReadHalf;
use super::{SocketConnectionState, SocketState, attach, join, subscribe};
use crate::bodies::{questions_of, receipt_body, summary};
use crate::closing::closed;
use crate::slots::Slot;
use crate::{new_session, receipts};

/// Timeout after which a connection is closed if its client accepts no data.
const SOCKET_STALL_TIMEOUT: Duration = Duration::from_secs(30);

/// Timeout for receiving a request of another user before the refusal is sent.
const FOREIGN_USER_READ_TIMEOUT: Duration = Duration::from_secs(1);

pub(super) type SocketReader = BufReader<SocketReadHalf>;

/// Refuses a connection of another user.
pub(super) async fn refuse_foreign_user(stream: UnixStream) {
    let (mut reader, mut writer) = stream.into_split();
    // Closing a socket with unread data resets the connection, and the client would lose the message.
    let _ = tokio::time::timeout(FOREIGN_USER_READ_TIMEOUT, reader.read(&mut [0; 4096])).await;
    let message = "this socket belongs to another user";
    let _ =
        send(&mut writer, &SocketResponse::failed(UNKNOWN_REQUEST, ErrorCode::Unauthorized, message).encode()).await;
}

/// Sends bytes. Fails if the client accepts no data for [`SOCKET_STALL_TIMEOUT`].
pub(super) async fn send(writer: &mut OwnedWriteHalf, bytes: &[u8]) -> io::Result<()> {
    match tokio::time::timeout(SOCKET_STALL_TIMEOUT, writer.write_all(bytes)).await {
        Ok(written) => written,
        Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "the peer accepts no data")),
    }
}

/// Caller of a connection, traced while the first request is being received.
struct CallerTrace {
    tracing: Option<JoinHandle<ConnectionOpener>>,
    opener: ConnectionOpener,
}

impl CallerTrace {
    async fn opener(&mut self) -> ConnectionOpener {
        if let Some(tracing) = self.tracing.take() {
            let traced = tokio::time::timeout(TRACE_TIMEOUT, tracing).await;
            self.opener = traced.ok().and_then(Result::ok).unwrap_or_default();
        }
        self.opener.clone()
    }
}

/// Answers requests until the client disconnects.
pub(super) async fn serve_requests(
    stream: UnixStream,
    tracing: JoinHandle<ConnectionOpener>,
    mut server: SocketState,
    slot: &Slot<SocketConnectionState>,
) -> io::Result<()> {
    let mut caller = CallerTrace { tracing: Some(tracing), opener: ConnectionOpener::default() };
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(SocketReadHalf(reader));
    loop {
        slot.update(|facts| facts.idle_since = Some(Instant::now()));
        let line = tokio::select! {
            line = lines::next(&mut reader, &server.lines) => line?,
            () = closed(&mut server.closing) => return Ok(()),
        };
        if slot.update(|facts| (facts.asked, facts.idle_since) = (true, None)).is_none() {
            // Evicted: do not start a request whose response cannot be sent.
            return Ok(());
        }
        let request = match line {
            None => return Ok(()),
            Some(ReceivedLine::TooLong) => {
                let message = format!("the line is too long (limit {MAX_SOCKET_LINE_BYTES} bytes)");
                Err(SocketResponse::failed(UNKNOWN_REQUEST, ErrorCode::InvalidRequest, message))
            }
            Some(ReceivedLine::NoMemory) => {
                let message = "too many long lines are being received; retry";
                Err(SocketResponse::failed(UNKNOWN_REQUEST, ErrorCode::Busy, message))
            }
            Some(ReceivedLine::TooSlow) => {
                let message = format!("the line was not completed within {} s", LINE_TIMEOUT.as_secs());
                let response = SocketResponse::failed(UNKNOWN_REQUEST, ErrorCode::InvalidRequest, message);
                return send(&mut writer, &response.encode()).await;
            }
            Some(ReceivedLine::Whole(line)) if line.trim_ascii().is_empty() => continue,
            Some(ReceivedLine::Whole(line)) => SocketRequest::decode(&line),
        };
        let request = match request {
            Ok(request) => request,
            Err(response) => {
                if let ResponseBody::Error { error } = &response.body {
                    let code = match error.code {
                        ErrorCode::VersionMismatch => "version",
                        ErrorCode::Busy => "busy",
                        _ => "invalid_request",
                    };
                    server.controller.audit_rejected(code, &error.message);
                }
                send(&mut writer, &response.encode()).await?;
                continue;
            }
        };
        let id = request.request_id.clone();
        let command = SocketCommand::read(&request);
        let teams = match &command {
            Err(_) | Ok(SocketCommand::Control(_) | SocketCommand::Capabilities | SocketCommand::Health) => {
                BTreeSet::new()
            }
            Ok(_) => server.controller.visible_teams(request.credentials().cloned().collect()).await,
        };
        let response = match command {
            Err(failure) => SocketResponse::failed(id, failure.code, failure.message),
            Ok(SocketCommand::Subscribe(wanted)) => match find(&server, &wanted.session_id, &teams) {
                Ok(session) => return subscribe::stream(&server, &session, wanted, &id, reader, writer).await,
                Err(failure) => SocketResponse::failed(id, failure.code, failure.message),
            },
            Ok(SocketCommand::Attach(wanted)) => match find(&server, &wanted.session_id, &teams) {
                Ok(session) => match attach::authorize(&server, &session, &caller.opener().await) {
                    Ok(surface) => return attach::serve(&server, &session, surface, wanted, &id, reader, writer).await,
                    Err(failure) => SocketResponse::failed(id, failure.code, failure.message),
                },
                Err(failure) => SocketResponse::failed(id, failure.code, failure.message),
            },
            Ok(SocketCommand::Join(wanted)) => match find(&server, &wanted.session_id, &teams) {
                Ok(session) => match join::authorize(&server, &session, &wanted, &caller.opener().await) {
                    Ok(space) => return join::serve(&server, &session, space, &id, reader, writer).await,
                    Err(failure) => SocketResponse::failed(id, failure.code, failure.message),
                },
                Err(failure) => SocketResponse::failed(id, failure.code, failure.message),
            },
            Ok(command) => {
                let caller = Caller { credential: request.credential, opener: caller.opener().await };
                answer(&server, &id, command, caller, &teams).await
            }
        };
        send(&mut writer, &response.encode()).await?;
    }
}

/// Finds a session by id or name in these teams. A session of another team is reported as missing.
fn find(server: &SocketState, id: &str, teams: &BTreeSet<String>) -> Result<Arc<SessionHandle>, Failure> {
    // Sessions being restored are checked first. A session that becomes ready after this check is found below.
    let returning = server.daemon.restoring_of(teams).iter().any(|(own, name)| own == id || name == id);
    let missing = || match returning {
        true => Failure::new(ErrorCode::Busy, CreateError::Returning(id.to_owned()).to_string()),
        false => Failure::new(ErrorCode::SessionNotFound, format!("there is no session {id:?}")),
    };
    server.daemon.session_of(id, teams).ok_or_else(missing)
}

async fn answer(
    server: &SocketState,
    id: &str,
    command: SocketCommand,
    caller: Caller,
    teams: &BTreeSet<String>,
) -> SocketResponse {
    match command {
        SocketCommand::Control(request) => match server.controller.control(request, caller).await {
            Ok(ack) => SocketResponse::ok(id, &ack),
            Err(failure) => SocketResponse::failed(id, failure.code, failure.message),
        },
        SocketCommand::Capabilities => SocketResponse::ok(id, &server.controller.capabilities()),
        SocketCommand::Health => SocketResponse::ok(
            id,
            &HealthResponse {
                ok: true,
                version: env!("CARGO_PKG_VERSION").to_owned(),
                uptime: server.started.elapsed().as_secs(),
                sessions: server.daemon.sessions().len(),
                audit_lost: server.controller.audit_lost(),
                limits: Some(server.controller.capabilities().limits),
            },
        ),
        SocketCommand::List(wanted) => {
            let mut sessions = Vec::new();
            let wanted = |team: &String| wanted.team.as_ref().is_none_or(|wanted| wanted == team);
            let teams: BTreeSet<String> = teams.iter().filter(|team| wanted(team)).cloned().collect();
            for session in server.daemon.sessions() {
                if teams.contains(&session.team) {
                    sessions.push(summary(&session).await);
                }
            }
            let mut returning: Vec<String> =
                server.daemon.restoring_of(&teams).into_iter().map(|(_, name)| name).collect();
            returning.sort_unstable();
            SocketResponse::ok(id, &ListedSessions { sessions, returning })
        }
        SocketCommand::Session(wanted) => match find(server, &wanted.session_id, teams) {
            Ok(session) => {
                let questions = questions_of(session.conversation.as_ref()).await;
                SocketResponse::ok(id, &SessionDetails { session: summary(&session).await, questions })
            }
            Err(failure) => SocketResponse::failed(id, failure.code, failure.message),
        },
        SocketCommand::Receipt(wanted) => match find(server, &wanted.session_id, teams) {
            Ok(session) => match RequestId::new(wanted.request_id) {
                Ok(request) => {
                    let receipt = receipts::of_session(&*server.daemon, &session, request).await;
                    SocketResponse::ok(id, &ReceiptResponse { receipt: receipt.as_ref().map(receipt_body) })
                }
                Err(error) => SocketResponse::failed(id, ErrorCode::InvalidPayload, error.to_string()),
            },
            Err(failure) => SocketResponse::failed(id, failure.code, failure.message),
        },
        SocketCommand::Create(create) => match self::create(server, *create, &caller, teams).await {
            Ok(CreateOutcome { session, duplicate }) => {
                SocketResponse::ok(id, &CreatedSession { session: summary(&session).await, duplicate })
            }
            Err(failure) => SocketResponse::failed(id, failure.code, failure.message),
        },
        SocketCommand::Subscribe(_) | SocketCommand::Attach(_) | SocketCommand::Join(_) => SocketResponse::failed(
            id,
            ErrorCode::InternalError,
            "this command requires a separate connection; send the command on a new connection",
        ),
    }
}

async fn create(
    server: &SocketState,
    create: NewSessionRequest,
    caller: &Caller,
    teams: &BTreeSet<String>,
) -> Result<CreateOutcome, Failure> {
    let invalid = |message: String| Failure::new(ErrorCode::InvalidPayload, message);
    if let Some(team) = create.team.as_ref().filter(|team| !teams.contains(*team)) {
        // The message does not reveal if the team exists.
        let message = format!("a session of team {team:?} requires a credential of a member of that team");
        return Err(Failure::new(ErrorCode::Unauthorized, message));
    }
    let opener = caller.opener.clone();
    let callers = async { tokio::task::spawn_blocking(move || opener.directory()).await.ok().flatten() };
    let wanted = new_session::read(create, callers).await.map_err(invalid)?;
    let made = new_session::create(&*server.daemon, &*server.controller, caller.opener.origin(), wanted).await;
    made.map_err(|error| match &error {
        CreateError::Refused(_) => Failure::new(ErrorCode::Unauthorized, error.to_string()),
        CreateError::NoSuchAgent { .. } => Failure::new(ErrorCode::AgentNotFound, error.to_string()),
        CreateError::NoSuchTeam(_) => Failure::new(ErrorCode::TeamNotFound, error.to_string()),
        CreateError::BadName(_)
        | CreateError::InvalidIdempotencyKey(_)
        | CreateError::IdempotencyKeyReused(_)
        | CreateError::NameTaken(_)
        | CreateError::PersonIsAgent
        | CreateError::Arguments(_)
        | CreateError::Nothing => invalid(error.to_string()),
        CreateError::TooMany(_) | CreateError::Stopping => Failure::new(ErrorCode::Busy, error.to_string()),
        _ => Failure::new(ErrorCode::InternalError, error.message_with_hint()),
    })
}
