//! Scripted Claude Code. The shell functions are in `fake-claude`.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;
use wh_claude::{ClaudeClient, Connection, Event, Events, Options};
use wh_testkit::CONDITION_TIMEOUT;
use wh_testkit::process::running;

/// Timeout longer than any test.
pub const LONG_TIMEOUT: Duration = Duration::from_secs(3600);

/// Script with its working directory.
pub struct Fake {
    directory: TempDir,
    script: String,
}

impl Fake {
    pub fn new(script: &str) -> Self {
        Self { directory: tempfile::tempdir().unwrap(), script: script.to_owned() }
    }

    /// Options that start the script in its directory.
    pub fn options(&self) -> Options {
        Options::new()
            .program(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/fake-claude"))
            .directory(self.directory.path())
            .env("FAKE_SCRIPT", &self.script)
            .env("FAKE_HEARD", self.path("heard"))
            .env("FAKE_PID", self.path("pid"))
            .control_timeout(LONG_TIMEOUT)
    }

    pub async fn client(&self) -> ClaudeClient {
        soon(ClaudeClient::connect(&self.options())).await.unwrap()
    }

    pub async fn connection(&self) -> (Connection, Events) {
        self.connection_with(self.options()).await
    }

    pub async fn connection_with(&self, options: Options) -> (Connection, Events) {
        let (connection, events, _) = soon(Connection::start(&options)).await.unwrap();
        (connection, events)
    }

    /// Path of a file in its directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Creates the file that the script waits for with `until_there`.
    pub fn open(&self, gate: &str) {
        fs::write(self.path(gate), "").unwrap();
    }

    /// Complete lines that the script has read.
    pub fn heard(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.path("heard")).unwrap_or_default();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole.lines().map(|line| serde_json::from_str(line).expect("we say JSON")).collect()
    }

    /// Waits until the script has read this number of lines, and returns them.
    pub async fn hears(&self, count: usize) -> Vec<Value> {
        soon(until(|| Some(self.heard()).filter(|heard| heard.len() >= count))).await
    }

    /// Waits for the answer to a question of the script.
    pub async fn answer(&self, id: &str) -> Value {
        soon(until(|| self.answers(id).pop())).await
    }

    /// Answers to a question of the script so far.
    pub fn answers(&self, id: &str) -> Vec<Value> {
        let answers = self.heard().into_iter().map(|mut line| line["response"].take());
        answers.filter(|response| response["request_id"] == id).collect()
    }

    /// Process whose id the script has written to a file.
    pub fn process(&self, name: &str) -> Pid {
        let text = fs::read_to_string(self.path(name)).expect("a process id is written");
        Pid::from_raw(text.trim().parse().expect("a process id"))
    }

    /// Waits until the process is gone.
    pub async fn gone(&self, name: &str) {
        soon(until(|| fs::read_to_string(self.path(name)).ok().filter(|text| text.ends_with('\n')))).await;
        let pid = self.process(name);
        soon(until(|| (!running(pid)).then_some(()))).await;
    }
}

/// Polls until a value is returned. The only sleep of these tests.
pub async fn until<T>(mut ask: impl FnMut() -> Option<T>) -> T {
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Awaits a future with a timeout.
#[track_caller]
pub fn soon<T>(future: impl Future<Output = T>) -> impl Future<Output = T> {
    let place = std::panic::Location::caller();
    async move {
        match tokio::time::timeout(CONDITION_TIMEOUT, future).await {
            Ok(value) => value,
            Err(_) => panic!("waited in vain at {place}"),
        }
    }
}

/// Awaits the next event with a timeout.
#[track_caller]
pub fn next(events: &mut Events) -> impl Future<Output = Event> {
    let event = soon(events.next());
    async move { event.await.expect("an event before the end") }
}
