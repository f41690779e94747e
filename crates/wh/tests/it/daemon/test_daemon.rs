//! Test daemon with private directories, and its clients.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use wh_testkit::http::{TestRequest, TestResponse};
use wh_testkit::{CONDITION_TIMEOUT, eventually, process};

use crate::WH;

/// Time for the daemon to end everything before it is killed.
const GRACE: Duration = Duration::from_secs(20);

/// Uid of an unprivileged user.
const NOBODY: u32 = 65534;

/// Test daemon. Ends with all of its processes when dropped; a failing test prints its log.
pub struct TestDaemon {
    root: TempDir,
    environment: BTreeMap<String, String>,
    daemon: Option<Child>,
    /// Binary and user of the daemon, if they differ from the test's.
    other_user: Option<(PathBuf, u32)>,
}

/// Session and its ids, as used in messages.
#[derive(Debug, Clone)]
pub struct Session {
    pub id: String,
    pub agent_id: String,
    pub team: String,
    pub name: String,
}

impl Session {
    pub fn of(summary: &Value) -> Self {
        let text = |field: &str| summary[field].as_str().unwrap_or_else(|| panic!("{field} in {summary}")).to_owned();
        Self { id: text("session_id"), agent_id: text("agent_id"), team: text("team"), name: text("name") }
    }
}

impl TestDaemon {
    /// Starts a daemon.
    #[track_caller]
    pub fn new() -> Self {
        Self::with([])
    }

    /// Starts a daemon with these environment variables.
    #[track_caller]
    pub fn with(environment: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut daemon = Self::empty(environment);
        daemon.start();
        daemon
    }

    /// Creates the directories without starting a daemon.
    pub fn empty(environment: impl IntoIterator<Item = (String, String)>) -> Self {
        let root = tempfile::Builder::new().prefix("wh-d.").tempdir().unwrap();
        let path = std::env::var("PATH").unwrap();
        let mut all = BTreeMap::from([
            ("PATH".to_owned(), path),
            ("HOME".to_owned(), root.path().join("home").display().to_string()),
            ("TERM".to_owned(), "xterm-256color".to_owned()),
            ("LANG".to_owned(), "C.UTF-8".to_owned()),
        ]);
        all.extend(environment);
        for (name, folder) in
            [("XDG_RUNTIME_DIR", "runtime"), ("XDG_STATE_HOME", "state"), ("XDG_CONFIG_HOME", "config")]
        {
            let folder = root.path().join(folder);
            fs::create_dir_all(&folder).unwrap();
            all.insert(name.to_owned(), folder.display().to_string());
        }
        fs::create_dir_all(root.path().join("home")).unwrap();
        fs::create_dir_all(root.path().join("work")).unwrap();
        Self { root, environment: all, daemon: None, other_user: None }
    }

    /// Creates the directories for an unprivileged user, who sees less of other processes. Uses another user if the
    /// test runs as root.
    pub fn unprivileged(environment: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut daemon = Self::empty(environment);
        if nix::unistd::geteuid().is_root() {
            let seen = Command::new(WH).arg("--version").uid(NOBODY).gid(NOBODY).stdout(Stdio::null()).status();
            let binary = if seen.is_ok_and(|status| status.success()) {
                PathBuf::from(WH)
            } else {
                let copy = daemon.root().join("wh");
                fs::copy(WH, &copy).unwrap();
                copy
            };
            daemon.other_user = Some((binary, NOBODY));
            daemon.give(daemon.root());
            fs::read_dir(daemon.root()).unwrap().flatten().for_each(|entry| daemon.give(&entry.path()));
        }
        let binary = daemon.binary().display().to_string();
        daemon.environment.insert("WH".to_owned(), binary);
        daemon
    }

    /// Path of the binary.
    pub fn binary(&self) -> &Path {
        self.other_user.as_ref().map_or(Path::new(WH), |(binary, _)| binary)
    }

