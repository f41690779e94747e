//! Sends control messages to the sessions of a daemon: one request id for all attempts, authentication, a capability
//! check, retries, and an audit record of each step. `docs/socket.md` specifies the messages and acknowledgements.
//!
//! ```no_run
//! use std::time::Duration;
//! use wh_client::sender::{OutgoingControl, RetryPolicy, ControlSender};
//! use wh_wire::socket::{ControlKind, ControlResult, Credential};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let sender = ControlSender::new("/run/user/1000/wheelhouse/daemon.sock", "local", |team| {
//!     let file = format!("/home/you/.config/wheelhouse/teams/{team}/credentials/local.token");
//!     let token = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
//!     Ok(Credential(token.trim().to_owned()))
//! })
//! .retry_policy(ControlKind::Stdin, RetryPolicy { timeout: Duration::from_secs(5), retries: 3, ..RetryPolicy::default() })
//! .on_audit(|record| eprintln!("{:?} {} {:?}", record.action, record.key.request_id, record.result));
//!
//! let message = OutgoingControl::text("run the tests");
//! let ack = sender.send("build", &message).await?;
//! if ack.result != ControlResult::Ok {
//!     // Sending the same message again executes it at most once.
//!     sender.send("build", &message).await?;
//! }
//! # Ok(())
//! # }
//! ```

mod error;
mod line;
mod message;

pub use error::{SendError, is_retryable_result};
pub use line::{ConnectionError, DaemonConnection};
pub use message::{ControlIntent, OutgoingControl, RetryPolicy, new_request_id};

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::json;
use wh_wire::socket::{
    AuditAction, AuditRecord, CONTROL_VERSION, Capabilities, ContentRef, ControlAck, ControlAction, ControlAnswer,
    ControlContent, ControlKey, ControlKind, ControlMeta, ControlRequest, ControlStdin, Credential, SOCKET_VERSION,
    SessionDetails,
};

/// Number of characters of a long text that the message itself includes as a preview.
const MAX_CONTROL_PREVIEW_CHARS: usize = 240;

/// A text that is too long for a message, to be written to a private file in the team's folder below `base`.
#[derive(Debug, Clone, Copy)]
pub struct LongText<'a> {
    /// Directory from which the daemon reads long texts.
    pub base: &'a Path,
    /// Maximum size of the text in bytes that the daemon accepts.
    pub max_bytes: u64,
    /// Team in whose folder the file is written.
    pub team: &'a str,
    /// Request id of the message.
    pub request_id: &'a str,
    pub text: &'a str,
    /// Time after which the file is no longer needed.
    pub expires_at: SystemTime,
}

type CredentialLookup = dyn Fn(&str) -> Result<Credential, String> + Send + Sync;
type CredentialListing = dyn Fn() -> Vec<Credential> + Send + Sync;
type LongTextWriter = dyn Fn(&LongText<'_>) -> io::Result<ContentRef> + Send + Sync;
type AuditSink = dyn Fn(AuditRecord) + Send + Sync;
type WarnLongText = dyn Fn(&str) + Send + Sync;

/// Sends control messages. Each message uses a new connection, so several may be sent concurrently.
pub struct ControlSender {
    socket: PathBuf,
    member: String,
    prove: Box<CredentialLookup>,
    show: Box<CredentialListing>,
    write: Option<Box<LongTextWriter>>,
    audit: Box<AuditSink>,
    warn: Box<WarnLongText>,
    tries: BTreeMap<ControlKind, RetryPolicy>,
}

impl fmt::Debug for ControlSender {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("ControlSender");
        shown.field("socket", &self.socket).field("member", &self.member).field("tries", &self.tries);
        shown.finish_non_exhaustive()
    }
}

impl ControlSender {
    /// Creates a sender for the daemon at this socket. The sender acts as the member `member` of each session's team.
    /// `prove` returns the credential of the member in a team.
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

    /// Sets the retry policy for messages of this kind; the default is [`RetryPolicy::default`].
    #[must_use]
    pub fn retry_policy(mut self, kind: ControlKind, tries: RetryPolicy) -> Self {
        self.tries.insert(kind, tries);
        self
    }

