//! Reading the log: the entries that are looked for, with their keys in full.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::time::SystemTime;

use jiff::Timestamp;
use nix::fcntl::{Flock, FlockArg};
use serde_json::{Map, Value};
use wh_wire::socket::ControlResult;

use super::file::{aside, lock_path};
use super::line::KEYS;

/// Files put aside that are looked for.
const MOST_ASIDE: usize = 1000;

/// Which entries are looked for. What is absent does not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Of this message.
    pub request_id: Option<String>,
    /// Of this team.
    pub team: Option<String>,
    /// About this session.
    pub session_id: Option<String>,
    /// Of who says to be this.
    pub sender: Option<String>,
    /// With this result.
    pub result: Option<ControlResult>,
    /// From then on.
    pub since: Option<SystemTime>,
    /// Of those, so many of the newest.
    pub newest: Option<usize>,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reading {
    /// The entries, oldest first.
    pub records: VecDeque<Record>,
    /// Lines that could not be read, such as a last one that was cut off.
    pub unreadable: usize,
}

/// One entry, by the full names of its fields.
#[derive(Debug, Clone, PartialEq)]
pub struct Record(pub Map<String, Value>);

impl Record {
    /// The text of a field.
    pub fn text(&self, label: &str) -> Option<&str> {
        self.0.get(label)?.as_str()
    }

    /// When.
    pub fn at(&self) -> Option<SystemTime> {
        self.text("timestamp")?.parse::<Timestamp>().ok().map(SystemTime::from)
    }
}

/// Reads the log with what was put aside. Also reads logs whose header says other keys.
pub fn read(path: &Path, filter: &Filter) -> io::Result<Reading> {
    let mut reading = Reading::default();
    for file in files(path)? {
        let mut labels: HashMap<String, String> =
            KEYS.iter().map(|(key, label)| ((*key).to_owned(), (*label).to_owned())).collect();
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
            let record = Record(fields.into_iter().map(full).collect());
            if filter.takes(&record) {
                reading.records.push_back(record);
            }
            if filter.newest.is_some_and(|most| reading.records.len() > most) {
                reading.records.pop_front();
            }
        }
    }
    Ok(reading)
}

/// The files of the log, oldest first. They are all opened before any is read, so that none is put aside unread meanwhile.
fn files(path: &Path) -> io::Result<Vec<File>> {
    let lock = File::open(lock_path(path)).ok();
    let _lock = lock.and_then(|lock| Flock::lock(lock, FlockArg::LockShared).ok());
    let mut files = vec![File::open(path)?];
    for number in 1..MOST_ASIDE {
        match File::open(aside(path, number)) {
            Ok(file) => files.push(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => break,
            Err(error) => return Err(error),
        }
    }
    files.reverse();
    Ok(files)
}

impl Filter {
    fn takes(&self, record: &Record) -> bool {
        let is = |wanted: &Option<String>, label: &str| {
            wanted.as_deref().is_none_or(|wanted| record.text(label) == Some(wanted))
        };
        let sender = record.text("sender").or_else(|| record.text("agent_name"));
        // Other daemons write results without their underscores.
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
