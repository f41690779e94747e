//! Encodes an [`AuditRecord`] as a line of the log.

use std::time::SystemTime;

use jiff::Timestamp;
use serde::Serialize;
use wh_wire::socket::{AuditAction, AuditRecord, ControlKey, ControlResult};

use super::LoggedText;

/// Short keys of a log entry, with their full names.
pub(super) const SHORT_KEYS: [(&str, &str); 22] = [
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

/// Maximum bytes of a logged name. Names come from untrusted messages.
const MAX_LOGGED_NAME_BYTES: usize = 256;

/// Truncates the message text of a record to the part that is logged.
pub(super) fn truncate_text(record: &mut AuditRecord, texts: LoggedText) {
    match (texts, &record.text) {
        (LoggedText::Omitted, _) => record.text = None,
        (LoggedText::Beginning(bytes), Some(text)) => record.text = Some(beginning(text, bytes)),
        (LoggedText::Beginning(_), None) | (LoggedText::Whole, _) => {}
    }
}

/// Creates the record that reports the number of lost records.
pub(super) fn dropped(count: u64, at: SystemTime) -> AuditRecord {
    let error = Some("entries were lost: the queue was full, or the file could not be written".to_owned());
    let record = AuditRecord::new(AuditAction::Dropped, None, &ControlKey::default(), at);
    AuditRecord { count: Some(count), error, ..record }
}

fn level(record: &AuditRecord) -> &'static str {
    match (record.action, record.result) {
        (AuditAction::Dropped, _) | (_, Some(ControlResult::InternalError)) => "error",
        (AuditAction::Failure | AuditAction::Timeout, _) => "warn",
        (_, None | Some(ControlResult::Ok)) => "info",
        _ => "warn",
    }
}

/// Encodes the header line of a file, which maps the short keys to their full names.
pub(super) fn header(now: SystemTime) -> Vec<u8> {
    #[derive(Serialize)]
    struct AuditLogHeader {
        v: u8,
        k: &'static str,
        ts: String,
        m: serde_json::Map<String, serde_json::Value>,
    }
    let m = SHORT_KEYS.iter().map(|(key, label)| ((*key).to_owned(), (*label).into())).collect();
    line(&AuditLogHeader { v: 1, k: "h", ts: time(now), m })
}

#[derive(Serialize)]
struct AuditLogEntry<'a> {
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
    /// Result; written as null until it is known.
    res: Option<&'static str>,
    /// Duplicate flag; written as null until it is known.
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

/// Encodes a record as one line.
pub(super) fn entry(record: &AuditRecord, source: &str) -> Vec<u8> {
    line(&AuditLogEntry {
        v: 1,
        k: "e",
        ts: time(record.at),
        lv: level(record),
        src: source,
        act: record.action.as_str(),
        team: short(&record.key.team),
        sid: short(&record.key.session_id),
        aid: short(&record.key.agent_id),
        snd: record.sender.as_deref().map(short),
        by: record.by.as_deref().map(short),
        target: record.kind.map(|kind| format!("control_{}", kind.as_str())),
        rid: short(&record.key.request_id),
        res: record.result.map(ControlResult::as_str),
        dup: record.duplicate,
        rtr: record.retry_count,
        rof: record.retry_of.as_deref().map(short),
        len: record.bytes,
        cnt: record.count,
        err: record.error.as_deref().map(short),
        det: record.detail.as_deref().map(|detail| beginning(detail, 4 * MAX_LOGGED_NAME_BYTES)),
        msg: record.text.as_deref(),
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
    beginning(text, MAX_LOGGED_NAME_BYTES)
}

/// Truncates text to at most `bytes` bytes without splitting a character, and appends an ellipsis to truncated text.
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
