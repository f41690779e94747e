//! Tests acknowledgements of orders, and agents that do not read or do not end.

use wh_core::space::question::Answer;

use super::*;
use crate::driver::{INTERRUPT_GRACE, NOT_READING};

/// Script that completes the handshake, writes its process id to a file, then reads nothing and ignores SIGTERM.
const IGNORES_INPUT: &str = r#"echo $$ > pid; trap '' TERM; hello; exec 3<&0; while :; do sleep 1; done"#;

fn did(report: &Report) -> bool {
    matches!(report, Report::Acked(..))
}

/// Returns a text that is longer than any pipe buffer.
fn long() -> String {
    "long ".repeat(100 * 1024)
}

impl Run {
    /// Returns a check that the process exists and is not a zombie.
    fn process(&self) -> impl Fn() -> bool + use<> {
        let pid = std::fs::read_to_string(self.folder.path().join("pid")).unwrap();
        let status = format!("/proc/{}/stat", pid.trim());
        move || std::fs::read_to_string(&status).is_ok_and(|status| !status.contains(") Z "))
    }
}

#[tokio::test]
async fn an_agent_that_does_not_read_ends_when_ordered() {
    for by_order in [true, false] {
        let mut run = Run::new(IGNORES_INPUT).await;
        run.until(|report| matches!(report, Report::Ready(_))).await;
        let runs = run.process();
        assert!(runs());
        run.prompt(&long()).await;
        if by_order {
            run.order(Order::End).await;
        } else {
            run.harness.orders = Harness::new().0.orders;
        }
        assert_eq!(run.gone().await, None);
        assert!(!runs(), "nothing of it is left");
    }
}

#[tokio::test]
async fn an_agent_that_does_not_read_is_killed_at_once_by_force() {
    let mut run = Run::new(IGNORES_INPUT).await;
    run.until(|report| matches!(report, Report::Ready(_))).await;
    let runs = run.process();
    assert!(runs());
    run.prompt(&long()).await;
    run.harness.orders = Harness::new().0.orders;
    run.harness.force_stop.kill();
    assert_eq!(run.gone().await, None);
    assert!(!runs(), "nothing of it is left");
}

#[tokio::test]
async fn a_turn_that_cannot_be_interrupted_ends_all_the_same() {
    let mut run = Run::new(IGNORES_INPUT).await;
    run.until(|report| matches!(report, Report::Ready(_))).await;
    run.prompt(&long()).await;
    run.order(Order::Interrupt).await;
    let reports = run.until(did).await;
    assert_eq!(reports.last(), Some(&Report::Acked(AckedOrder::Interrupt, Err(NOT_READING.to_owned()))));
    assert!(!reports.iter().any(|report| matches!(report, Report::Delivered(_))), "it has not read it: {reports:?}");
    let Report::Ended(_, outcome) = run.next().await else { panic!("the turn is over") };
    assert_eq!(outcome, TurnOutcome::Cancelled);
}

#[tokio::test]
async fn a_prompt_that_waits_for_the_handshake_is_cancelled_at_once() {
    let mut run = Run::new("next; rest").await;
    let turn = run.prompt("go").await;
    run.order(Order::Interrupt).await;
    assert_eq!(run.next().await, Report::Ended(turn, TurnOutcome::Cancelled));
    assert_eq!(run.next().await, Report::Acked(AckedOrder::Interrupt, Ok(())));
    run.end().await;
}

#[tokio::test]
async fn a_late_reply_to_an_interrupted_prompt_is_ignored() {
    let script = r#"
        hello; next; first=$id; say on; next
        next; second=$id; id=$first; reply '{"stopReason":"refusal"}'; id=$second; say there; reply '{"stopReason":"end_turn"}'; rest"#;
    let mut run = Run::new(script).await;
    run.prompt("go").await;
    run.until(|report| matches!(report, Report::Item { .. })).await;
    run.order(Order::Interrupt).await;
    let (reports, outcome) = run.ended().await;
    assert!(reports.contains(&Report::Acked(AckedOrder::Interrupt, Ok(()))), "{reports:?}");
    let [notice] = &warnings(&reports)[..] else { panic!("it is said: {reports:?}") };
    assert!(notice.contains(&format!("has not stopped within {INTERRUPT_GRACE:?}")), "{notice}");
    assert_eq!(outcome, TurnOutcome::Cancelled);
    run.prompt("again").await;
    let (reports, outcome) = run.ended().await;
    assert_eq!((texts(&reports), outcome), (vec!["there".to_owned()], TurnOutcome::Completed));
    run.end().await;
}

#[tokio::test]
async fn an_answer_is_acknowledged_when_delivered_and_refused_when_withdrawn() {
    let script = r#"
        hello; next; prompt=$id; may 0 a; next
        id=$prompt; reply '{"stopReason":"end_turn"}'; rest"#;
    let mut run = Run::new(script).await;
    run.prompt("go").await;
    let asked = run.until(|report| matches!(report, Report::Asked { .. })).await;
    let Some(Report::Asked { key, .. }) = asked.last() else { panic!("{asked:?}") };
    let answer = Answer { option: Some("yes".to_owned()), text: None };
    let order = Order::Answer { question: key.clone(), answer };
    run.order(order.clone()).await;
    let reports = run.until(did).await;
    assert_eq!(reports.last(), Some(&Report::Acked(AckedOrder::Answer(key.clone()), Ok(()))));
    run.order(order).await;
    let reports = run.until(did).await;
    let Some(Report::Acked(_, Err(why))) = reports.last() else { panic!("{reports:?}") };
    assert!(why.contains("no longer open"), "{why}");
    run.end().await;
}

#[tokio::test]
async fn a_mode_change_is_acknowledged_when_the_agent_has_replied() {
    let script = r#"hello; next; reply '{}'; next; fail -32602 "not today"; rest"#;
    let mut run = Run::new(script).await;
    for mode in ["plan", "ask", "wild"] {
        run.order(Order::SetMode(mode.to_owned())).await;
    }
    let mut outcomes = Vec::new();
    for _ in 0..3 {
        let reports = run.until(did).await;
        let Some(Report::Acked(AckedOrder::Mode(mode), outcome)) = reports.last() else { panic!("{reports:?}") };
        outcomes.push((mode.clone(), outcome.clone()));
    }
    outcomes.sort();
    let [(_, ask), (_, plan), (_, wild)] = &outcomes[..] else { panic!("{outcomes:?}") };
    assert!(matches!(ask, Err(why) if why.contains("not today")), "{ask:?}");
    assert_eq!(plan, &Ok(()));
    assert!(matches!(wild, Err(why) if why.contains("skips permissions")), "{wild:?}");
    run.end().await;
}
