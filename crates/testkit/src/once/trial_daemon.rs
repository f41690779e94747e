//! Daemon in a temporary home directory that can be killed and restarted, and the test agent that logs deliveries.

use std::collections::HashMap;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use nix::fcntl::{Flock, FlockArg};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::socket_client::SocketClient;
use crate::output::PipeOutput;
use crate::{CONDITION_TIMEOUT, deadline, eventually, process};

/// Timeout for a response of the daemon.
pub const RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);

/// Grace period for the daemon to end its sessions and exit before it is killed.
const DAEMON_EXIT_GRACE: Duration = Duration::from_secs(30);

const AGENT: &str = include_str!("agent.py");
const TERMINAL_PROGRAM: &str = include_str!("book.py");

/// Session that receives messages, with the ids that a control message contains.
#[derive(Debug, Clone)]
pub struct TrialTarget {
    pub session_id: String,
    /// Id of the agent or program in the session.
    pub agent_id: String,
}

/// Daemon with its own home directory. Dropping it stops the daemon; if the test fails, it also prints the daemon's
/// log.
pub struct TrialDaemon {
    wh: PathBuf,
    home: TempDir,
    state: PathBuf,
    running: Option<(Child, PipeOutput)>,
}

impl TrialDaemon {
    /// Creates a home directory, but does not start the daemon. `wh` is the path of the wh binary.
    pub fn new(wh: &Path) -> Self {
        let home = tempfile::Builder::new().prefix("wh-once.").tempdir().expect("a home for the daemon");
        let state = home.path().join("state");
        Self::prepare(wh, home, state)
    }

    /// Creates a home directory, but uses an existing state directory. Does not start the daemon.
    pub fn with_state(wh: &Path, state: &Path) -> Self {
        let home = tempfile::Builder::new().prefix("wh-once.").tempdir().expect("a home for the daemon");
        Self::prepare(wh, home, state.to_owned())
    }

    fn prepare(wh: &Path, home: TempDir, state: PathBuf) -> Self {
        let daemon = Self { wh: wh.to_owned(), home, state, running: None };
        for folder in ["run", "state", "config/wheelhouse", "place", "bin"] {
            fs::create_dir_all(daemon.path(folder)).expect("a directory of the daemon can be created");
        }
        fs::set_permissions(daemon.path("run"), Permissions::from_mode(0o700))
            .expect("the permissions of the runtime directory can be set");
        let agent = daemon.path("bin/once-agent");
        for (path, text) in [(&agent, AGENT), (&daemon.path("bin/once-program"), TERMINAL_PROGRAM)] {
            fs::write(path, text).expect("the script can be written");
            fs::set_permissions(path, Permissions::from_mode(0o755)).expect("the script can be made executable");
        }
        let text = format!(
            "[agents.once]\ncommand = {:?}\nversion_arguments = []\nenvironment = {{ ONCE_PLACE = {:?} }}\n",
            agent.display().to_string(),
            daemon.agent_directory().display().to_string(),
        );
        fs::write(daemon.path("config/wheelhouse/agents.toml"), text).expect("agents.toml can be written");
        daemon
    }

    /// Returns the absolute path of `path`, which is relative to the home directory.
    pub fn path(&self, path: &str) -> PathBuf {
        self.home.path().join(path)
    }

    /// Returns the directory of the test agents, which contains their log of deliveries.
    pub fn agent_directory(&self) -> PathBuf {
        self.path("place")
    }

    /// Returns the path of the daemon's socket.
    pub fn socket(&self) -> PathBuf {
        self.path("run/wheelhouse/daemon.sock")
    }

    /// Creates a `wh` command that uses this home directory.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.wh);
        command.args(arguments).current_dir(self.home.path()).env_clear().stdin(Stdio::null());
        for name in ["PATH", "LD_LIBRARY_PATH", "TMPDIR"] {
            command.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        command.env("HOME", self.home.path()).env("LANG", "C.UTF-8").env("WH_LOG", "warn");
        command.env("XDG_RUNTIME_DIR", self.path("run")).env("XDG_STATE_HOME", &self.state);
        command.env("XDG_CONFIG_HOME", self.path("config")).env("ONCE_PLACE", self.agent_directory());
        command
    }

