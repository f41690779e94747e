//! Property tests: the state stays valid for any input in any order, and equals the state that is computed from the
//! published events.

use std::time::SystemTime;

use proptest::prelude::*;
use serde_json::json;

use super::command::{ConversationCommand, MessageSelector, TargetCommand};
use super::event::SpaceEvent;
use super::harness::{Call, PauseReport, Report, TurnOutcome};
use super::item::{Item, ItemBody, ItemProgress, NoticeLevel, ToolCall, ToolKind, ToolResultPart, ToolStatus};
use super::machine::{SpaceEffect, SpaceInput, TransientChange};
use super::question::{Answer, QuestionCloseReason};
use super::state::SpaceState;
use super::tests::{Bench, capable, permission};
use super::{ItemId, ParticipantId, TurnId};
use super::{envelope, stored_item};

fn key() -> impl Strategy<Value = String> {
    (0..4u8).prop_map(|number| format!("k{number}"))
}

fn turn() -> impl Strategy<Value = TurnId> {
    (1..6u8).prop_map(|number| TurnId::from(format!("turn-{number}")))
}

fn item() -> impl Strategy<Value = ItemId> {
    (prop_oneof![Just('q'), Just('m'), Just('i')], 1..30u8)
        .prop_map(|(letter, number)| ItemId::from(format!("{letter}{number}")))
}

fn body() -> impl Strategy<Value = ItemBody> {
    use ToolStatus::Pending;
    let status =
        prop_oneof![Just(Pending), Just(ToolStatus::Running), Just(ToolStatus::Completed), Just(ToolStatus::Failed)];
    let tool = status.prop_map(|status| {
        let (name, title, output) = ("t".to_owned(), "T".to_owned(), vec![ToolResultPart::Text("o".to_owned())]);
        ItemBody::Tool(ToolCall { name, title, kind: ToolKind::Other, input: json!({}), status, output })
    });
    prop_oneof![
        Just(ItemBody::Text { text: "a".to_owned(), attachments: vec![] }),
        Just(ItemBody::Thought { text: "t".to_owned(), action: None, tokens: Some(1) }),
        tool,
    ]
}

fn report() -> impl Strategy<Value = Report> {
    let outcome = prop_oneof![
        Just(TurnOutcome::Completed),
        Just(TurnOutcome::Cancelled),
        Just(TurnOutcome::Failed("no".to_owned()))
    ];
    let pause = proptest::option::of(Just(PauseReport { timeout: None, reason: None }));
    prop_oneof![
        1 => Just(Report::Ready(capable())),
        1 => turn().prop_map(Report::Delivered),
        1 => turn().prop_map(Report::Started),
        6 => (turn(), outcome).prop_map(|(turn, outcome)| Report::Ended(turn, outcome)),
        1 => Just(Report::EarlierPrompt("before".to_owned())),
        1 => Just(Report::ResumeId(Some("their-own-name".to_owned()))),
        1 => Just(Report::SelfStarted),
        1 => Just(Report::SelfEnded(TurnOutcome::Completed)),
        6 => (key(), body(), any::<bool>()).prop_map(|(key, body, done)| Report::Item { key, body, done }),
        6 => key().prop_map(|key| Report::Grew { key, text: "more".to_owned(), tokens: None }),
        1 => key().prop_map(Report::Retracted),
        4 => key().prop_map(|key| Report::Asked { key, question: permission() }),
        1 => key().prop_map(Report::Withdrew),
        1 => (item(), any::<bool>()).prop_map(|(item, granted)| Report::Acknowledged(item, granted)),
        1 => key().prop_map(Report::WantsAcknowledgement),
        1 => pause.prop_map(Report::Paused),
        1 => key().prop_map(Report::StreamOpened),
        1 => key().prop_map(|key| Report::StreamFrame(key, json!(1))),
        1 => key().prop_map(Report::StreamClosed),
        1 => (0..5u64).prop_map(|call| Report::Called(call, Ok(json!(null)))),
        1 => Just(Report::Notice(NoticeLevel::Info, "n".to_owned())),
        1 => Just(Report::Gone(Some("gone".to_owned()))),
    ]
}

fn command() -> impl Strategy<Value = ConversationCommand> {
    let agent = || ParticipantId::from("demo");
    prop_oneof![
        4 => Just(ConversationCommand::Say { text: "hello".to_owned(), to: None, attachments: vec![], interrupt: false, literal: false }),
        4 => item().prop_map(|question| ConversationCommand::Answer {
            question,
            answer: Answer { option: Some("yes".to_owned()), text: None },
            decision: None,
        }),
        1 => Just(ConversationCommand::Interrupt(None)),
        1 => Just(ConversationCommand::Target(TargetCommand::Only(vec![agent()]))),
        1 => Just(ConversationCommand::Target(TargetCommand::Default)),
        1 => Just(ConversationCommand::Acknowledge { selector: MessageSelector::All, status: None }),
        1 => Just(ConversationCommand::Cancel { selector: MessageSelector::All, reason: None }),
        1 => Just(ConversationCommand::Call(Some(agent()), Call::ReportStatus)),
        1 => Just(ConversationCommand::CloseStream("stream-1".into())),
        1 => Just(ConversationCommand::Participants),
    ]
}

