//! Tests restarts and resuming after a process has ended.

use serde_json::json;

use super::*;
use crate::interface::ResumeSelector;

/// Script: the first process exits during a turn, in the middle of a line; the second resumes and replays the
/// conversation.
const CRASH_THEN_REPLAY: &str = r#"
    if [ -e again ]; then
        next; reply "$HELLO"; next
        update '{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"go"}}'
        say "old words"
        update '{"sessionUpdate":"tool_call","toolCallId":"c","status":"completed"}'
        reply '{"modes":{"currentModeId":"ask","availableModes":[{"id":"ask"},{"id":"plan"}]}}'
        say "late old words"
        next; say new; reply '{"stopReason":"end_turn"}'; rest
    fi
    touch again; hello; next; say begun; printf '{"jsonrpc":"2.0","meth'; echo 'out of wheels' >&2; exit 3"#;

#[tokio::test]
async fn a_death_in_the_middle_of_a_line_fails_the_turn_and_the_next_continues() {
    let mut run = Run::new(CRASH_THEN_REPLAY).await;
    run.prompt("go").await;
    let (reports, outcome) = run.ended().await;
    assert!(
        matches!(&outcome, TurnOutcome::Failed(why) if why.contains("exited with 3: out of wheels")),
        "{outcome:?}"
    );
    assert_eq!(texts(&reports), ["begun"]);
    let reports = run.until(|report| matches!(report, Report::Notice(NoticeLevel::Error, _))).await;
    assert!(warnings(&reports).last().unwrap().contains("in the same conversation"));
    run.prompt("more").await;
    let (reports, outcome) = run.ended().await;
    assert_eq!(
        (texts(&reports), outcome),
        (vec!["new".to_owned()], TurnOutcome::Completed),
        "what was said before is not told again"
    );
    assert!(!reports.iter().any(|report| matches!(report, Report::Item { body: ItemBody::Tool(_), .. })));
    let heard = run.heard();
    let load = heard.iter().find(|line| line["method"] == "session/load").unwrap();
    assert_eq!(load["params"]["sessionId"], "s");
    run.end().await;
}

#[tokio::test]
async fn a_conversation_that_cannot_be_loaded_is_reported_as_lost() {
    // The first process dies, the second fails to load, the third starts a new conversation.
    let script = r#"
        count=$(cat count 2>/dev/null || echo 0); count=$((count+1)); echo $count > count
        case $count in
            1) hello; next; say fine; reply '{"stopReason":"end_turn"}'; next; exit 4;;
            2) next; reply "$HELLO"; next; fail -32603 "no such session"; rest;;
            *) hello; next; reply '{"stopReason":"end_turn"}'; rest;;
        esac"#;
    let mut run = Run::new(script).await;
    run.prompt("remember the wheel").await;
    assert_eq!(run.ended().await.1, TurnOutcome::Completed);
    run.prompt("go").await;
    assert!(matches!(run.ended().await.1, TurnOutcome::Failed(_)));
    run.prompt("more").await;
    let (reports, outcome) = run.ended().await;
    assert_eq!(outcome, TurnOutcome::Completed);
    let told = |text: &&str| text.contains("lost") && text.contains("no such session") && text.contains("as context");
    assert!(warnings(&reports).iter().any(told), "{reports:?}");
    let heard = run.heard();
    let last = heard.iter().rfind(|line| line["method"] == "session/prompt").unwrap();
    assert!(last["params"]["prompt"][0]["text"].as_str().unwrap().contains("remember the wheel"), "{last}");
    assert_eq!(last["params"]["prompt"][1]["text"], "more");
    run.end().await;
}

#[tokio::test]
async fn an_agent_that_exits_before_the_first_prompt_is_not_restarted() {
    let run = Run::new("hello; echo 'changed my mind' >&2; exit 5").await;
    assert_eq!(run.gone().await.as_deref(), Some("it exited with 5: changed my mind"));
}

