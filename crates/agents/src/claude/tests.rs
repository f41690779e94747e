//! Tests the harness against a scripted Claude Code that sends unexpected messages or omits expected ones.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::timeout;
use wh_core::space::TurnId;
use wh_core::space::harness::{Call, Order, Report, ReportedCapabilities, TurnOutcome};
use wh_core::space::question::Answer;

use super::*;
use crate::interface::Agent;
use crate::program_agent::ProgramAgent;
use crate::table::ProtocolKind;

/// Start of each script. `next` reads a line and stores its id, `reply` answers it, `hello` completes the handshake.
/// The file `started` has one line of arguments per start, `heard` the lines that were read.
const PRELUDE: &str = r#"#!/bin/bash
echo "$*" >> started
next() { read -r line || exit 0; echo "$line" >> heard; id=; [[ $line =~ \"request_id\":\"([^\"]+)\" ]] && id=${BASH_REMATCH[1]}; }
reply() { echo "{\"type\":\"control_response\",\"response\":{\"subtype\":\"success\",\"request_id\":\"$id\",\"response\":${1:-{\}}}}"; }
refuse() { echo "{\"type\":\"control_response\",\"response\":{\"subtype\":\"error\",\"request_id\":\"$id\",\"error\":\"$1\"}}"; }
state() { echo "{\"type\":\"system\",\"subtype\":\"session_state_changed\",\"state\":\"$1\",\"session_id\":\"S\"}"; }
init() { echo "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"S\",\"permissionMode\":\"${1:-default}\"}"; }
result() { echo '{"type":"result","subtype":"success","is_error":false,"result":"","session_id":"S"}'; }
hello() { next; reply "$1"; }
rest() { while :; do next; [[ -n $id ]] && reply; done; }
"#;

/// Scripted Claude Code with its harness.
struct Run {
    harness: Harness,
    folder: TempDir,
}

impl Run {
    async fn new(script: &str) -> Self {
        Self::with(script, |_| {}).await
    }

    async fn with(script: &str, change: impl FnOnce(&mut StartOptions)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("claude");
        std::fs::write(&program, format!("{PRELUDE}{script}")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let mut start = StartOptions::new(folder.path());
        change(&mut start);
        let mut claude = AgentEntry::of(ProtocolKind::Claude).unwrap();
        claude.program.commands = vec![program.to_str().unwrap().to_owned()];
        let harness = ProgramAgent::new(claude, None).start(start).await.unwrap();
        Self { harness, folder }
    }

    async fn order(&self, order: Order) {
        self.harness.orders.send(order).await.unwrap();
    }

    async fn prompt(&self, turn: &str) {
        let text = format!("say {turn}");
        self.order(Order::Prompt { turn: turn.into(), item: "m".into(), text, attachments: Vec::new() }).await;
    }

    /// Returns all reports up to and including the first match.
    async fn until(&mut self, wanted: impl Fn(&Report) -> bool) -> Vec<Report> {
        let mut all = Vec::new();
        loop {
            let next = timeout(Duration::from_secs(30), self.harness.reports.recv()).await;
            let report = next.unwrap_or_else(|_| panic!("nothing comes after {all:#?}"));
            all.push(report.unwrap_or_else(|| panic!("it is gone after {all:#?}")));
            if all.last().is_some_and(&wanted) {
                return all;
            }
        }
    }

    async fn ready(&mut self) -> ReportedCapabilities {
        match self.until(|report| matches!(report, Report::Ready(_))).await.pop() {
            Some(Report::Ready(can)) => can,
            other => panic!("{other:?}"),
        }
    }

    async fn ended(&mut self, turn: &str) -> TurnOutcome {
        let turn = TurnId::from(turn);
        match self.until(|report| matches!(report, Report::Ended(ended, _) if *ended == turn)).await.pop() {
            Some(Report::Ended(_, outcome)) => outcome,
            other => panic!("{other:?}"),
        }
    }

    async fn gone(&mut self) -> Option<String> {
        match self.until(|report| matches!(report, Report::Gone(_))).await.pop() {
            Some(Report::Gone(why)) => why,
            other => panic!("{other:?}"),
        }
    }

    /// Creates a file that the script waits for.
    fn touch(&self, name: &str) {
        std::fs::write(self.folder.path().join(name), "").unwrap();
    }

    fn lines(&self, name: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.folder.path().join(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn heard(&self) -> Vec<Value> {
        self.lines("heard").iter().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Returns the permission modes that wh requested.
    fn requested_modes(&self) -> Vec<String> {
        let asked = self.heard().into_iter().map(|one| one["request"].clone());
        let modes = asked.filter(|one| one["subtype"] == "set_permission_mode");
        modes.map(|one| one["mode"].as_str().unwrap().to_owned()).collect()
    }
}

fn is_notice(report: &Report, words: &str) -> bool {
    matches!(report, Report::Notice(_, text) if text.contains(words))
}

#[test]
fn its_options_name_the_session() {
    let mut launch = LaunchSpec::new("sh");
    launch.session = Some("s1".to_owned());
    let options = format!("{:?}", conversation(&launch, &StartOptions::new("/")).unwrap());
    assert!(options.contains("owner_session: Some(\"s1\")"), "{options}");
}

#[tokio::test]
async fn without_the_flag_no_settings_choose_its_mode() {
    let mut run = Run::new("hello; rest").await;
    run.ready().await;
    assert!(run.lines("started")[0].contains("--permission-mode=default"), "{:?}", run.lines("started"));
    let mut run = Run::with("hello; rest", |start| start.mode = Some("plan".to_owned())).await;
    run.ready().await;
    assert!(run.lines("started")[0].contains("--permission-mode=plan"), "{:?}", run.lines("started"));
    let mut run = Run::with("hello; rest", |start| start.may_skip_permissions = true).await;
    run.ready().await;
    assert!(!run.lines("started")[0].contains("--permission-mode"), "{:?}", run.lines("started"));
}

#[tokio::test]
async fn a_mode_that_skips_permissions_is_left_before_anything_is_said() {
    let script = r#"hello '{"current_permission_mode":"bypassPermissions"}'; rest"#;
    let mut run = Run::new(script).await;
    run.prompt("t1").await;
    let can = run.ready().await;
    assert_eq!(can.mode.as_deref(), Some("default"));
    run.until(|report| is_notice(report, "--allow-skipping-permissions")).await;
    run.until(|report| matches!(report, Report::Delivered(_))).await;
    assert_eq!(run.heard()[1]["request"]["mode"], "default", "{:?}", run.heard());

    let mut run = Run::with(script, |start| start.may_skip_permissions = true).await;
    assert_eq!(run.ready().await.mode.as_deref(), Some("bypassPermissions"), "whoever may is let");

    let script = r#"hello '{"current_permission_mode":"auto"}'; next; refuse "not now"; rest"#;
    let why = Run::new(script).await.gone().await.unwrap();
    assert!(why.contains("\"auto\"") && why.contains("not now"), "{why}");
}

#[tokio::test]
async fn a_skipping_mode_that_the_agent_enters_is_left() {
    let script = r#"hello; next; state running; init bypassPermissions; result; state idle; rest"#;
    let mut run = Run::new(script).await;
    assert_eq!(run.ready().await.mode.as_deref(), Some("default"));
    run.prompt("t1").await;
    let heard = run.until(|report| is_notice(report, "bypassPermissions")).await;
    assert!(heard.iter().any(|report| is_notice(report, "--allow-skipping-permissions")), "{heard:?}");
    run.until(|report| matches!(report, Report::Ready(can) if can.mode.as_deref() == Some("default"))).await;
    assert_eq!(run.requested_modes(), ["default"]);
}

/// Script that reports the end of a turn but not the idle state, so the next prompt has to wait.
const ENDS_BUT_STAYS_BUSY: &str = r#"hello; next; state running; init; result
    while [ ! -e rests ]; do sleep 0.01; done; state idle"#;

#[tokio::test]
async fn a_prompt_that_waits_for_it_is_cancelled_by_an_interrupt() {
    let mut run =
        Run::new(&format!("{ENDS_BUT_STAYS_BUSY}; next; state running; init; result; state idle; rest")).await;
    run.prompt("t1").await;
    assert_eq!(run.ended("t1").await, TurnOutcome::Completed);
    run.prompt("t2").await;
    run.order(Order::Interrupt).await;
    assert_eq!(run.ended("t2").await, TurnOutcome::Cancelled);
    run.touch("rests");
    run.prompt("t3").await;
    assert_eq!(run.ended("t3").await, TurnOutcome::Completed);
    let said: Vec<Value> = run.heard().into_iter().filter(|one| one["type"] == "user").collect();
    assert_eq!(said.len(), 2, "what was cancelled was never sent: {said:?}");
}

#[tokio::test]
async fn a_command_of_its_own_waits_until_it_is_idle_and_comes_before_prompts() {
    let mut run = Run::new(&format!(
        "{ENDS_BUT_STAYS_BUSY}; next; state running; state idle; next; state running; init; result; rest"
    ))
    .await;
    run.prompt("t1").await;
    assert_eq!(run.ended("t1").await, TurnOutcome::Completed);
    run.order(Order::Call { id: 1, call: Call::Clear }).await;
    run.order(Order::Call { id: 2, call: Call::Clear }).await;
    run.until(|report| matches!(report, Report::Called(2, Err(_)))).await;
    run.prompt("t2").await;
    run.touch("rests");
    run.until(|report| matches!(report, Report::Called(1, Ok(_)))).await;
    assert_eq!(run.ended("t2").await, TurnOutcome::Completed);
    let said: Vec<Value> = run.heard().into_iter().filter(|one| one["type"] == "user").collect();
    let said: Vec<&str> = said.iter().map(|one| one["message"]["content"].as_str().unwrap()).collect();
    assert_eq!(said, ["say t1", "/clear", "say t2"]);
}

#[tokio::test]
async fn a_command_that_waits_until_it_is_idle_is_dropped_by_an_interrupt() {
    let mut run = Run::new(&format!("{ENDS_BUT_STAYS_BUSY}; rest")).await;
    run.prompt("t1").await;
    assert_eq!(run.ended("t1").await, TurnOutcome::Completed);
    run.order(Order::Call { id: 1, call: Call::Clear }).await;
    run.order(Order::Interrupt).await;
    run.touch("rests");
    run.until(|report| matches!(report, Report::Called(1, Err(_)))).await;
    let said = run.heard().into_iter().filter(|one| one["type"] == "user").count();
    assert_eq!(said, 1, "the command was never sent");
}

#[tokio::test]
async fn a_prompt_that_waits_for_it_fails_when_a_new_conversation_is_begun() {
    let mut run = Run::new(&format!("[ -e rests ] && {{ hello; rest; }}; {ENDS_BUT_STAYS_BUSY}; rest")).await;
    run.prompt("t1").await;
    assert_eq!(run.ended("t1").await, TurnOutcome::Completed);
    run.prompt("t2").await;
    run.order(Order::Call { id: 1, call: Call::Restart }).await;
    run.touch("rests");
    assert_eq!(run.ended("t2").await, TurnOutcome::Failed("a new conversation was started".to_owned()));
    run.until(|report| matches!(report, Report::Called(1, Ok(_)))).await;
}

/// Script that answers one prompt and exits.
const ANSWERS_ONCE_AND_EXITS: &str = r#"
    if [ -e second ]; then case $* in *--resume*) echo "$WORDS" >&2; exit 1 ;; esac; fi
    hello; next; touch second; state running; init; result; state idle; exit 3"#;

#[tokio::test]
async fn a_refused_resume_starts_a_new_conversation() {
    let mut run =
        Run::new(&format!("WORDS='No conversation found with session ID: S'; {ANSWERS_ONCE_AND_EXITS}")).await;
    run.prompt("t1").await;
    assert_eq!(run.ended("t1").await, TurnOutcome::Completed);
    run.until(|report| is_notice(report, "is gone")).await;
    run.prompt("t2").await;
    run.until(|report| is_notice(report, "a new conversation begins")).await;
    assert_eq!(run.ended("t2").await, TurnOutcome::Completed);
    assert_eq!(run.lines("started").len(), 3);
}

#[tokio::test]
async fn other_start_errors_do_not_discard_the_conversation() {
    let mut run = Run::new(&format!("WORDS='out of wheels'; {ANSWERS_ONCE_AND_EXITS}")).await;
    run.prompt("t1").await;
    assert_eq!(run.ended("t1").await, TurnOutcome::Completed);
    run.until(|report| is_notice(report, "is gone")).await;
    run.prompt("t2").await;
    let last = run.until(|report| matches!(report, Report::Gone(_))).await;
    let Some(Report::Gone(Some(why))) = last.last() else { panic!("{last:?}") };
    assert!(why.contains("out of wheels"), "{why}");
    assert!(!last.contains(&Report::ResumeId(None)), "it can still be resumed: {last:?}");
}

#[tokio::test]
async fn a_form_that_is_not_answered_in_json_is_asked_again() {
    let script = r#"
        hello; next; state running; init
        echo '{"type":"control_request","request_id":"q","request":{"subtype":"elicitation","mcp_server_name":"desk","message":"Who?","requested_schema":{"properties":{"name":{"type":"string"},"age":{"type":"number"}}}}}'
        next; result; state idle; rest"#;
    let mut run = Run::new(script).await;
    run.prompt("t1").await;
    for words in ["Ada, 36", r#"{"name":"Ada","age":36}"#] {
        let asked = run.until(|report| matches!(report, Report::Asked { .. })).await;
        let Some(Report::Asked { key, .. }) = asked.last().cloned() else { panic!("{asked:?}") };
        assert_eq!(asked.iter().any(|report| is_notice(report, "not a JSON object")), words.starts_with('{'));
        run.order(Order::Answer { question: key, answer: Answer { option: None, text: Some(words.to_owned()) } }).await;
    }
    assert_eq!(run.ended("t1").await, TurnOutcome::Completed);
    let reply = &run.heard()[2]["response"]["response"];
    assert_eq!(*reply, json!({"action": "accept", "content": {"name": "Ada", "age": 36}}));
}