    /// Sets the credentials for looking up sessions, at least one per team. Without them only sessions of the default
    /// team are found.
    #[must_use]
    pub fn lookup_credentials(mut self, show: impl Fn() -> Vec<Credential> + Send + Sync + 'static) -> Self {
        self.show = Box::new(show);
        self
    }

    /// Sets the function that writes long texts to files. Without it long texts are refused.
    #[must_use]
    pub fn on_long_text(
        mut self,
        write: impl Fn(&LongText<'_>) -> io::Result<ContentRef> + Send + Sync + 'static,
    ) -> Self {
        self.write = Some(Box::new(write));
        self
    }

    /// Sets the function that receives an audit record for each step, in order. The function must not block.
    #[must_use]
    pub fn on_audit(mut self, audit: impl Fn(AuditRecord) + Send + Sync + 'static) -> Self {
        self.audit = Box::new(audit);
        self
    }

    /// Sets the function that receives warnings about long texts.
    #[must_use]
    pub fn on_warning(mut self, warn: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.warn = Box::new(warn);
        self
    }

    /// Sends a message. Retries until the result is final or the retries are used up. `session` is a name or an id.
    pub async fn send(&self, session: &str, message: &OutgoingControl) -> Result<ControlAck, SendError> {
        let tries = self.tries.get(&message.intent.kind()).copied().unwrap_or_default();
        let key = ControlKey {
            session_id: session.to_owned(),
            request_id: message.request_id.clone(),
            ..ControlKey::default()
        };
        let timeout = tries.timeout_for(message.intent.text().map_or(0, str::len));
        let mut in_flight = MessageInFlight { sender: self, message, key, ready: None, sent: 0 };
        let mut tried = 0;
        loop {
            let outcome = in_flight.attempt(timeout).await;
            let again = match &outcome {
                Ok(ack) => is_retryable_result(ack.result),
                Err(error) => error.is_retryable(),
            };
            if !again {
                in_flight.remove_text_file();
            }
            if !again || tried >= tries.retries {
                return outcome;
            }
            tokio::time::sleep(tries.delay_before(tried)).await;
            tried += 1;
        }
    }
}

/// State of one call of [`ControlSender::send`].
struct MessageInFlight<'a> {
    sender: &'a ControlSender,
    message: &'a OutgoingControl,
    /// Team, session, agent and request id of the message. Fields that are not yet known are empty.
    key: ControlKey,
    ready: Option<PreparedControl>,
    /// Number of attempts in which the message was sent.
    sent: u64,
}

/// Request and credential, prepared by the first attempt. Further attempts change only the retry count.
struct PreparedControl {
    request: ControlRequest,
    credential: Credential,
}

