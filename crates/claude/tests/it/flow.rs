//! Tests lines that are too long or invalid, and backpressure.

use std::fs;

use nix::unistd::Pid;
use wh_claude::protocol::{Delta, StreamEvent};
use wh_claude::{ClaudeMessage, Event, PermissionResult};

use crate::fake::{Fake, next, soon, until};

#[tokio::test]
async fn a_line_that_is_too_long_is_skipped_and_the_conversation_continues() {
    let fake = Fake::new(
        r#"hello
        printf '{"type":"user","message":"'; head -c 3000000 /dev/zero | tr '\0' x; echo '"}'
        words after
        expect '"mcp_status"'; reply '{}'"#,
    );
    let (connection, mut events) = fake.connection_with(fake.options().longest_line(100_000)).await;
    let Event::Skipped { bytes } = next(&mut events).await else { panic!("it says so") };
    assert_eq!(bytes, 3_000_000 + r#"{"type":"user","message":""}"#.len() as u64);
    assert!(matches!(next(&mut events).await, Event::Message(ClaudeMessage::Assistant(_))));
    soon(connection.mcp_status()).await.unwrap();
}

#[tokio::test]
async fn a_line_of_megabytes_is_read_within_the_limit() {
    let fake = Fake::new(
        r#"hello
        printf '{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"'
        head -c 3000000 /dev/zero | tr '\0' x; echo '"}]}}'"#,
    );
    let (_connection, mut events) = fake.connection().await;
    let Event::Message(ClaudeMessage::Assistant(said)) = next(&mut events).await else { panic!("a message") };
    let wh_claude::ContentBlock::Text(text) = &said.message.content[0] else { panic!("text") };
    assert_eq!(text.len(), 3_000_000);
}

#[tokio::test]
async fn invalid_lines_are_reported_or_ignored_and_the_conversation_continues() {
    let fake = Fake::new(
        r#"hello
        echo '[SandboxDebug] something else writes here'; echo; echo '   '
        echo '{"type":"assistant","mess'
        printf '{"type":"\377\376"}\n'
        echo '{"no":"type"}'
        echo '{"type":"control_response","response":{"subtype":"maybe","request_id":"x"}}'
        echo '{"type":"assistant","message":7}'
        echo '{"type":"keep_alive"}'
        words after"#,
    );
    let (_connection, mut events) = fake.connection().await;
    assert!(matches!(next(&mut events).await, Event::Unreadable(_)));
    for kind in [Some("\u{fffd}\u{fffd}"), None, Some("control_response"), Some("assistant")] {
        let Event::Message(ClaudeMessage::Unknown(unknown)) = next(&mut events).await else { panic!("{kind:?}") };
        assert_eq!(unknown.kind.as_deref(), kind);
    }
    assert!(matches!(next(&mut events).await, Event::Message(ClaudeMessage::Assistant(_))));
}

/// Writes many lines quickly, which the shell alone cannot.
const MANY: &str = r#"many() { yes "$(delta "$1")" | head -n "$2"; }"#;

#[tokio::test]
async fn a_reply_arrives_without_reading_events() {
    let fake = Fake::new(&format!("{MANY}\nhello; expect '\"mcp_status\"'; many x 5000; reply '{{}}'; words after"));
    let (connection, mut events) = fake.connection().await;
    soon(connection.mcp_status()).await.unwrap();
    for _ in 0..5000 {
        let Event::Message(ClaudeMessage::Stream(message)) = next(&mut events).await else {
            panic!("all of them come")
        };
        let StreamEvent::BlockDelta { delta: Delta::Text(text), .. } = message.event else { panic!("a delta") };
        assert_eq!(text, "x");
    }
    assert!(matches!(next(&mut events).await, Event::Message(ClaudeMessage::Assistant(_))));
}

#[tokio::test]
async fn a_request_gets_through_when_events_have_piled_up_before_it() {
    let fake = Fake::new(&format!("{MANY}\nhello; many x 5000; : > written; expect '\"mcp_status\"'; reply '{{}}'"));
    let (connection, mut events) = fake.connection().await;
    next(&mut events).await;
    assert!(!fake.path("written").exists(), "it has to wait for its reader");
    soon(connection.mcp_status()).await.unwrap();
}

#[tokio::test]
async fn a_long_prompt_is_taken_also_while_claude_code_writes_a_turn_of_its_own() {
    // `expect` is too slow in the shell for a line of this length.
    let fake = Fake::new(&format!("{MANY}\nhello; many x 5000; head -n 1 > /dev/null; result hi"));
    let mut client = fake.client().await;
    let turn = soon(client.prompt("y".repeat(300_000))).await.unwrap();
    assert_eq!(soon(turn.result()).await.unwrap().result.as_deref(), Some("hi"));
}

#[tokio::test]
async fn questions_are_answered_also_when_nobody_reads_events() {
    let bash = r#"{"subtype":"can_use_tool","tool_name":"Bash","input":{}}"#;
    let fake = Fake::new(&format!("{MANY}\nhello; many x 1000; until_there gate; many x 5000; ask q1 '{bash}'"));
    let options = fake.options().can_use_tool(|ask| async move { PermissionResult::allow(ask.input) });
    let (_connection, events) = fake.connection_with(options).await;
    drop(events);
    fake.open("gate");
    assert_eq!(fake.answer("q1").await["subtype"], "success");
}

/// Number of bytes that the process has written.
fn written(pid: Pid) -> usize {
    let io = fs::read_to_string(format!("/proc/{pid}/io")).unwrap();
    io.lines().find_map(|line| line.strip_prefix("wchar: ")).unwrap().trim().parse().unwrap()
}

/// Reads some of an endless stream of lines of this length. Checks before each read that the writer has not written
/// more than the buffers may hold.
async fn assert_backpressure(length: usize, take: usize, waiting: usize) {
    let fake = Fake::new(&format!(
        r#"hello
        fill=$(head -c {length} /dev/zero | tr '\0' x)
        exec yes "$(delta "$fill")""#
    ));
    let (_connection, mut events) = fake.connection().await;
    let pid = fake.process("pid");
    // The writer does nothing else, so if it is idle it waits for the reader.
    let is_yes = || fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name == "yes\n");
    let mut before = 0;
    let rests = || {
        let now = written(pid);
        (is_yes() && std::mem::replace(&mut before, now) == now).then_some(())
    };
    soon(until(rests)).await;
    for taken in 0..take {
        let ahead = written(pid).saturating_sub(taken * length);
        // Allow for the pipe, the reader's buffer, the writer's own write, and the overhead per line.
        assert!(ahead <= waiting + (1 << 20), "{ahead} bytes ahead of the reader");
        next(&mut events).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_program_waits_for_the_reader_of_its_events() {
    assert_backpressure(2_000, 3_000, 256 * 2_200).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_few_large_lines_fill_the_buffer_like_many_small_ones() {
    assert_backpressure(100_000, 500, 17 << 20).await;
}
