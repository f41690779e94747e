//! Sending control messages: one name for all tries, the credential that proves who sends, a retry when nothing is heard, and an
//! account of it all.

use std::io;
use std::time::SystemTime;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use wh_core::gate::{Limits, Times};
use wh_engine::control::audit::{Act, Audit, Event, Options};
use wh_engine::control::content_ref::References;
use wh_engine::control::teams::Teams;
use wh_wire::socket::{
    CONTROL_VERSION, Capabilities, ContentRef, ControlAck, ControlKey, ControlKind, ControlResult, Credential,
    Decision, ErrorCode, Failure as Refused, Request, Response, Seen, VERSION,
};

use crate::commands::How;
use crate::daemon::{Place, texts};
use crate::failure::{Failure, code, say};
use crate::waiting;

/// What is wanted of a session.
pub enum Wish {
    Text { text: String, interrupt: bool },
    Interrupt,
    Answer { question: String, option: Option<String>, decision: Option<Decision>, text: Option<String> },
}

impl Wish {
    fn kind(&self) -> ControlKind {
        match self {
            Self::Text { .. } => ControlKind::Stdin,
            Self::Interrupt => ControlKind::Interrupt,
            Self::Answer { .. } => ControlKind::Answer,
        }
    }
}

/// Somebody who sends.
pub struct Sender {
    how: How,
    place: Place,
    audit: Audit,
}

impl Sender {
    pub fn new(how: How) -> Result<Self, Failure> {
        let place = Place::here()?;
        let mut options = Options::new("wh");
        options.texts = texts()?;
        let audit = Audit::open(place.sent(), options)
            .map_err(|error| Failure::new(code::FAILED, format!("{}: {error}", place.sent().display())))?;
        Ok(Self { how, place, audit })
    }

    /// Sends, until an acknowledgement is there or there were enough tries.
    pub fn send(self, session: &str, wish: Wish) -> Result<ControlAck, Failure> {
        self.place.needed()?;
        waiting::block_on(self.sends(session.to_owned(), wish))
    }

    async fn sends(self, session: String, wish: Wish) -> Result<ControlAck, Failure> {
        let mut line = Line::open(&self.place).await?;
        let capabilities: Capabilities = line.ask("capabilities", json!({}), None).await?;
        let able = capabilities.protocol_versions.contains(&VERSION)
            && capabilities.control.v.contains(&CONTROL_VERSION)
            && capabilities.control.actions.iter().any(|action| action == wish.kind().as_str());
        if !able {
            return Err(Failure::new(code::REFUSED, format!("{} cannot do that", capabilities.server))
                .hint("is the daemon of another version? wh daemon status tells"));
        }
        let seen: Seen = line.ask("session", json!({ "session_id": session }), None).await?;
        let target = seen.session;
        let teams = Teams::open(self.place.teams()).map_err(|error| Failure::new(code::FAILED, error))?;
        let token = teams.credential(&target.team, &self.how.member).map_err(|error| {
            let who = format!("{}@{}", self.how.member, target.team);
            Failure::new(code::UNAUTHORISED, format!("there is no credential of {who}: {error}"))
                .hint(format!("make one with: wh team add {} {}", target.team, self.how.member))
        })?;
        let key = ControlKey {
            team: target.team,
            session_id: target.session_id,
            agent_id: target.agent_id,
            request_id: self.how.request_id.clone().unwrap_or_else(new_id),
        };
        let credential = Credential(token.as_str().to_owned());
        let (payload, size) = self.payload(&key, &wish, &capabilities)?;
        let file = payload["content_ref"]["path"].as_str().map(str::to_owned);
        let ack = self.tries(line, &key, wish.kind(), payload, size, credential).await?;
        // One that may be sent again under its name still needs its text.
        if let Some(file) = file.filter(|_| !may_come_again(ack.result)) {
            let _ = std::fs::remove_file(file);
        }
        Ok(ack)
    }

    /// The message. What is too long to be sent on a line lies in a file.
    fn payload(
        &self,
        key: &ControlKey,
        wish: &Wish,
        capabilities: &Capabilities,
    ) -> Result<(Value, Option<u64>), Failure> {
        let mut payload = json!({
            "type": format!("control.{}.request", wish.kind().as_str()),
            "v": CONTROL_VERSION,
            "request_id": key.request_id,
            "team": key.team,
            "session_id": key.session_id,
            "agent_id": key.agent_id,
            "sender": self.how.member,
            "sent_at": jiff::Timestamp::now().to_string(),
            "meta": { "ui_source": "cli", "retry_count": 0 },
        });
        if let Some(earlier) = &self.how.retry_of {
            payload["meta"]["retry_of"] = json!(earlier);
        }
        let mut size = None;
        match wish {
            Wish::Interrupt => payload["signal"] = json!("interrupt"),
            Wish::Answer { question, option, decision, text } => {
                payload["question_id"] = json!(question);
                for (name, value) in [("option", option), ("text", text)] {
                    if let Some(value) = value {
                        payload[name] = json!(value);
                    }
                }
                if let Some(decision) = decision {
                    payload["decision"] = json!(decision);
                }
            }
            Wish::Text { text, interrupt } => {
                size = Some(text.len() as u64);
                payload["interrupt"] = json!(interrupt);
                let limits = &capabilities.limits;
                if text.len() as u64 <= limits.hard_bytes {
                    if text.len() as u64 > limits.soft_bytes {
                        say(&format!("wh: the text has {} bytes, which is much for one message", text.len()));
                    }
                    payload["content"] = json!(text);
                } else {
                    let reference = self.written(key, text)?;
                    payload["content_ref"] = json!(reference);
                    payload["content_preview"] = json!(text.chars().take(240).collect::<String>());
                    payload["meta"]["oversize_strategy"] = json!("content_ref");
                }
            }
        }
        Ok((payload, size))
    }

