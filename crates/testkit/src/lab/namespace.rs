//! Starts the current binary again in new namespaces, for one test or with other arguments. The network namespace has
//! only loopback. All processes are killed when the PID namespace ends.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;
use std::{env, fs};

use nix::unistd::geteuid;

use super::clis;
use crate::output::PipeOutput;
use crate::process;

/// Environment variable with the directory of the lab. Set for the process in the namespace.
const LAB_ROOT_VARIABLE: &str = "WHEELHOUSE_LAB";

/// Timeout for one test. The CLIs start slowly on a busy machine.
const LAB_TEST_TIMEOUT: Duration = Duration::from_secs(300);

/// Environment variables that are passed to the process in the namespace. Only `PATH` is passed on to the CLIs.
const PASSED_VARIABLES: [&str; 11] = [
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

/// Command of the init process of the PID namespace: a shell, which reaps orphans while it waits for the test binary.
const REAPER: &str = r#""$@"; exit $?"#;

/// Returns the directory of the lab; `None` if this process is not in the namespace.
pub(super) fn root() -> Option<PathBuf> {
    env::var_os(LAB_ROOT_VARIABLE).map(PathBuf::from)
}

/// Creates a marker file, by which the process outside the namespace sees that the test was found and has completed.
pub(super) fn finished(root: &Path) {
    fs::write(marker(root), "").expect("the marker file can be written");
}

fn marker(root: &Path) -> PathBuf {
    root.join("finished")
}

/// Brings up the loopback interface of the namespace.
pub(super) fn loopback_up() {
    let status = Command::new("ip").args(["link", "set", "lo", "up"]).status();
    assert!(status.is_ok_and(|status| status.success()), "cannot bring up the loopback interface in the namespace");
}

/// Runs the test in the namespace and forwards its output. Panics if the test fails.
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
    let visit = visit(&clis, &arguments, LAB_TEST_TIMEOUT, forward_line);
    match visit.status {
        None => panic!("{test_name} was still running inside the lab after {LAB_TEST_TIMEOUT:?}"),
        Some(status) if !status.success() => {
            panic!("{test_name} failed inside the lab ({status}); its output is above")
        }
        Some(_) => assert!(
            visit.finished,
            "no test named {test_name:?} ran inside the lab; use the name shown by `cargo test -- --list`"
        ),
    }
}

/// Runs this binary in the namespace with these arguments. Each line of its stdout is passed to `on_line`.
pub(super) fn run(
    arguments: &[&str],
    limit: Duration,
    on_line: impl FnMut(&str) + Send + 'static,
) -> Result<(), String> {
    let clis = clis::installed()?;
    probe()?;
    match visit(&clis, arguments, limit, on_line).status {
        Some(status) if status.success() => Ok(()),
        Some(status) => Err(format!("the program failed inside the lab ({status})")),
        None => Err(format!("the program was still running inside the lab after {limit:?}")),
    }
}

/// Result of a run inside the namespace.
struct NamespaceRun {
    /// Exit status; `None` after a timeout.
    status: Option<ExitStatus>,
    /// True if a test was found and completed.
    finished: bool,
}

fn visit(clis: &Path, arguments: &[&str], limit: Duration, on_line: impl FnMut(&str) + Send + 'static) -> NamespaceRun {
    let parent = env::var_os("TMPDIR").map_or_else(|| PathBuf::from("/var/tmp"), PathBuf::from);
    let root =
        tempfile::Builder::new().prefix("wh-lab.").tempdir_in(parent).expect("the directory of the lab can be created");
    // The CLIs identify their trusted project by its canonical path.
    let path = root.path().canonicalize().expect("the directory of the lab has a canonical path");

    let mut command = unshare();
    command.args(["sh", "-c", REAPER, "reaper"]).arg(env::current_exe().expect("the binary has a path"));
    command.args(arguments);
    command.env_clear().envs(PASSED_VARIABLES.iter().filter_map(|name| Some((name, env::var_os(name)?))));
    command.env("HOME", path.join("home")).env("LANG", "C.UTF-8").env("TERM", "xterm-256color");
    // Snapshot tests locate the workspace with cargo, which does not work with another home directory.
    command.env("INSTA_WORKSPACE_ROOT", concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    command.env(LAB_ROOT_VARIABLE, &path).env(clis::CLIS_VARIABLE, clis);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());

    let mut child = command.spawn().expect("unshare can be run");
    let readers = [
        PipeOutput::drain(child.stdout.take().expect("stdout is piped"), on_line),
        PipeOutput::drain(child.stderr.take().expect("stderr is piped"), forward_line),
    ];
    let status = process::wait(&mut child, limit);
    if status.is_none() {
        // When unshare is killed, all processes in the namespace are killed too.
        let _ = child.kill();
        let _ = child.wait();
    }
    for (_, reader) in readers {
        reader.join().expect("a reader of a pipe does not panic");
    }
    NamespaceRun { status, finished: marker(&path).exists() }
}

fn forward_line(line: &str) {
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

/// Checks that a namespace with loopback is available.
pub(super) fn probe() -> Result<(), String> {
    let output = unshare().args(["ip", "link", "set", "lo", "up"]).stdin(Stdio::null()).output();
    match output {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let stderr = String::from_utf8_lossy(&output.stderr);
            Err(format!("unshare cannot create a network namespace ({})", stderr.trim_end()))
        }
        Err(error) => Err(format!("unshare cannot be run ({error})")),
    }
}

/// Reports a skipped test. Writes directly to stderr, because the print macros are captured in a test that passes.
fn skip(test_name: &str, reason: &str) {
    let line = format!("SKIPPED: {test_name}, because {reason}; run crates/testkit/install-clis\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// Returns true if the environment variable is set, except to an empty string, `0` or `false`.
fn set(variable: &str) -> bool {
    env::var(variable).is_ok_and(|value| !matches!(value.as_str(), "" | "0" | "false"))
}
