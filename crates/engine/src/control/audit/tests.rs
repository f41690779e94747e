use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use nix::fcntl::{Flock, FlockArg};
use serde_json::{Value, json};
use wh_wire::socket::{AuditAction, ControlKey, ControlKind, ControlResult};

use super::*;

const FLUSH_TIMEOUT: Duration = Duration::from_secs(60);

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_771_622_100 + seconds)
}

fn record(action: AuditAction, request_id: &str, seconds: u64) -> AuditRecord {
    let key = ControlKey {
        team: "crew".to_owned(),
        session_id: "s1".to_owned(),
        agent_id: "codex:s1".to_owned(),
        request_id: request_id.to_owned(),
    };
    AuditRecord::new(action, Some(ControlKind::Stdin), &key, at(seconds))
}

fn options() -> AuditOptions {
    AuditOptions::new("wh-daemon")
}

fn written(path: &Path) -> Vec<Value> {
    fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn ids(path: &Path, filter: &AuditFilter) -> Vec<String> {
    let reading = read(path, filter).unwrap();
    reading.records.iter().map(|record| record.text("request_id").unwrap().to_owned()).collect()
}

#[test]
fn an_entry_has_short_keys_that_the_header_explains_and_every_field_of_the_protocol() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log/control.jsonl");
    let audit = AuditWriter::open(&path, options()).unwrap();
    let ack = AuditRecord {
        sender: Some("ada".to_owned()),
        by: Some("ada@crew".to_owned()),
        result: Some(ControlResult::NotFound),
        duplicate: Some(false),
        text: Some("a secret".to_owned()),
        bytes: Some(8),
        ..record(AuditAction::Ack, "r1", 0)
    };
    audit.record(AuditRecord { retry_of: Some("r0".to_owned()), ..record(AuditAction::Request, "r1", 0) });
    audit.record(ack);
    assert!(audit.flush(FLUSH_TIMEOUT));
    let lines = written(&path);
    assert_eq!((&lines[0]["k"], &lines[0]["m"]["rid"]), (&json!("h"), &json!("request_id")));
    let request = json!({
        "v": 1, "k": "e", "ts": "2026-02-20T21:15:00Z", "lv": "info", "src": "wh-daemon", "act": "control_request",
        "team": "crew", "sid": "s1", "aid": "codex:s1", "target": "control_stdin", "rid": "r1", "res": null, "dup": null,
        "rof": "r0"
    });
    assert_eq!(lines[0]["m"]["rof"], "retry_of");
    assert_eq!(lines[1], request);
    let ack = json!({
        "v": 1, "k": "e", "ts": "2026-02-20T21:15:00Z", "lv": "warn", "src": "wh-daemon", "act": "control_ack",
        "team": "crew", "sid": "s1", "aid": "codex:s1", "snd": "ada", "by": "ada@crew", "target": "control_stdin",
        "rid": "r1", "res": "not_found", "dup": false, "len": 8
    });
    assert_eq!(lines[2], ack);
    let known: Vec<&String> = lines[0]["m"].as_object().unwrap().keys().collect();
    assert!(ack.as_object().unwrap().keys().all(|key| known.contains(&key)));
    for (path, mode) in [(path.as_path(), 0o600), (path.parent().unwrap(), 0o700)] {
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, mode);
    }
}

#[test]
fn a_text_is_truncated_as_configured() {
    let logged = |texts| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control.jsonl");
        let audit = AuditWriter::open(&path, AuditOptions { texts, ..options() }).unwrap();
        audit.record(AuditRecord { text: Some("größe\nmehr".to_owned()), ..record(AuditAction::Request, "r1", 0) });
        drop(audit);
        written(&path)[1]["msg"].clone()
    };
    assert_eq!(logged(LoggedText::Omitted), Value::Null);
    assert_eq!(logged(LoggedText::Whole), json!("größe\nmehr"));
    assert_eq!(logged(LoggedText::Beginning(3)), json!("gr…"));
    assert_eq!(logged(LoggedText::Beginning(4)), json!("grö…"));
}

#[test]
fn text_that_is_not_logged_is_not_queued() {
    let waits = |texts| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control.jsonl");
        let audit = AuditWriter::open(&path, AuditOptions { texts, ..options() }).unwrap();
        let lock = File::open(format!("{}.lock", path.display())).unwrap();
        let lock = Flock::lock(lock, FlockArg::LockExclusive).map_err(|(_, error)| error).unwrap();
        // The thread takes the first record and waits for the lock; the second one stays in the queue.
        audit.record(record(AuditAction::Request, "r1", 0));
        while !audit.queue.lock().waiting.is_empty() {
            std::thread::yield_now();
        }
        audit.record(AuditRecord { text: Some("x".repeat(1 << 20)), ..record(AuditAction::Request, "r2", 0) });
        let kept = audit.queue.lock().waiting[0].text.as_ref().map_or(0, String::capacity);
        drop(lock);
        kept
    };
    assert_eq!(waits(LoggedText::Omitted), 0);
    assert!((100..1000).contains(&waits(LoggedText::Beginning(100))));
    assert!(waits(LoggedText::Whole) >= 1 << 20);
}

