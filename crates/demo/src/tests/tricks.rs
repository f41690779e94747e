//! Tests of each trick from beginning to end.

use tokio::time::Instant;
use wh_agents::interface::{Agent, AgentStartError, QueryContext, ResumeSelector};
use wh_core::space::harness::{Report, Usage};
use wh_core::space::item::{Attachment, ToolStatus};

use super::*;
use crate::tricks::TRICKS;

#[tokio::test(start_paused = true)]
async fn every_trick_ends_once_and_finishes_what_it_began() {
    for pace in [Duration::ZERO, Duration::from_millis(3)] {
        for (_, name, _) in TRICKS {
            let mut rig = Rig::new(DemoOptions { pace, ..timeless() });
            let all = rig.turn(&format!("/demo {name}"), agreeable).await;
            let failed = matches!(outcome(&all), TurnOutcome::Failed(_));
            assert_eq!(failed, name == "fail", "{name}: {:?}", outcome(&all));
            assert!(!texts(&all).is_empty(), "{name} says nothing");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn it_reports_its_capabilities_first() {
    let mut rig = Rig::new(timeless());
    let first = rig.until(|report| matches!(report, Report::Tools(_))).await;
    let capabilities = ready(&first);
    assert!(capabilities.interrupts && capabilities.acknowledges);
    assert_eq!((capabilities.model.as_deref(), capabilities.mode.as_deref()), (Some("swift"), Some("ask")));
    assert_eq!(capabilities.commands[0].id, "demo");
}

#[tokio::test(start_paused = true)]
async fn a_plain_prompt_is_repeated_first() {
    for seed in 0..20 {
        let mut rig = Rig::new(DemoOptions { seed, ..timeless() });
        let all = rig.turn("what is the weather like?", agreeable).await;
        let first = texts(&all);
        assert!(first.lines().next().unwrap().contains("what is the weather like?"), "{first}");
    }
}

#[tokio::test(start_paused = true)]
async fn odd_prompts_are_answered_too() {
    let long = "x".repeat(100_000);
    for text in ["", "   ", "/", "/unknown", "two\nlines", "`code` and **more**", "日本語で", long.as_str()] {
        let mut rig = Rig::new(timeless());
        let all = rig.turn(text, agreeable).await;
        assert_eq!(*outcome(&all), TurnOutcome::Completed);
        assert!(texts(&all).len() < 5000);
    }
    let all = Rig::new(timeless()).turn("two\nlines", agreeable).await;
    assert!(texts(&all).contains("> two\n> lines"));
}

#[tokio::test(start_paused = true)]
async fn the_list_has_every_trick_and_an_unknown_one_is_reported() {
    let mut rig = Rig::new(timeless());
    let listed = texts(&rig.turn("/demo", agreeable).await);
    for (_, name, _) in TRICKS {
        assert!(listed.contains(&format!("`/demo {name}`")), "{name}");
    }
    assert!(texts(&rig.turn("/demo fly", agreeable).await).starts_with("There is no trick called `fly`."));
}

#[tokio::test(start_paused = true)]
async fn attachments_of_a_prompt_are_reported() {
    let mut rig = Rig::new(timeless());
    let attachments = vec![Attachment { name: "a.txt".to_owned(), media_type: "text/plain".to_owned(), size: 12 }];
    let (turn, item) = (TurnId::from("t"), ItemId::from("m"));
    rig.order(Order::Prompt { turn: turn.clone(), item, text: "look".to_owned(), attachments }).await;
    let all = rig.until(|report| matches!(report, Report::Ended(..))).await;
    assert!(texts(&all).contains("`a.txt` (text/plain, 12 bytes)"));
}

#[tokio::test(start_paused = true)]
async fn output_depends_on_the_seed() {
    let mut logs = Vec::new();
    for seed in [5, 5, 6] {
        let mut rig = Rig::new(DemoOptions { seed, ..timeless() });
        let mut log = Vec::new();
        for text in ["hello", "/demo edit", "/demo long", "/demo stream", "and now?"] {
            log.extend(rig.turn(text, agreeable).await);
        }
        logs.push(log);
    }
    assert!(logs[0] == logs[1]);
    assert!(logs[0] != logs[2]);
}

#[tokio::test(start_paused = true)]
async fn the_pace_changes_the_time_and_not_the_text() {
    let mut logs = Vec::new();
    for pace in [0, 12] {
        let mut rig = Rig::new(DemoOptions { pace: Duration::from_millis(pace), ..timeless() });
        logs.push(rig.turn("/demo markdown", agreeable).await);
    }
    assert!(logs[0] == logs[1]);
}

#[tokio::test(start_paused = true)]
async fn a_crowd_has_the_requested_size_is_distinct_and_immediate() {
    let mut rig = Rig::new(DemoOptions::default());
    let start = Instant::now();
    let all = rig.turn("/demo crowd 250", agreeable).await;
    assert_eq!(start.elapsed(), Duration::ZERO);
    check(&all);
    let bodies: Vec<&ItemBody> = all
        .iter()
        .filter_map(|report| match report {
            Report::Item { body, done, .. } => done.then_some(body),
            _ => None,
        })
        .collect();
    assert_eq!((bodies.len(), cards(&all).len()), (250, 25));
    assert!(bodies.iter().enumerate().all(|(place, body)| !bodies[..place].contains(body)));
}

#[tokio::test(start_paused = true)]
async fn the_tour_takes_about_half_a_minute_answered_or_not() {
    let mut rig = Rig::new(DemoOptions::default());
    let start = Instant::now();
    let all = rig.turn("/demo tour", agreeable).await;
    let answered = start.elapsed().as_secs();
    assert!((15..=25).contains(&answered), "{answered} s");
    assert!(cards(&all).iter().any(|card| card.status == ToolStatus::Completed && card.name == "demo/edit"));

    let start = Instant::now();
    rig.prompt("/demo tour").await;
    let all = rig.until(|report| matches!(report, Report::Ended(..))).await;
    let alone = start.elapsed().as_secs();
    assert!((25..=38).contains(&alone), "{alone} s");
    assert_eq!(all.iter().filter(|report| matches!(report, Report::Withdrew(_))).count(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_slow_answer_takes_long_enough_to_interrupt_by_hand() {
    let mut rig = Rig::new(DemoOptions::default());
    let start = Instant::now();
    rig.turn("/demo slow", agreeable).await;
    assert!(start.elapsed() > Duration::from_secs(10));
}

#[tokio::test(start_paused = true)]
async fn the_model_decides_how_much_is_thought() {
    let thoughts = |all: &[Report]| {
        let thought =
            |report: &&Report| matches!(report, Report::Item { body: ItemBody::Thought { .. }, done: true, .. });
        all.iter().filter(thought).count()
    };
    let mut rig = Rig::new(timeless());
    for (model, expected) in [("swift", 1), ("steady", 2), ("brief", 0)] {
        rig.order(Order::SetModel(model.to_owned())).await;
        assert_eq!(thoughts(&rig.turn("hello", agreeable).await), expected, "{model}");
    }
}

#[tokio::test(start_paused = true)]
async fn tokens_are_counted() {
    let mut rig = Rig::new(timeless());
    let used = |all: &[Report]| {
        let found = all.iter().rev().find_map(|report| match report {
            Report::Usage(usage) => Some(*usage),
            _ => None,
        });
        found.unwrap()
    };
    let first: Usage = used(&rig.turn("hello there", agreeable).await);
    assert_eq!(first.input_tokens, 2);
    assert!(first.output_tokens > 10);
    let second = used(&rig.turn("hello again", agreeable).await);
    assert!(second.output_tokens > first.output_tokens);
    assert!(second.context_tokens > first.context_tokens);
}

#[tokio::test]
async fn it_is_always_available_and_rejects_unknown_options() {
    let demo = Demo::default();
    assert!(demo.check(&QueryContext::new("/")).await.installation.is_present());
    assert_eq!(demo.models(&QueryContext::new("/")).await.unwrap().len(), 3);
    let wrong = [
        StartOptions { model: Some("huge".to_owned()), ..StartOptions::new(".") },
        StartOptions { mode: Some("yolo".to_owned()), ..StartOptions::new(".") },
        StartOptions { arguments: vec!["--fast".into()], ..StartOptions::new(".") },
        StartOptions { resume: Some(ResumeSelector::Latest), ..StartOptions::new(".") },
    ];
    for start in wrong {
        let error = demo.start(start).await.unwrap_err();
        assert!(error.hint().is_some(), "{error}");
    }
    for (arguments, value) in [(vec!["--seed".into(), "abc".into()], "abc"), (vec!["--pace".into()], "")] {
        let error = demo.start(StartOptions { arguments, ..StartOptions::new(".") }).await.unwrap_err();
        assert!(matches!(&error, AgentStartError::InvalidValue { given, .. } if given == value), "{error}");
        assert!(error.hint().is_some(), "{error}");
    }
    let start = StartOptions {
        model: Some("brief".to_owned()),
        mode: Some("plan".to_owned()),
        arguments: vec!["--seed".into(), "3".into(), "--pace".into(), "0".into()],
        ..StartOptions::new(".")
    };
    let mut harness = Demo::default().start(start).await.unwrap();
    let Some(Report::Ready(capabilities)) = harness.reports.recv().await else { panic!("it is ready first") };
    assert_eq!((capabilities.model.as_deref(), capabilities.mode.as_deref()), (Some("brief"), Some("plan")));
}
