use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use nix::errno::Errno;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use wh_testkit::eventually;

use super::*;
use crate::children::ChildRole;

/// Starts a shell as a supervisor and returns it with the process whose pid it prints.
fn supervised(reaper: &Reaper, script: &str) -> (ProcessIdentity, ProcessIdentity, watch::Receiver<TreeStatus>) {
    let mut command = Command::new("sh");
    command.args(["-c", script]).stdout(Stdio::piped());
    let (mut child, registration) = children::spawn(&mut command, ChildRole::Supervisor { session: None }).unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let printed = ProcessIdentity::of(line.trim().parse().unwrap()).unwrap();
    let id = registration.id();
    (id, printed, reaper.add(registration, Some("s1".to_owned())))
}

fn lives(id: ProcessIdentity) -> bool {
    crate::proc::ProcessStat::of(id.pid).is_ok_and(|stat| stat.started == id.started && !stat.is_dead())
}

#[test]
fn survivors_are_reported_until_they_are_gone() {
    let protected = Arc::new(Mutex::new(None));
    let refusing = Arc::clone(&protected);
    let reaper = Reaper::new(Box::new(move |id, signal| {
        if *refusing.lock().unwrap() == Some(id) { Err(Errno::EPERM.into()) } else { pidfd::signal(id, signal) }
    }));
    let (id, sleeper, status) = supervised(&reaper, "sleep 1000 & echo $!; wait");
    *protected.lock().unwrap() = Some(sleeper);
    let begin = Instant::now();
    reaper.schedule(|_, _| true, begin);
    assert!(reaper.round(begin).unwrap().is_some(), "there is more to do");
    assert_eq!(*status.borrow(), TreeStatus::Active);
    eventually("the supervisor is gone and the rest is named", || {
        reaper.round(begin + KILL_TIMEOUT).unwrap();
        (*status.borrow() == TreeStatus::Surviving(vec![sleeper.pid])).then_some(())
    });
    assert!(!lives(id) && lives(sleeper));
    assert_eq!(reaper.unfinished(&|_| true, true), (vec![sleeper.pid], Vec::new()));

    *protected.lock().unwrap() = None;
    eventually("nothing is left", || {
        reaper.round(begin + KILL_TIMEOUT).unwrap();
        (*status.borrow() == TreeStatus::Gone).then_some(())
    });
    assert!(!lives(sleeper) && !id.exists(), "it was waited for");
    assert!(reaper.state().trees.is_empty());
}

#[test]
fn a_stopped_supervisor_is_continued_and_not_ended() {
    let reaper = Reaper::new(Box::new(pidfd::signal));
    let (id, sleeper, status) = supervised(&reaper, "sleep 1000 & echo $!; wait");
    pidfd::signal(id, Signal::SIGSTOP).unwrap();
    let state = || crate::proc::ProcessStat::of(id.pid).unwrap().state;
    eventually("it is stopped", || (state() == 'T').then_some(()));
    assert_eq!(reaper.round(Instant::now()).unwrap(), None);
    eventually("it is continued", || (state() != 'T').then_some(()));
    assert_eq!(*status.borrow(), TreeStatus::Active);
    assert!(lives(sleeper));

    reaper.schedule(|_, _| true, Instant::now());
    eventually("nothing is left", || {
        reaper.round(Instant::now()).unwrap();
        (*status.borrow() == TreeStatus::Gone).then_some(())
    });
    assert!(!lives(sleeper));
}

#[test]
fn a_program_that_forks_all_the_time_is_ended() {
    let reaper = Reaper::new(Box::new(pidfd::signal));
    let forker = "echo $$; i=0; while [ $i -lt 2000 ]; do i=$((i+1)); setsid sleep 1000 & done; wait";
    let (id, _, status) = supervised(&reaper, &format!("sh -c '{forker}' & wait"));
    eventually("it forks", || (crate::tree::below(id.raw()).len() > 20).then_some(()));
    let members = || crate::tree::below(id.raw());
    reaper.schedule(|_, _| true, Instant::now());
    reaper.round(Instant::now()).unwrap();
    let seen = members();
    eventually("nothing is left", || {
        reaper.round(Instant::now()).unwrap();
        (*status.borrow() == TreeStatus::Gone).then_some(())
    });
    assert!(!lives(id));
    let left: Vec<_> = seen.into_iter().filter(|pid| wh_testkit::process::running(*pid)).collect();
    assert_eq!(left, []);
}

/// Environment variable that enables [`without_descriptors`].
const INSIDE: &str = "WH_TEST_REAPER_WITHOUT_DESCRIPTORS";

/// Runs in a child process of the test below, since the descriptor limit applies to a whole process.
#[test]
fn without_descriptors() {
    if std::env::var_os(INSIDE).is_none() {
        return;
    }
    let reaper = Reaper::new(Box::new(pidfd::signal));
    let (_, _, status) = supervised(&reaper, "echo $$; exec sleep 1000");
    let begin = Instant::now();
    reaper.schedule(|_, _| true, begin);
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, 0, hard).unwrap();
    let attempt = reaper.try_round(begin);
    let counted = *reaper.rounds.borrow();
    setrlimit(Resource::RLIMIT_NOFILE, soft, hard).unwrap();

    // Done first, so that a failed assertion leaves no process that holds the output of this one.
    eventually("nothing is left", || {
        reaper.try_round(Instant::now());
        (*status.borrow() == TreeStatus::Gone).then_some(())
    });
    assert!(*reaper.rounds.borrow() > 0);
    assert_eq!(
        attempt,
        (Some(begin + KILL_RETRY_INTERVAL), KILL_RETRY_INTERVAL),
        "the next round waits, although the supervisor is overdue"
    );
    assert_eq!(counted, 0, "the failed round is not counted");
}

#[test]
fn a_round_that_cannot_list_processes_does_not_count_and_is_not_repeated_at_once() {
    let mut alone = Command::new(std::env::current_exe().unwrap());
    alone.args(["--exact", "reaper::tests::without_descriptors", "--nocapture"]).env(INSIDE, "1");
    let output = alone.output().unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(output.status.success(), "{}", text.concat());
}

#[test]
fn survivors_are_empty_only_if_processes_could_be_listed() {
    assert!(Survivors::default().is_empty());
    assert_eq!(Survivors(vec![1, 2]).to_string(), "processes 1, 2 could not be ended");
    assert!(!Survivors::unknown().is_empty());
    assert_eq!(Survivors::unknown().to_string(), "processes could not be listed; some may still be running");
}
