//! The way in: the binary starts once more, for one test or with other arguments, in namespaces of its own. It has a network
//! with nothing but loopback, and processes that all end with it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;
use std::{env, fs};

use nix::unistd::geteuid;

use super::clis;
use crate::output::Output;
use crate::process;

/// Set inside, to the directory that the lab lives in.
const ROOT: &str = "WHEELHOUSE_LAB";

/// How long one test may take. The CLIs are slow to start when the machine is busy.
const LIMIT: Duration = Duration::from_secs(300);

/// What of the process's own environment goes along to the one inside; nothing of it but `PATH` goes on to the CLIs.
const KEPT: [&str; 11] = [
    "PATH",
    "TMPDIR",
    "CI",
    "RUST_BACKTRACE",
    "WH_PICTURES",
    "CARGO",
    "CARGO_MANIFEST_DIR",
    "LD_LIBRARY_PATH",
    "LLVM_PROFILE_FILE",
    "INSTA_UPDATE",
    "INSTA_FORCE_PASS",
];

/// The first process of the namespace inherits orphans, and a shell that waits for its child reaps them on the way. A test
/// binary in that place would leave them as zombies.
const REAPER: &str = r#""$@"; exit $?"#;

/// The lab's directory, when this process is inside.
pub(super) fn root() -> Option<PathBuf> {
    env::var_os(ROOT).map(PathBuf::from)
}

/// Says to the process outside that the test was there and ran to its end.
pub(super) fn finished(root: &Path) {
    fs::write(marker(root), "").expect("the end of the test is marked");
}

fn marker(root: &Path) -> PathBuf {
    root.join("finished")
}

/// Brings up the one interface that the namespace has.
pub(super) fn loopback_up() {
    let status = Command::new("ip").args(["link", "set", "lo", "up"]).status();
    assert!(status.is_ok_and(|status| status.success()), "loopback does not come up in the namespace");
}

/// Runs the test inside, passes its output on and fails as it does.
#[track_caller]
pub(super) fn enter(test_name: &str) {
    let clis = match clis::installed() {
        Ok(clis) => clis,
        Err(reason) if set("CI") && !set("WHEELHOUSE_SKIP_REAL_CLIS") => {
            panic!("{test_name} needs the real CLIs: {reason}; run crates/testkit/install-clis")
        }
        Err(reason) => return skip(test_name, &reason),
    };
    if let Err(reason) = probe() {
        return skip(test_name, &reason);
    }

    let arguments = ["--exact", test_name, "--include-ignored", "--nocapture", "--test-threads=1"];
    let visit = visit(&clis, &arguments, LIMIT, pass_on);
    match visit.status {
        None => panic!("{test_name} did not end within {LIMIT:?} inside the lab"),
        Some(status) if !status.success() => {
            panic!("{test_name} failed inside the lab ({status}); see above")
        }
        Some(_) => assert!(
            visit.finished,
            "no test ran inside the lab as {test_name:?}; give the name that `cargo test -- --list` has"
        ),
    }
}

/// Runs this binary inside with these arguments. Each line that it prints goes to `said`.
pub(super) fn run(arguments: &[&str], limit: Duration, said: impl FnMut(&str) + Send + 'static) -> Result<(), String> {
    let clis = clis::installed()?;
    probe()?;
    match visit(&clis, arguments, limit, said).status {
        Some(status) if status.success() => Ok(()),
        Some(status) => Err(format!("it failed inside the lab ({status})")),
        None => Err(format!("it did not end within {limit:?} inside the lab")),
    }
}

/// What came of a run inside.
struct Visit {
    /// How it ended; `None`: it took too long.
    status: Option<ExitStatus>,
    /// A test was there and ran to its end.
    finished: bool,
}

fn visit(clis: &Path, arguments: &[&str], limit: Duration, said: impl FnMut(&str) + Send + 'static) -> Visit {
    let parent = env::var_os("TMPDIR").map_or_else(|| PathBuf::from("/var/tmp"), PathBuf::from);
    let root = tempfile::Builder::new().prefix("wh-lab.").tempdir_in(parent).expect("a directory for the lab");
    // The CLIs know their trusted project by its real path.
    let path = root.path().canonicalize().expect("the lab's directory has a path");

    let mut command = unshare();
    command.args(["sh", "-c", REAPER, "reaper"]).arg(env::current_exe().expect("the binary has a path"));
    command.args(arguments);
    command.env_clear().envs(KEPT.iter().filter_map(|name| Some((name, env::var_os(name)?))));
    command.env("HOME", path.join("home")).env("LANG", "C.UTF-8").env("TERM", "xterm-256color");
    // Snapshots are looked for with the help of cargo, which does not know its way in another home.
    command.env("INSTA_WORKSPACE_ROOT", concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    command.env(ROOT, &path).env(clis::DIRECTORY, clis);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());

    let mut child = command.spawn().expect("unshare was there a moment ago");
    let readers = [
        Output::drain(child.stdout.take().expect("stdout is piped"), said),
        Output::drain(child.stderr.take().expect("stderr is piped"), pass_on),
    ];
    let status = process::wait(&mut child, limit);
    if status.is_none() {
        // All that is inside ends with unshare.
        let _ = child.kill();
        let _ = child.wait();
    }
    for (_, reader) in readers {
        reader.join().expect("a reader of a pipe does not panic");
    }
    Visit { status, finished: marker(&path).exists() }
}

fn pass_on(line: &str) {
    eprintln!("{line}");
}

fn unshare() -> Command {
    let mut command = Command::new("unshare");
    if !geteuid().is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    command.args(["--net", "--pid", "--fork", "--mount-proc", "--kill-child", "--"]);
    command
}

/// Whether the namespace can be had here, and loopback in it.
pub(super) fn probe() -> Result<(), String> {
    let output = unshare().args(["ip", "link", "set", "lo", "up"]).stdin(Stdio::null()).output();
    match output {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(format!("unshare gives no loopback-only network ({})", said.trim_end()))
        }
        Err(error) => Err(format!("unshare cannot be run ({error})")),
    }
}

/// Straight to stderr: what goes through the print macros is swallowed in a test that passes, and this must be seen.
fn skip(test_name: &str, reason: &str) {
    let line = format!("SKIPPED: {test_name}, because {reason}; run crates/testkit/install-clis\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// True when the variable says yes, in any of the usual ways.
fn set(variable: &str) -> bool {
    env::var(variable).is_ok_and(|value| !matches!(value.as_str(), "" | "0" | "false"))
}
