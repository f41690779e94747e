//! Real programs over real pipes: how they start, speak and end, and that nothing of them is left.
#![allow(clippy::disallowed_methods, reason = "it is no child subreaper, and ends what it starts")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "in a test a panic is a verdict")]

mod ending;
mod shortage;
mod starting;
mod supervising;
mod talking;

use std::time::Duration;

use nix::unistd::Pid;
use wh_pipe::{Child, Launch, Line, Lines, Stdout, lines};
use wh_testkit::eventually;
use wh_testkit::process::running;

/// More than any program here needs.
const LONG: Duration = Duration::from_secs(30);

/// Less than a program that does not heed anything has.
const SHORT: Duration = Duration::from_millis(50);

/// A shell script as a program, alone in its group.
fn script(script: &str) -> Launch {
    let mut launch = Launch::new("sh");
    launch.arguments = vec!["-c".into(), script.into()];
    launch
}

/// A shell script as a program, with a supervisor.
fn supervised(text: &str) -> Launch {
    Launch { supervisor: Some(vec![env!("CARGO_BIN_EXE_wh-keep").into()]), ..script(text) }
}

fn output(child: &mut Child) -> Lines<Stdout> {
    Lines::new(child.stdout.take().unwrap(), lines::MAX)
}

async fn line(lines: &mut Lines<Stdout>) -> Option<String> {
    let line = tokio::time::timeout(LONG, lines.next()).await.expect("a line or the end comes in time").unwrap();
    line.map(|line| match line {
        Line::Whole(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
        Line::TooLong { bytes } => panic!("{bytes} bytes"),
    })
}

/// The process id that the program says next.
async fn pid(lines: &mut Lines<Stdout>) -> Pid {
    Pid::from_raw(line(lines).await.expect("a process id").parse().unwrap())
}

fn gone(what: &str, family: &[Pid]) {
    eventually(what, || (!family.iter().any(|pid| running(*pid))).then_some(()));
}
