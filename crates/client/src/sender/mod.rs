//! Sending control messages to the sessions of a daemon: one name for all tries, the credential that proves who sends, a question first what
//! the daemon can do, a retry when nothing is heard, and an account of it all. What is sent, and what an acknowledgement means, is in
//! `docs/socket.md`.
//!
//! ```no_run
//! use std::time::Duration;
//! use wh_client::sender::{Message, Sender, Tries};
//! use wh_wire::socket::{ControlKind, ControlResult, Credential};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let sender = Sender::new("/run/user/1000/wheelhouse/daemon.sock", "local", |team| {
//!     let file = format!("/home/you/.config/wheelhouse/teams/{team}/credentials/local.token");
//!     let token = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
//!     Ok(Credential(token.trim().to_owned()))
//! })
//! .tries(ControlKind::Stdin, Tries { timeout: Duration::from_secs(5), retries: 3, ..Tries::default() })
//! .account(|record| eprintln!("{:?} {} {:?}", record.action, record.key.request_id, record.result));
//!
//! let message = Message::text("run the tests");
//! let ack = sender.send("build", &message).await?;
//! if ack.result != ControlResult::Ok {
//!     // The same message again is carried out once, however often and from wherever it is sent.
//!     sender.send("build", &message).await?;
//! }
//! # Ok(())
//! # }
//! ```

mod error;
mod line;
mod message;

pub use error::{SendError, may_come_again};
pub use line::{Line, LineError};
pub use message::{Message, Tries, Wish, new_request_id};

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::json;
use wh_wire::socket::{
    AuditAction, AuditRecord, CONTROL_VERSION, Capabilities, ContentRef, ControlAck, ControlAction, ControlAnswer,
    ControlContent, ControlKey, ControlKind, ControlRequest, ControlStdin, Credential, Meta, Seen, VERSION,
};

/// How much of a text in a file stands in the message itself, in characters.
const PREVIEW: usize = 240;

/// A text that is too long for a line: it is to be put into a file that only we can read, below the team's folder under `base`.
#[derive(Debug, Clone, Copy)]
pub struct LongText<'a> {
    /// Where the daemon takes texts from.
    pub base: &'a Path,
    /// The longest that it takes, in bytes.
    pub longest: u64,
    /// Whose folder.
    pub team: &'a str,
    /// The message's name.
    pub request_id: &'a str,
    /// The text.
    pub text: &'a str,
    /// Nobody needs it after that.
    pub expires_at: SystemTime,
}

type Prove = dyn Fn(&str) -> Result<Credential, String> + Send + Sync;
type Show = dyn Fn() -> Vec<Credential> + Send + Sync;
type Write = dyn Fn(&LongText<'_>) -> io::Result<ContentRef> + Send + Sync;
type RecordAudit = dyn Fn(AuditRecord) + Send + Sync;
type Warn = dyn Fn(&str) + Send + Sync;

/// Somebody who sends. Each message has a connection of its own, so several may be under way at once.
pub struct Sender {
    socket: PathBuf,
    member: String,
    prove: Box<Prove>,
    show: Box<Show>,
    write: Option<Box<Write>>,
    audit: Box<RecordAudit>,
    warn: Box<Warn>,
    tries: BTreeMap<ControlKind, Tries>,
}

impl fmt::Debug for Sender {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Sender");
        shown.field("socket", &self.socket).field("member", &self.member).field("tries", &self.tries);
        shown.finish_non_exhaustive()
    }
}

impl Sender {
    /// Sends to the daemon at this socket as this member of a session's team; `prove` gives their credential in the team that it is asked for.
    pub fn new(
        socket: impl Into<PathBuf>,
        member: impl Into<String>,
        prove: impl Fn(&str) -> Result<Credential, String> + Send + Sync + 'static,
    ) -> Self {
        Self {
            socket: socket.into(),
            member: member.into(),
            prove: Box::new(prove),
            show: Box::new(Vec::new),
            write: None,
            audit: Box::new(|_| {}),
            warn: Box::new(|_| {}),
            tries: BTreeMap::new(),
        }
    }

    /// How patiently messages of this kind are sent; otherwise as [`Tries::default`] says.
    #[must_use]
    pub fn tries(mut self, kind: ControlKind, tries: Tries) -> Self {
        self.tries.insert(kind, tries);
        self
    }

    /// The credentials with which sessions are looked up, one for each team at least; without it only sessions of the default team are found.
    #[must_use]
    pub fn shows(mut self, show: impl Fn() -> Vec<Credential> + Send + Sync + 'static) -> Self {
        self.show = Box::new(show);
        self
    }

