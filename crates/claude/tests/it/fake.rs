//! A Claude Code that does what a script says: `fake-claude` beside this file has its words.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;
use wh_claude::{Client, Connection, Event, Events, Options};
use wh_testkit::PATIENCE;
use wh_testkit::process::running;

/// Longer than any test runs: who hears at once does not hear by a timeout.
pub const NEVER: Duration = Duration::from_secs(3600);

/// A script, and what came of it.
pub struct Fake {
    directory: TempDir,
    script: String,
}

impl Fake {
    pub fn new(script: &str) -> Self {
        Self { directory: tempfile::tempdir().unwrap(), script: script.to_owned() }
    }

    /// Options that start it in its own directory.
    pub fn options(&self) -> Options {
        Options::new()
            .program(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/fake-claude"))
            .directory(self.directory.path())
            .env("FAKE_SCRIPT", &self.script)
            .env("FAKE_HEARD", self.path("heard"))
            .env("FAKE_PID", self.path("pid"))
            .control_timeout(NEVER)
    }

    pub async fn client(&self) -> Client {
        soon(Client::connect(&self.options())).await.unwrap()
    }

    pub async fn connection(&self) -> (Connection, Events) {
        self.connection_with(self.options()).await
    }

    pub async fn connection_with(&self, options: Options) -> (Connection, Events) {
        let (connection, events, _) = soon(Connection::start(&options)).await.unwrap();
        (connection, events)
    }

    /// A file in its directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// What it waits for by `until_there`.
    pub fn open(&self, gate: &str) {
        fs::write(self.path(gate), "").unwrap();
    }

    /// All whole lines that it has heard.
    pub fn heard(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.path("heard")).unwrap_or_default();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole.lines().map(|line| serde_json::from_str(line).expect("we say JSON")).collect()
    }

    /// Waits until it has heard that many lines, and gives them.
    pub async fn hears(&self, count: usize) -> Vec<Value> {
        soon(until(|| Some(self.heard()).filter(|heard| heard.len() >= count))).await
    }

    /// What it was answered to its question.
    pub async fn answer(&self, id: &str) -> Value {
        soon(until(|| self.answers(id).pop())).await
    }

    /// All answers to its question so far.
    pub fn answers(&self, id: &str) -> Vec<Value> {
        let answers = self.heard().into_iter().map(|mut line| line["response"].take());
        answers.filter(|response| response["request_id"] == id).collect()
    }

    /// A process that it has written the id of before it spoke.
    pub fn process(&self, name: &str) -> Pid {
        let text = fs::read_to_string(self.path(name)).expect("a process id is written");
        Pid::from_raw(text.trim().parse().expect("a process id"))
    }

    /// Waits until the process has been there and is gone.
    pub async fn gone(&self, name: &str) {
        soon(until(|| fs::read_to_string(self.path(name)).ok().filter(|text| text.ends_with('\n')))).await;
        let pid = self.process(name);
        soon(until(|| (!running(pid)).then_some(()))).await;
    }
}

/// Asks until there is an answer. The one pause that these tests share.
pub async fn until<T>(mut ask: impl FnMut() -> Option<T>) -> T {
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The value, which must not take long.
#[track_caller]
pub fn soon<T>(future: impl Future<Output = T>) -> impl Future<Output = T> {
    let place = std::panic::Location::caller();
    async move {
        match tokio::time::timeout(PATIENCE, future).await {
            Ok(value) => value,
            Err(_) => panic!("waited in vain at {place}"),
        }
    }
}

/// The next event, which must not take long.
#[track_caller]
pub fn next(events: &mut Events) -> impl Future<Output = Event> {
    let event = soon(events.next());
    async move { event.await.expect("an event before the end") }
}