    /// Starts the daemon and waits until it is ready. Panics on failure.
    #[track_caller]
    pub fn start(&mut self) {
        assert!(self.running.is_none(), "the daemon is already running");
        let mut command = self.command(&["daemon", "start", "--foreground"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("wh can be started");
        let (ready, is_ready) = mpsc::channel();
        let stderr = child.stderr.take().expect("stderr is piped");
        let (output, _) = PipeOutput::drain(stderr, move |line| {
            if line.contains("daemon-listening") {
                let _ = ready.send(());
            }
        });
        self.running = Some((child, output));
        if is_ready.recv_timeout(CONDITION_TIMEOUT).is_err() {
            panic!("the daemon did not become ready; its log follows");
        }
    }

    /// Returns the process id of the daemon; `None` if the daemon is not running.
    pub fn pid(&self) -> Option<nix::unistd::Pid> {
        self.running.as_ref().map(|(child, _)| process::pid(child))
    }

    /// Kills the daemon with SIGKILL, which simulates a crash.
    pub fn kill(&mut self) {
        if let Some((mut child, _)) = self.running.take() {
            child.kill().expect("the daemon is a child and can be killed");
            child.wait().expect("the daemon is a child and can be waited for");
        }
    }

    /// Stops the daemon with SIGTERM and waits until it has exited. Panics if the daemon had to be killed.
    #[track_caller]
    pub fn stop(&mut self) {
        if let Some((mut child, output)) = self.running.take()
            && let Err(forced) = process::terminate(&mut child, DAEMON_EXIT_GRACE)
        {
            panic!("the daemon had to be killed: {forced}\n{}", output.text());
        }
    }

    /// Returns the stderr of the running daemon.
    pub fn log(&self) -> String {
        self.running.as_ref().map(|(_, output)| output.text()).unwrap_or_default()
    }

    /// Returns the token that authorises the test's control messages.
    pub fn token(&self) -> String {
        let path = self.path("config/wheelhouse/teams/default/credentials/local.token");
        fs::read_to_string(path).expect("the daemon has created the token file").trim().to_owned()
    }

    /// Opens a connection to the daemon.
    pub fn connect(&self) -> io::Result<SocketClient> {
        SocketClient::open(&self.socket(), RESPONSE_TIMEOUT)
    }

    /// Creates a session with the test agent.
    #[track_caller]
    pub fn create_agent_session(&self, name: &str) -> TrialTarget {
        let wanted = json!({ "agent": "once", "name": name, "cwd": self.home.path() });
        self.create(&wanted)
    }

    /// Creates a session with the terminal program that logs deliveries.
    #[track_caller]
    pub fn create_terminal_session(&self, name: &str) -> TrialTarget {
        let program = self.path("bin/once-program");
        self.create(&json!({ "command": [program], "name": name, "cwd": self.home.path() }))
    }

    /// Creates a session. `wanted` is the payload of the create request.
    #[track_caller]
    pub fn create(&self, wanted: &Value) -> TrialTarget {
        let answer = self.connect().and_then(|mut line| line.request("create", None, wanted));
        let answer = answer.unwrap_or_else(|error| panic!("cannot create a session: {error}\n{}", self.log()));
        let text = |name: &str| answer["session"][name].as_str().expect("the session has an id").to_owned();
        TrialTarget { session_id: text("session_id"), agent_id: text("agent_id") }
    }

    /// Waits until every test agent of this daemon has exited. The log of deliveries is then complete.
    #[track_caller]
    pub fn wait_for_agents(&self) {
        let path = self.agent_directory().join("alive");
        let mut file = Some(
            File::options().create(true).append(true).open(path).expect("the lock file of the agents can be opened"),
        );
        eventually("every test agent has exited", || {
            match Flock::lock(file.take()?, FlockArg::LockExclusiveNonblock) {
                Ok(_) => Some(()),
                Err((back, _)) => {
                    file = Some(back);
                    None
                }
            }
        });
    }

    /// Returns the sessions to which each request was delivered, by request id.
    pub fn deliveries(&self) -> HashMap<String, Vec<String>> {
        let text = fs::read_to_string(self.agent_directory().join("deliveries")).unwrap_or_default();
        let mut deliveries: HashMap<String, Vec<String>> = HashMap::new();
        for line in text.lines() {
            let entry: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{line:?}: {error}"));
            let text = |field: &str| entry[field].as_str().unwrap_or_default().to_owned();
            deliveries.entry(text("name")).or_default().push(text("session"));
        }
        deliveries
    }
}

impl Drop for TrialDaemon {
    fn drop(&mut self) {
        let Some((mut child, output)) = self.running.take() else { return };
        let ended = process::terminate(&mut child, DAEMON_EXIT_GRACE);
        if std::thread::panicking() {
            eprintln!("--- log of the daemon\n{}---", output.text());
        }
        if let Err(forced) = ended {
            eprintln!("the daemon had to be killed: {forced}");
        }
        // The agents exit by themselves and need the home directory until then.
        let alive = self.agent_directory().join("alive");
        deadline::wait_until(DAEMON_EXIT_GRACE, || match File::open(&alive) {
            Ok(file) => Flock::lock(file, FlockArg::LockExclusiveNonblock).ok().map(drop),
            Err(_) => Some(()),
        });
    }
}