    /// Puts texts into files that are too long for a line. Without it they are not sent.
    #[must_use]
    pub fn texts(mut self, write: impl Fn(&LongText<'_>) -> io::Result<ContentRef> + Send + Sync + 'static) -> Self {
        self.write = Some(Box::new(write));
        self
    }

    /// Receives an audit record of each thing that happens to a message, in order. It should not take long.
    #[must_use]
    pub fn account(mut self, audit: impl Fn(AuditRecord) + Send + Sync + 'static) -> Self {
        self.audit = Box::new(audit);
        self
    }

    /// Is told, in words, when a text is longer than the daemon likes.
    #[must_use]
    pub fn warnings(mut self, warn: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.warn = Box::new(warn);
        self
    }

    /// Sends, until there is an acknowledgement that settles it or there were enough tries. The session is meant by its name or its id.
    pub async fn send(&self, session: &str, message: &Message) -> Result<ControlAck, SendError> {
        let tries = self.tries.get(&message.wish.kind()).copied().unwrap_or_default();
        let key = ControlKey {
            session_id: session.to_owned(),
            request_id: message.request_id.clone(),
            ..ControlKey::default()
        };
        let timeout = tries.timeout_for(message.wish.text().map_or(0, str::len));
        let mut course = Course { sender: self, message, key, ready: None, sent: 0 };
        let mut tried = 0;
        loop {
            let outcome = course.once(timeout).await;
            let again = match &outcome {
                Ok(ack) => may_come_again(ack.result),
                Err(error) => error.may_pass(),
            };
            if !again {
                course.tidy();
            }
            if !again || tried >= tries.retries {
                return outcome;
            }
            tokio::time::sleep(tries.pause(tried)).await;
            tried += 1;
        }
    }
}

/// One message on its way.
struct Course<'a> {
    sender: &'a Sender,
    message: &'a Message,
    /// As far as it is known.
    key: ControlKey,
    ready: Option<Ready>,
    /// How often it was sent.
    sent: u64,
}

/// What is sent, the same in every try.
struct Ready {
    request: ControlRequest,
    credential: Credential,
}