#[tokio::test]
async fn an_agent_killed_before_the_first_prompt_starts_a_new_conversation() {
    let script = r#"
        if [ -e again ]; then hello; next; reply '{"stopReason":"end_turn"}'; rest; fi
        touch again; hello; kill -KILL $$"#;
    let mut run = Run::new(script).await;
    let reports = run.until(|report| matches!(report, Report::Notice(NoticeLevel::Error, _))).await;
    assert!(warnings(&reports).last().unwrap().ends_with("in a new conversation"), "{reports:?}");
    run.prompt("go").await;
    let (reports, outcome) = run.ended().await;
    assert_eq!(outcome, TurnOutcome::Completed);
    assert!(!warnings(&reports).iter().any(|text| text.contains("lost")), "there was nothing to lose: {reports:?}");
    assert!(!run.heard().iter().any(|line| line["method"] == "session/load"));
    run.end().await;
}

#[tokio::test]
async fn an_agent_that_exits_whenever_it_resumes_is_not_restarted_forever() {
    let script = r#"
        if [ -e again ]; then next; reply "$HELLO"; next; reply '{}'; echo 'not again' >&2; exit 6; fi
        touch again; hello; next; exit 5"#;
    let mut run = Run::new(script).await;
    run.prompt("go").await;
    assert!(matches!(run.ended().await.1, TurnOutcome::Failed(_)));
    run.prompt("more").await;
    assert_eq!(run.gone().await.as_deref(), Some("it exited with 6: not again"));
}

