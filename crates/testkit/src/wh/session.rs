//! Runs a program or agent as a session of a daemon, so that tests of a single run also cover sessions.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::{Wh, WhOptions};
use crate::http::TestRequest;
use crate::output::PipeOutput;
use crate::{deadline, process};

/// Environment variable: if set to 1, a [`Wh`] is a session of a new daemon instead of a single run.
pub const IN_DAEMON_VARIABLE: &str = "WH_TEST_IN_DAEMON";

/// Path prefix and token for requests to the session.
#[derive(Debug)]
pub(super) struct DaemonSession {
    prefix: String,
    token: String,
}

impl DaemonSession {
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Writes a configuration file for `curl` with the token.
    pub fn write_curlrc(&self, folder: &Path) {
        let line = format!("header = \"Authorization: Bearer {}\"\n", self.token);
        fs::write(folder.join(".curlrc"), line).expect(".curlrc can be written");
    }

    pub fn address(&self, request: &TestRequest) -> TestRequest {
        request.clone().with_prefix(&self.prefix).header("Authorization", &format!("Bearer {}", self.token))
    }
}

/// Returns true if tests must run programs as sessions of a daemon.
pub(super) fn wanted() -> bool {
    std::env::var_os(IN_DAEMON_VARIABLE).is_some_and(|value| value == "1")
}

impl WhOptions {
    /// Starts a daemon, and creates a session with the program or agent.
    #[track_caller]
    pub(super) fn start_in_daemon(self, args: &[&str]) -> Wh {
        let runtime = tempfile::tempdir().expect("a directory for the runtime files of wh");
        let mut command = Command::new(&self.bin);
        command.args(["daemon", "start", "--foreground"]).envs(self.env.clone());
        command.env("XDG_RUNTIME_DIR", runtime.path());
        for (name, folder) in [("XDG_STATE_HOME", "state"), ("XDG_CONFIG_HOME", "config")] {
            command.env(name, runtime.path().join(folder));
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = process::with_default_signals(&mut command).spawn().expect("wh can be started");
        let (stdout, _) = PipeOutput::drain(child.stdout.take().expect("stdout is piped"), |_| {});
        let (stderr, _) = PipeOutput::drain(child.stderr.take().expect("stderr is piped"), |_| {});
        let folder = runtime.path().join("wheelhouse");
        let file = deadline::eventually("the daemon is ready", || {
            let file: Value = serde_json::from_str(&fs::read_to_string(folder.join("daemon.json")).ok()?).ok()?;
            (file["pid"] == child.id()).then_some(file)
        });
        let port = file["url"]
            .as_str()
            .and_then(|url| url.rsplit(':').next()?.parse().ok())
            .expect("daemon.json contains the port");
        let token = fs::read_to_string(token(&folder)).expect("the token file can be read").trim().to_owned();
        let mut wh = Wh { child, port, stdout, stderr, runtime, session: None };
        wh.session = Some(DaemonSession { prefix: String::new(), token: token.clone() });
        let id = create(&wh, &self, args);
        wh.session = Some(DaemonSession { prefix: format!("/sessions/{id}"), token });
        wh
    }
}

fn token(folder: &Path) -> std::path::PathBuf {
    folder.join("daemon.token")
}

#[track_caller]
fn create(wh: &Wh, options: &WhOptions, args: &[&str]) -> String {
    let words: Vec<&str> = args.iter().copied().skip_while(|word| *word == "--").collect();
    let mut environment: serde_json::Map<String, Value> =
        std::env::vars().map(|(name, value)| (name, Value::from(value))).collect();
    environment.extend(options.env.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str()))));
    let mut body = json!({ "cwd": std::env::current_dir().expect("a working directory"), "size": "120x40" });
    for flag in options.flags.chunks(2) {
        match flag {
            [name, size] if name == "--size" => body["size"] = json!(size),
            [name, folder] if name == "--cwd" => body["cwd"] = json!(folder),
            [name, variable] if name == "--env" => {
                let (name, value) = variable.split_once('=').expect("the value of --env is NAME=VALUE");
                environment.insert(name.to_owned(), json!(value));
            }
            other => panic!("a session of a daemon does not support the flag {other:?}"),
        }
    }
    body["environment"] = Value::Object(environment);
    if options.command == ["run"] {
        body["command"] = json!(words);
    } else {
        (body["agent"], body["arguments"]) = (json!("demo"), json!(words));
    }
    let created = wh.post("/sessions", body);
    assert!(created.status < 300, "cannot create the session: {}", created.text());
    created.json()["session_id"].as_str().expect("the response contains the session id").to_owned()
}
