use super::*;
use crate::request::Decision;
use crate::space::machine::{QueuedMessage, RestoredSpace};

fn sent(effects: &[SpaceEffect]) -> Vec<&str> {
    let told = effects.iter().filter_map(|effect| match effect {
        SpaceEffect::SendOrder(_, Order::Prompt { text, .. }) => Some(text.as_str()),
        SpaceEffect::SendOrder(_, Order::Interrupt) => Some("(interrupt)"),
        _ => None,
    });
    told.collect()
}

fn texts(bench: &Bench) -> Vec<(String, ItemProgress)> {
    let text = |item: &std::sync::Arc<crate::space::item::Item>| match &item.body {
        ItemBody::Text { text, .. } => Some((text.clone(), item.progress)),
        _ => None,
    };
    bench.space.state().items.iter().filter_map(text).collect()
}

fn id(text: &str) -> RequestId {
    RequestId::new(text).unwrap()
}

fn ended(turn: &str) -> Report {
    Report::Ended(TurnId::from(turn), TurnOutcome::Completed)
}

#[test]
fn a_message_is_queued_until_it_is_delivered() {
    let mut bench = Bench::ready();
    assert!(!bench.say("r1", "one").queued);
    assert!(bench.say("r2", "two").queued);
    let one = ("one".to_owned(), ItemProgress::Done);
    assert_eq!(texts(&bench), [one.clone(), ("two".to_owned(), ItemProgress::Queued)]);
    assert_eq!(sent(&bench.report(ended("turn-1"))), ["two"]);
    assert_eq!(texts(&bench)[1].1, ItemProgress::Queued, "the agent does not have it yet");
    bench.report(Report::Delivered(TurnId::from("turn-2")));
    assert_eq!(texts(&bench), [one, ("two".to_owned(), ItemProgress::Done)]);
    assert!(!bench.space.is_queued(&id("r2")));
    assert_eq!(bench.space.command_of(&TurnId::from("turn-2")), Some(&id("r2")));
}

#[test]
fn a_message_that_interrupts_comes_before_those_that_wait() {
    let mut bench = Bench::ready();
    bench.say("r1", "one");
    bench.say("r2", "two");
    let now = ConversationCommand::Say {
        text: "now".to_owned(),
        to: Some(vec![agent()]),
        attachments: vec![],
        interrupt: true,
        literal: false,
    };
    let (effects, done) = bench.command(Some("r3"), now.clone());
    assert_eq!(sent(&effects), ["(interrupt)"]);
    assert!(done.unwrap().unwrap().queued);
    let (effects, again) = bench.command(Some("r3"), now.clone());
    assert!(sent(&effects).is_empty() && again.unwrap().unwrap().duplicate);
    bench.report(Report::Acked(AckedOrder::Interrupt, Ok(())));
    assert_eq!(bench.stage("r3"), ReceiptStage::Accepted, "the interrupt is not the message");
    assert_eq!(sent(&bench.report(Report::Ended(TurnId::from("turn-1"), TurnOutcome::Cancelled))), ["now"]);
    assert_eq!(sent(&bench.report(ended("turn-3"))), ["two"]);
    bench.report(ended("turn-2"));
    assert_eq!(sent(&bench.command(Some("r4"), now).0), ["now"], "an idle agent needs no interrupt");
}

#[test]
fn queued_messages_of_an_ended_agent_are_cut_unless_the_space_is_suspended() {
    for suspended in [false, true] {
        let mut bench = Bench::ready();
        bench.say("r1", "one");
        bench.say("r2", "two");
        if suspended {
            bench.handle(SpaceInput::Suspend);
            assert!(sent(&bench.report(ended("turn-1"))).is_empty(), "nothing more is handed over");
        }
        bench.report(Report::Gone(None));
        let (progress, stage) = match suspended {
            false => (ItemProgress::Cut, ReceiptStage::Failed("demo was shut down".into())),
            true => (ItemProgress::Queued, ReceiptStage::Accepted),
        };
        assert_eq!(texts(&bench)[1], ("two".to_owned(), progress));
        assert_eq!(bench.stage("r2"), stage);
    }
}

