//! The `wh` binary under test: started headless, asked over HTTP, gone when the test is.

mod session;

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::http::{self, Request, Response};
use crate::output::Output;
use crate::{PATIENCE, deadline, process};
use session::DaemonSession;
pub use session::IN_DAEMON;

/// How long wh and its children may take to end before they are forced to.
const GRACE: Duration = Duration::from_secs(5);

/// How to start wh.
#[must_use]
pub struct Options {
    bin: PathBuf,
    command: &'static [&'static str],
    flags: Vec<String>,
    headless: bool,
    control_port: u16,
    directory: Option<PathBuf>,
    inherit: bool,
    env: Vec<(String, String)>,
    waits_for_readers: bool,
}

impl Options {
    /// Sets a variable for wh and what it starts.
    pub fn env(mut self, name: &str, value: impl Display) -> Self {
        self.env.push((name.to_owned(), value.to_string()));
        self
    }

    /// Starts wh with these variables and nothing of the test's own environment.
    pub fn environment(mut self, env: impl IntoIterator<Item = (String, String)>) -> Self {
        self.inherit = false;
        self.env = env.into_iter().collect();
        self
    }

    /// Adds a flag, or a flag and its value, before the arguments.
    pub fn flags(mut self, flags: &[&str]) -> Self {
        self.flags.extend(flags.iter().map(|&flag| flag.to_owned()));
        self
    }

    /// Starts `wh space connect` in the place of `wh run`.
    pub fn space(mut self) -> Self {
        self.command = &["space", "connect"];
        self
    }

    /// Leaves out `--linger 0`, so that the API of a `wh run` stays open for a client that may want to read the end.
    pub fn waits_for_readers(mut self) -> Self {
        self.waits_for_readers = true;
        self
    }

    /// Leaves out `--headless`.
    pub fn headed(mut self) -> Self {
        self.headless = false;
        self
    }

    /// Asks for a port instead of letting wh pick one.
    pub fn control_port(mut self, port: u16) -> Self {
        self.control_port = port;
        self
    }

    /// The directory that wh starts in.
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// Starts `wh run … ARGS`. Panics with what wh said when its control plane does not come up.
    #[track_caller]
    pub fn start(self, args: &[&str]) -> Wh {
        if session::wanted() {
            return self.start_in_daemon(args);
        }
        let runtime = tempfile::tempdir().expect("a directory for the runtime files of wh");
        let mut command = Command::new(&self.bin);
        command.args(self.command);
        if self.headless {
            command.arg("--headless");
        }
        command.args(["--control-port", &self.control_port.to_string()]);
        let lingers = self.waits_for_readers || self.flags.iter().any(|flag| flag == "--linger");
        if self.command == ["run"] && !lingers {
            command.args(["--linger", "0"]);
        }
        command.args(&self.flags).args(args);
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        if !self.inherit {
            command.env_clear();
        }
        command.env("XDG_RUNTIME_DIR", runtime.path()).envs(self.env);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = process::with_default_signals(&mut command).spawn();
        let child = child.unwrap_or_else(|error| panic!("cannot start {}: {error}", self.bin.display()));
        Wh::listening(child, runtime)
    }
}

/// A running wh. Its drop ends it and all that it started; a failing test shows what it printed.
pub struct Wh {
    child: Child,
    port: u16,
    stdout: Output,
    stderr: Output,
    runtime: TempDir,
    /// The session of a daemon that it is, if it is one.
    session: Option<DaemonSession>,
}

impl Wh {
    /// Starts `wh run --headless --control-port 0 ARGS`; `bin` is `env!("CARGO_BIN_EXE_wh")`, and ARGS holds the `--`
    /// before the program.
    #[track_caller]
    pub fn start(bin: impl AsRef<Path>, args: &[&str]) -> Self {
        Self::options(bin).start(args)
    }

    /// As [`Wh::start`], with something said otherwise.
    pub fn options(bin: impl AsRef<Path>) -> Options {
        Options {
            bin: bin.as_ref().to_owned(),
            command: &["run"],
            flags: Vec::new(),
            headless: true,
            control_port: 0,
            directory: None,
            inherit: true,
            env: Vec::new(),
            waits_for_readers: false,
        }
    }

    #[track_caller]
    fn listening(mut child: Child, runtime: TempDir) -> Self {
        let stdout = child.stdout.take().expect("stdout is piped");
        let stderr = child.stderr.take().expect("stderr is piped");
        // One message at most is read from it; the rest, if wh should say more, is dropped with the receiver.
        let (announce, announced) = mpsc::channel();
        let (stdout, _) = Output::drain(stdout, |_| {});
        let (stderr, _) = Output::drain(stderr, move |line| {
            if let Some(port) = control_port(line) {
                let _ = announce.send(port);
            }
        });
        let mut wh = Self { child, port: 0, stdout, stderr, runtime, session: None };
        let outcome = deadline::before(PATIENCE, || match announced.try_recv() {
            Ok(port) => Some(Ok(port)),
            // A program that ends at once takes wh with it, perhaps before its line is read.
            Err(_) => process::wait(&mut wh.child, Duration::ZERO)
                .map(|status| announced.recv_timeout(GRACE).map_err(|_| status)),
        });
        match outcome {
            Some(Ok(port)) => wh.port = port,
            Some(Err(status)) => panic!("wh ended before its control plane came up: {status}"),
            None => panic!("wh runs and its control plane does not come up"),
        }
        wh
    }