impl Course<'_> {
    /// One try, written down however it ends.
    async fn once(&mut self, patience: Duration) -> Result<ControlAck, SendError> {
        let before = self.sent;
        let outcome = self.pass(patience).await;
        match &outcome {
            Ok(ack) => self.audit_ack(ack),
            Err(error) => self.audit_error(error, self.sent > before),
        }
        outcome
    }

    async fn pass(&mut self, patience: Duration) -> Result<ControlAck, SendError> {
        let late = |sent| move |_| SendError::Timeout { waited: patience, sent };
        let (mut line, ready) = tokio::time::timeout(patience, self.prepare()).await.map_err(late(false))??;
        let payload = ready.request.encode();
        let credential = ready.credential.clone();
        self.audit_sent(&ready);
        self.ready = Some(ready);
        self.sent += 1;
        let asked = line.ask("control", payload, Some(credential));
        let ack: ControlAck = tokio::time::timeout(patience, asked).await.map_err(late(true))??;
        if ack.request_id != self.key.request_id {
            return Err(SendError::OtherRequest { acked: ack.request_id });
        }
        Ok(ack)
    }

    /// A new line, and what is to be sent on it: the first time it is asked what the daemon can do and which session is meant.
    async fn prepare(&mut self) -> Result<(Line, Ready), SendError> {
        let mut line = Line::open(&self.sender.socket).await?;
        if let Some(mut ready) = self.ready.take() {
            ready.request.meta.retry_count = Some(self.sent);
            return Ok((line, ready));
        }
        let capabilities: Capabilities = line.ask("capabilities", json!({}), None).await?;
        let kind = self.message.wish.kind();
        let able = capabilities.protocol_versions.contains(&VERSION)
            && capabilities.control.v.contains(&CONTROL_VERSION)
            && capabilities.control.actions.iter().any(|action| action == kind.as_str());
        if !able {
            return Err(SendError::Unable { server: capabilities.server, kind });
        }
        line.show((self.sender.show)());
        let seen: Seen = line.ask("session", json!({ "session_id": self.key.session_id }), None).await?;
        line.show(Vec::new());
        self.key.session_id = seen.session.session_id;
        self.key.agent_id = seen.session.agent_id;
        self.key.team = seen.session.team;
        let member = &self.sender.member;
        let credential = (self.sender.prove)(&self.key.team).map_err(|why| SendError::NoCredential {
            member: member.clone(),
            team: self.key.team.clone(),
            why,
        })?;
        let request = self.request(&capabilities)?;
        Ok((line, Ready { request, credential }))
    }

    fn request(&self, capabilities: &Capabilities) -> Result<ControlRequest, SendError> {
        let mut meta = Meta {
            retry_count: Some(0),
            ui_source: self.message.ui_source.clone(),
            retry_of: self.message.retry_of.clone(),
            ..Meta::default()
        };
        let limits = &capabilities.limits;
        let length = self.message.wish.text().map_or(0, |text| text.len() as u64);
        if length > limits.soft_bytes && length <= limits.hard_bytes {
            (self.sender.warn)(&format!("the text has {length} bytes, which is much for one message"));
        }
        let action = match &self.message.wish {
            Wish::Interrupt => ControlAction::Interrupt,
            Wish::Answer { question, option, decision, text } => ControlAction::Answer(ControlAnswer {
                question_id: question.clone(),
                option: option.clone(),
                decision: *decision,
                text: text.clone(),
            }),
            Wish::Text { text, interrupt } => {
                let (content, preview) = if length <= limits.hard_bytes {
                    (ControlContent::Inline(text.clone()), None)
                } else {
                    meta.oversize_strategy = Some("content_ref".to_owned());
                    let reference = self.written(text, capabilities)?;
                    (ControlContent::Reference(reference), Some(text.chars().take(PREVIEW).collect()))
                };
                ControlAction::Stdin(ControlStdin { content, interrupt: *interrupt, preview })
            }
        };
        let (key, sender) = (self.key.clone(), self.sender.member.clone());
        Ok(ControlRequest { key, sender, sent_at: self.message.sent_at(), action, meta })
    }

    /// The text in a file, where the daemon takes it from.
    fn written(&self, text: &str, capabilities: &Capabilities) -> Result<ContentRef, SendError> {
        let (limits, bytes) = (&capabilities.limits, text.len() as u64);
        let (Some(base), Some(write)) = (&capabilities.content_ref_base, &self.sender.write) else {
            return Err(SendError::TooLong { bytes, allowed: limits.hard_bytes });
        };
        if bytes > limits.content_ref_bytes {
            return Err(SendError::TooLong { bytes, allowed: limits.content_ref_bytes });
        }
        let long = LongText {
            base: Path::new(base),
            longest: limits.content_ref_bytes,
            team: &self.key.team,
            request_id: &self.key.request_id,
            text,
            expires_at: SystemTime::now() + Duration::from_secs(limits.dedupe_secs),
        };
        write(&long).map_err(SendError::Text)
    }

    /// Takes the file of a text away that nobody needs any more.
    fn tidy(&self) {
        let Some(Ready { request, .. }) = &self.ready else { return };
        if let ControlAction::Stdin(ControlStdin { content: ControlContent::Reference(reference), .. }) =
            &request.action
        {
            let _ = std::fs::remove_file(&reference.path);
        }
    }

    fn audit_record(&self, action: AuditAction) -> AuditRecord {
        let mut record = AuditRecord::new(action, Some(self.message.wish.kind()), &self.key, SystemTime::now());
        record.sender = Some(self.sender.member.clone());
        record
    }

    fn audit_sent(&self, ready: &Ready) {
        let action = if self.sent == 0 { AuditAction::Request } else { AuditAction::Retry };
        let mut record = self.audit_record(action).with_content(&ready.request.action);
        record.retry_count = Some(self.sent);
        record.retry_of.clone_from(&self.message.retry_of);
        (self.sender.audit)(record);
    }

    fn audit_ack(&self, ack: &ControlAck) {
        let mut record = self.audit_record(AuditAction::Ack);
        record.result = Some(ack.result);
        record.duplicate = Some(ack.duplicate);
        (record.error, record.detail) = (ack.error.clone(), ack.detail.clone());
        record.with_outcome().for_each(|record| (self.sender.audit)(record));
    }

    /// `sent`: the message may have arrived all the same.
    fn audit_error(&self, error: &SendError, sent: bool) {
        let timeout = matches!(error, SendError::Timeout { .. });
        let mut record = self.audit_record(if timeout { AuditAction::Timeout } else { AuditAction::Failure });
        record.result = Some(error.result());
        record.duplicate = (!sent).then_some(false);
        record.error = Some(error.code().to_owned());
        record.detail = Some(error.to_string());
        (self.sender.audit)(record);
    }
}