#[derive(Debug, Clone)]
enum Step {
    Report(Report),
    Command(Option<String>, ConversationCommand),
    Tick,
}

fn step() -> impl Strategy<Value = Step> {
    let id = proptest::option::of((0..6u8).prop_map(|number| format!("r{number}")));
    prop_oneof![
        6 => report().prop_map(Step::Report),
        4 => (id, command()).prop_map(|(id, command)| Step::Command(id, command)),
        1 => Just(Step::Tick),
    ]
}

fn mirror(state: &mut SpaceState, effects: &[SpaceEffect]) {
    for effect in effects {
        match effect {
            SpaceEffect::Publish(event) => state.apply(event, SystemTime::UNIX_EPOCH),
            SpaceEffect::Signal(TransientChange::Item(item)) => state.put(std::sync::Arc::clone(item)),
            SpaceEffect::Signal(TransientChange::Frame(frame)) => state.frame(frame.clone()),
            SpaceEffect::SendOrder(..) | SpaceEffect::Manage { .. } | SpaceEffect::Answer(..) => {}
        }
    }
}

fn envelopes(state: &SpaceState) -> Vec<envelope::Envelope> {
    state.items.envelopes(None).filter_map(|(item, place)| envelope::at(item, place)).collect()
}

/// Client that polls for the messages after the last message that it has read.
#[derive(Default)]
struct Poller {
    since: Option<SystemTime>,
    seen: Vec<String>,
}

impl Poller {
    /// Reads at most `most` envelopes.
    fn poll(&mut self, state: &SpaceState, most: usize) {
        for (item, place) in state.items.envelopes(self.since).take(most) {
            let envelope = envelope::at(item, place).unwrap();
            assert!(self.since.is_none_or(|since| envelope.at > since), "{envelope:?}");
            self.since = Some(envelope.at);
            self.seen.push(envelope.id);
        }
    }
}