    /// The port of the control plane.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The address before every path, as `localhost:9090`, for commands that ask by themselves.
    pub fn address(&self) -> String {
        let prefix = self.session.as_ref().map_or("", DaemonSession::prefix);
        format!("localhost:{}{prefix}", self.port)
    }

    /// Variables with which `curl` sends the token that is wanted, if one is.
    pub fn curl_environment(&self) -> Vec<(String, String)> {
        let Some(session) = &self.session else { return Vec::new() };
        session.write_curlrc(self.runtime.path());
        vec![("CURL_HOME".to_owned(), self.runtime.path().display().to_string())]
    }

    /// The process.
    pub fn pid(&self) -> Pid {
        process::pid(&self.child)
    }

    /// The directory that wh has as `XDG_RUNTIME_DIR`.
    pub fn runtime_dir(&self) -> &Path {
        self.runtime.path()
    }

    /// What wh has written to stdout so far.
    pub fn stdout(&self) -> String {
        self.stdout.text()
    }

    /// What wh has written to stderr so far.
    pub fn stderr(&self) -> String {
        self.stderr.text()
    }

    /// Sends any request to the control plane.
    #[track_caller]
    pub fn send(&self, request: &Request) -> Response {
        let addressed = self.session.as_ref().map(|session| session.address(request));
        let request = addressed.as_ref().unwrap_or(request);
        let records = self.runtime.path().join("wheelhouse");
        let client = http::Client::new(self.port, Some(records));
        client
            .and_then(|client| client.send(request))
            .unwrap_or_else(|error| panic!("wh did not answer {request:?}: {error}"))
    }

    /// GETs a path.
    #[track_caller]
    pub fn get(&self, path: &str) -> Response {
        self.send(&Request::get(path))
    }

    /// POSTs JSON to a path.
    #[track_caller]
    pub fn post(&self, path: &str, body: Value) -> Response {
        self.send(&Request::post_json(path, &body))
    }

    /// Types text.
    #[track_caller]
    pub fn text(&self, text: &str) -> Value {
        self.input(json!({ "text": text }))
    }

    /// Presses a key.
    #[track_caller]
    pub fn key(&self, key: &str) -> Value {
        self.input(json!({ "key": key }))
    }

    /// What `GET /control/screen` says.
    #[track_caller]
    pub fn screen(&self) -> Value {
        let response = self.get("/control/screen");
        assert_eq!(response.status, 200, "the screen: {}", response.text());
        response.json()
    }

    /// The screen as plain text.
    #[track_caller]
    pub fn plain(&self) -> String {
        let screen = self.screen();
        let plain = screen["plain"].as_str();
        plain.unwrap_or_else(|| panic!("no text under `plain` in {screen}")).to_owned()
    }

    /// Waits at the server until the condition holds. Panics with the screen when it does not within [`PATIENCE`].
    #[track_caller]
    pub fn wait(&self, condition: &str) -> Value {
        let timeout = PATIENCE.as_millis() as u64;
        let response = self.post("/control/wait", json!({ "condition": condition, "timeout": timeout }));
        if response.status != 200 {
            let (status, answer, screen) = (response.status, response.text(), self.plain());
            panic!("waiting for `{condition}` gave {status} {answer}; the screen is\n{screen}");
        }
        response.json()
    }

    /// How wh ended, if it does within `timeout`.
    pub fn ended(&mut self, timeout: Duration) -> Option<ExitStatus> {
        process::wait(&mut self.child, timeout)
    }

    /// How wh ended. Panics when it is still there after `timeout`.
    #[track_caller]
    pub fn wait_exit(&mut self, timeout: Duration) -> ExitStatus {
        let Some(status) = self.ended(timeout) else {
            panic!("wh still runs after {timeout:?}");
        };
        status
    }

    /// Sends a signal to the process, and to no other of its group.
    #[track_caller]
    pub fn signal(&self, signal: Signal) {
        kill(self.pid(), signal).unwrap_or_else(|error| panic!("cannot send {signal} to wh: {error}"));
    }

    #[track_caller]
    fn input(&self, body: Value) -> Value {
        let response = self.post("/control/send_input", body.clone());
        assert_eq!(response.status, 200, "{body} was answered with {}", response.text());
        response.json()
    }
}

impl Drop for Wh {
    fn drop(&mut self) {
        if let Err(forced) = process::end(&mut self.child, GRACE) {
            eprintln!("wh had to be forced: {forced}");
        }
        if std::thread::panicking() {
            eprintln!("--- stdout of wh\n{}--- stderr of wh\n{}---", self.stdout(), self.stderr());
        }
    }
}

/// The port in the line that says that the control plane listens.
fn control_port(line: &str) -> Option<u16> {
    let event: Value = serde_json::from_str(line).ok()?;
    if event["event"] != "control-listening" {
        return None;
    }
    event["port"].as_u64()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_is_read_from_the_line_that_says_so() {
        let line = r#"{"event":"control-listening","url":"http://127.0.0.1:4321","port":4321,"pid":7}"#;
        assert_eq!(control_port(line), Some(4321));
        assert_eq!(control_port(r#"{"event":"other","port":4321}"#), None);
        assert_eq!(control_port("a warning"), None);
    }
}
