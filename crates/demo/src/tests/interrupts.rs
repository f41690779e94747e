//! Tests of interrupts at any point of any trick.

use super::*;
use crate::tricks::TRICKS;

/// Reads up to `after` reports of a trick and answers its questions, then interrupts it. Returns all reports.
async fn interrupted(rig: &mut Rig, text: &str, after: usize) -> Vec<Report> {
    rig.until(|report| matches!(report, Report::Tools(_))).await;
    let turn = rig.prompt(text).await;
    let mut all = Vec::new();
    while all.len() < after {
        let report = rig.next().await.expect("the agent is gone");
        if let Report::Asked { key, question } = &report {
            let (question, answer) = (key.clone(), agreeable(question));
            rig.order(Order::Answer { question, answer }).await;
        }
        let over = matches!(report, Report::Ended(..));
        all.push(report);
        if over {
            return all;
        }
    }
    rig.order(Order::Interrupt).await;
    all.extend(rig.until(|report| matches!(report, Report::Ended(ended, _) if *ended == turn)).await);
    all
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_ends_any_trick_anywhere_as_cancelled() {
    for (_, name, _) in TRICKS {
        let text = format!("/demo {name}");
        let length = Rig::new(timeless()).turn(&text, agreeable).await.len();
        // Every position of short tricks, and a sample for long ones.
        let step = (length / 60).max(1);
        for after in (0..length).step_by(step) {
            // With room for a single report the agent is never far ahead.
            let mut rig = Rig::with_depths(timeless(), 8, 1);
            let all = interrupted(&mut rig, &text, after).await;
            check(&all);
            // The last reports may already be on their way when the interrupt arrives.
            let late = after + 5 >= length;
            assert!(*outcome(&all) == TurnOutcome::Cancelled || late, "{name} after {after} of {length}");
            let next = rig.turn("hello", agreeable).await;
            assert_eq!(*outcome(&next), TurnOutcome::Completed, "{name} after {after}: the next prompt works");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_withdraws_every_open_question() {
    for (trick, open) in [("ask", 1), ("choose", 1), ("text", 1), ("edit", 1), ("run", 1), ("many", 3), ("tour", 1)] {
        let mut rig = Rig::new(timeless());
        let prompt = format!("/demo {trick}");
        rig.prompt(&prompt).await;
        let mut keys = Vec::new();
        let mut all = Vec::new();
        while keys.len() < open {
            let report = rig.next().await.unwrap();
            if let Report::Asked { key, .. } = &report {
                keys.push(key.clone());
            }
            all.push(report);
        }
        rig.order(Order::Interrupt).await;
        let rest = rig.until(|report| matches!(report, Report::Ended(..))).await;
        assert_eq!(*outcome(&rest), TurnOutcome::Cancelled);
        for key in keys {
            assert!(rest.contains(&Report::Withdrew(key)), "{trick}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_takes_no_time() {
    let mut rig = Rig::new(DemoOptions { pace: Duration::from_secs(60), ..timeless() });
    rig.prompt("/demo slow").await;
    rig.until(|report| matches!(report, Report::Grew { .. })).await;
    let start = tokio::time::Instant::now();
    rig.order(Order::Interrupt).await;
    rig.until(|report| matches!(report, Report::Ended(_, TurnOutcome::Cancelled))).await;
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_with_nothing_to_do_does_nothing() {
    let mut rig = Rig::new(timeless());
    rig.order(Order::Interrupt).await;
    assert_eq!(*outcome(&rig.turn("hello", agreeable).await), TurnOutcome::Completed);
}

#[tokio::test(start_paused = true)]
async fn an_interrupted_pause_of_its_own_is_over() {
    let mut rig = Rig::new(DemoOptions::default());
    rig.prompt("/demo pause").await;
    rig.until(|report| matches!(report, Report::Paused(Some(_)))).await;
    rig.order(Order::Interrupt).await;
    let rest = rig.until(|report| matches!(report, Report::Ended(_, TurnOutcome::Cancelled))).await;
    assert!(rest.contains(&Report::Paused(None)));
}

#[tokio::test(start_paused = true)]
async fn an_early_prompt_is_refused_and_the_first_continues() {
    let mut rig = Rig::new(DemoOptions::default());
    let first = rig.prompt("/demo markdown").await;
    rig.until(|report| matches!(report, Report::Started(_))).await;
    let second = rig.prompt("hello").await;
    let all = rig.until(|report| matches!(report, Report::Ended(turn, _) if *turn == first)).await;
    let refused = |report: &&Report| matches!(report, Report::Ended(turn, TurnOutcome::Failed(_)) if *turn == second);
    assert_eq!(all.iter().filter(refused).count(), 1);
    assert!(all.contains(&Report::Acknowledged(ItemId::from("m-2"), false)));
    assert_eq!(*outcome(&all), TurnOutcome::Completed);
}
