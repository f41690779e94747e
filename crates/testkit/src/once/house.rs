//! A daemon with a home of its own, that can be killed and started again, and the agent that keeps the book.

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

use super::line::Line;
use crate::output::Output;
use crate::{PATIENCE, deadline, eventually, process};

/// How long a client waits for an answer of the daemon.
pub const ANSWERED: Duration = Duration::from_secs(10);

/// How long a daemon may take to end its sessions.
const GRACE: Duration = Duration::from_secs(30);

const AGENT: &str = include_str!("agent.py");
const PROGRAM: &str = include_str!("book.py");

/// One session, as clients know it.
#[derive(Debug, Clone)]
pub struct Target {
    /// Its id.
    pub session_id: String,
    /// The id of what runs in it.
    pub agent_id: String,
}

/// A home with a daemon in it. Its drop ends the daemon; a failing test shows what that has said.
pub struct House {
    wh: PathBuf,
    home: TempDir,
    state: PathBuf,
    running: Option<(Child, Output)>,
}

impl House {
    /// A home for the daemon of this `wh`, which is not started yet.
    pub fn new(wh: &Path) -> Self {
        let home = tempfile::Builder::new().prefix("wh-once.").tempdir().expect("a home for the daemon");
        let state = home.path().join("state");
        Self::furnished(wh, home, state)
    }

    /// The same, with what the daemon keeps in a folder that is there already.
    pub fn keeping(wh: &Path, state: &Path) -> Self {
        let home = tempfile::Builder::new().prefix("wh-once.").tempdir().expect("a home for the daemon");
        Self::furnished(wh, home, state.to_owned())
    }

    fn furnished(wh: &Path, home: TempDir, state: PathBuf) -> Self {
        let house = Self { wh: wh.to_owned(), home, state, running: None };
        for folder in ["run", "state", "config/wheelhouse", "place", "bin"] {
            fs::create_dir_all(house.at(folder)).expect("a folder of the daemon's");
        }
        fs::set_permissions(house.at("run"), Permissions::from_mode(0o700)).expect("a folder of our own");
        let agent = house.at("bin/once-agent");
        for (path, text) in [(&agent, AGENT), (&house.at("bin/once-program"), PROGRAM)] {
            fs::write(path, text).expect("a program");
            fs::set_permissions(path, Permissions::from_mode(0o755)).expect("a program that can be run");
        }
        let text = format!(
            "[agents.once]\ncommand = {:?}\nversion_arguments = []\nenvironment = {{ ONCE_PLACE = {:?} }}\n",
            agent.display().to_string(),
            house.place().display().to_string(),
        );
        fs::write(house.at("config/wheelhouse/agents.toml"), text).expect("the agent's entry");
        house
    }

    /// A path within its home.
    pub fn at(&self, path: &str) -> PathBuf {
        self.home.path().join(path)
    }

    /// The agents' own folder: their book is in it.
    pub fn place(&self) -> PathBuf {
        self.at("place")
    }

    /// The daemon's socket.
    pub fn socket(&self) -> PathBuf {
        self.at("run/wheelhouse/daemon.sock")
    }

    /// The program, in this home.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.wh);
        command.args(arguments).current_dir(self.home.path()).env_clear().stdin(Stdio::null());
        for name in ["PATH", "LD_LIBRARY_PATH", "TMPDIR"] {
            command.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        command.env("HOME", self.home.path()).env("LANG", "C.UTF-8").env("WH_LOG", "warn");
        command.env("XDG_RUNTIME_DIR", self.at("run")).env("XDG_STATE_HOME", &self.state);
        command.env("XDG_CONFIG_HOME", self.at("config")).env("ONCE_PLACE", self.place());
        command
    }