    /// Makes the daemon's user the owner of a file.
    fn give(&self, path: &Path) {
        if let Some((_, user)) = self.other_user {
            std::os::unix::fs::chown(path, Some(user), Some(user)).unwrap();
        }
    }

    /// Writes a file that only the daemon's user can read and execute.
    pub fn script(&self, name: &str, text: &str) -> PathBuf {
        let path = self.root().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        self.give(path.parent().unwrap());
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        self.give(&path);
        path
    }

    /// Writes an agent's script and an `agents.toml` with only this agent.
    pub fn add_agent(&self, name: &str, text: &str) {
        let program = self.script(name, text).display().to_string();
        self.script("config/wheelhouse/agents.toml", &format!("[agents.{name}]\ncommand = {program:?}\n"));
    }

    /// Starts the daemon and waits until it accepts connections.
    #[track_caller]
    pub fn start(&mut self) {
        let log = fs::OpenOptions::new().append(true).create(true).open(self.log()).unwrap();
        let mut child = self.wh(&["daemon", "start", "--foreground"]).stderr(log).spawn().unwrap();
        eventually("the daemon is ready", || {
            let ended = child.try_wait().unwrap();
            assert!(ended.is_none(), "the daemon ended: {}", fs::read_to_string(self.log()).unwrap_or_default());
            let status: Value = serde_json::from_str(&self.read("runtime/wheelhouse/daemon.json")?).ok()?;
            (status["pid"] == child.id()).then_some(())
        });
        self.daemon = Some(child);
    }

    fn log(&self) -> PathBuf {
        self.root.path().join("daemon.log")
    }

    fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.root.path().join(path)).ok()
    }

    /// Returns the daemon's log.
    pub fn said(&self) -> String {
        self.read("daemon.log").unwrap_or_default()
    }

    /// Root of all directories.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// Working directory of sessions.
    pub fn work(&self) -> PathBuf {
        self.root.path().join("work")
    }

    /// Directory of referenced texts.
    pub fn contents(&self) -> PathBuf {
        self.root.path().join("state/wheelhouse/contents")
    }

    /// Returns the daemon's process id.
    #[track_caller]
    pub fn pid(&self) -> nix::unistd::Pid {
        process::pid(self.daemon.as_ref().expect("a daemon runs"))
    }

    /// Kills the daemon with SIGKILL.
    #[track_caller]
    pub fn kill(&mut self) {
        let mut daemon = self.daemon.take().expect("a daemon runs");
        daemon.kill().unwrap();
        daemon.wait().unwrap();
    }

    /// Waits for the exit of a daemon that was asked to stop.
    #[track_caller]
    pub fn ended(&mut self) -> std::process::ExitStatus {
        let mut daemon = self.daemon.take().expect("a daemon runs");
        process::wait(&mut daemon, CONDITION_TIMEOUT).expect("the daemon ends")
    }

    /// Returns the environment of a shell of this user.
    pub fn environment(&self) -> Vec<(String, String)> {
        self.environment.clone().into_iter().collect()
    }

    /// Returns a wh command with the environment of this user's shell.
    pub fn wh(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.binary());
        if let Some((_, user)) = &self.other_user {
            command.uid(*user).gid(*user);
        }
        command.args(arguments).env_clear().envs(&self.environment).current_dir(self.work());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        process::with_default_signals(&mut command);
        command
    }

    /// Runs a wh command to completion.
    #[track_caller]
    pub fn run(&self, arguments: &[&str]) -> Output {
        self.wh(arguments).output().unwrap()
    }

    /// Returns the output of a wh command that must succeed.
    #[track_caller]
    pub fn ok(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "wh {arguments:?} ended with {}: {said}", output.status);
        String::from_utf8(output.stdout).unwrap()
    }

    /// Returns exit code and standard error of a wh command that must fail.
    #[track_caller]
    pub fn fails(&self, arguments: &[&str]) -> (i32, String) {
        let output = self.run(arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success(), "wh {arguments:?} should fail: {}", String::from_utf8_lossy(&output.stdout));
        (output.status.code().expect("no signal"), said)
    }

    /// Returns the output of `wh daemon status --json`.
    #[track_caller]
    pub fn status(&self) -> Value {
        serde_json::from_str(&self.ok(&["daemon", "status", "--json"])).unwrap()
    }

    /// Returns the port of the HTTP API.
    #[track_caller]
    pub fn port(&self) -> u16 {
        let file: Value = serde_json::from_str(&self.read("runtime/wheelhouse/daemon.json").unwrap()).unwrap();
        file["url"].as_str().unwrap().rsplit_once(':').unwrap().1.parse().unwrap()
    }

    /// Returns the token of the HTTP API.
    #[track_caller]
    pub fn token(&self) -> String {
        self.read("runtime/wheelhouse/daemon.token").expect("a token")
    }

    /// Sends a request to the HTTP API with the token.
    #[track_caller]
    pub fn http(&self, request: TestRequest) -> TestResponse {
        let request = request.header("Authorization", &format!("Bearer {}", self.token()));
        request.send(self.port()).unwrap()
    }

    #[track_caller]
    pub fn get(&self, path: &str) -> TestResponse {
        self.http(TestRequest::get(path))
    }

    #[track_caller]
    pub fn post(&self, path: &str, body: Value) -> TestResponse {
        self.http(TestRequest::post_json(path, &body))
    }

    /// Creates a session over HTTP in the test's working directory.
    #[track_caller]
    pub fn create(&self, wanted: Value) -> Session {
        let mut body = wanted;
        if body["cwd"].is_null() {
            body["cwd"] = json!(self.work());
        }
        body["environment"] = json!(self.environment);
        let answer = self.post("/sessions", body);
        assert_eq!(answer.status, 201, "{}", answer.text());
        Session::of(&answer.json())
    }

    /// Creates a session with the built-in agent, which takes `pace` milliseconds per word.
    #[track_caller]
    pub fn demo(&self, name: &str, pace: u32) -> Session {
        let session = self.create(json!({
            "agent": "demo", "name": name, "arguments": ["--seed", "7", "--pace", pace.to_string()],
        }));
        self.state(&session, "idle");
        session
    }

    /// Waits until a session has this state.
    #[track_caller]
    pub fn state(&self, session: &Session, state: &str) -> Value {
        eventually(&format!("{} is {state}", session.name), || {
            let summary = self.get(&format!("/sessions/{}", session.id)).json();
            (summary["status"]["state"] == state).then_some(summary)
        })
    }

    /// Waits for a final receipt of a session.
    #[track_caller]
    pub fn receipt(&self, session: &Session, request_id: &str) -> Value {
        let path = format!("/sessions/{}/control/receipts/{request_id}", session.id);
        eventually(&format!("{request_id} is over"), || {
            let receipt = self.get(&path).json();
            matches!(receipt["stage"].as_str(), Some("finished" | "failed")).then_some(receipt)
        })
    }

    /// Waits for the oldest open question of a session.
    #[track_caller]
    pub fn question(&self, session: &Session) -> Value {
        let path = format!("/sessions/{}/control/questions", session.id);
        eventually("a question is open", || self.get(&path).json()["questions"].get(0).cloned())
    }

    /// Waits with the daemon's API until a condition holds for a session.
    #[track_caller]
    pub fn wait(&self, session: &Session, condition: &str) {
        let timeout = CONDITION_TIMEOUT.as_millis() as u64;
        let path = format!("/sessions/{}/control/wait", session.id);
        let answer = self.post(&path, json!({ "condition": condition, "timeout": timeout }));
        let screen = || self.get(&format!("/sessions/{}/control/screen", session.id)).json()["plain"].to_string();
        assert_eq!(answer.status, 200, "{condition}: {}\n{}", answer.text(), screen().replace("\\n", "\n"));
    }

    /// Returns the chat messages of a session with their senders.
    #[track_caller]
    pub fn chats(&self, session: &Session) -> Vec<(String, String)> {
        let body = self.get(&format!("/sessions/{}/control/messages?kind=chat&limit=1000", session.id)).json();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let all = body["messages"].as_array().unwrap_or_else(|| panic!("no messages in {body}"));
        all.iter().map(|one| (text(&one["from"]), text(&one["payload"]["text"]))).collect()
    }

    /// Adds a member to a team and returns the credential.
    #[track_caller]
    pub fn member(&self, team: &str, member: &str) -> String {
        self.ok(&["team", "add", team, member]);
        self.credential(team, member)
    }

    /// Returns the credential of a member.
    #[track_caller]
    pub fn credential(&self, team: &str, member: &str) -> String {
        let path = format!("config/wheelhouse/teams/{team}/credentials/{member}.token");
        self.read(&path).unwrap_or_else(|| panic!("{path} can be read")).trim().to_owned()
    }

    /// Returns the audit records of a message, oldest first.
    #[track_caller]
    pub fn audit(&self, request_id: &str) -> Vec<Value> {
        let printed = self.ok(&["audit", "--json", "--request-id", request_id]);
        printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Path of the socket.
    pub fn socket(&self) -> PathBuf {
        self.root.path().join("runtime/wheelhouse/daemon.sock")
    }

    /// Opens a connection to the socket.
    #[track_caller]
    pub fn connect(&self) -> SocketClient {
        SocketClient::open(&self.socket())
    }

    /// Sends a control message as the local user and returns the acknowledgement.
    #[track_caller]
    pub fn control(&self, payload: &Value) -> Value {
        self.connect().control(payload, &self.credential("default", "local"))
    }
}