#[tokio::test]
async fn a_named_conversation_is_resumed() {
    let named = |start: &mut StartOptions| start.resume = Some(ResumeSelector::Named("s".to_owned()));
    let script = r#"
        next; reply "$HELLO"; next
        update '{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"what "}}'
        update '{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"was"}}'
        say old; update '{"sessionUpdate":"tool_call","toolCallId":"c","title":"look","status":"completed"}'
        reply "$SESSION"; say late; next; say new; reply '{"stopReason":"end_turn"}'; rest"#;
    let mut run = Run::with(script, named).await;
    let before = run.until(|report| matches!(report, Report::Ready(_))).await;
    assert!(before.contains(&Report::EarlierPrompt("what was".to_owned())), "{before:?}");
    assert_eq!(texts(&before), ["old", "late"], "the earlier conversation is shown");
    assert!(before.iter().any(|report| matches!(report, Report::Item { body: ItemBody::Tool(_), done: true, .. })));
    run.prompt("go").await;
    assert_eq!(texts(&run.ended().await.0), ["new"]);
    assert_eq!(run.heard()[1]["method"], "session/load");
    run.end().await;
    let known = |start: &mut StartOptions| {
        named(start);
        start.reports_history = false;
    };
    let mut run = Run::with(script, known).await;
    run.prompt("go").await;
    assert_eq!(texts(&run.ended().await.0), ["new"], "whoever knows it already is not told again");
    run.end().await;
    let run = Run::with(r#"next; reply "$HELLO"; next; fail -32602 "no such"; rest"#, named).await;
    assert_eq!(run.gone().await.as_deref(), Some("no such"));
    let run = Run::with(r#"next; reply '{"protocolVersion":1}'; rest"#, named).await;
    assert!(run.gone().await.unwrap().contains("cannot resume"));
}

#[tokio::test]
async fn the_newest_conversation_is_found_where_the_agent_lists_them() {
    let latest = |start: &mut StartOptions| start.resume = Some(ResumeSelector::Latest);
    let script = r#"
        next; reply '{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"list":{},"resume":{}}}}'
        next; reply '{"sessions":[{"sessionId":"s","updatedAt":"2026-02-01"},{"sessionId":"x","updatedAt":"2026-01-01"},{"sessionId":"y","cwd":"/elsewhere","updatedAt":"2026-03-01"}]}'
        next; reply "{}"; rest"#;
    let mut run = Run::with(script, latest).await;
    run.until(|report| matches!(report, Report::Ready(_))).await;
    let heard = run.heard();
    assert_eq!((&heard[2]["method"], &heard[2]["params"]["sessionId"]), (&json!("session/resume"), &json!("s")));
    run.end().await;
    let run = Run::with(r#"next; reply "$HELLO"; rest"#, latest).await;
    assert!(run.gone().await.unwrap().contains("--resume"));
}

#[tokio::test]
async fn a_new_conversation_is_started_on_request() {
    let mut run = Run::new(r#"hello; next; say hi; reply '{"stopReason":"end_turn"}'; rest"#).await;
    run.prompt("go").await;
    run.ended().await;
    run.order(Order::Call { id: 7, call: wh_core::space::harness::Call::Restart }).await;
    run.until(|report| matches!(report, Report::Called(7, Ok(_)))).await;
    let begun = run.heard().iter().filter(|line| line["method"] == "session/new").count();
    assert_eq!(begun, 2);
    run.end().await;
}

#[tokio::test]
async fn an_agent_can_be_ended_during_the_handshake() {
    let run = Run::new("next; rest").await;
    run.end().await;
}

#[tokio::test]
async fn an_agent_that_asks_much_and_does_not_read_completes_the_handshake() {
    // More refusals than a pipe holds. They are read once there is a conversation.
    let script = r#"
        next; reply "$HELLO"; next
        for i in {1..2000}; do echo "{\"jsonrpc\":\"2.0\",\"id\":$i,\"method\":\"fs/read_text_file\",\"params\":{}}"; done
        reply "$SESSION"
        until [ -e go ]; do read -rt 0.05 _ <> <(:); done
        rest"#;
    let mut run = Run::new(script).await;
    run.until(|report| matches!(report, Report::Ready(_))).await;
    std::fs::write(run.folder.path().join("go"), "").unwrap();
    let refused = || run.heard().iter().filter(|line| line["error"]["code"] == -32601).count();
    let all = async {
        while refused() < 2000 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    assert!(timeout(Duration::from_secs(30), all).await.is_ok(), "{} were refused", refused());
    run.end().await;
}

/// Returns the reported resume ids.
fn resume_ids(reports: &[Report]) -> Vec<Option<&str>> {
    let told = reports.iter().filter_map(|report| match report {
        Report::ResumeId(name) => Some(name.as_deref()),
        _ => None,
    });
    told.collect()
}

#[tokio::test]
async fn the_resume_id_is_reported_after_the_first_prompt() {
    let once = r#"hello; next; reply '{"stopReason":"end_turn"}'; rest"#;
    let mut run = Run::new(once).await;
    run.prompt("go").await;
    assert_eq!(resume_ids(&run.ended().await.0), [Some("s")]);
    run.order(Order::Call { id: 7, call: wh_core::space::harness::Call::Restart }).await;
    let anew = run.until(|report| matches!(report, Report::Called(7, Ok(_)))).await;
    assert_eq!(resume_ids(&anew), [None], "a new conversation is another one");
    run.end().await;
    let named = |start: &mut StartOptions| start.resume = Some(ResumeSelector::Named("s".to_owned()));
    let mut run = Run::with(r#"next; reply "$HELLO"; next; reply "$SESSION"; rest"#, named).await;
    assert_eq!(resume_ids(&run.until(|report| matches!(report, Report::ResumeId(_))).await), [Some("s")]);
    run.end().await;
    let forgetful =
        r#"next; reply '{"protocolVersion":1}'; next; reply "$SESSION"; next; reply '{"stopReason":"end_turn"}'; rest"#;
    let mut run = Run::new(forgetful).await;
    run.prompt("go").await;
    assert!(resume_ids(&run.ended().await.0).iter().all(Option::is_none), "one that cannot go on says no name");
    run.end().await;
}

#[tokio::test]
async fn the_reason_of_a_failed_resume_does_not_contain_the_id() {
    let named = |start: &mut StartOptions| start.resume = Some(ResumeSelector::Named("secret-name".to_owned()));
    let run = Run::with(r#"next; reply "$HELLO"; next; fail -32602 "no session secret-name here"; rest"#, named).await;
    assert_eq!(run.gone().await.as_deref(), Some("no session it here"));
}

#[tokio::test]
async fn a_resume_waits_for_the_end_of_the_start_minute() {
    let folder = tempfile::tempdir().unwrap();
    let mut start = StartOptions::new(folder.path());
    start.arguments = vec![format!("{PRELUDE} touch started; next; rest").into()];
    start.resume = Some(ResumeSelector::Named("s".to_owned()));
    // Leaves a whole minute, however long the test takes.
    start.conversation_created_at = Some(std::time::SystemTime::now() + Duration::from_secs(60));
    let mut entry = fake();
    entry.quirks.resume_only_after_start_minute = true;
    let harness = started(entry, start).await.unwrap();
    let mut run = Run { harness, folder, turns: 0 };
    assert!(matches!(
        run.next().await,
        Report::Notice(NoticeLevel::Info, text) if text.contains("can resume the conversation")
    ));
    assert!(!run.folder.path().join("started").exists(), "it is not asked before");
    run.end().await;
}

/// Script: the first process answers one prompt and exits at the next; the second replays the conversation from the
/// file `repeated`; the third starts a new conversation.
const REPLAY_FROM_FILE: &str = r#"
    count=$(cat count 2>/dev/null || echo 0); count=$((count+1)); echo $count > count
    case $count in
        1) hello; next; say fine; reply '{"stopReason":"end_turn"}'; next; exit 4;;
        2) next; reply "$HELLO"; next; cat repeated 2>/dev/null; reply '{}'; next; say on; reply '{"stopReason":"end_turn"}'; rest;;
        *) hello; next; say anew; reply '{"stopReason":"end_turn"}'; rest;;
    esac"#;

/// Runs an agent until its first process has exited after one exchange.
async fn forgetful() -> Run {
    forgetful_with_script(REPLAY_FROM_FILE).await
}

async fn forgetful_with_script(script: &str) -> Run {
    let mut run = Run::new(script).await;
    run.prompt("remember the wheel").await;
    assert_eq!(run.ended().await.1, TurnOutcome::Completed);
    run.prompt("die").await;
    assert!(matches!(run.ended().await.1, TurnOutcome::Failed(why) if why.starts_with("cut_off: ")));
    run
}

/// Makes the second process replay this user message.
fn repeats(run: &Run, text: &str) {
    let update = format!(r#"{{"sessionUpdate":"user_message_chunk","content":{{"type":"text","text":"{text}"}}}}"#);
    let params = format!(r#"{{"sessionId":"s","update":{update}}}"#);
    let line = format!(r#"{{"jsonrpc":"2.0","method":"session/update","params":{params}}}"#);
    std::fs::write(run.folder.path().join("repeated"), format!("{line}\n")).unwrap();
}

#[tokio::test]
async fn a_complete_replay_continues_the_conversation() {
    let mut run = forgetful().await;
    repeats(&run, "remember the wheel");
    run.prompt("more").await;
    let (reports, _) = run.ended().await;
    assert_eq!(texts(&reports), ["on"]);
    assert!(!warnings(&reports).iter().any(|text| text.contains("messages")), "{reports:?}");
    run.end().await;
}

#[tokio::test]
async fn a_pause_during_a_replay_does_not_end_it() {
    let stalls = r#"next; reply "$HELLO"; next; reply '{}'; cat other; say old; sleep 0.6; cat repeated; "#;
    let script =
        REPLAY_FROM_FILE.replace(r#"next; reply "$HELLO"; next; cat repeated 2>/dev/null; reply '{}'; "#, stalls);
    assert!(script.contains(stalls));
    let mut run = forgetful_with_script(&script).await;
    repeats(&run, "something else");
    std::fs::rename(run.folder.path().join("repeated"), run.folder.path().join("other")).unwrap();
    repeats(&run, "remember the wheel");
    run.prompt("more").await;
    let (reports, outcome) = run.ended().await;
    assert_eq!((texts(&reports), outcome), (vec!["on".to_owned()], TurnOutcome::Completed), "{reports:?}");
    run.end().await;
}

#[tokio::test]
async fn an_agent_without_a_replay_is_accepted_with_a_warning() {
    let mut run = forgetful().await;
    run.prompt("more").await;
    let (reports, _) = run.ended().await;
    assert_eq!(texts(&reports), ["on"]);
    assert!(warnings(&reports).iter().any(|text| text.contains("cannot check that all 1")), "{reports:?}");
    run.end().await;
}

#[tokio::test]
async fn the_context_of_a_new_conversation_is_sent_until_a_prompt_is_answered() {
    // The third process fails one prompt, cancels one, and answers the others.
    let script = REPLAY_FROM_FILE.replace(
        "*) hello; next; say anew;",
        r#"*) hello; next; fail -32603 "busy"; next; reply '{"stopReason":"cancelled"}'; next; say anew; reply '{"stopReason":"end_turn"}'; next; say again;"#,
    );
    let mut run = forgetful_with_script(&script).await;
    repeats(&run, "something else");
    run.prompt("first").await;
    let reports = run.until(|report| matches!(report, Report::Asked { .. })).await;
    let Some(Report::Asked { key, .. }) = reports.last() else { panic!("{reports:?}") };
    let anew = wh_core::space::question::Answer { option: Some("begin-anew".to_owned()), text: None };
    run.order(Order::Answer { question: key.clone(), answer: anew }).await;
    assert!(matches!(run.ended().await.1, TurnOutcome::Failed(_)));
    run.prompt("second").await;
    assert_eq!(run.ended().await.1, TurnOutcome::Cancelled);
    for (text, answer) in [("third", "anew"), ("fourth", "again")] {
        run.prompt(text).await;
        assert_eq!(texts(&run.ended().await.0), [answer]);
    }
    let heard = run.heard();
    let prompts = heard.iter().rev().filter(|line| line["method"] == "session/prompt").take(4);
    let with_context: Vec<bool> = prompts.map(|line| line.to_string().contains("User: remember the wheel")).collect();
    assert_eq!(with_context, [false, true, true, true], "the newest first");
    run.end().await;
}

#[tokio::test]
async fn a_replay_without_a_message_is_asked_about() {
    for (option, answer, heard) in [("begin-anew", "anew", true), ("go-on", "on", false)] {
        let mut run = forgetful().await;
        repeats(&run, "something else");
        run.prompt("more").await;
        let reports = run.until(|report| matches!(report, Report::Asked { .. })).await;
        assert!(warnings(&reports).iter().any(|text| text.contains("without 1 of 1 messages")), "{reports:?}");
        let Some(Report::Asked { key, question }) = reports.last() else { panic!("{reports:?}") };
        let ids: Vec<&str> = question.options.iter().map(|option| option.id.as_str()).collect();
        assert_eq!(ids, ["begin-anew", "go-on"], "there is no copy to restore");
        let chosen = wh_core::space::question::Answer { option: Some(option.to_owned()), text: None };
        run.order(Order::Answer { question: key.clone(), answer: chosen }).await;
        let (reports, outcome) = run.ended().await;
        assert_eq!((texts(&reports), outcome), (vec![answer.to_owned()], TurnOutcome::Completed), "{option}");
        let warning = reports.iter().find_map(|report| match report {
            Report::Warned(_, warning) => Some(warning.as_str()),
            _ => None,
        });
        let lost = if heard { "the earlier conversation is lost" } else { "without 1 of 1 messages" };
        assert!(warning.is_some_and(|warning| warning.contains(lost)), "{option}: {warning:?}");
        let told = run.heard().iter().any(|line| {
            line["method"] == "session/prompt"
                && line["params"]["prompt"][0]["text"].as_str().unwrap().contains("User: remember the wheel")
        });
        assert_eq!(told, heard, "{option}");
        run.end().await;
    }
}

#[tokio::test]
async fn an_interrupt_leaves_the_question_about_a_conversation_open() {
    let mut run = forgetful().await;
    repeats(&run, "something else");
    run.prompt("more").await;
    let is_asked = |report: &Report| matches!(report, Report::Asked { .. });
    let is_done = |report: &Report| matches!(report, Report::Acked(AckedOrder::Interrupt, Ok(())));
    let reports = run.until(is_asked).await;
    let Some(Report::Asked { key: first, .. }) = reports.last() else { panic!("{reports:?}") };
    // The first interrupt cancels the prompt and all questions of its turn. The second finds nothing to stop.
    run.order(Order::Interrupt).await;
    let reports = run.until(is_asked).await;
    assert!(reports.iter().any(|report| matches!(report, Report::Ended(_, TurnOutcome::Cancelled))), "{reports:?}");
    assert!(reports.contains(&Report::Withdrew(first.clone())) && reports.iter().any(is_done), "{reports:?}");
    let Some(Report::Asked { key, .. }) = reports.last() else { panic!("{reports:?}") };
    run.order(Order::Interrupt).await;
    let reports = run.until(is_done).await;
    assert!(!reports.iter().any(|report| matches!(report, Report::Withdrew(_))), "{reports:?}");
    let chosen = wh_core::space::question::Answer { option: Some("go-on".to_owned()), text: None };
    run.order(Order::Answer { question: key.clone(), answer: chosen }).await;
    run.prompt("and now").await;
    assert_eq!(run.ended().await.1, TurnOutcome::Completed);
    run.end().await;
}
