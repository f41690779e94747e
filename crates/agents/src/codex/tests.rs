//! Tests the harness against a scripted app-server that sends undocumented messages or omits expected ones.

use std::time::Duration;

use serde_json::Value;
use tokio::time::timeout;
use wh_core::space::TurnId;
use wh_core::space::harness::{AckedOrder, Call, Order, Report, TurnOutcome};
use wh_core::space::item::{ItemBody, ToolStatus};
use wh_core::space::question::Answer;
use wh_pipe::LaunchSpec;

use super::protocol::CodexProtocol;
use super::{TURN_SILENCE_TIMEOUT, modes};
use crate::driver;
use crate::interface::{Harness, StartOptions};

/// Start of each script. Reads line by line and stores method, id and text of the last request in variables; `hello`
/// completes the handshake and starts a conversation.
const PRELUDE: &str = r#"
    next() { read -r line || exit 0; id=${line#*\"id\":}; id=${id%%[,\}]*}; method=${line#*\"method\":\"}; method=${method%%\"*}; }
    say() { echo "{\"method\":\"$1\",\"params\":{\"threadId\":\"T\",\"turnId\":\"N\",${2:-\"x\":0}}}"; }
    reply() { echo "{\"id\":$id,\"result\":$1}"; }
    hello() {
        next; reply '{"userAgent":"wheelhouse/1.2.3 (test)"}'
        next
        for _ in 1 2 3; do
            next
            case $method in
                thread/*) began=$method; reply "{\"thread\":{\"id\":\"T\",\"status\":{\"type\":\"${status:-idle}\"}},\"model\":\"m\",\"approvalPolicy\":\"${policy:-on-request}\",\"sandbox\":{\"type\":\"${sandbox:-workspaceWrite}\"},\"approvalsReviewer\":\"${reviewer:-user}\"}"; asked=$line ;;
                *) echo "{\"id\":$id,\"error\":{\"code\":-32600,\"message\":\"Invalid request: unknown variant\"}}" ;;
            esac
        done
    }
    thread() { [ "$method" = thread/read ] && reply "{\"thread\":{\"id\":\"T\",\"status\":{\"type\":\"$1\",\"activeFlags\":[]}}}"; }
    wait_for() { while [ ! -e "$1" ]; do sleep 0.01; done; }
    turn() { reply '{"turn":{"id":"N","status":"inProgress"}}'; say turn/started '"turn":{"id":"N","status":"inProgress"}'; }
    done_with() { say turn/completed "\"turn\":{\"id\":\"N\",\"status\":\"${1:-completed}\"}"; }
    message() { say item/completed "\"item\":{\"type\":\"agentMessage\",\"id\":\"m\",\"text\":\"$1\"}"; }
    approval() { echo '{"method":"item/commandExecution/requestApproval","id":0,"params":{"threadId":"T","turnId":"N","itemId":"c","command":"touch x","availableDecisions":["accept","cancel"]}}'; }
"#;

struct Bench {
    harness: Harness,
    directory: tempfile::TempDir,
}

impl Bench {
    fn new(script: &str) -> Self {
        Self::with(script, TURN_SILENCE_TIMEOUT, |_| {})
    }

    fn with(script: &str, silence: Duration, change: impl FnOnce(&mut StartOptions)) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut start = StartOptions::new(directory.path());
        change(&mut start);
        let mut launch = LaunchSpec::new("bash");
        launch.arguments = vec!["-c".into(), format!("{PRELUDE}\n{script}").into()];
        launch.directory = Some(directory.path().to_owned());
        let mode = start.mode.as_deref().map(|mode| modes::find(mode, start.may_skip_permissions).unwrap());
        let (harness, task) = Harness::new();
        let may_skip = start.may_skip_permissions;
        tokio::spawn(driver::run(CodexProtocol::new(launch, start, mode, silence), may_skip, task));
        Self { harness, directory }
    }

    async fn order(&self, order: Order) {
        self.harness.orders.send(order).await.unwrap();
    }

    async fn prompt(&self, turn: &str) {
        let prompt = Order::Prompt {
            turn: TurnId::from(turn),
            item: "m".into(),
            text: "hi".to_owned(),
            attachments: Vec::new(),
        };
        self.order(prompt).await;
    }

    /// Creates a file that the script waits for.
    fn touch(&self, name: &str) {
        std::fs::write(self.directory.path().join(name), "").unwrap();
    }

    /// Waits until all orders have been received.
    async fn taken(&self) {
        let room = self.harness.orders.max_capacity();
        drop(timeout(Duration::from_secs(20), self.harness.orders.reserve_many(room)).await.unwrap().unwrap());
    }

    /// Returns all reports up to and including the first match.
    async fn until(&mut self, wanted: impl Fn(&Report) -> bool) -> Vec<Report> {
        let mut all = Vec::new();
        loop {
            let next = timeout(Duration::from_secs(20), self.harness.reports.recv()).await;
            let report = next.unwrap_or_else(|_| panic!("nothing comes after {all:#?}"));
            all.push(report.unwrap_or_else(|| panic!("it is gone after {all:#?}")));
            if all.last().is_some_and(&wanted) {
                return all;
            }
        }
    }

    async fn ended(&mut self) -> (TurnOutcome, Vec<Report>) {
        let all = self.until(|report| matches!(report, Report::Ended(..))).await;
        let Some(Report::Ended(_, outcome)) = all.last() else { panic!("an end") };
        (outcome.clone(), all)
    }
}

fn is_asked(report: &Report) -> bool {
    matches!(report, Report::Asked { .. })
}

fn texts(reports: &[Report]) -> Vec<&str> {
    reports
        .iter()
        .filter_map(|report| match report {
            Report::Item { body: ItemBody::Text { text, .. }, done: true, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect()
}

fn notices(reports: &[Report]) -> String {
    let notices = reports.iter().filter_map(|report| match report {
        Report::Notice(_, text) => Some(text.as_str()),
        _ => None,
    });
    notices.collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn a_turn_goes_through_its_stages_whatever_else_is_said() {
    let script = r#"
        hello; next; turn
        say future/news; say item/started '"item":{"type":"dreaming","id":"d"}'; say item/started '"item":7'
        echo '{"method":'; echo 'words of another'; echo '{"id":99,"result":{}}'
        echo '{"method":"future/ask","id":"f","params":{}}'
        next; [[ $line == *-32601* ]] && message refused
        message hello; done_with; next"#;
    let mut bench = Bench::new(script);
    let Some(Report::Ready(can)) = bench.harness.reports.recv().await else { panic!("it is ready") };
    assert_eq!((can.model.as_deref(), can.mode.as_deref()), (Some("m"), Some("auto")));
    assert_eq!(can.modes.len(), 3, "no mode that skips permissions");
    bench.prompt("t1").await;
    let (outcome, mut reports) = bench.ended().await;
    assert_eq!(outcome, TurnOutcome::Completed);
    reports.retain(|report| !matches!(report, Report::ResumeId(_)));
    let turn = || TurnId::from("t1");
    assert_eq!(reports[..3], [Report::Delivered(turn()), Report::Submitted(turn()), Report::Started(turn())]);
    assert_eq!(texts(&reports), ["refused", "hello"]);
    assert!(notices(&reports).contains("unreadable line"), "{reports:?}");
    bench.order(Order::End).await;
    assert_eq!(bench.until(|report| matches!(report, Report::Gone(_))).await.pop(), Some(Report::Gone(None)));
}

#[tokio::test]
async fn a_turn_may_begin_and_end_before_its_reply() {
    let script = r#"
        hello; next
        say turn/completed '"turn":{"id":"other","status":"failed"}'
        message early; done_with
        turn; next"#;
    let mut bench = Bench::new(script);
    bench.prompt("t1").await;
    let (outcome, reports) = bench.ended().await;
    assert_eq!(outcome, TurnOutcome::Completed);
    assert_eq!(texts(&reports), ["early"]);
    let stages = reports.iter().filter(|report| matches!(report, Report::Submitted(_) | Report::Started(_)));
    assert_eq!(stages.count(), 2, "each once: {reports:?}");
}

#[tokio::test]
async fn a_death_in_the_middle_of_a_line_fails_the_turn_and_the_next_continues() {
    let script = r#"
        hello
        if [ -e second ]; then next; turn; message "$began"; done_with; next; fi
        touch second
        next; turn; printf '{"method":"item/started","par'; echo 'out of wheels' >&2; exit 3"#;
    let mut bench = Bench::new(script);
    bench.prompt("t1").await;
    let (outcome, _) = bench.ended().await;
    let TurnOutcome::Failed(words) = outcome else { panic!("it failed") };
    assert_eq!(words, "cut_off: Codex is gone: it exited with 3: out of wheels");
    let told = bench.until(|report| matches!(report, Report::Notice(_, text) if text.contains("gone"))).await;
    assert!(notices(&told).contains("in the same conversation"));
    bench.prompt("t2").await;
    let (outcome, reports) = bench.ended().await;
    assert_eq!((outcome, texts(&reports)), (TurnOutcome::Completed, vec!["thread/resume"]));
}

#[tokio::test]
async fn an_approval_is_answered_by_its_id_or_withdrawn() {
    let script = r#"
        hello; next; turn
        say item/started '"item":{"type":"commandExecution","id":"c","command":"touch x","status":"inProgress"}'
        approval; next; message "${line//\"/}"
        approval; say serverRequest/resolved '"requestId":0'
        message later; done_with
        approval; next; message "${line//\"/}"; next"#;
    let mut bench = Bench::new(script);
    bench.prompt("t1").await;
    let asked = bench.until(is_asked).await;
    let Some(Report::Asked { key, question }) = asked.last().cloned() else { panic!("a question") };
    let ids: Vec<&str> = question.options.iter().map(|option| option.id.as_str()).collect();
    assert_eq!(ids, ["accept", "decline", "cancel"]);
    let waits = |report: &Report| {
        matches!(
            report,
            Report::Item { body: ItemBody::Tool(call), .. } if call.status == ToolStatus::Pending
        )
    };
    assert!(asked.iter().any(waits), "its card waits: {asked:?}");
    bench
        .order(Order::Answer { question: key, answer: Answer { option: Some("accept".to_owned()), text: None } })
        .await;
    let asked = bench.until(is_asked).await;
    assert_eq!(texts(&asked), ["{id:0,result:{decision:accept}}"]);
    let Some(Report::Asked { key, .. }) = asked.last().cloned() else { panic!("a question") };
    let withdrawn = bench.until(|report| matches!(report, Report::Withdrew(_))).await;
    assert_eq!(withdrawn.last(), Some(&Report::Withdrew(key.clone())));
    bench
        .order(Order::Answer { question: key, answer: Answer { option: Some("accept".to_owned()), text: None } })
        .await;
    assert_eq!(bench.ended().await.0, TurnOutcome::Completed);
    let late = bench.until(|report| matches!(report, Report::Item { body: ItemBody::Text { .. }, .. })).await;
    assert_eq!(texts(&late), ["{id:0,result:{decision:cancel}}"], "who asks after the turn is told no");
}

#[tokio::test]
async fn a_form_that_is_not_answered_in_json_is_asked_again() {
    let script = r#"
        hello; next; turn
        echo '{"method":"mcpServer/elicitation/request","id":0,"params":{"threadId":"T","turnId":"N","serverName":"desk","message":"Who?","mode":"form","requestedSchema":{"properties":{"name":{"type":"string"},"age":{"type":"number"}}}}}'
        next; message "${line//\"/}"; done_with; next"#;
    let mut bench = Bench::new(script);
    bench.prompt("t1").await;
    for words in ["Ada, 36", "36"] {
        let asked = bench.until(is_asked).await;
        let Some(Report::Asked { key, .. }) = asked.last().cloned() else { panic!("a question") };
        let answer = Answer { option: None, text: Some(words.to_owned()) };
        bench.order(Order::Answer { question: key, answer }).await;
    }
    let asked = bench.until(is_asked).await;
    assert!(notices(&asked).contains("not a JSON object"), "{asked:?}");
    let Some(Report::Asked { key, .. }) = asked.last().cloned() else { panic!("a question") };
    let answer = Answer { option: None, text: Some(r#"{"name":"Ada","age":36}"#.to_owned()) };
    bench.order(Order::Answer { question: key, answer }).await;
    let (_, reports) = bench.ended().await;
    let sent = texts(&reports)[0];
    assert!(sent.contains("action:accept") && sent.contains("name:Ada") && sent.contains("age:36"), "{sent}");
}

#[tokio::test]
async fn an_interrupt_that_comes_too_soon_is_sent_once_there_is_a_turn() {
    let script = r#"
        hello; next
        wait_for taken; turn
        next; [[ $method == turn/interrupt && $line == *'"turnId":"N"'* ]] && { reply '{}'; done_with interrupted; }
        while :; do next; done"#;
    let mut bench = Bench::new(script);
    bench.prompt("t1").await;
    bench.until(|report| matches!(report, Report::Delivered(_))).await;
    bench.order(Order::Interrupt).await;
    bench.taken().await;
    bench.touch("taken");
    assert_eq!(bench.ended().await.0, TurnOutcome::Cancelled);
}

#[tokio::test]
async fn a_turn_whose_end_is_lost_fails_by_its_silence() {
    let mut bench = Bench::with("hello; next; turn; next", Duration::from_millis(150), |_| {});
    bench.prompt("t1").await;
    let TurnOutcome::Failed(words) = bench.ended().await.0 else { panic!("it failed") };
    assert!(words.contains("the end of the turn was lost"), "{words}");
}

#[tokio::test]
async fn silence_while_it_works_is_no_failure() {
    let script = r#"
        status=active; hello; next; turn; while [ ! -e told ]; do next; thread active; done
        message slowly; done_with; next"#;
    let mut bench = Bench::with(script, Duration::from_millis(100), |_| {});
    bench.prompt("t1").await;
    bench.until(|report| matches!(report, Report::Notice(_, text) if text.contains("has sent nothing"))).await;
    bench.touch("told");
    let (outcome, reports) = bench.ended().await;
    assert_eq!((outcome, texts(&reports)), (TurnOutcome::Completed, vec!["slowly"]));
    assert_eq!(notices(&reports), "", "it is told once");

    let item = r#"'"item":{"type":"commandExecution","id":"c","command":"make","status":"inProgress"}'"#;
    let script = format!(
        "status=active; hello; next; turn; say item/started {item}; next; thread active; next; done_with; next"
    );
    let mut bench = Bench::with(&script, Duration::from_millis(100), |_| {});
    bench.prompt("t1").await;
    let (outcome, reports) = bench.ended().await;
    assert_eq!((outcome, notices(&reports)), (TurnOutcome::Completed, String::new()), "a command takes its time");
}

#[tokio::test]
async fn a_turn_without_an_end_fails_once_the_thread_is_idle() {
    for status in ["idle", "systemError", "notLoaded"] {
        let script = format!("status=active; hello; next; turn; while next; do thread {status}; done");
        let mut bench = Bench::with(&script, Duration::from_millis(100), |_| {});
        bench.prompt("t1").await;
        let (outcome, _) = bench.ended().await;
        let TurnOutcome::Failed(words) = outcome else { panic!("it failed") };
        assert!(words.contains("the end of the turn was lost"), "{words}");
    }
    let script = "status=active; hello; next; turn; next; done_with; thread idle; next";
    let mut bench = Bench::with(script, Duration::from_millis(100), |_| {});
    bench.prompt("t1").await;
    assert_eq!(bench.ended().await.0, TurnOutcome::Completed, "what came before the look counts");
}

#[tokio::test]
async fn a_configuration_that_skips_permissions_is_overridden() {
    let script =
        r#"policy=never; sandbox=dangerFullAccess; hello; next; turn; message "${line//\"/}"; done_with; next"#;
    let mut bench = Bench::new(script);
    bench.prompt("t1").await;
    let (_, reports) = bench.ended().await;
    assert!(notices(&reports).contains("--allow-skipping-permissions"), "{reports:?}");
    let sent = texts(&reports)[0];
    assert!(
        sent.contains("approvalPolicy:on-request") && sent.contains("sandboxPolicy:{type:workspaceWrite}"),
        "{sent}"
    );
    let modes: Vec<_> = reports
        .iter()
        .filter_map(|report| if let Report::Ready(can) = report { can.mode.clone() } else { None })
        .collect();
    assert_eq!(modes.last().map(String::as_str), Some("auto"));
}

#[tokio::test]
async fn a_turn_that_was_given_up_takes_no_careful_mode_with_it() {
    let script =
        r#"policy=never; sandbox=dangerFullAccess; hello; next; next; turn; message "${line//\"/}"; done_with; next"#;
    let mut bench = Bench::new(script);
    bench.prompt("t1").await;
    bench.until(|report| matches!(report, Report::Delivered(_))).await;
    // Codex has not replied, so the interrupt cannot name the turn and it is abandoned.
    bench.order(Order::Interrupt).await;
    assert_eq!(bench.ended().await.0, TurnOutcome::Cancelled);
    bench.prompt("t2").await;
    let (_, reports) = bench.ended().await;
    assert!(texts(&reports)[0].contains("approvalPolicy:on-request"), "{reports:?}");
}

#[tokio::test]
async fn another_model_does_not_review_in_place_of_the_user() {
    let script =
        r#"reviewer=auto_review; hello; next; turn; message "${asked//\"/}"; message "${line//\"/}"; done_with; next"#;
    let mut bench = Bench::new(script);
    bench.prompt("t1").await;
    let (_, reports) = bench.ended().await;
    assert!(notices(&reports).contains("--allow-skipping-permissions"), "{reports:?}");
    let sent = texts(&reports);
    assert!(sent.iter().all(|sent| sent.contains("approvalsReviewer:user")), "from the beginning, and again: {sent:?}");

    let mut bench = Bench::with(script, TURN_SILENCE_TIMEOUT, |start| start.may_skip_permissions = true);
    bench.prompt("t1").await;
    let (_, reports) = bench.ended().await;
    assert_eq!(notices(&reports), "", "whoever may is let");
    assert!(!texts(&reports).iter().any(|sent| sent.contains("approvalsReviewer")), "{reports:?}");
}

#[tokio::test]
async fn a_model_and_a_mode_hold_from_the_next_turn_on() {
    let script = r#"
        hello
        while next; do
            case $method in
                turn/start) turn; message "${line//\"/}"; done_with ;;
                *) echo "{\"id\":$id,\"error\":{\"code\":-32600,\"message\":\"unknown variant\"}}" ;;
            esac
        done"#;
    let mut bench = Bench::new(script);
    bench.order(Order::SetModel("n".to_owned())).await;
    bench.order(Order::SetMode("read-only".to_owned())).await;
    bench.order(Order::SetMode("full-access".to_owned())).await;
    bench.prompt("t1").await;
    let (_, reports) = bench.ended().await;
    assert!(notices(&reports).contains("--allow-skipping-permissions"), "whoever asks is refused");
    let sent = texts(&reports)[0];
    assert!(sent.contains("model:n") && sent.contains("sandboxPolicy:{type:readOnly}"), "{sent}");
    let Some(can) =
        reports.iter().rev().find_map(|report| if let Report::Ready(can) = report { Some(can) } else { None })
    else {
        panic!("it is ready")
    };
    assert_eq!((can.model.as_deref(), can.mode.as_deref()), (Some("n"), Some("read-only")));
    bench.prompt("t2").await;
    let (_, reports) = bench.ended().await;
    assert!(!texts(&reports)[0].contains("model:"), "what it has is not sent again");
    bench.order(Order::Call { id: 7, call: Call::Compact { tokens: None } }).await;
    let called = bench.until(|report| matches!(report, Report::Called(..))).await;
    let Some(Report::Called(7, Err(why))) = called.last() else { panic!("it cannot") };
    assert!(why.contains("this version of Codex cannot"), "{why}");
}

#[tokio::test]
async fn a_prompt_waits_for_a_compaction_or_a_new_conversation() {
    let script = r#"
        hello
        while next; do
            case $method in
                thread/compact/start) reply '{}'; say turn/started '"turn":{"id":"K"}'; wait_for shorter
                    say thread/status/changed '"status":{"type":"idle"}'; say turn/completed '"turn":{"id":"K","status":"completed"}' ;;
                thread/start) wait_for anew; reply '{"thread":{"id":"T2"},"approvalPolicy":"on-request","sandbox":{"type":"workspaceWrite"}}' ;;
                turn/start) turn; message "${line//\"/}"; done_with ;;
                *) reply '{}' ;;
            esac
        done"#;
    let mut bench = Bench::new(script);
    bench.order(Order::Call { id: 1, call: Call::Compact { tokens: None } }).await;
    bench.prompt("t1").await;
    bench.taken().await;
    bench.touch("shorter");
    let (outcome, reports) = bench.ended().await;
    assert_eq!(outcome, TurnOutcome::Completed);
    assert!(reports.contains(&Report::Called(1, Ok(Value::Null))), "{reports:?}");
    assert!(texts(&reports)[0].contains("threadId:T"));
    bench.order(Order::Call { id: 2, call: Call::Clear }).await;
    bench.prompt("t2").await;
    bench.order(Order::Interrupt).await;
    assert_eq!(bench.ended().await.0, TurnOutcome::Cancelled, "what waits can be interrupted");
    bench.prompt("t3").await;
    bench.taken().await;
    bench.touch("anew");
    let cleared = bench.until(|report| matches!(report, Report::Called(2, Ok(_)))).await;
    assert!(!cleared.iter().any(|report| matches!(report, Report::Delivered(_))), "it waits");
    bench.until(|report| matches!(report, Report::Delivered(_))).await;
}

#[tokio::test]
async fn a_call_that_kills_the_server_fails() {
    let mut bench = Bench::new("hello; next; exit 4");
    bench.order(Order::Call { id: 3, call: Call::Compact { tokens: None } }).await;
    let all = bench.until(|report| matches!(report, Report::Notice(..))).await;
    // The failed request may be reported before or after the end of the process.
    let answers = all.iter().filter(|report| matches!(report, Report::Called(3, Err(_)))).count();
    assert_eq!(answers, 1, "{all:?}");
}

#[tokio::test]
async fn a_compaction_without_an_end_times_out() {
    let script = "hello; next; reply '{}'; next; turn; message on; done_with; next";
    let mut bench = Bench::with(script, Duration::from_millis(150), |_| {});
    bench.order(Order::Call { id: 3, call: Call::Compact { tokens: None } }).await;
    bench.prompt("t1").await;
    let (outcome, reports) = bench.ended().await;
    assert_eq!((outcome, texts(&reports)), (TurnOutcome::Completed, vec!["on"]));
    assert!(notices(&reports).contains("not compacted"), "{reports:?}");
}

#[tokio::test]
async fn an_unanswered_handshake_does_not_delay_the_end() {
    let mut bench = Bench::new("sleep 60");
    bench.prompt("t1").await;
    bench.order(Order::End).await;
    let all = bench.until(|report| matches!(report, Report::Gone(_))).await;
    assert_eq!(all, [Report::Gone(None)]);
}

#[tokio::test]
async fn a_failed_start_is_reported_with_a_reason() {
    let mut bench = Bench::new("echo 'no config' >&2; exit 2");
    let all = bench.until(|report| matches!(report, Report::Gone(_))).await;
    assert_eq!(all, [Report::Gone(Some("it exited with 2: no config".to_owned()))]);
}

#[tokio::test]
async fn the_resume_id_is_reported_after_the_first_prompt() {
    let kept = |reports: &[Report]| -> Vec<Option<String>> {
        let told = reports.iter().filter_map(|report| match report {
            Report::ResumeId(name) => Some(name.clone()),
            _ => None,
        });
        told.collect()
    };
    let script = r#"
        hello; next; turn; done_with
        next; reply '{"thread":{"id":"U","status":{"type":"idle"}},"model":"m"}'
        while next; do reply '{}'; done"#;
    let mut bench = Bench::new(script);
    bench.prompt("t1").await;
    let (_, reports) = bench.ended().await;
    assert_eq!(kept(&reports), [Some("T".to_owned())]);
    bench.order(Order::Call { id: 2, call: Call::Clear }).await;
    let cleared = bench.until(|report| matches!(report, Report::Called(2, Ok(_)))).await;
    assert_eq!(kept(&cleared), [None]);
    bench.prompt("t2").await;
    let spoken = bench.until(|report| matches!(report, Report::ResumeId(_))).await;
    assert_eq!(kept(&spoken), [Some("U".to_owned())]);
    assert!(spoken.iter().any(|report| matches!(report, Report::Delivered(_))), "{spoken:?}");
}

/// Script that completes the handshake, then reads nothing and ignores SIGTERM.
const IGNORES_INPUT: &str = "trap '' TERM; hello; exec 3<&0; while :; do sleep 1; done";

fn long(turn: &str) -> Order {
    let text = "long ".repeat(100 * 1024);
    Order::Prompt { turn: TurnId::from(turn), item: "m".into(), text, attachments: Vec::new() }
}

#[tokio::test]
async fn a_server_that_does_not_read_ends_when_ordered() {
    let mut bench = Bench::new(IGNORES_INPUT);
    bench.order(long("t1")).await;
    bench.until(|report| matches!(report, Report::Ready(_))).await;
    bench.harness.orders = Harness::new().0.orders;
    let reports = bench.until(|report| matches!(report, Report::Gone(_))).await;
    assert_eq!(reports.last(), Some(&Report::Gone(None)));
    assert!(!reports.iter().any(|report| matches!(report, Report::Delivered(_))), "{reports:?}");
}

#[tokio::test]
async fn an_interrupted_turn_ends_without_a_message_of_its_end() {
    let script = r#"
        hello; next; turn
        next; reply '{}'
        next; done_with; reply '{"turn":{"id":"O","status":"inProgress"}}'; message there
        say turn/completed '"turn":{"id":"O","status":"completed"}'
        while :; do next; done"#;
    let mut bench = Bench::new(script);
    bench.prompt("t1").await;
    bench.until(|report| matches!(report, Report::Started(_))).await;
    bench.order(Order::Interrupt).await;
    let (outcome, reports) = bench.ended().await;
    assert_eq!(outcome, TurnOutcome::Cancelled);
    assert!(reports.contains(&Report::Acked(AckedOrder::Interrupt, Ok(()))), "{reports:?}");
    assert!(notices(&reports).contains("has not stopped"), "{reports:?}");
    bench.prompt("t2").await;
    let (outcome, reports) = bench.ended().await;
    assert_eq!((outcome, texts(&reports)), (TurnOutcome::Completed, vec!["there"]), "the late end is of no turn");
}

#[tokio::test]
async fn a_refused_interrupt_is_reported_as_failed() {
    let mut bench = Bench::new(IGNORES_INPUT);
    bench.until(|report| matches!(report, Report::Ready(_))).await;
    bench.order(long("t1")).await;
    bench.order(Order::Interrupt).await;
    let (outcome, reports) = bench.ended().await;
    assert_eq!(outcome, TurnOutcome::Cancelled);
    assert!(reports.iter().any(|report| matches!(report, Report::Acked(AckedOrder::Interrupt, Err(_)))), "{reports:?}");
}

#[tokio::test]
async fn a_refused_model_is_not_selected() {
    let script = r#"
        hello; next; reply '{}'
        next; echo "{\"id\":$id,\"error\":{\"code\":-32602,\"message\":\"no such model\"}}"
        while :; do next; done"#;
    let mut bench = Bench::new(script);
    for (model, taken) in [("n", Ok(())), ("o", Err("no such model".to_owned()))] {
        bench.order(Order::SetModel(model.to_owned())).await;
        let reports = bench.until(|report| matches!(report, Report::Acked(..))).await;
        assert_eq!(reports.last(), Some(&Report::Acked(AckedOrder::Model(model.to_owned()), taken)));
        let can = reports.iter().rev().find_map(|one| if let Report::Ready(can) = one { Some(can) } else { None });
        assert_eq!(can.unwrap().model.as_deref(), Some("n"));
    }
}