impl Drop for TestDaemon {
    fn drop(&mut self) {
        if let Some(mut daemon) = self.daemon.take()
            && let Err(forced) = process::terminate(&mut daemon, GRACE)
        {
            let _ = writeln!(std::io::stderr(), "the daemon had to be killed: {forced}");
        }
        // A daemon that a command has started in the background.
        let _ = self.wh(&["daemon", "stop"]).output();
        if std::thread::panicking() {
            let _ = writeln!(std::io::stderr(), "--- the daemon's log\n{}---", self.said());
        }
    }
}

/// Connection to the socket.
pub struct SocketClient(BufReader<UnixStream>);

impl SocketClient {
    #[track_caller]
    pub fn open(path: &Path) -> Self {
        let stream = UnixStream::connect(path).unwrap();
        stream.set_read_timeout(Some(CONDITION_TIMEOUT)).unwrap();
        stream.set_write_timeout(Some(CONDITION_TIMEOUT)).unwrap();
        Self(BufReader::new(stream))
    }

    /// Writes raw bytes.
    #[track_caller]
    pub fn write(&mut self, bytes: &[u8]) {
        self.0.get_mut().write_all(bytes).unwrap();
    }

    /// Reads the next line.
    #[track_caller]
    pub fn line(&mut self) -> Value {
        let mut line = String::new();
        assert_ne!(self.0.read_line(&mut line).unwrap(), 0, "the connection ended");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line}: {error}"))
    }

    /// Sends a raw line and returns the response.
    #[track_caller]
    pub fn say(&mut self, line: &Value) -> Value {
        self.write(format!("{line}\n").as_bytes());
        self.line()
    }

    /// Sends a request and returns the complete response.
    #[track_caller]
    pub fn ask(&mut self, command: &str, payload: &Value) -> Value {
        self.say(&json!({ "version": 1, "request_id": "sock-1", "command": command, "payload": payload }))
    }

    /// Sends a control message with a credential and returns the acknowledgement.
    #[track_caller]
    pub fn control(&mut self, payload: &Value, credential: &str) -> Value {
        let line = json!({
            "version": 1, "request_id": "sock-1", "command": "control", "token": credential, "payload": payload,
        });
        let answer = self.say(&line);
        assert_eq!(answer["status"], "ok", "{answer}");
        answer["payload"].clone()
    }
}
