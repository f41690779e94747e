//! Runs the `wh` binary under test headless and sends requests to its HTTP API.

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

use crate::http::{self, TestRequest, TestResponse};
use crate::output::PipeOutput;
use crate::{CONDITION_TIMEOUT, deadline, process};
use session::DaemonSession;
pub use session::IN_DAEMON_VARIABLE;

/// Grace period for wh and its children to exit before they are killed.
const EXIT_GRACE: Duration = Duration::from_secs(5);

/// Options for starting wh, as a builder.
#[must_use]
pub struct WhOptions {
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

impl WhOptions {
    /// Sets an environment variable of wh and its children.
    pub fn env(mut self, name: &str, value: impl Display) -> Self {
        self.env.push((name.to_owned(), value.to_string()));
        self
    }

    /// Replaces the environment. The test's own environment is not passed on.
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

    /// Starts `wh space connect` instead of `wh run`.
    pub fn space(mut self) -> Self {
        self.command = &["space", "connect"];
        self
    }

    /// Omits `--linger 0`, so that the API of `wh run` stays open for clients after the program has exited.
    pub fn waits_for_readers(mut self) -> Self {
        self.waits_for_readers = true;
        self
    }

    /// Omits the flag `--headless`.
    pub fn headed(mut self) -> Self {
        self.headless = false;
        self
    }

    /// Sets the control port. By default, wh chooses a free port.
    pub fn control_port(mut self, port: u16) -> Self {
        self.control_port = port;
        self
    }

    /// Sets the working directory of wh.
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// Starts `wh run … ARGS`, or `wh space connect … ARGS` after [`WhOptions::space`]. If the control port does not
    /// open, panics and prints the output of wh.
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

/// Running wh process. Dropping it ends wh and its children; if the test fails, it also prints the output of wh.
pub struct Wh {
    child: Child,
    port: u16,
    stdout: PipeOutput,
    stderr: PipeOutput,
    runtime: TempDir,
    /// Daemon session of the program; `None` if wh is a single run.
    session: Option<DaemonSession>,
}

impl Wh {
    /// Starts `wh run --headless --control-port 0 --linger 0 ARGS`. `bin` is `env!("CARGO_BIN_EXE_wh")`. ARGS includes
    /// the `--` before the program.
    #[track_caller]
    pub fn start(bin: impl AsRef<Path>, args: &[&str]) -> Self {
        Self::options(bin).start(args)
    }