proptest! {
    #[test]
    fn any_reports_and_commands_leave_a_valid_state_that_a_mirror_shares(steps in proptest::collection::vec(step(), 0..80)) {
        let mut bench = Bench::new();
        let mut copy = bench.space.state().clone();
        mirror(&mut copy, &bench.handle(SpaceInput::Enrol(ParticipantId::from("demo"), &[])));
        for step in steps {
            let effects = match step {
                Step::Report(report) => bench.report(report),
                Step::Command(id, command) => bench.command(id.as_deref(), command).0,
                Step::Tick => bench.handle(SpaceInput::Tick),
            };
            mirror(&mut copy, &effects);
        }
        copy.check().map_err(TestCaseError::fail)?;
        let state = bench.space.state();
        prop_assert_eq!(envelopes(state), envelopes(&copy));
        prop_assert_eq!(envelopes(state).len() as u64, state.envelopes);
        prop_assert_eq!(&state.acknowledgements, &copy.acknowledgements);
        prop_assert_eq!(&state.participants, &copy.participants);
        prop_assert_eq!(&state.frames, &copy.frames);
        // A copy in another process starts with the serialised state, without the receipts.
        let read: SpaceState = serde_json::from_str(&serde_json::to_string(state).unwrap()).unwrap();
        read.check().map_err(TestCaseError::fail)?;
        prop_assert_eq!(serde_json::to_value(&read).unwrap(), serde_json::to_value(state).unwrap());
        prop_assert_eq!(envelopes(&read), envelopes(state));
    }

    #[test]
    fn events_in_any_order_late_doubled_or_missing_leave_a_valid_state(
        steps in proptest::collection::vec(step(), 0..60),
        order in proptest::collection::vec(any::<proptest::sample::Index>(), 0..200),
    ) {
        let mut bench = Bench::new();
        let mut events: Vec<SpaceEvent> = Vec::new();
        let mut gather = |effects: Vec<SpaceEffect>| events.extend(effects.into_iter().filter_map(|effect| match effect {
            SpaceEffect::Publish(event) => Some(event),
            _ => None,
        }));
        gather(bench.handle(SpaceInput::Enrol(ParticipantId::from("demo"), &[])));
        for step in steps {
            gather(match step {
                Step::Report(report) => bench.report(report),
                Step::Command(id, command) => bench.command(id.as_deref(), command).0,
                Step::Tick => bench.handle(SpaceInput::Tick),
            });
        }
        let mut state = SpaceState::new("test", ParticipantId::from("human"));
        for index in order {
            state.apply(&events[index.index(events.len())], SystemTime::UNIX_EPOCH);
            state.check().map_err(TestCaseError::fail)?;
        }
    }

    #[test]
    fn polling_since_the_last_time_seen_gives_every_envelope_once_and_in_order(
        before in proptest::collection::vec((step(), 0..700u64, proptest::option::of(0..9usize)), 0..60),
        after in proptest::collection::vec((step(), 0..700u64, proptest::option::of(0..9usize)), 0..40),
    ) {
        let (mut bench, mut poller) = (Bench::new(), Poller::default());
        for (restart, steps) in [(false, before), (true, after)] {
            if restart {
                // The wall clock is reset as well.
                let items = bench.space.state().items.iter().map(|item| stored_item::read(&stored_item::write(item).unwrap()).unwrap());
                bench = Bench::restored(items.collect());
            }
            bench.handle(SpaceInput::Enrol(ParticipantId::from("demo"), &[]));
            for (step, milliseconds, poll) in steps {
                bench.pass(milliseconds);
                match step {
                    Step::Report(report) => drop(bench.report(report)),
                    Step::Command(id, command) => drop(bench.command(id.as_deref(), command)),
                    Step::Tick => drop(bench.handle(SpaceInput::Tick)),
                }
                poll.into_iter().for_each(|most| poller.poll(bench.space.state(), most));
            }
        }
        poller.poll(bench.space.state(), usize::MAX);
        let all = envelopes(bench.space.state());
        for pair in all.windows(2) {
            prop_assert!(pair[0].at < pair[1].at, "{pair:?}");
        }
        // Retracted envelopes may have been seen before.
        let listed: Vec<&String> = all.iter().map(|one| &one.id).collect();
        let seen: Vec<&String> = poller.seen.iter().filter(|id| listed.contains(id)).collect();
        prop_assert_eq!(seen, listed);
    }

    #[test]
    fn envelopes_that_were_not_dropped_are_seen_once_also_when_older_ones_are(
        steps in proptest::collection::vec((0..12u8, any::<bool>(), any::<bool>(), any::<bool>()), 0..60),
    ) {
        let (mut state, mut poller) = (SpaceState::new("test", ParticipantId::from("human")), Poller::default());
        for (number, done, drops, polls) in steps {
            let closing = done.then_some(QuestionCloseReason::Withdrawn);
            let question = ItemBody::Question { question: permission(), closing };
            state.put(std::sync::Arc::new(Item {
                id: ItemId::from(format!("q{number}")),
                from: ParticipantId::from("demo"),
                to: None,
                turn: None,
                at: SystemTime::UNIX_EPOCH,
                listed: state.items.get(&format!("q{number}").into()).map_or_else(Vec::new, |item| item.listed.clone()),
                body: question,
                progress: if done { ItemProgress::Done } else { ItemProgress::Growing },
                extent: None,
                starts: Vec::new(),
            }));
            if drops {
                state.items.drop_oldest();
            }
            if polls {
                poller.poll(&state, 3);
            }
        }
        poller.poll(&state, usize::MAX);
        let listed: Vec<String> = envelopes(&state).into_iter().map(|one| one.id).collect();
        for id in &listed {
            prop_assert!(poller.seen.contains(id), "{id} of {listed:?} is missing");
        }
    }

    #[test]
    fn a_space_restored_at_any_moment_continues_with_its_items_unchanged(
        before in proptest::collection::vec(step(), 0..60),
        after in proptest::collection::vec(step(), 0..60),
    ) {
        let mut bench = Bench::new();
        bench.handle(SpaceInput::Enrol(ParticipantId::from("demo"), &[]));
        let go = |bench: &mut Bench, steps: Vec<Step>| steps.into_iter().for_each(|step| drop(match step {
            Step::Report(report) => bench.report(report),
            Step::Command(id, command) => bench.command(id.as_deref(), command).0,
            Step::Tick => bench.handle(SpaceInput::Tick),
        }));
        go(&mut bench, before);
        let left: Vec<_> = bench.space.state().items.iter().map(|item| stored_item::write(item).unwrap()).collect();
        let read = left.iter().map(|text| stored_item::read(text).unwrap()).collect::<Vec<_>>();
        let mut next = Bench::restored(read.clone());
        let state = next.space.state();
        state.check().map_err(TestCaseError::fail)?;
        prop_assert_eq!(state.items.growing().count(), 0);
        prop_assert_eq!(state.questions().count(), 0);
        prop_assert_eq!(state.items.len(), read.len() + 1, "all items and the notice");
        let begun: Vec<_> = state.items.iter().cloned().collect();
        for (old, new) in read.iter().zip(&begun) {
            prop_assert_eq!(&old.id, &new.id);
            prop_assert!(old.progress <= ItemProgress::Growing || *old == **new, "finished items do not change");
        }
        next.handle(SpaceInput::Enrol(ParticipantId::from("demo"), &[]));
        go(&mut next, after);
        let state = next.space.state();
        state.check().map_err(TestCaseError::fail)?;
        for (old, now) in begun.iter().zip(state.items.iter()) {
            prop_assert_eq!(old, now, "old items do not change");
        }
        for item in state.items.iter().skip(begun.len()) {
            let fresh = |turn: &TurnId| !begun.iter().any(|old| old.turn.as_ref() == Some(turn));
            prop_assert!(item.turn.as_ref().is_none_or(fresh), "an old turn has a new item: {item:?}");
        }
    }
}
