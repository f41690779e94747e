//! One connection: its requests, one after the other, and their answers.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::OwnedWriteHalf;
use tokio::task::JoinHandle;
use wh_client::trace::TRACE_TIMEOUT;
use wh_client::{Caller, CreateError, Created as Made, Opener, Session};
use wh_core::request::RequestId;
use wh_wire::control::NewSessionRequest;
use wh_wire::socket::{
    Body, Command, Created, ErrorCode, Failure, Health, LONGEST_LINE, Listed, ReceiptFound, Request, Response, Seen,
    UNKNOWN_REQUEST,
};

use super::lines::{self, LINE_TIMEOUT, Line};
use super::reader::Receiver;
use super::{Door, Facts, attach, join, subscribe};
use crate::bodies::{questions_of, receipt_body, summary};
use crate::closing::closed;
use crate::slots::Slot;
use crate::{new_session, receipts};

/// How long a peer may take nothing of an answer before it is dropped.
const STALLED: Duration = Duration::from_secs(30);

/// How long a stranger may take to say something before the answer, which is always the same.
const STRANGERS_TIME: Duration = Duration::from_secs(1);

pub(super) type Reader = BufReader<Receiver>;

/// Says to somebody else that this is not for them.
pub(super) async fn turn_away(stream: UnixStream) {
    let (mut reader, mut writer) = stream.into_split();
    // What is closed on words that nobody has read is broken off, and then the reason is not heard.
    let _ = tokio::time::timeout(STRANGERS_TIME, reader.read(&mut [0; 4096])).await;
    let message = "this socket belongs to another user";
    let _ = send(&mut writer, &Response::failed(UNKNOWN_REQUEST, ErrorCode::Unauthorized, message).encode()).await;
}

/// Sends bytes to a peer that has to take them.
pub(super) async fn send(writer: &mut OwnedWriteHalf, bytes: &[u8]) -> io::Result<()> {
    match tokio::time::timeout(STALLED, writer.write_all(bytes)).await {
        Ok(written) => written,
        Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "the peer takes nothing")),
    }
}

/// The caller, who is being traced while its first request arrives.
struct CallerTrace {
    tracing: Option<JoinHandle<Opener>>,
    opener: Opener,
}

impl CallerTrace {
    async fn opener(&mut self) -> Opener {
        if let Some(tracing) = self.tracing.take() {
            let traced = tokio::time::timeout(TRACE_TIMEOUT, tracing).await;
            self.opener = traced.ok().and_then(Result::ok).unwrap_or_default();
        }
        self.opener.clone()
    }
}

/// Answers requests until the peer leaves.
pub(super) async fn converse(
    stream: UnixStream,
    tracing: JoinHandle<Opener>,
    mut door: Door,
    slot: &Slot<Facts>,
) -> io::Result<()> {
    let mut caller = CallerTrace { tracing: Some(tracing), opener: Opener::default() };
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(Receiver(reader));
    loop {
        slot.update(|facts| facts.idle_since = Some(Instant::now()));
        let line = tokio::select! {
            line = lines::next(&mut reader, &door.lines) => line?,
            () = closed(&mut door.closing) => return Ok(()),
        };
        if slot.update(|facts| (facts.asked, facts.idle_since) = (true, None)).is_none() {
            // Closed to make room: nothing is begun that nobody would be told of.
            return Ok(());
        }
        let request = match line {
            None => return Ok(()),
            Some(Line::TooLong) => {
                let message = format!("a line may have at most {LONGEST_LINE} bytes");
                Err(Response::failed(UNKNOWN_REQUEST, ErrorCode::InvalidRequest, message))
            }
            Some(Line::NoMemory) => {
                let message = "too many long lines are being received; try again";
                Err(Response::failed(UNKNOWN_REQUEST, ErrorCode::Busy, message))
            }
            Some(Line::TooSlow) => {
                let message = format!("a line must end within {} s", LINE_TIMEOUT.as_secs());
                let response = Response::failed(UNKNOWN_REQUEST, ErrorCode::InvalidRequest, message);
                return send(&mut writer, &response.encode()).await;
            }
            Some(Line::Whole(line)) if line.trim_ascii().is_empty() => continue,
            Some(Line::Whole(line)) => Request::decode(&line),
        };
        let request = match request {
            Ok(request) => request,
            Err(response) => {
                if let Body::Error { error } = &response.body {
                    let code = match error.code {
                        ErrorCode::VersionMismatch => "version",
                        ErrorCode::Busy => "busy",
                        _ => "invalid_request",
                    };
                    door.controller.refused_at_the_door(code, &error.message);
                }
                send(&mut writer, &response.encode()).await?;
                continue;
            }
        };
        let id = request.request_id.clone();
        let command = Command::read(&request);
        let teams = match &command {
            Err(_) | Ok(Command::Control(_) | Command::Capabilities | Command::Health) => BTreeSet::new(),
            Ok(_) => door.controller.teams_shown(request.credentials().cloned().collect()).await,
        };
        let response = match command {
            Err(failure) => Response::failed(id, failure.code, failure.message),
            Ok(Command::Subscribe(wanted)) => match find(&door, &wanted.session_id, &teams) {
                Ok(session) => return subscribe::stream(&door, &session, wanted, &id, reader, writer).await,
                Err(failure) => Response::failed(id, failure.code, failure.message),
            },
            Ok(Command::Attach(wanted)) => match find(&door, &wanted.session_id, &teams) {
                Ok(session) => match attach::may(&door, &session, &caller.opener().await) {
                    Ok(surface) => return attach::serve(&door, &session, surface, wanted, &id, reader, writer).await,
                    Err(failure) => Response::failed(id, failure.code, failure.message),
                },
                Err(failure) => Response::failed(id, failure.code, failure.message),
            },
            Ok(Command::Join(wanted)) => match find(&door, &wanted.session_id, &teams) {
                Ok(session) => match join::may(&door, &session, &wanted, &caller.opener().await) {
                    Ok(space) => return join::serve(&door, &session, space, &id, reader, writer).await,
                    Err(failure) => Response::failed(id, failure.code, failure.message),
                },
                Err(failure) => Response::failed(id, failure.code, failure.message),
            },
            Ok(command) => {
                let caller = Caller { credential: request.credential, opener: caller.opener().await };
                answer(&door, &id, command, caller, &teams).await
            }
        };
        send(&mut writer, &response.encode()).await?;
    }
}

