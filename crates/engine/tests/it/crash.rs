//! Killing the process at any moment loses nothing that was acknowledged.

use std::collections::BTreeMap;
use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use wh_engine::store::{
    BeginOutcome, ItemPosition, RequestState, SessionFilter, SessionKind, SessionRecord, Store, StoreError,
    StoreLimits, StoredItem,
};

use super::{INSIDE, again, key};

const RUNS: u64 = 20;

/// Acknowledged operations of one run. Each is a line that is written after the answer and before the next call.
#[derive(Default)]
struct Acknowledged {
    begun: HashSet<String>,
    done: HashMap<String, String>,
    undone: HashSet<String>,
    sessions: HashSet<String>,
    items: HashSet<String>,
    flushed: HashSet<String>,
}

impl Acknowledged {
    fn note(&mut self, line: &str) {
        let mut words = line.split(' ').map(str::to_owned);
        let (Some(what), Some(name)) = (words.next(), words.next()) else { return };
        match what.as_str() {
            "begun" => drop(self.begun.insert(name)),
            "done" => drop(self.done.insert(name, words.next().unwrap())),
            "undone" => drop(self.undone.insert(name)),
            "session" => drop(self.sessions.insert(name)),
            "item" => drop(self.items.insert(name)),
            "flushed" => drop(self.flushed.insert(name)),
            _ => {}
        }
    }
}

/// Not a test by itself: one run that ends by a kill.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn life() {
    let Some(directory) = std::env::var_os(INSIDE).map(PathBuf::from) else { return };
    // Small limits, so that histories are truncated and logs are checkpointed during the run.
    let store = Store::open_with(directory, StoreLimits { history_items: 50, ..StoreLimits::default() }).unwrap();
    let life = store.opening().epoch;
    let workers: Vec<_> = (0..8).map(|worker| tokio::spawn(work(store.clone(), life, worker))).collect();
    for worker in workers {
        worker.await.unwrap();
    }
}

async fn work(store: Store, life: u64, worker: u64) {
    let session = format!("s-{life}-{worker}");
    store.put_session(record(&session)).await.unwrap();
    say(&format!("session {session}"));
    for number in 0.. {
        let name = format!("{life}-{worker}-{number}");
        assert_eq!(store.begin(key(&name), &*name, SystemTime::now()).await.unwrap(), BeginOutcome::New);
        say(&format!("begun {name}"));
        match number % 4 {
            0 => {
                assert!(store.undo(key(&name)).await.unwrap());
                say(&format!("undone {name}"));
            }
            // Left pending: cut off by the next opening.
            1 => {}
            _ => {
                let result = format!("result-{number}");
                store.finish(key(&name), &*result, Some("x".repeat(500)), SystemTime::now()).await.unwrap();
                say(&format!("done {name} {result}"));
            }
        }
        let item = StoredItem { id: name.clone(), seq: number, json: "y".repeat(300) };
        if number % 3 == 0 {
            store.append_later(&session, vec![item]).unwrap();
            store.flush().await.unwrap();
            say(&format!("flushed {name}"));
        } else {
            store.append_items(&session, vec![item]).await.unwrap();
            say(&format!("item {name}"));
        }
    }
}

/// A single write per line, so that the parent reads complete lines or nothing.
fn say(line: &str) {
    std::io::stdout().lock().write_all(format!("{line}\n").as_bytes()).unwrap();
}

fn record(id: &str) -> SessionRecord {
    SessionRecord {
        id: id.to_owned(),
        name: id.to_owned(),
        team: "team".to_owned(),
        kind: SessionKind::Terminal,
        agent: None,
        command: vec!["true".to_owned()],
        directory: PathBuf::from("/"),
        size: None,
        model: None,
        mode: None,
        may_skip_permissions: false,
        environment: BTreeMap::new(),
        creators: Vec::new(),
        person: false,
        idempotency: None,
        created_at: UNIX_EPOCH,
        ended: None,
        resume: None,
        resume_changed: None,
    }
}