#[test]
fn untrusted_names_neither_break_a_line_nor_fill_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("control.jsonl");
    let audit = AuditWriter::open(&path, options()).unwrap();
    audit.record(record(AuditAction::Request, "r\n{\"k\":\"h\"}", 0));
    audit.record(record(AuditAction::Request, &"x".repeat(1 << 20), 0));
    drop(audit);
    let lines = written(&path);
    assert_eq!((lines.len(), &lines[1]["rid"]), (3, &json!("r\n{\"k\":\"h\"}")));
    assert!(lines[2]["rid"].as_str().unwrap().len() < 300);
}

#[test]
fn a_reader_finds_by_every_field_and_expands_the_keys() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("control.jsonl");
    let audit = AuditWriter::open(&path, options()).unwrap();
    audit.record(AuditRecord { sender: Some("ada".to_owned()), ..record(AuditAction::Request, "r1", 0) });
    audit.record(AuditRecord { result: Some(ControlResult::NotLive), ..record(AuditAction::Ack, "r1", 1) });
    let mut other = record(AuditAction::Request, "r2", 2);
    (other.key.team, other.key.session_id) = ("others".to_owned(), "s2".to_owned());
    audit.record(other);
    audit.record(record(AuditAction::Timeout, "r3", 3));
    drop(audit);
    let some = |text: &str| Some(text.to_owned());
    let by = |filter: AuditFilter| ids(&path, &filter);
    assert_eq!(by(AuditFilter::default()), ["r1", "r1", "r2", "r3"]);
    assert_eq!(by(AuditFilter { request_id: some("r1"), ..AuditFilter::default() }), ["r1", "r1"]);
    assert_eq!(by(AuditFilter { team: some("others"), ..AuditFilter::default() }), ["r2"]);
    assert_eq!(by(AuditFilter { session_id: some("s2"), ..AuditFilter::default() }), ["r2"]);
    assert_eq!(by(AuditFilter { sender: some("ada"), ..AuditFilter::default() }), ["r1"]);
    assert_eq!(by(AuditFilter { result: Some(ControlResult::NotLive), ..AuditFilter::default() }), ["r1"]);
    assert_eq!(by(AuditFilter { since: Some(at(2)), ..AuditFilter::default() }), ["r2", "r3"]);
    assert_eq!(by(AuditFilter { newest: Some(1), ..AuditFilter::default() }), ["r3"]);
    let record = &read(&path, &AuditFilter { result: Some(ControlResult::NotLive), ..AuditFilter::default() })
        .unwrap()
        .records[0];
    assert_eq!((record.text("action"), record.text("agent_id")), (Some("control_ack"), Some("codex:s1")));
}

#[test]
fn a_log_of_another_daemon_is_read_by_its_own_header() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.jsonl");
    let lines = concat!(
        r#"{"v":1,"k":"h","ts":"2026-11-15T19:30:40.322175003+00:00","m":{"anm":"agent_name","rid":"request_id","x":"new_field"}}"#,
        "\n",
        r#"{"v":1,"k":"e","ts":"2026-11-15T19:30:40.710441283+00:00","act":"control_ack","anm":"team-lead","res":"notfound","rid":"dupA","x":1}"#,
        "\n",
    );
    fs::write(&path, lines).unwrap();
    let filter = AuditFilter {
        result: Some(ControlResult::NotFound),
        sender: Some("team-lead".to_owned()),
        since: Some(at(0)),
        ..AuditFilter::default()
    };
    let reading = read(&path, &filter).unwrap();
    assert_eq!((reading.records.len(), &reading.records[0].0["new_field"]), (1, &json!(1)));
}

#[test]
fn a_torn_line_costs_only_itself() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("control.jsonl");
    let first = AuditWriter::open(&path, options()).unwrap();
    first.record(record(AuditAction::Request, "r1", 0));
    assert!(first.flush(FLUSH_TIMEOUT));
    let tear = || OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"v\":1,\"k\":\"e\",\"ri").unwrap();
    tear();
    let reading = read(&path, &AuditFilter::default()).unwrap();
    assert_eq!((reading.records.len(), reading.unreadable), (1, 1));
    // The open log continues on a new line, and so does one that is opened again.
    first.record(record(AuditAction::Request, "r2", 1));
    drop(first);
    tear();
    AuditWriter::open(&path, options()).unwrap().record(record(AuditAction::Request, "r3", 2));
    assert_eq!(ids(&path, &AuditFilter::default()), ["r1", "r2", "r3"]);
    assert_eq!(read(&path, &AuditFilter::default()).unwrap().unreadable, 2);
}

