//! Integration tests with real programs over real pipes: start, exchange of lines, end, and no leftover processes.
#![allow(clippy::disallowed_methods, reason = "the tests are no child subreaper and end what they start")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic fails the test")]

mod ending;
mod shortage;
mod starting;
mod supervising;
mod talking;

use std::time::Duration;

use nix::unistd::Pid;
use wh_pipe::{Child, LaunchSpec, Line, LineReader, Stdout, lines};
use wh_testkit::eventually;
use wh_testkit::process::running;

/// Longer than any program here needs.
const TEST_TIMEOUT: Duration = Duration::from_secs(30);

/// Grace period for programs that ignore requests to end.
const IGNORED_GRACE: Duration = Duration::from_millis(50);

/// Launches a shell script without a supervisor.
fn script(script: &str) -> LaunchSpec {
    let mut launch = LaunchSpec::new("sh");
    launch.arguments = vec!["-c".into(), script.into()];
    launch
}

/// Launches a shell script with a supervisor.
fn supervised(text: &str) -> LaunchSpec {
    LaunchSpec { supervisor: Some(vec![env!("CARGO_BIN_EXE_wh-keep").into()]), ..script(text) }
}

fn output(child: &mut Child) -> LineReader<Stdout> {
    LineReader::new(child.stdout.take().unwrap(), lines::MAX_LINE_BYTES)
}

async fn line(lines: &mut LineReader<Stdout>) -> Option<String> {
    let line =
        tokio::time::timeout(TEST_TIMEOUT, lines.next()).await.expect("a line or the end comes in time").unwrap();
    line.map(|line| match line {
        Line::Complete(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
        Line::TooLong { bytes } => panic!("{bytes} bytes"),
    })
}

/// Reads the next line as a process id.
async fn pid(lines: &mut LineReader<Stdout>) -> Pid {
    Pid::from_raw(line(lines).await.expect("a process id").parse().unwrap())
}

fn gone(what: &str, family: &[Pid]) {
    eventually(what, || (!family.iter().any(|pid| running(*pid))).then_some(()));
}