    /// Starts the daemon, and returns when it can be asked. Panics with what it said when it cannot.
    #[track_caller]
    pub fn start(&mut self) {
        assert!(self.running.is_none(), "the daemon runs already");
        let mut command = self.command(&["daemon", "start", "--foreground"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("wh can be started");
        let (ready, is_ready) = mpsc::channel();
        let stderr = child.stderr.take().expect("stderr is piped");
        let (said, _) = Output::drain(stderr, move |line| {
            if line.contains("daemon-listening") {
                let _ = ready.send(());
            }
        });
        self.running = Some((child, said));
        if is_ready.recv_timeout(PATIENCE).is_err() {
            panic!("the daemon did not start");
        }
    }

    /// The daemon's process.
    pub fn pid(&self) -> Option<nix::unistd::Pid> {
        self.running.as_ref().map(|(child, _)| process::pid(child))
    }

    /// Kills the daemon, as a crash would end it.
    pub fn kill(&mut self) {
        if let Some((mut child, _)) = self.running.take() {
            child.kill().expect("our own child can be killed");
            child.wait().expect("and waited for");
        }
    }

    /// Asks the daemon to end; returns when it has.
    #[track_caller]
    pub fn stop(&mut self) {
        if let Some((mut child, said)) = self.running.take()
            && let Err(forced) = process::end(&mut child, GRACE)
        {
            panic!("the daemon had to be forced: {forced}\n{}", said.text());
        }
    }

    /// What the daemon that runs has said.
    pub fn said(&self) -> String {
        self.running.as_ref().map(|(_, said)| said.text()).unwrap_or_default()
    }

    /// What proves that clients are who they say.
    pub fn token(&self) -> String {
        let path = self.at("config/wheelhouse/teams/default/credentials/local.token");
        fs::read_to_string(path).expect("the daemon makes a team of its own").trim().to_owned()
    }

    /// A connection to the daemon.
    pub fn line(&self) -> io::Result<Line> {
        Line::open(&self.socket(), ANSWERED)
    }

    /// A new session with the agent that keeps the book.
    #[track_caller]
    pub fn session(&self, name: &str) -> Target {
        let wanted = json!({ "agent": "once", "name": name, "cwd": self.home.path() });
        self.create(&wanted)
    }

    /// A new session with the terminal program that keeps the book.
    #[track_caller]
    pub fn terminal(&self, name: &str) -> Target {
        let program = self.at("bin/once-program");
        self.create(&json!({ "command": [program], "name": name, "cwd": self.home.path() }))
    }

    /// A new session of any kind.
    #[track_caller]
    pub fn create(&self, wanted: &Value) -> Target {
        let answer = self.line().and_then(|mut line| line.ask("create", None, wanted));
        let answer = answer.unwrap_or_else(|error| panic!("no session: {error}\n{}", self.said()));
        let text = |name: &str| answer["session"][name].as_str().expect("a text").to_owned();
        Target { session_id: text("session_id"), agent_id: text("agent_id") }
    }

    /// Waits until every agent of this house is gone: nothing is entered into the book any more.
    #[track_caller]
    pub fn book_closed(&self) {
        let path = self.place().join("alive");
        let mut file = Some(File::options().create(true).append(true).open(path).expect("the agents' lock"));
        eventually("every agent is gone", || match Flock::lock(file.take()?, FlockArg::LockExclusiveNonblock) {
            Ok(_) => Some(()),
            Err((back, _)) => {
                file = Some(back);
                None
            }
        });
    }

    /// To which session each request was delivered, and how often, by its name.
    pub fn book(&self) -> HashMap<String, Vec<String>> {
        let text = fs::read_to_string(self.place().join("deliveries")).unwrap_or_default();
        let mut book: HashMap<String, Vec<String>> = HashMap::new();
        for line in text.lines() {
            let entry: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{line:?}: {error}"));
            let text = |field: &str| entry[field].as_str().unwrap_or_default().to_owned();
            book.entry(text("name")).or_default().push(text("session"));
        }
        book
    }
}

impl Drop for House {
    fn drop(&mut self) {
        let Some((mut child, said)) = self.running.take() else { return };
        let ended = process::end(&mut child, GRACE);
        if std::thread::panicking() {
            eprintln!("--- what the daemon said\n{}---", said.text());
        }
        if let Err(forced) = ended {
            eprintln!("the daemon had to be forced: {forced}");
        }
        // Its agents end by themselves; their home must not go before them.
        let alive = self.place().join("alive");
        deadline::before(GRACE, || match File::open(&alive) {
            Ok(file) => Flock::lock(file, FlockArg::LockExclusiveNonblock).ok().map(drop),
            Err(_) => Some(()),
        });
    }
}