impl MessageInFlight<'_> {
    /// Makes one attempt and audits its result.
    async fn attempt(&mut self, timeout: Duration) -> Result<ControlAck, SendError> {
        let before = self.sent;
        let outcome = self.exchange(timeout).await;
        match &outcome {
            Ok(ack) => self.audit_ack(ack),
            Err(error) => self.audit_error(error, self.sent > before),
        }
        outcome
    }

    async fn exchange(&mut self, timeout: Duration) -> Result<ControlAck, SendError> {
        let late = |sent| move |_| SendError::Timeout { waited: timeout, sent };
        let (mut line, ready) = tokio::time::timeout(timeout, self.prepare()).await.map_err(late(false))??;
        let payload = ready.request.encode();
        let credential = ready.credential.clone();
        self.audit_sent(&ready);
        self.ready = Some(ready);
        self.sent += 1;
        let asked = line.ask("control", payload, Some(credential));
        let ack: ControlAck = tokio::time::timeout(timeout, asked).await.map_err(late(true))??;
        if ack.request_id != self.key.request_id {
            return Err(SendError::OtherRequest { acked: ack.request_id });
        }
        Ok(ack)
    }

    /// Opens a connection and prepares the request. The first attempt queries the capabilities and resolves the
    /// session.
    async fn prepare(&mut self) -> Result<(DaemonConnection, PreparedControl), SendError> {
        let mut line = DaemonConnection::open(&self.sender.socket).await?;
        if let Some(mut ready) = self.ready.take() {
            ready.request.meta.retry_count = Some(self.sent);
            return Ok((line, ready));
        }
        let capabilities: Capabilities = line.ask("capabilities", json!({}), None).await?;
        let kind = self.message.intent.kind();
        let able = capabilities.protocol_versions.contains(&SOCKET_VERSION)
            && capabilities.control.v.contains(&CONTROL_VERSION)
            && capabilities.control.actions.iter().any(|action| action == kind.as_str());
        if !able {
            return Err(SendError::Unable { server: capabilities.server, kind });
        }
        line.show((self.sender.show)());
        let seen: SessionDetails = line.ask("session", json!({ "session_id": self.key.session_id }), None).await?;
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
        Ok((line, PreparedControl { request, credential }))
    }

    fn request(&self, capabilities: &Capabilities) -> Result<ControlRequest, SendError> {
        let mut meta = ControlMeta {
            retry_count: Some(0),
            ui_source: self.message.ui_source.clone(),
            retry_of: self.message.retry_of.clone(),
            ..ControlMeta::default()
        };
        let limits = &capabilities.limits;
        let length = self.message.intent.text().map_or(0, |text| text.len() as u64);
        if length > limits.soft_bytes && length <= limits.hard_bytes {
            let soft = limits.soft_bytes;
            (self.sender.warn)(&format!("the text has {length} bytes; at most {soft} are recommended"));
        }
        let action = match &self.message.intent {
            ControlIntent::Interrupt => ControlAction::Interrupt,
            ControlIntent::Answer { question, option, decision, text } => ControlAction::Answer(ControlAnswer {
                question_id: question.clone(),
                option: option.clone(),
                decision: *decision,
                text: text.clone(),
            }),
            ControlIntent::Text { text, interrupt } => {
                let (content, preview) = if length <= limits.hard_bytes {
                    (ControlContent::Inline(text.clone()), None)
                } else {
                    meta.oversize_strategy = Some("content_ref".to_owned());
                    let reference = self.write_text(text, capabilities)?;
                    (ControlContent::Reference(reference), Some(text.chars().take(MAX_CONTROL_PREVIEW_CHARS).collect()))
                };
                ControlAction::Stdin(ControlStdin { content, interrupt: *interrupt, preview })
            }
        };
        let (key, sender) = (self.key.clone(), self.sender.member.clone());
        Ok(ControlRequest { key, sender, sent_at: self.message.sent_at(), action, meta })
    }

    /// Writes the text to a file that the daemon can read.
    fn write_text(&self, text: &str, capabilities: &Capabilities) -> Result<ContentRef, SendError> {
        let (limits, bytes) = (&capabilities.limits, text.len() as u64);
        let (Some(base), Some(write)) = (&capabilities.content_ref_base, &self.sender.write) else {
            return Err(SendError::TooLong { bytes, allowed: limits.hard_bytes });
        };
        if bytes > limits.content_ref_bytes {
            return Err(SendError::TooLong { bytes, allowed: limits.content_ref_bytes });
        }
        let long = LongText {
            base: Path::new(base),
            max_bytes: limits.content_ref_bytes,
            team: &self.key.team,
            request_id: &self.key.request_id,
            text,
            expires_at: SystemTime::now() + Duration::from_secs(limits.dedupe_secs),
        };
        write(&long).map_err(SendError::Text)
    }

    /// Removes the file of a long text, if the request refers to one.
    fn remove_text_file(&self) {
        let Some(PreparedControl { request, .. }) = &self.ready else { return };
        if let ControlAction::Stdin(ControlStdin { content: ControlContent::Reference(reference), .. }) =
            &request.action
        {
            let _ = std::fs::remove_file(&reference.path);
        }
    }

    fn audit_record(&self, action: AuditAction) -> AuditRecord {
        let mut record = AuditRecord::new(action, Some(self.message.intent.kind()), &self.key, SystemTime::now());
        record.sender = Some(self.sender.member.clone());
        record
    }

    fn audit_sent(&self, ready: &PreparedControl) {
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

    /// Audits a failed attempt; `sent` is true if the message may have arrived.
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