#[test]
fn queued_messages_are_delivered_in_order_after_a_restart() {
    let mut bench = Bench::ready();
    for (request, text) in [("r1", "one"), ("r2", "two"), ("r3", "three")] {
        bench.say(request, text);
    }
    bench.handle(SpaceInput::Suspend);
    let items: Vec<_> = bench.space.state().items.iter().map(|item| (**item).clone()).collect();
    let queued = |request: &str, text: &str| QueuedMessage {
        request_id: id(request),
        by: me(),
        text: text.to_owned(),
        to: None,
        at: SystemTime::UNIX_EPOCH,
        turn: None,
        item: None,
    };
    // The item of the third message was not stored in time.
    let items = items.into_iter().filter(|item| !matches!(&item.body, ItemBody::Text { text, .. } if text == "three"));
    let queued = vec![queued("r2", "two"), queued("r3", "three")];
    let left = RestoredSpace { items: items.collect(), queued, was_running: false, epoch: 7 };
    let now = Now { steady: Instant::now(), time: SystemTime::UNIX_EPOCH };
    let (space, _) = SpaceMachine::restore("test", me(), left, None, now);
    let mut bench = Bench { space, ..Bench::new() };
    let (done, waits) = (ItemProgress::Done, ItemProgress::Queued);
    assert_eq!(texts(&bench), [("one".to_owned(), done), ("two".to_owned(), waits)]);
    bench.handle(SpaceInput::Enrol(agent(), &[]));
    assert_eq!(bench.stage("r2"), ReceiptStage::Accepted);
    assert_eq!(sent(&bench.report(Report::Ready(capable()))), ["two"]);
    assert_eq!(sent(&bench.report(ended("turn-3"))), ["three"]);
    bench.report(ended("turn-4"));
    assert_eq!((bench.stage("r2"), bench.stage("r3")), (ReceiptStage::Finished, ReceiptStage::Finished));
    assert_eq!(texts(&bench), ["one", "two", "three"].map(|text| (text.to_owned(), done)));
    assert_eq!(
        bench.command(None, ConversationCommand::Help).1.unwrap().unwrap().receipt.request_id.as_str(),
        "wh-7-1"
    );
}

#[test]
fn a_literal_text_that_the_agent_would_interpret_is_refused() {
    let literal = |text: &str| ConversationCommand::Say {
        text: text.to_owned(),
        to: None,
        attachments: vec![],
        interrupt: false,
        literal: true,
    };
    let mut bench = Bench::new();
    bench.handle(SpaceInput::Enrol(agent(), &['/']));
    assert_eq!(bench.refused(literal(" /clear")), SpaceRefusal::NotLiteral(agent(), '/'), "also before it is ready");
    bench.report(Report::Ready(capable()));
    assert_eq!(bench.refused(literal("/clear")), SpaceRefusal::NotLiteral(agent(), '/'));
    assert_eq!(sent(&bench.command(Some("r1"), literal("clear /this")).0), ["clear /this"]);
}

#[test]
fn a_plain_yes_or_no_is_the_option_that_means_it() {
    let mut bench = Bench::ready();
    bench.say("r1", "go");
    let answer = |question, decision| ConversationCommand::Answer {
        question,
        answer: Answer { option: None, text: None },
        decision: Some(decision),
    };
    bench.report(Report::Asked { key: "k".into(), question: permission() });
    let (effects, _) = bench.command(None, answer(bench.question(), Decision::Reject));
    let chosen = effects.iter().find_map(|effect| match effect {
        SpaceEffect::SendOrder(_, Order::Answer { answer, .. }) => answer.option.clone(),
        _ => None,
    });
    assert_eq!(chosen.as_deref(), Some("no"));
    let question = Question { options: Vec::new(), accepts_text: true, ..permission() };
    bench.report(Report::Asked { key: "l".into(), question });
    assert_eq!(bench.refused(answer(bench.question(), Decision::Approve)), SpaceRefusal::NoPlainAnswer);
}
