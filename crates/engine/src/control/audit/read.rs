//! Reads the audit log: filters its entries, and replaces short keys by full names.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::time::SystemTime;

use jiff::Timestamp;
use nix::fcntl::{Flock, FlockArg};
use serde_json::{Map, Value};
use wh_wire::socket::ControlResult;

use super::file::{lock_path, rotated_path};
use super::line::SHORT_KEYS;

/// Maximum number of rotated files that are read.
const MAX_ROTATED_FILES: usize = 1000;

/// Conditions for the entries to return. A field that is `None` matches every entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Request id of the message.
    pub request_id: Option<String>,
    /// Team of the session that the message was sent to.
    pub team: Option<String>,
    /// Session that the message was sent to.
    pub session_id: Option<String>,
    /// Sender stated in the message. It may differ from the authenticated sender.
    pub sender: Option<String>,
    /// Result in the acknowledgement of the message.
    pub result: Option<ControlResult>,
    pub since: Option<SystemTime>,
    /// Maximum number of entries to return; older entries are omitted.
    pub newest: Option<usize>,
}

/// Entries that match an [`AuditFilter`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FilteredRecords {
    /// Matching entries, oldest first.
    pub records: VecDeque<LoggedRecord>,
    /// Number of lines that cannot be parsed, such as a truncated last line.
    pub unreadable: usize,
}

/// Log entry with full field names in place of the short keys.
#[derive(Debug, Clone, PartialEq)]
pub struct LoggedRecord(pub Map<String, Value>);

impl LoggedRecord {
    /// Returns the value of a field by its full name; `None` if it is missing or not a string.
    pub fn text(&self, label: &str) -> Option<&str> {
        self.0.get(label)?.as_str()
    }

    /// Returns the time of the entry.
    pub fn at(&self) -> Option<SystemTime> {
        self.text("timestamp")?.parse::<Timestamp>().ok().map(SystemTime::from)
    }
}

/// Reads the log with its rotated files. The header of each file defines its short keys, so that logs of other versions
/// can be read.
pub fn read(path: &Path, filter: &AuditFilter) -> io::Result<FilteredRecords> {
    let mut reading = FilteredRecords::default();
    for file in files(path)? {
        let mut labels: HashMap<String, String> =
            SHORT_KEYS.iter().map(|(key, label)| ((*key).to_owned(), (*label).to_owned())).collect();
        for line in BufReader::new(file).split(b'\n') {
            let line = line?;
            if line.is_empty() {
                continue;
            }
            let Ok(Value::Object(mut fields)) = serde_json::from_slice(&line) else {
                reading.unreadable += 1;
                continue;
            };
            if fields.get("k").and_then(Value::as_str) == Some("h") {
                if let Some(Value::Object(map)) = fields.remove("m") {
                    let text = |(key, label): (String, Value)| Some((key, label.as_str()?.to_owned()));
                    labels.extend(map.into_iter().filter_map(text));
                }
                continue;
            }
            let full = |(key, value)| (labels.get(&key).cloned().unwrap_or(key), value);
            let record = LoggedRecord(fields.into_iter().map(full).collect());
            if filter.matches(&record) {
                reading.records.push_back(record);
            }
            if filter.newest.is_some_and(|most| reading.records.len() > most) {
                reading.records.pop_front();
            }
        }
    }
    Ok(reading)
}

/// Opens the files of the log, oldest first. All files are opened under the lock before the first is read, so that a
/// concurrent rotation cannot hide a file.
fn files(path: &Path) -> io::Result<Vec<File>> {
    let lock = File::open(lock_path(path)).ok();
    let _lock = lock.and_then(|lock| Flock::lock(lock, FlockArg::LockShared).ok());
    let mut files = vec![File::open(path)?];
    for number in 1..MAX_ROTATED_FILES {
        match File::open(rotated_path(path, number)) {
            Ok(file) => files.push(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => break,
            Err(error) => return Err(error),
        }
    }
    files.reverse();
    Ok(files)
}

impl AuditFilter {
    fn matches(&self, record: &LoggedRecord) -> bool {
        let is = |wanted: &Option<String>, label: &str| {
            wanted.as_deref().is_none_or(|wanted| record.text(label) == Some(wanted))
        };
        let sender = record.text("sender").or_else(|| record.text("agent_name"));
        // Some other tools write results without underscores, so underscores are ignored.
        let result = |wanted: ControlResult| {
            record.text("result").is_some_and(|result| result.replace('_', "") == wanted.as_str().replace('_', ""))
        };
        is(&self.request_id, "request_id")
            && is(&self.team, "team")
            && is(&self.session_id, "session_id")
            && self.sender.as_deref().is_none_or(|wanted| sender == Some(wanted))
            && self.result.is_none_or(result)
            && self.since.is_none_or(|since| record.at().is_some_and(|at| at >= since))
    }
}
