//! Process inspection and reaping without free descriptors.

use std::process::Command;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use wh_pipe::{LaunchSpec, proc, reaper, tree};

use super::{gone, output, pid, supervised};

/// Environment variable that enables [`without_descriptors`].
const INSIDE: &str = "WH_TEST_WITHOUT_DESCRIPTORS";

/// Session id of the program.
const SESSION: &str = "s1";

/// Child process of the test below: the descriptor limit applies to a whole process.
#[tokio::test]
async fn without_descriptors() {
    if std::env::var_os(INSIDE).is_none() {
        return;
    }
    let mut launch: LaunchSpec = supervised("trap '' TERM; echo $$; while :; do sleep 1; done");
    launch.session = Some(SESSION.to_owned());
    let mut child = launch.start().await.unwrap();
    let program = pid(&mut output(&mut child)).await;

    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, 0, hard).unwrap();
    let (listed, group) = (proc::snapshot(), tree::group(program));
    let left = reaper::end_session(SESSION).await;
    setrlimit(Resource::RLIMIT_NOFILE, soft, hard).unwrap();
    assert!(listed.is_err() && group.is_err(), "{listed:?} {group:?}");
    assert!(!left.is_empty(), "the end cannot be confirmed");

    let left = reaper::end_session(SESSION).await;
    assert!(left.is_empty(), "{left}");
    gone("the program ends", &[program]);
}

#[test]
fn processes_that_cannot_be_listed_do_not_count_as_ended() {
    let mut alone = Command::new(std::env::current_exe().unwrap());
    alone.args(["--exact", "shortage::without_descriptors", "--nocapture"]).env(INSIDE, "1");
    let output = alone.output().unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(output.status.success(), "{}", text.concat());
}