#[test]
fn a_large_log_is_rotated_and_the_oldest_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("control.jsonl");
    let audit = AuditWriter::open(&path, AuditOptions { rotate_at: 2000, keep: 2, ..options() }).unwrap();
    for number in 0..50 {
        audit.record(record(AuditAction::Request, &format!("r{number}"), number));
        assert!(audit.flush(FLUSH_TIMEOUT));
    }
    let mut names: Vec<String> =
        fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["control.jsonl", "control.jsonl.1", "control.jsonl.2", "control.jsonl.lock"]);
    for number in ["", ".1", ".2"] {
        let file = format!("{}{number}", path.display());
        assert!(fs::metadata(&file).unwrap().len() <= 2000);
        assert_eq!(written(Path::new(&file))[0]["k"], "h");
    }
    let kept = ids(&path, &AuditFilter::default());
    let newest: Vec<String> = (50 - kept.len()..50).map(|number| format!("r{number}")).collect();
    assert_eq!(kept, newest);
    assert!((10..50).contains(&kept.len()), "{}", kept.len());
}

#[test]
fn two_writers_lose_nothing_when_the_log_is_rotated() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("control.jsonl");
    let open = || AuditWriter::open(&path, AuditOptions { rotate_at: 5000, keep: 100, ..options() }).unwrap();
    let (one, other) = (open(), open());
    std::thread::scope(|scope| {
        for (name, audit) in [("a", &one), ("b", &other)] {
            scope.spawn(move || {
                for number in 0..200 {
                    audit.record(record(AuditAction::Request, &format!("{name}{number}"), number));
                    assert!(audit.flush(FLUSH_TIMEOUT));
                }
            });
        }
    });
    drop((one, other));
    let reading = read(&path, &AuditFilter::default()).unwrap();
    let mut kept: Vec<&str> = reading.records.iter().filter_map(|record| record.text("request_id")).collect();
    kept.sort_unstable();
    kept.dedup();
    assert_eq!((kept.len(), reading.records.len(), reading.unreadable), (400, 400, 0));
    assert!(path.with_extension("jsonl.1").exists());
}

#[test]
fn records_beyond_the_queue_are_counted_in_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("control.jsonl");
    let audit = AuditWriter::open(&path, AuditOptions { max_queued: 10, ..options() }).unwrap();
    // The log is locked by another process: the thread waits, the callers do not.
    let lock = File::open(format!("{}.lock", path.display())).unwrap();
    let lock = Flock::lock(lock, FlockArg::LockExclusive).map_err(|(_, error)| error).unwrap();
    for number in 0..100 {
        audit.record(record(AuditAction::Request, &format!("r{number}"), number));
    }
    let lost = audit.lost();
    assert!((80..=90).contains(&lost), "{lost}");
    assert!(!audit.flush(Duration::from_millis(1)));
    drop(lock);
    drop(audit);
    let reading = read(&path, &AuditFilter::default()).unwrap();
    let dropped: u64 = reading.records.iter().filter_map(|record| record.0.get("count")?.as_u64()).sum();
    let entries = reading.records.iter().filter(|record| record.text("action") == Some("control_request")).count();
    assert_eq!((dropped, entries as u64 + dropped), (lost, 100));
}

#[test]
fn failed_writes_are_counted_in_the_log_later() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log/control.jsonl");
    let audit = AuditWriter::open(&path, options()).unwrap();
    let away = folder.path().join("away");
    fs::rename(path.parent().unwrap(), &away).unwrap();
    audit.record(record(AuditAction::Request, "r1", 0));
    assert!(audit.flush(FLUSH_TIMEOUT));
    assert_eq!(audit.lost(), 1);
    fs::rename(&away, path.parent().unwrap()).unwrap();
    audit.record(record(AuditAction::Request, "r2", 1));
    drop(audit);
    let reading = read(&path, &AuditFilter::default()).unwrap();
    assert_eq!(reading.records[0].text("request_id"), Some("r2"));
    assert_eq!((reading.records[1].text("action"), &reading.records[1].0["count"]), (Some("audit_dropped"), &json!(1)));
}

#[test]
fn a_log_is_not_written_through_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("control.jsonl");
    std::os::unix::fs::symlink(folder.path().join("elsewhere"), &path).unwrap();
    assert!(AuditWriter::open(&path, options()).is_err());
    assert!(!folder.path().join("elsewhere").exists());
}