/// Kills the child when the test fails.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn what_was_acknowledged_is_there_after_a_kill_at_any_moment() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join("store");
    let mut all = Acknowledged::default();
    static SEED: AtomicU64 = AtomicU64::new(0x9E37_79B9_7F4A_7C15);
    for life in 1..=RUNS {
        // Number of lines before the kill. The scheduler decides where that is in the store's work.
        let mut random = SEED.load(Ordering::Relaxed);
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        SEED.store(random, Ordering::Relaxed);
        let lines = 30 + random % 400;

        let mut child = Killed(again("crash::life", &directory).stdout(Stdio::piped()).spawn().unwrap());
        let mut said = BufReader::new(child.0.stdout.take().unwrap());
        let mut line = String::new();
        for number in 0.. {
            if number == lines {
                child.0.kill().unwrap();
            }
            line.clear();
            // Lines written before the kill may still be in the pipe, and count.
            if said.read_line(&mut line).unwrap() == 0 {
                assert!(number >= lines, "life {life} ended by itself after {number} lines");
                break;
            }
            if let Some(whole) = line.strip_suffix('\n') {
                all.note(whole);
            }
        }
        drop(child);
        // Openings by the test itself count as well.
        let store = Store::open_with(&directory, StoreLimits { history_items: 50, ..StoreLimits::default() }).unwrap();
        assert_eq!(store.opening().epoch, life * 2);
        assert_eq!(store.opening().set_aside, None);
        check(&store, &all).await;
        store.close().await.unwrap();
    }
    assert!(all.done.len() > 100 && all.undone.len() > 100 && all.flushed.len() > 100, "the lives were lived");
}

async fn check(store: &Store, all: &Acknowledged) {
    for name in &all.begun {
        let known = store.lookup(key(name)).await.unwrap();
        if all.undone.contains(name) {
            assert_eq!(known, None, "{name} was taken back");
            continue;
        }
        let Some(entry) = known else {
            // It was being withdrawn at the kill: both outcomes are valid.
            assert!(name.rsplit('-').next().unwrap().parse::<u64>().unwrap() % 4 == 0, "{name} is lost");
            continue;
        };
        assert_eq!(&entry.fingerprint, name);
        match (&entry.state, all.done.get(name)) {
            (RequestState::Done { result, detail, .. }, Some(said)) => {
                assert_eq!((result, detail.as_ref().map(String::len)), (said, Some(500)), "{name}");
            }
            (RequestState::Done { .. } | RequestState::CutOff { .. }, None) => {}
            (state, said) => panic!("{name} is {state:?}, and was said to be {said:?}"),
        }
        assert!(
            matches!(store.begin(key(name), "other", SystemTime::now()).await, Ok(BeginOutcome::Known(_))),
            "{name}"
        );
    }
    let kept: HashSet<String> =
        store.sessions(SessionFilter::default()).await.unwrap().into_iter().map(|record| record.id).collect();
    assert!(all.sessions.is_subset(&kept), "{:?}", all.sessions.difference(&kept));
    for session in &all.sessions {
        let items = store.items_from(session, ItemPosition::START, 100).await.unwrap().items;
        let first = items.first().map_or(0, |item| item.seq);
        let kept: HashSet<&str> = items.iter().map(|item| item.id.as_str()).collect();
        let prefix = format!("{}-", session.strip_prefix("s-").unwrap());
        for name in all.items.iter().chain(&all.flushed).filter(|name| name.starts_with(&prefix)) {
            let seq: u64 = name[prefix.len()..].parse().unwrap();
            assert!(seq < first || kept.contains(name.as_str()), "item {name} is lost; kept are {first} and on");
        }
    }
}

#[tokio::test]
async fn a_killed_engine_leaves_no_lock_behind() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join("store");
    let mut child = Killed(again("crash::life", &directory).stdout(Stdio::piped()).spawn().unwrap());
    let mut said = BufReader::new(child.0.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(said.any(|line| line.starts_with("begun ")), "it has the store");
    let error = Store::open(&directory).err().expect("the child has it");
    assert_eq!(error, StoreError::Taken { directory: directory.clone(), pid: Some(child.0.id()) });
    child.0.kill().unwrap();
    child.0.wait().unwrap();
    Store::open(&directory).unwrap();
}
