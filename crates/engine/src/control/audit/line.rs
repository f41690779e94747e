//! One entry of the log, and how it is written.

use std::time::SystemTime;

use jiff::Timestamp;
use serde::Serialize;
use wh_core::gate::MemberId;
use wh_wire::socket::{ControlKey, ControlKind, ControlResult};

use super::Texts;

/// The keys on the disk, and what they mean.
pub(super) const KEYS: [(&str, &str); 22] = [
    ("v", "schema_version"),
    ("k", "record_kind"),
    ("ts", "timestamp"),
    ("lv", "level"),
    ("src", "source"),
    ("act", "action"),
    ("team", "team"),
    ("sid", "session_id"),
    ("aid", "agent_id"),
    ("snd", "sender"),
    ("by", "proven_sender"),
    ("target", "target"),
    ("rid", "request_id"),
    ("res", "result"),
    ("dup", "duplicate"),
    ("rtr", "retry_count"),
    ("rof", "retry_of"),
    ("len", "content_bytes"),
    ("cnt", "count"),
    ("err", "error"),
    ("det", "detail"),
    ("msg", "message_text"),
];

/// Names come from strangers; so many characters of each are logged.
const LONGEST_NAME: usize = 256;

/// What is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// A message was sent, or came.
    Request,
    /// It was acknowledged.
    Ack,
    /// It was sent again.
    Retry,
    /// It was found to be a repetition.
    Duplicate,
    /// It came to nothing.
    Failure,
    /// Nothing was heard in time.
    Timeout,
    /// Entries were lost before this one.
    Dropped,
}

impl Act {
    /// As it is logged.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Request => "control_request",
            Self::Ack => "control_ack",
            Self::Retry => "control_retry",
            Self::Duplicate => "control_duplicate",
            Self::Failure => "control_failure",
            Self::Timeout => "control_timeout",
            Self::Dropped => "audit_dropped",
        }
    }
}

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// When.
    pub at: SystemTime,
    /// What.
    pub act: Act,
    /// About what kind of message.
    pub kind: Option<ControlKind>,
    /// Which message, to which session.
    pub key: ControlKey,
    /// Who says that it is theirs.
    pub sender: Option<String>,
    /// Who was proven to have sent it.
    pub by: Option<MemberId>,
    /// How it ended, if it has.
    pub result: Option<ControlResult>,
    /// Whether it was a repetition, if that is known.
    pub duplicate: Option<bool>,
    /// How often it was sent before.
    pub retry_count: Option<u64>,
    /// The request id of the message that it replaces.
    pub retry_of: Option<String>,
    /// The length of its text.
    pub bytes: Option<u64>,
    /// How many.
    pub count: Option<u64>,
    /// Why not, in a word.
    pub error: Option<String>,
    /// In words.
    pub detail: Option<String>,
    /// Its text. It is kept, and logged, only as far as [`Texts`] allows.
    pub text: Option<String>,
}

impl Event {
    /// An entry about this message, with nothing more to say.
    pub fn new(act: Act, kind: Option<ControlKind>, key: &ControlKey, at: SystemTime) -> Self {
        Self {
            at,
            act,
            kind,
            key: key.clone(),
            sender: None,
            by: None,
            result: None,
            duplicate: None,
            retry_count: None,
            retry_of: None,
            bytes: None,
            count: None,
            error: None,
            detail: None,
            text: None,
        }
    }

    /// Lets go of what is not logged of its text.
    pub(super) fn shorten(&mut self, texts: Texts) {
        match (texts, &self.text) {
            (Texts::Omitted, _) => self.text = None,
            (Texts::Beginning(bytes), Some(text)) => self.text = Some(beginning(text, bytes)),
            (Texts::Beginning(_), None) | (Texts::Whole, _) => {}
        }
    }

    pub(super) fn dropped(count: u64, at: SystemTime) -> Self {
        let error = Some("entries were lost: the queue was full, or the file could not be written".to_owned());
        Self { count: Some(count), error, ..Self::new(Act::Dropped, None, &ControlKey::default(), at) }
    }

    fn level(&self) -> &'static str {
        match (self.act, self.result) {
            (Act::Dropped, _) | (_, Some(ControlResult::InternalError)) => "error",
            (Act::Failure | Act::Timeout, _) => "warn",
            (_, None | Some(ControlResult::Ok)) => "info",
            _ => "warn",
        }
    }
}

/// The first line of a file. The map has the keys in their order.
pub(super) fn header(now: SystemTime) -> Vec<u8> {
    #[derive(Serialize)]
    struct Header {
        v: u8,
        k: &'static str,
        ts: String,
        m: serde_json::Map<String, serde_json::Value>,
    }
    let m = KEYS.iter().map(|(key, label)| ((*key).to_owned(), (*label).into())).collect();
    line(&Header { v: 1, k: "h", ts: time(now), m })
}

#[derive(Serialize)]
struct Entry<'a> {
    v: u8,
    k: &'static str,
    ts: String,
    lv: &'static str,
    src: &'a str,
    act: &'static str,
    team: String,
    sid: String,
    aid: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    snd: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    rid: String,
    /// Always there: null while it is not known.
    res: Option<&'static str>,
    /// Likewise.
    dup: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rtr: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rof: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    len: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cnt: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    err: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    det: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    msg: Option<&'a str>,
}

/// An entry as a line.
pub(super) fn entry(event: &Event, source: &str) -> Vec<u8> {
    line(&Entry {
        v: 1,
        k: "e",
        ts: time(event.at),
        lv: event.level(),
        src: source,
        act: event.act.as_str(),
        team: short(&event.key.team),
        sid: short(&event.key.session_id),
        aid: short(&event.key.agent_id),
        snd: event.sender.as_deref().map(short),
        by: event.by.as_ref().map(|by| short(&by.to_string())),
        target: event.kind.map(|kind| format!("control_{}", kind.as_str())),
        rid: short(&event.key.request_id),
        res: event.result.map(ControlResult::as_str),
        dup: event.duplicate,
        rtr: event.retry_count,
        rof: event.retry_of.as_deref().map(short),
        len: event.bytes,
        cnt: event.count,
        err: event.error.as_deref().map(short),
        det: event.detail.as_deref().map(|detail| beginning(detail, 4 * LONGEST_NAME)),
        msg: event.text.as_deref(),
    })
}

fn line(value: &impl Serialize) -> Vec<u8> {
    let mut bytes = serde_json::to_vec(value).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

fn time(at: SystemTime) -> String {
    Timestamp::try_from(at).unwrap_or(Timestamp::UNIX_EPOCH).to_string()
}

fn short(text: &str) -> String {
    beginning(text, LONGEST_NAME)
}

/// The first so many bytes at most, whole characters, with a sign if something was left out.
fn beginning(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let mut end = bytes;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", &text[..end])
}