    fn written(&self, key: &ControlKey, text: &str) -> Result<ContentRef, Failure> {
        let cannot = |error: io::Error| Failure::new(code::FAILED, format!("the text cannot be written: {error}"));
        let references = References::new(self.place.contents(), Limits::default().reference).map_err(cannot)?;
        let until = SystemTime::now() + Times::default().remembered();
        references.write(&key.team, &key.request_id, text, Some(until)).map_err(cannot)
    }

    async fn tries(
        &self,
        mut line: Line,
        key: &ControlKey,
        kind: ControlKind,
        mut payload: Value,
        size: Option<u64>,
        credential: Credential,
    ) -> Result<ControlAck, Failure> {
        let mut tried = 0;
        loop {
            let act = if tried == 0 { Act::Request } else { Act::Retry };
            let mut event = self.event(act, kind, key);
            (event.bytes, event.retry_count) = (size, Some(tried.into()));
            event.text = payload["content"].as_str().map(str::to_owned);
            self.audit.record(event);
            let asked = line.ask::<ControlAck>("control", payload.clone(), Some(credential.clone()));
            let outcome = tokio::time::timeout(self.how.patience(), asked).await;
            let last = tried >= self.how.retries;
            match outcome {
                Ok(Ok(ack)) => {
                    self.note(kind, key, &ack);
                    if !may_come_again(ack.result) || last {
                        return Ok(ack);
                    }
                }
                Ok(Err(failure)) if last => return Err(failure),
                Ok(Err(_)) => self.audit.record(self.event(Act::Failure, kind, key)),
                Err(_) => {
                    let mut event = self.event(Act::Timeout, kind, key);
                    event.result = Some(ControlResult::Timeout);
                    self.audit.record(event);
                    if last {
                        return Err(Failure::new(
                            code::TIMEOUT,
                            format!("no acknowledgement within {} s", self.how.patience().as_secs_f64()),
                        )
                        .hint(format!("ask again under the same name: --request-id {}", key.request_id)));
                    }
                }
            }
            tokio::time::sleep(self.how.pause(tried)).await;
            tried += 1;
            payload["meta"]["retry_count"] = json!(tried);
            // A line on which an answer is still due cannot be used any more.
            line = match Line::open(&self.place).await {
                Ok(line) => line,
                Err(failure) if tried >= self.how.retries => return Err(failure),
                Err(_) => line,
            };
        }
    }

    fn event(&self, act: Act, kind: ControlKind, key: &ControlKey) -> Event {
        let mut event = Event::new(act, Some(kind), key, SystemTime::now());
        event.sender = Some(self.how.member.clone());
        event
    }

    fn note(&self, kind: ControlKind, key: &ControlKey, ack: &ControlAck) {
        let mut event = self.event(Act::Ack, kind, key);
        event.result = Some(ack.result);
        event.duplicate = Some(ack.duplicate);
        event.error.clone_from(&ack.error);
        event.detail.clone_from(&ack.detail);
        self.audit.record(event);
    }
}

/// Whether the same message may yet be taken.
fn may_come_again(result: ControlResult) -> bool {
    matches!(result, ControlResult::Busy | ControlResult::Timeout)
}

/// A name that no other message has.
fn new_id() -> String {
    let mut bytes = [0_u8; 12];
    let read = std::fs::File::open("/dev/urandom").and_then(|mut file| io::Read::read_exact(&mut file, &mut bytes));
    let now = jiff::Timestamp::now().as_nanosecond();
    match read {
        Ok(()) => format!("req_{}", bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()),
        Err(_) => format!("req_{now:x}_{}", std::process::id()),
    }
}

/// A connection to the daemon's socket.
struct Line {
    reader: BufReader<tokio::net::unix::OwnedReadHalf>,
    writer: tokio::net::unix::OwnedWriteHalf,
}

impl Line {
    async fn open(place: &Place) -> Result<Self, Failure> {
        let stream = UnixStream::connect(place.socket()).await.map_err(|error| broken(&error))?;
        let (reader, writer) = stream.into_split();
        Ok(Self { reader: BufReader::new(reader), writer })
    }

    async fn ask<T: serde::de::DeserializeOwned>(
        &mut self,
        command: &str,
        payload: Value,
        credential: Option<Credential>,
    ) -> Result<T, Failure> {
        let mut request = Request::new(command, command, payload);
        request.credential = credential;
        self.writer.write_all(&request.encode()).await.map_err(|error| broken(&error))?;
        let mut line = Vec::new();
        let read = self.reader.read_until(b'\n', &mut line).await.map_err(|error| broken(&error))?;
        if read == 0 {
            return Err(broken(&"it hung up"));
        }
        let response = Response::decode(&line).map_err(|error| broken(&error))?;
        response.into_answer().map_err(|Refused { code: why, message }| match why {
            ErrorCode::SessionNotFound => {
                Failure::new(code::UNREACHABLE, message).hint("wh ls --all lists the sessions")
            }
            _ => Failure::new(code::REFUSED, message),
        })
    }
}

fn broken(error: &dyn std::fmt::Display) -> Failure {
    Failure::new(code::UNREACHABLE, format!("the daemon does not answer: {error}")).hint("wh daemon status tells more")
}
