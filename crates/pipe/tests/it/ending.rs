//! Ways a program ends: by itself, on request, by force, and with its owner.

use std::time::Instant;

use nix::unistd::Pid;
use wh_pipe::{Exit, LaunchSpec, Signal, describe_exit};
use wh_testkit::process::running;

use crate::{IGNORED_GRACE, TEST_TIMEOUT, gone, line, output, pid, script, supervised};

const BOTH: [fn(&str) -> LaunchSpec; 2] = [script, supervised];

#[tokio::test]
async fn every_waiter_gets_the_exit_status() {
    for launch in BOTH {
        let child = launch("read line; exit 42").start().await.unwrap();
        let (one, two) = (tokio::spawn(child.exited()), tokio::spawn(child.exited()));
        assert_eq!(child.exit(), None);
        assert_eq!(child.end(TEST_TIMEOUT).await, Exit::Code(42));
        assert_eq!((one.await.unwrap(), two.await.unwrap()), (Exit::Code(42), Exit::Code(42)));

        let mut child = launch("echo ready; exec sleep 1000").start().await.unwrap();
        assert_eq!(line(&mut output(&mut child)).await.unwrap(), "ready");
        child.signal(Signal::SIGUSR1);
        assert_eq!(child.exited().await, Exit::Signal(Signal::SIGUSR1 as i32));
        assert_eq!(describe_exit(child.exit().unwrap()), "was killed by SIGUSR1");
    }
}

#[tokio::test]
async fn a_program_that_exits_when_its_input_closes_is_not_signalled() {
    for launch in BOTH {
        let child = launch("trap 'exit 9' TERM; while read line; do :; done; exit 0").start().await.unwrap();
        assert_eq!(child.end(TEST_TIMEOUT).await, Exit::Code(0));
    }
}

#[tokio::test]
async fn a_program_that_ignores_its_input_gets_sigterm() {
    for launch in BOTH {
        let mut child = launch("trap 'exit 9' TERM; echo ready; while :; do sleep 0.05; done").start().await.unwrap();
        let mut lines = output(&mut child);
        assert_eq!(line(&mut lines).await.unwrap(), "ready");
        assert_eq!(child.end(IGNORED_GRACE).await, Exit::Code(9));
    }
}

#[tokio::test]
async fn a_program_that_ignores_everything_is_killed_with_its_group() {
    for launch in BOTH {
        let stubborn = "trap '' TERM HUP INT; sh -c 'echo $$; while :; do sleep 1; done' & \
                        echo $$; while :; do sleep 1; done";
        let mut child = launch(stubborn).start().await.unwrap();
        let mut lines = output(&mut child);
        let family = [pid(&mut lines).await, pid(&mut lines).await];
        assert!(family.contains(&Pid::from_raw(child.pid())));
        assert_eq!(child.end(IGNORED_GRACE).await, Exit::Signal(Signal::SIGKILL as i32));
        assert!(!family.iter().any(|pid| running(*pid)), "no process is left after the end");
    }
}

#[tokio::test]
async fn a_stopped_program_ends_too() {
    for launch in BOTH {
        let mut child = launch("trap 'exit 9' TERM; echo ready; kill -STOP $$; echo on").start().await.unwrap();
        let mut lines = output(&mut child);
        assert_eq!(line(&mut lines).await.unwrap(), "ready");
        assert_eq!(child.end(IGNORED_GRACE).await, Exit::Code(9));
    }
}

#[tokio::test]
async fn processes_left_in_its_group_end_with_the_program() {
    for launch in BOTH {
        let mut child = launch("sleep 1000 & echo $!; read line; exit 5").start().await.unwrap();
        let mut lines = output(&mut child);
        let left = pid(&mut lines).await;
        assert_eq!(child.end(TEST_TIMEOUT).await, Exit::Code(5));
        assert!(!running(left));
    }
}

#[tokio::test]
async fn a_dropped_program_is_killed_with_its_group() {
    for launch in BOTH {
        let mut child = launch("trap '' TERM; sleep 1000 & echo $!; echo $$; wait").start().await.unwrap();
        let mut lines = output(&mut child);
        let family = [pid(&mut lines).await, pid(&mut lines).await];
        let exited = child.exited();
        drop(child);
        assert_eq!(exited.await, Exit::Signal(Signal::SIGKILL as i32));
        gone("its group ends", &family);
    }
}

#[tokio::test]
async fn dropping_the_end_future_kills() {
    for launch in BOTH {
        let mut child = launch("trap '' TERM; echo $$; while :; do sleep 1; done").start().await.unwrap();
        let program = pid(&mut output(&mut child)).await;
        let exited = child.exited();
        let begin = Instant::now();
        tokio::select! {
            biased;
            exit = child.end(TEST_TIMEOUT) => panic!("{exit:?}"),
            () = std::future::ready(()) => {}
        }
        assert_eq!(exited.await, Exit::Signal(Signal::SIGKILL as i32));
        gone("it ends", &[program]);
        assert!(begin.elapsed() < TEST_TIMEOUT, "the grace period is skipped");
    }
}

#[test]
fn a_program_does_not_outlive_the_runtime_that_it_was_started_in() {
    for launch in BOTH {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let program = runtime.block_on(async {
            let mut child = launch("trap '' TERM; echo $$; while :; do sleep 1; done").start().await.unwrap();
            let program = pid(&mut output(&mut child)).await;
            tokio::spawn(async move {
                let _child = child;
                std::future::pending::<()>().await;
            });
            program
        });
        drop(runtime);
        gone("it ends", &[program]);
    }
}

#[tokio::test]
async fn a_hundred_programs_have_separate_exit_codes() {
    let mut children = Vec::new();
    for code in 0..100 {
        let child = script(&format!("read line; exit {code}")).start().await.unwrap();
        children.push(tokio::spawn(child.end(TEST_TIMEOUT)));
    }
    for (code, child) in children.into_iter().enumerate() {
        assert_eq!(child.await.unwrap(), Exit::Code(i32::try_from(code).unwrap()));
    }
}
