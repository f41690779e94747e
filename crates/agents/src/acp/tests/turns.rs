//! Tests turns and events between them.

use serde_json::json;
use wh_core::space::harness::Call;
use wh_core::space::item::{ToolKind, ToolStatus};

use super::super::table::RetryLines;
use super::*;

#[tokio::test]
async fn a_turn_is_reported_from_start_to_end() {
    let script = r#"
        hello
        update '{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"init","description":"Begin"}]}'
        next
        update '{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"}}'
        say "one "; say two
        update '{"sessionUpdate":"tool_call","toolCallId":"c","title":"look","kind":"read","status":"in_progress"}'
        update '{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed","content":[{"type":"content","content":{"type":"text","text":"seen"}}]}'
        update '{"sessionUpdate":"plan","entries":[{"content":"dig","status":"pending"}]}'
        say three
        update '{"sessionUpdate":"usage_update","used":10,"size":100,"cost":{"amount":0.5,"currency":"USD"}}'
        reply '{"stopReason":"end_turn","_meta":{"quota":{"token_count":{"input_tokens":3,"output_tokens":4}}}}'
        rest"#;
    let mut run = Run::new(script).await;
    let Report::Ready(first) = run.next().await else { panic!("it is ready first") };
    assert!(first.interrupts && first.commands.is_empty());
    let Report::Ready(second) = run.next().await else { panic!("it is ready again, with commands") };
    assert_eq!(second.commands[0].id, "init");
    let turn = run.prompt("go").await;
    let (mut reports, outcome) = run.ended().await;
    assert_eq!(outcome, TurnOutcome::Completed);
    reports.retain(|report| !matches!(report, Report::ResumeId(_)));
    let [Report::Delivered(one), Report::Submitted(two), Report::Started(three), ..] = &reports[..] else {
        panic!("{reports:?}");
    };
    assert_eq!([one, two, three], [&turn; 3]);
    assert_eq!(texts(&reports), ["one two", "three"]);
    let card = reports.iter().rev().find_map(|report| match report {
        Report::Item { body: ItemBody::Tool(call), done: true, .. } => Some(call),
        _ => None,
    });
    let card = card.unwrap();
    assert_eq!((card.status, card.kind), (ToolStatus::Completed, ToolKind::Read));
    let usage = reports.iter().rev().find_map(|report| match report {
        Report::Usage(usage) => Some(*usage),
        _ => None,
    });
    let usage = usage.unwrap();
    assert_eq!(
        (usage.input_tokens, usage.output_tokens, usage.context_limit, usage.cost),
        (3, 4, Some(100), Some(0.5))
    );
    let heard = run.heard();
    assert_eq!(heard[0]["params"]["clientCapabilities"]["fs"], json!({"readTextFile": false, "writeTextFile": false}));
    assert_eq!(heard[2]["params"]["prompt"], json!([{"type": "text", "text": "go"}]));
    run.end().await;
}

#[tokio::test]
async fn unknown_requests_are_refused_and_unknown_updates_ignored() {
    let script = r#"
        hello; next; prompt=$id
        echo '{"jsonrpc":"2.0","id":"f","method":"fs/read_text_file","params":{"path":"/etc/passwd"}}'; read -r answer; echo "$answer" >> heard
        echo '{"jsonrpc":"2.0","id":0,"method":"terminal/create","params":{}}'; read -r answer; echo "$answer" >> heard
        echo '{"jsonrpc":"2.0","id":9,"method":"terminal/create","params":{}}'; read -r answer
        echo '{"jsonrpc":"2.0","id":1,"method":"fake/told","params":{}}'; read -r answer; echo "$answer" >> heard
        echo '{"jsonrpc":"2.0","id":2,"method":"elicitation/create","params":{"mode":"url","url":"x"}}'; read -r answer; echo "$answer" >> heard
        echo '{"jsonrpc":"2.0","method":"what/ever","params":7}'
        update '{"sessionUpdate":"dance","steps":3}'; update 7
        echo '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"other","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"not here"}}}}'
        echo '{"jsonrpc":"2.0","id":99,"result":{}}'
        echo 'Debugger attached.'; echo '{broken'
        say fine
        id=$prompt; reply '{"stopReason":"end_turn"}'; rest"#;
    let mut run = Run::new(script).await;
    run.prompt("go").await;
    let (reports, outcome) = run.ended().await;
    assert_eq!((texts(&reports), outcome), (vec!["fine".to_owned()], TurnOutcome::Completed));
    let [file, terminal, line] = &warnings(&reports)[..] else { panic!("one of each: {reports:?}") };
    assert!(file.contains("fs/read_text_file") && terminal.contains("terminal/create"), "{file}, {terminal}");
    assert!(line.contains("unreadable line"), "{line}");
    let heard = run.heard();
    assert_eq!((&heard[3]["id"], &heard[3]["error"]["code"]), (&json!("f"), &json!(-32601)));
    assert_eq!((&heard[4]["id"], &heard[4]["error"]["code"]), (&json!(0), &json!(-32601)));
    assert_eq!(heard[5]["result"], json!({}));
    assert_eq!(heard[6]["result"], json!({"action": "decline"}));
    run.end().await;
}

