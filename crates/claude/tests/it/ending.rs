//! Tests the end of a conversation, and that no process is left.

use wh_claude::{ClaudeClient, Event, Exit};
use wh_testkit::eventually;
use wh_testkit::process::running;

use crate::fake::{Fake, next, soon};

/// Child that never exits, in the same process group.
const WITH_A_CHILD: &str = "sleep 6000 & echo $! > child; hello";

#[tokio::test]
async fn with_the_client_the_program_and_its_group_end() {
    let fake = Fake::new(WITH_A_CHILD);
    let client = fake.client().await;
    let (program, child) = (fake.process("pid"), fake.process("child"));
    assert!(running(program) && running(child));
    drop(client);
    fake.gone("pid").await;
    fake.gone("child").await;
}

#[tokio::test]
async fn a_program_that_ignores_signals_is_killed() {
    let fake = Fake::new("trap '' TERM; sleep 6000 & echo $! > child; hello; while :; do hear || sleep 1; done");
    let client = fake.client().await;
    soon(client.close()).await;
    for name in ["pid", "child"] {
        assert!(!running(fake.process(name)), "{name}");
    }
}

#[test]
fn with_the_runtime_the_program_ends_too() {
    let fake = Fake::new(WITH_A_CHILD);
    let client = tokio::runtime::Runtime::new().unwrap().block_on(fake.client());
    let family = [fake.process("pid"), fake.process("child")];
    eventually("nothing is left", || (!family.iter().any(|pid| running(*pid))).then_some(()));
    drop(client);
}

#[tokio::test]
async fn a_close_waits_until_the_program_has_ended_by_itself() {
    let fake = Fake::new("hello; words unread; while hear; do :; done; words goodbye; : > finished; exit 0");
    let client = fake.client().await;
    soon(client.close()).await;
    assert!(fake.path("finished").exists(), "it could finish what it does at its end");
    assert!(!running(fake.process("pid")));
}

#[tokio::test]
async fn a_clone_keeps_the_program_running() {
    let fake = Fake::new("hello; while hear; do reply '{}'; done");
    let client = fake.client().await;
    let line = client.connection().clone();
    drop(client);
    soon(line.mcp_status()).await.unwrap();
    drop(line);
    fake.gone("pid").await;
}

#[tokio::test]
async fn the_last_messages_arrive_before_the_end() {
    let fake = Fake::new("hello; n=0; while [ $n -lt 100 ]; do words $n; n=$((n + 1)); done; exit 4");
    let (_connection, mut events) = fake.connection().await;
    for _ in 0..100 {
        assert!(matches!(next(&mut events).await, Event::Message(_)));
    }
    let Event::Closed(closed) = next(&mut events).await else { panic!("the end") };
    assert_eq!((closed.exit, closed.requested), (Exit::Code(4), false));
}

#[tokio::test]
async fn a_requested_end_is_reported_as_such() {
    let fake = Fake::new("hello");
    let (connection, mut events) = fake.connection().await;
    connection.close();
    let Event::Closed(closed) = next(&mut events).await else { panic!("the end") };
    assert_eq!((closed.exit, closed.requested), (Exit::Code(0), true));
}

#[tokio::test]
async fn a_child_that_holds_the_output_open_does_not_hide_the_end() {
    let fake = Fake::new("sleep 6000 & echo $! > child; hello; expect '\"user\"'; words last; exit 5");
    let mut client: ClaudeClient = fake.client().await;
    let error = soon(soon(client.prompt("x")).await.unwrap().result()).await.unwrap_err();
    assert!(error.to_string().contains("exited with 5"), "{error}");
    assert!(!running(fake.process("child")));
}
