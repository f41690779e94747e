use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use nix::fcntl::{Flock, FlockArg};
use serde_json::{Value, json};
use wh_wire::socket::{AuditAction, ControlKey, ControlKind, ControlResult};

use super::*;

const PATIENCE: Duration = Duration::from_secs(60);

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

fn options() -> Options {
    Options::new("wh-daemon")
}

fn written(path: &Path) -> Vec<Value> {
    fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn ids(path: &Path, filter: &Filter) -> Vec<String> {
    let reading = read(path, filter).unwrap();
    reading.records.iter().map(|record| record.text("request_id").unwrap().to_owned()).collect()
}

#[test]
fn an_entry_has_short_keys_that_the_header_explains_and_every_field_of_the_protocol() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log/control.jsonl");
    let audit = Audit::open(&path, options()).unwrap();
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
    assert!(audit.flush(PATIENCE));
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
fn a_text_is_logged_only_as_far_as_wished() {
    let logged = |texts| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control.jsonl");
        let audit = Audit::open(&path, Options { texts, ..options() }).unwrap();
        audit.record(AuditRecord { text: Some("größe\nmehr".to_owned()), ..record(AuditAction::Request, "r1", 0) });
        drop(audit);
        written(&path)[1]["msg"].clone()
    };
    assert_eq!(logged(Texts::Omitted), Value::Null);
    assert_eq!(logged(Texts::Whole), json!("größe\nmehr"));
    assert_eq!(logged(Texts::Beginning(3)), json!("gr…"));
    assert_eq!(logged(Texts::Beginning(4)), json!("grö…"));
}

#[test]
fn what_is_not_logged_of_a_text_does_not_wait_for_the_disk_either() {
    let waits = |texts| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control.jsonl");
        let audit = Audit::open(&path, Options { texts, ..options() }).unwrap();
        let lock = File::open(format!("{}.lock", path.display())).unwrap();
        let lock = Flock::lock(lock, FlockArg::LockExclusive).map_err(|(_, error)| error).unwrap();
        // The thread takes the first, and waits with it for the lock; the second stays in the queue.
        audit.record(record(AuditAction::Request, "r1", 0));
        while !audit.queue.lock().waiting.is_empty() {
            std::thread::yield_now();
        }
        audit.record(AuditRecord { text: Some("x".repeat(1 << 20)), ..record(AuditAction::Request, "r2", 0) });
        let kept = audit.queue.lock().waiting[0].text.as_ref().map_or(0, String::capacity);
        drop(lock);
        kept
    };
    assert_eq!(waits(Texts::Omitted), 0);
    assert!((100..1000).contains(&waits(Texts::Beginning(100))));
    assert!(waits(Texts::Whole) >= 1 << 20);
}

#[test]
fn names_of_strangers_neither_break_a_line_nor_fill_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("control.jsonl");
    let audit = Audit::open(&path, options()).unwrap();
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
    let audit = Audit::open(&path, options()).unwrap();
    audit.record(AuditRecord { sender: Some("ada".to_owned()), ..record(AuditAction::Request, "r1", 0) });
    audit.record(AuditRecord { result: Some(ControlResult::NotLive), ..record(AuditAction::Ack, "r1", 1) });
    let mut other = record(AuditAction::Request, "r2", 2);
    (other.key.team, other.key.session_id) = ("others".to_owned(), "s2".to_owned());
    audit.record(other);
    audit.record(record(AuditAction::Timeout, "r3", 3));
    drop(audit);
    let some = |text: &str| Some(text.to_owned());
    let by = |filter: Filter| ids(&path, &filter);
    assert_eq!(by(Filter::default()), ["r1", "r1", "r2", "r3"]);
    assert_eq!(by(Filter { request_id: some("r1"), ..Filter::default() }), ["r1", "r1"]);
    assert_eq!(by(Filter { team: some("others"), ..Filter::default() }), ["r2"]);
    assert_eq!(by(Filter { session_id: some("s2"), ..Filter::default() }), ["r2"]);
    assert_eq!(by(Filter { sender: some("ada"), ..Filter::default() }), ["r1"]);
    assert_eq!(by(Filter { result: Some(ControlResult::NotLive), ..Filter::default() }), ["r1"]);
    assert_eq!(by(Filter { since: Some(at(2)), ..Filter::default() }), ["r2", "r3"]);
    assert_eq!(by(Filter { newest: Some(1), ..Filter::default() }), ["r3"]);
    let record =
        &read(&path, &Filter { result: Some(ControlResult::NotLive), ..Filter::default() }).unwrap().records[0];
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
    let filter = Filter {
        result: Some(ControlResult::NotFound),
        sender: Some("team-lead".to_owned()),
        since: Some(at(0)),
        ..Filter::default()
    };
    let reading = read(&path, &filter).unwrap();
    assert_eq!((reading.records.len(), &reading.records[0].0["new_field"]), (1, &json!(1)));
}