#[tokio::test]
async fn the_reason_of_a_failed_turn_is_reported() {
    let script = r#"
        hello
        next; reply '{"stopReason":"refusal"}'
        next; reply '{"stopReason":"max_tokens"}'
        next; reply '{"stopReason":"tired_of_it"}'
        next; fail 500 "the model is away"
        next; reply '[]'
        rest"#;
    let mut run = Run::new(script).await;
    for words in ["Fake refused", "output limit for one turn", "tired of it", "the model is away"] {
        run.prompt("go").await;
        let (_, outcome) = run.ended().await;
        assert!(matches!(&outcome, TurnOutcome::Failed(why) if why.contains(words)), "{outcome:?}");
    }
    run.prompt("go").await;
    assert_eq!(run.ended().await.1, TurnOutcome::Completed, "an answer is an end, whatever it says");
    run.end().await;
}

#[tokio::test]
async fn an_error_after_an_interrupt_counts_as_cancelled() {
    let script = r#"hello; next; say on; prompt=$id; next; id=$prompt; fail -32603 "This operation was aborted"; rest"#;
    let mut run = Run::new(script).await;
    run.prompt("go").await;
    run.until(|report| matches!(report, Report::Item { .. })).await;
    run.order(Order::Interrupt).await;
    assert_eq!(run.ended().await.1, TurnOutcome::Cancelled);
    assert_eq!(run.heard()[3]["method"], "session/cancel");
    run.end().await;
}

#[tokio::test]
async fn updates_before_the_reply_are_reported_before_the_end() {
    let script = r#"hello; next; for i in $(seq 3000); do say x; done; reply '{"stopReason":"end_turn"}'; rest"#;
    let mut run = Run::new(script).await;
    run.prompt("go").await;
    let (reports, _) = run.ended().await;
    assert_eq!(texts(&reports)[0].len(), 3000);
    run.end().await;
}

#[tokio::test]
async fn a_compaction_is_reported() {
    let script = r#"
        hello; next
        for status in in_progress completed strange; do
            update "{\"sessionUpdate\":\"compaction_update\",\"compactionId\":\"k\",\"status\":\"$status\"}"
        done
        update '{"sessionUpdate":"compaction_update","compactionId":"l","status":"failed","error":"too long"}'
        reply '{"stopReason":"end_turn"}'; rest"#;
    let mut run = Run::new(script).await;
    run.prompt("go").await;
    let (reports, _) = run.ended().await;
    let notices: Vec<&str> = reports
        .iter()
        .filter_map(|report| if let Report::Notice(_, text) = report { Some(text.as_str()) } else { None })
        .collect();
    let told = ["compacting the conversation", "the conversation was compacted"];
    assert_eq!(notices, [told[0], told[1], "the conversation was not compacted: too long"]);
    run.end().await;
}

/// Runs a scripted agent that reports retries on standard error if an environment variable is set.
async fn retrying(script: &str, change: impl FnOnce(&mut StartOptions)) -> Run {
    let folder = tempfile::tempdir().unwrap();
    let mut start = StartOptions::new(folder.path());
    start.arguments = vec![format!("{PRELUDE}{script}").into()];
    change(&mut start);
    let mut entry = fake();
    entry.quirks.environment = vec![("FAKE_AGENT_LOG".to_owned(), "/dev/stderr".to_owned())];
    entry.quirks.retry_lines = Some(RetryLines { marker: "[WARN] Attempt ".to_owned(), max_attempts: 3 });
    entry.quirks.compacts_by_itself = true;
    let harness = started(entry, start).await.unwrap();
    Run { harness, folder, turns: 0 }
}

const RETRIES: &str = r#"
    log() { echo "[2026-11-18T01:23:27.481Z] $1" >> $FAKE_AGENT_LOG; }
    hello; next; log "[DEBUG] on it"; log "[WARN] Attempt 1 failed with status 500. Retrying with backoff... x"; sleep 1
    log "[DEBUG] gone"; exit 3"#;

#[tokio::test]
async fn a_retry_on_standard_error_is_a_warning_and_no_reason_of_an_end() {
    let mut run = retrying(RETRIES, |_| {}).await;
    run.prompt("go").await;
    let (reports, outcome) = run.ended().await;
    assert_eq!(warnings(&reports)[0], "the model answered with HTTP 500; attempt 2 of 3");
    assert!(matches!(&outcome, TurnOutcome::Failed(why) if why.ends_with("it exited with 3")), "{outcome:?}");
}

#[tokio::test]
async fn a_variable_that_a_person_has_set_stays() {
    let set = |start: &mut StartOptions| {
        start.environment.insert("FAKE_AGENT_LOG".into(), Some("log".into()));
    };
    let mut run = retrying(RETRIES, set).await;
    run.prompt("go").await;
    let (reports, _) = run.ended().await;
    assert!(!warnings(&reports).iter().any(|text| text.contains("HTTP")), "{reports:?}");
    assert!(std::fs::read_to_string(run.folder.path().join("log")).unwrap().contains("Attempt 1"));
}

#[tokio::test]
async fn an_agent_that_shortens_conversations_by_itself_says_so() {
    let mut run = retrying("hello; rest", |_| {}).await;
    let reports = run.until(|report| matches!(report, Report::Ready(_))).await;
    let Some(Report::Ready(capabilities)) = reports.last() else { panic!("{reports:?}") };
    assert!(capabilities.calls.contains(&"compact".to_owned()), "{capabilities:?}");
    run.order(Order::Call { id: 7, call: Call::Compact { tokens: None } }).await;
    let reports = run.until(|report| matches!(report, Report::Called(..))).await;
    assert!(
        format!("{reports:?}").contains("has no command for it; /restart starts a new conversation"),
        "{reports:?}"
    );
    run.end().await;
}