/// The session of this id or name among those of these teams. One of another team is answered like one that does not exist.
fn find(door: &Door, id: &str, teams: &BTreeSet<String>) -> Result<Arc<Session>, Failure> {
    // Asked first: one that comes back in between is then there.
    let returning = door.daemon.returning_of(teams).iter().any(|(own, name)| own == id || name == id);
    let missing = || match returning {
        true => Failure::new(ErrorCode::Busy, CreateError::Returning(id.to_owned()).to_string()),
        false => Failure::new(ErrorCode::SessionNotFound, format!("there is no session {id:?}")),
    };
    door.daemon.session_of(id, teams).ok_or_else(missing)
}

async fn answer(door: &Door, id: &str, command: Command, caller: Caller, teams: &BTreeSet<String>) -> Response {
    match command {
        Command::Control(request) => match door.controller.control(request, caller).await {
            Ok(ack) => Response::ok(id, &ack),
            Err(failure) => Response::failed(id, failure.code, failure.message),
        },
        Command::Capabilities => Response::ok(id, &door.controller.capabilities()),
        Command::Health => Response::ok(
            id,
            &Health {
                ok: true,
                version: env!("CARGO_PKG_VERSION").to_owned(),
                uptime: door.started.elapsed().as_secs(),
                sessions: door.daemon.sessions().len(),
                audit_lost: door.controller.audit_lost(),
                limits: Some(door.controller.capabilities().limits),
            },
        ),
        Command::List(wanted) => {
            let mut sessions = Vec::new();
            let wanted = |team: &String| wanted.team.as_ref().is_none_or(|wanted| wanted == team);
            let teams: BTreeSet<String> = teams.iter().filter(|team| wanted(team)).cloned().collect();
            for session in door.daemon.sessions() {
                if teams.contains(&session.team) {
                    sessions.push(summary(&session).await);
                }
            }
            let mut returning: Vec<String> =
                door.daemon.returning_of(&teams).into_iter().map(|(_, name)| name).collect();
            returning.sort_unstable();
            Response::ok(id, &Listed { sessions, returning })
        }
        Command::Session(wanted) => match find(door, &wanted.session_id, teams) {
            Ok(session) => {
                let questions = questions_of(session.conversation.as_ref()).await;
                Response::ok(id, &Seen { session: summary(&session).await, questions })
            }
            Err(failure) => Response::failed(id, failure.code, failure.message),
        },
        Command::Receipt(wanted) => match find(door, &wanted.session_id, teams) {
            Ok(session) => match RequestId::new(wanted.request_id) {
                Ok(request) => {
                    let receipt = receipts::of_session(&*door.daemon, &session, request).await;
                    Response::ok(id, &ReceiptFound { receipt: receipt.as_ref().map(receipt_body) })
                }
                Err(error) => Response::failed(id, ErrorCode::InvalidPayload, error.to_string()),
            },
            Err(failure) => Response::failed(id, failure.code, failure.message),
        },
        Command::Create(create) => match self::create(door, *create, &caller, teams).await {
            Ok(Made { session, duplicate }) => {
                Response::ok(id, &Created { session: summary(&session).await, duplicate })
            }
            Err(failure) => Response::failed(id, failure.code, failure.message),
        },
        Command::Subscribe(_) | Command::Attach(_) | Command::Join(_) => {
            Response::failed(id, ErrorCode::InternalError, "this takes the whole connection")
        }
    }
}

async fn create(
    door: &Door,
    create: NewSessionRequest,
    caller: &Caller,
    teams: &BTreeSet<String>,
) -> Result<Made, Failure> {
    let invalid = |message: String| Failure::new(ErrorCode::InvalidPayload, message);
    if let Some(team) = create.team.as_ref().filter(|team| !teams.contains(*team)) {
        // The same whether or not there is such a team.
        let message = format!("a session of team {team:?} needs the token of one of its members");
        return Err(Failure::new(ErrorCode::Unauthorized, message));
    }
    let opener = caller.opener.clone();
    let callers = async { tokio::task::spawn_blocking(move || opener.directory()).await.ok().flatten() };
    let wanted = new_session::read(create, callers).await.map_err(invalid)?;
    let made = new_session::create(&*door.daemon, &*door.controller, caller.opener.origin(), wanted).await;
    made.map_err(|error| match &error {
        CreateError::Refused(_) => Failure::new(ErrorCode::Unauthorized, error.to_string()),
        CreateError::NoSuchAgent { .. } => Failure::new(ErrorCode::AgentNotFound, error.to_string()),
        CreateError::NoSuchTeam(_) => Failure::new(ErrorCode::TeamNotFound, error.to_string()),
        CreateError::BadName(_)
        | CreateError::BadWish(_)
        | CreateError::WishReused(_)
        | CreateError::NameTaken(_)
        | CreateError::PersonIsAgent
        | CreateError::Arguments(_)
        | CreateError::Nothing => invalid(error.to_string()),
        CreateError::TooMany(_) | CreateError::Stopping => Failure::new(ErrorCode::Busy, error.to_string()),
        _ => Failure::new(ErrorCode::InternalError, error.told()),
    })
}