#[test]
fn a_torn_line_costs_only_itself() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("control.jsonl");
    let first = Audit::open(&path, options()).unwrap();
    first.record(record(AuditAction::Request, "r1", 0));
    assert!(first.flush(PATIENCE));
    let tear = || OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"v\":1,\"k\":\"e\",\"ri").unwrap();
    tear();
    let reading = read(&path, &Filter::default()).unwrap();
    assert_eq!((reading.records.len(), reading.unreadable), (1, 1));
    // The one that has it open goes on on a line of its own, and so does one that opens it anew.
    first.record(record(AuditAction::Request, "r2", 1));
    drop(first);
    tear();
    Audit::open(&path, options()).unwrap().record(record(AuditAction::Request, "r3", 2));
    assert_eq!(ids(&path, &Filter::default()), ["r1", "r2", "r3"]);
    assert_eq!(read(&path, &Filter::default()).unwrap().unreadable, 2);
}

#[test]
fn a_log_that_has_grown_is_put_aside_and_the_oldest_go() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("control.jsonl");
    let audit = Audit::open(&path, Options { rotate_at: 2000, keep: 2, ..options() }).unwrap();
    for number in 0..50 {
        audit.record(record(AuditAction::Request, &format!("r{number}"), number));
        assert!(audit.flush(PATIENCE));
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
    let kept = ids(&path, &Filter::default());
    let newest: Vec<String> = (50 - kept.len()..50).map(|number| format!("r{number}")).collect();
    assert_eq!(kept, newest);
    assert!((10..50).contains(&kept.len()), "{}", kept.len());
}

#[test]
fn two_who_write_to_the_same_log_lose_nothing_when_it_is_put_aside() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("control.jsonl");
    let open = || Audit::open(&path, Options { rotate_at: 5000, keep: 100, ..options() }).unwrap();
    let (one, other) = (open(), open());
    std::thread::scope(|scope| {
        for (name, audit) in [("a", &one), ("b", &other)] {
            scope.spawn(move || {
                for number in 0..200 {
                    audit.record(record(AuditAction::Request, &format!("{name}{number}"), number));
                    assert!(audit.flush(PATIENCE));
                }
            });
        }
    });
    drop((one, other));
    let reading = read(&path, &Filter::default()).unwrap();
    let mut kept: Vec<&str> = reading.records.iter().filter_map(|record| record.text("request_id")).collect();
    kept.sort_unstable();
    kept.dedup();
    assert_eq!((kept.len(), reading.records.len(), reading.unreadable), (400, 400, 0));
    assert!(path.with_extension("jsonl.1").exists());
}

#[test]
fn what_finds_the_queue_full_is_counted_and_the_log_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("control.jsonl");
    let audit = Audit::open(&path, Options { depth: 10, ..options() }).unwrap();
    // Somebody else holds the log: the thread waits, the callers do not.
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
    let reading = read(&path, &Filter::default()).unwrap();
    let dropped: u64 = reading.records.iter().filter_map(|record| record.0.get("count")?.as_u64()).sum();
    let entries = reading.records.iter().filter(|record| record.text("action") == Some("control_request")).count();
    assert_eq!((dropped, entries as u64 + dropped), (lost, 100));
}

#[test]
fn what_cannot_be_written_is_counted_and_told_when_it_can_be_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log/control.jsonl");
    let audit = Audit::open(&path, options()).unwrap();
    let away = folder.path().join("away");
    fs::rename(path.parent().unwrap(), &away).unwrap();
    audit.record(record(AuditAction::Request, "r1", 0));
    assert!(audit.flush(PATIENCE));
    assert_eq!(audit.lost(), 1);
    fs::rename(&away, path.parent().unwrap()).unwrap();
    audit.record(record(AuditAction::Request, "r2", 1));
    drop(audit);
    let reading = read(&path, &Filter::default()).unwrap();
    assert_eq!(reading.records[0].text("request_id"), Some("r2"));
    assert_eq!((reading.records[1].text("action"), &reading.records[1].0["count"]), (Some("audit_dropped"), &json!(1)));
}

#[test]
fn a_log_is_not_written_through_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("control.jsonl");
    std::os::unix::fs::symlink(folder.path().join("elsewhere"), &path).unwrap();
    assert!(Audit::open(&path, options()).is_err());
    assert!(!folder.path().join("elsewhere").exists());
}
