//! Orders whose commands finish only when the agent's harness acknowledges them.

use super::*;

/// Returns the answer among these effects.
pub(super) fn answered(effects: &[SpaceEffect]) -> Option<Result<CommandAccepted, SpaceRefusal>> {
    effects.iter().find_map(|effect| match effect {
        SpaceEffect::Answer(_, answer) => Some(answer.clone()),
        _ => None,
    })
}

fn reached(bench: &Bench, request_id: &str) -> Vec<ReceiptStage> {
    let receipt = bench.space.state().receipts.get(&RequestId::new(request_id).unwrap()).unwrap();
    receipt.reached.iter().map(|(stage, _)| stage.clone()).collect()
}

#[test]
fn an_interrupt_finishes_or_fails_with_its_acknowledgement() {
    let mut bench = Bench::ready();
    bench.say("r1", "do it");
    for (id, outcome) in [("i1", Ok(())), ("i2", Err("it does not read".to_owned()))] {
        let (_, answer) = bench.command(Some(id), ConversationCommand::Interrupt(None));
        assert_eq!(answer.unwrap().unwrap().receipt.stage, ReceiptStage::Accepted, "it is not acknowledged yet");
        bench.report(Report::Acked(AckedOrder::Interrupt, outcome));
    }
    assert_eq!(reached(&bench, "i1"), [ReceiptStage::Accepted, ReceiptStage::Delivered, ReceiptStage::Finished]);
    assert_eq!(reached(&bench, "i2"), [ReceiptStage::Accepted, ReceiptStage::Failed("it does not read".into())]);
    let again = bench.command(Some("i2"), ConversationCommand::Interrupt(None)).1.unwrap().unwrap();
    assert!(again.duplicate && matches!(again.receipt.stage, ReceiptStage::Failed(_)), "a retry gets the outcome");
}

#[test]
fn an_interrupt_fails_if_one_agent_does_not_acknowledge_it() {
    let mut bench = Bench::ready();
    let other = ParticipantId::from("other");
    bench.handle(SpaceInput::Enrol(other.clone(), &[]));
    bench.handle(SpaceInput::Report(other.clone(), Report::Ready(capable())));
    bench.say("r1", "both of you");
    bench.command(Some("i1"), ConversationCommand::Interrupt(None));
    bench.report(Report::Acked(AckedOrder::Interrupt, Err("no".to_owned())));
    assert_eq!(bench.stage("i1"), ReceiptStage::Accepted);
    bench.handle(SpaceInput::Report(other, Report::Acked(AckedOrder::Interrupt, Ok(()))));
    assert_eq!(bench.stage("i1"), ReceiptStage::Failed("no".into()));
}

#[test]
fn an_order_fails_if_the_agent_ends_or_does_not_acknowledge_it_in_time() {
    let mut bench = Bench::ready();
    bench.say("r1", "do it");
    bench.command(Some("i1"), ConversationCommand::Interrupt(None));
    let wake = bench.space.wake_at().expect("an order is pending");
    bench.elapsed = wake.duration_since(SystemTime::UNIX_EPOCH).unwrap();
    bench.handle(SpaceInput::Tick);
    assert_eq!(bench.stage("i1"), ReceiptStage::Failed("the agent did not acknowledge the command in time".into()));
    bench.report(Report::Acked(AckedOrder::Interrupt, Ok(())));
    assert!(matches!(bench.stage("i1"), ReceiptStage::Failed(_)), "a late acknowledgement changes nothing");
    bench.command(Some("i2"), ConversationCommand::Interrupt(None));
    bench.report(Report::Gone(None));
    assert_eq!(bench.stage("i2"), ReceiptStage::Failed("demo was shut down".into()));
    assert_eq!(bench.space.wake_at(), None);
}

#[test]
fn a_model_change_is_announced_after_its_acknowledgement_and_a_refusal_is_the_answer() {
    let mut bench = Bench::ready();
    let named = |id: &str| AgentOption { id: id.into(), title: id.into() };
    bench.report(Report::Ready(ReportedCapabilities { models: vec![named("small"), named("large")], ..capable() }));
    let choose = |model: &str| ConversationCommand::Model(None, Some(model.into()));
    let before = bench.kinds().len();
    assert_eq!(bench.command(Some("m1"), choose("large")).1, None, "it is answered later");
    assert_eq!((bench.stage("m1"), bench.kinds().len()), (ReceiptStage::Accepted, before));
    let effects = bench.report(Report::Acked(AckedOrder::Model("large".into()), Ok(())));
    assert_eq!(answered(&effects).unwrap().unwrap().lines, ["demo: model large."]);
    assert_eq!((bench.stage("m1"), bench.kinds().len()), (ReceiptStage::Finished, before + 1));
    bench.command(Some("m2"), choose("small"));
    let effects = bench.report(Report::Acked(AckedOrder::Model("small".into()), Err("not on this plan".into())));
    assert_eq!(answered(&effects), Some(Err(SpaceRefusal::Failed("not on this plan".into()))));
    assert_eq!(bench.stage("m2"), ReceiptStage::Failed("not on this plan".into()));
}

#[test]
fn an_agent_named_twice_gets_the_message_once() {
    let mut bench = Bench::ready();
    let twice = vec![agent(), agent()];
    let say = ConversationCommand::Say {
        text: "hi".into(),
        to: Some(twice.clone()),
        attachments: vec![],
        interrupt: false,
        literal: false,
    };
    let (effects, done) = bench.command(Some("r1"), say);
    let turn = done.unwrap().unwrap().receipt.turn.unwrap();
    assert_eq!(orders(&effects).len(), 1);
    let item = bench.space.state().items.iter().next_back().unwrap();
    assert_eq!(item.to, Some(vec![agent()]));
    let effects = bench.report(Report::Ended(turn, TurnOutcome::Completed));
    assert_eq!((orders(&effects), bench.stage("r1")), (vec![], ReceiptStage::Finished));
    bench.command(None, ConversationCommand::Target(super::super::command::TargetCommand::Only(twice)));
    assert_eq!(bench.space.state().targets.effective(), Some(&[agent()][..]));
    assert_eq!(orders(&bench.command(None, say_to_targets()).0).len(), 1);
}

fn say_to_targets() -> ConversationCommand {
    ConversationCommand::Say { text: "hi".into(), to: None, attachments: vec![], interrupt: false, literal: false }
}