    /// Returns default options for starting the binary `bin`.
    pub fn options(bin: impl AsRef<Path>) -> WhOptions {
        WhOptions {
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
        // At most one port is received. Later messages are dropped with the receiver.
        let (announce, announced) = mpsc::channel();
        let (stdout, _) = PipeOutput::drain(stdout, |_| {});
        let (stderr, _) = PipeOutput::drain(stderr, move |line| {
            if let Some(port) = control_port(line) {
                let _ = announce.send(port);
            }
        });
        let mut wh = Self { child, port: 0, stdout, stderr, runtime, session: None };
        let outcome = deadline::wait_until(CONDITION_TIMEOUT, || match announced.try_recv() {
            Ok(port) => Some(Ok(port)),
            // If the program exits immediately, wh exits too, perhaps before the line with the port was read.
            Err(_) => process::wait(&mut wh.child, Duration::ZERO)
                .map(|status| announced.recv_timeout(EXIT_GRACE).map_err(|_| status)),
        });
        match outcome {
            Some(Ok(port)) => wh.port = port,
            Some(Err(status)) => panic!("wh exited before its control port opened: {status}"),
            None => panic!("wh did not open its control port within {CONDITION_TIMEOUT:?}"),
        }
        wh
    }

    /// Returns the port of the HTTP API.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the host, port and path prefix of the HTTP API, for example `localhost:9090`, for commands such as
    /// `curl`.
    pub fn address(&self) -> String {
        let prefix = self.session.as_ref().map_or("", DaemonSession::prefix);
        format!("localhost:{}{prefix}", self.port)
    }

    /// Returns environment variables that make `curl` send the token. Empty if no token is required.
    pub fn curl_environment(&self) -> Vec<(String, String)> {
        let Some(session) = &self.session else { return Vec::new() };
        session.write_curlrc(self.runtime.path());
        vec![("CURL_HOME".to_owned(), self.runtime.path().display().to_string())]
    }

    pub fn pid(&self) -> Pid {
        process::pid(&self.child)
    }

    /// Returns the directory that wh uses as `XDG_RUNTIME_DIR`.
    pub fn runtime_dir(&self) -> &Path {
        self.runtime.path()
    }

    /// Returns the stdout of wh so far.
    pub fn stdout(&self) -> String {
        self.stdout.text()
    }

    /// Returns the stderr of wh so far.
    pub fn stderr(&self) -> String {
        self.stderr.text()
    }

    /// Sends a request to the HTTP API.
    #[track_caller]
    pub fn send(&self, request: &TestRequest) -> TestResponse {
        let addressed = self.session.as_ref().map(|session| session.address(request));
        let request = addressed.as_ref().unwrap_or(request);
        let records = self.runtime.path().join("wheelhouse");
        let client = http::TestClient::new(self.port, Some(records));
        client
            .and_then(|client| client.send(request))
            .unwrap_or_else(|error| panic!("wh did not answer {request:?}: {error}"))
    }

    /// Sends a GET request, and returns the response with any status.
    #[track_caller]
    pub fn get(&self, path: &str) -> TestResponse {
        self.send(&TestRequest::get(path))
    }

    /// Sends a POST request with a JSON body.
    #[track_caller]
    pub fn post(&self, path: &str, body: Value) -> TestResponse {
        self.send(&TestRequest::post_json(path, &body))
    }

    /// Types text into the program, and returns the response.
    #[track_caller]
    pub fn text(&self, text: &str) -> Value {
        self.input(json!({ "text": text }))
    }

    /// Sends a key press to the program's terminal, and returns the response.
    #[track_caller]
    pub fn key(&self, key: &str) -> Value {
        self.input(json!({ "key": key }))
    }

    /// Returns the response of `GET /control/screen`.
    #[track_caller]
    pub fn screen(&self) -> Value {
        let response = self.get("/control/screen");
        assert_eq!(response.status, 200, "GET /control/screen failed: {}", response.text());
        response.json()
    }

    /// Returns the screen as plain text.
    #[track_caller]
    pub fn plain(&self) -> String {
        let screen = self.screen();
        let plain = screen["plain"].as_str();
        plain.unwrap_or_else(|| panic!("the screen has no text `plain`: {screen}")).to_owned()
    }

    /// Waits on the server until a condition is true. After [`CONDITION_TIMEOUT`], panics with the current screen.
    #[track_caller]
    pub fn wait(&self, condition: &str) -> Value {
        let timeout = CONDITION_TIMEOUT.as_millis() as u64;
        let response = self.post("/control/wait", json!({ "condition": condition, "timeout": timeout }));
        if response.status != 200 {
            let (status, answer, screen) = (response.status, response.text(), self.plain());
            panic!("waiting for `{condition}` failed with status {status}: {answer}; the screen is\n{screen}");
        }
        response.json()
    }

    /// Waits until wh exits. Returns `None` if wh is still running after `timeout`.
    pub fn ended(&mut self, timeout: Duration) -> Option<ExitStatus> {
        process::wait(&mut self.child, timeout)
    }

    /// Waits until wh exits. Panics if wh is still running after `timeout`.
    #[track_caller]
    pub fn wait_exit(&mut self, timeout: Duration) -> ExitStatus {
        let Some(status) = self.ended(timeout) else {
            panic!("wh is still running after {timeout:?}");
        };
        status
    }

    /// Sends a signal to the wh process only, not to its process group.
    #[track_caller]
    pub fn signal(&self, signal: Signal) {
        kill(self.pid(), signal).unwrap_or_else(|error| panic!("cannot send {signal} to wh: {error}"));
    }

    #[track_caller]
    fn input(&self, body: Value) -> Value {
        let response = self.post("/control/send_input", body.clone());
        assert_eq!(response.status, 200, "the input {body} was rejected: {}", response.text());
        response.json()
    }
}

impl Drop for Wh {
    fn drop(&mut self) {
        if let Err(forced) = process::terminate(&mut self.child, EXIT_GRACE) {
            eprintln!("wh had to be killed: {forced}");
        }
        if std::thread::panicking() {
            eprintln!("--- stdout of wh\n{}--- stderr of wh\n{}---", self.stdout(), self.stderr());
        }
    }
}

/// Parses the port from the line that announces the control port.
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
    fn the_port_is_read_from_the_announcement() {
        let line = r#"{"event":"control-listening","url":"http://127.0.0.1:4321","port":4321,"pid":7}"#;
        assert_eq!(control_port(line), Some(4321));
        assert_eq!(control_port(r#"{"event":"other","port":4321}"#), None);
        assert_eq!(control_port("a warning"), None);
    }
}
