//! Orders whose commands are done when the agent's harness says so, and not before.

use super::*;

/// What the only answer among these is.
pub(super) fn answered(effects: &[Effect]) -> Option<Result<Done, Refusal>> {
    effects.iter().find_map(|effect| match effect {
        Effect::Answer(_, answer) => Some(answer.clone()),
        _ => None,
    })
}

fn reached(bench: &Bench, request_id: &str) -> Vec<Stage> {
    let receipt = bench.space.state().receipts.get(&RequestId::new(request_id).unwrap()).unwrap();
    receipt.reached.iter().map(|(stage, _)| stage.clone()).collect()
}

#[test]
fn an_interrupt_is_finished_when_the_agent_was_told_and_failed_when_it_was_not() {
    let mut bench = Bench::ready();
    bench.say("r1", "do it");
    for (id, outcome) in [("i1", Ok(())), ("i2", Err("it does not read".to_owned()))] {
        let (_, answer) = bench.command(Some(id), Command::Interrupt(None));
        assert_eq!(answer.unwrap().unwrap().receipt.stage, Stage::Accepted, "nobody knows yet");
        bench.report(Report::Did(Deed::Interrupt, outcome));
    }
    assert_eq!(reached(&bench, "i1"), [Stage::Accepted, Stage::Delivered, Stage::Finished]);
    assert_eq!(reached(&bench, "i2"), [Stage::Accepted, Stage::Failed("it does not read".into())]);
    let again = bench.command(Some("i2"), Command::Interrupt(None)).1.unwrap().unwrap();
    assert!(again.duplicate && matches!(again.receipt.stage, Stage::Failed(_)), "a retry hears what came of it");
}

#[test]
fn one_agent_that_was_not_told_is_an_interrupt_that_failed() {
    let mut bench = Bench::ready();
    let other = ParticipantId::from("other");
    bench.handle(Input::Enrol(other.clone(), &[]));
    bench.handle(Input::Report(other.clone(), Report::Ready(capable())));
    bench.say("r1", "both of you");
    bench.command(Some("i1"), Command::Interrupt(None));
    bench.report(Report::Did(Deed::Interrupt, Err("no".to_owned())));
    assert_eq!(bench.stage("i1"), Stage::Accepted);
    bench.handle(Input::Report(other, Report::Did(Deed::Interrupt, Ok(()))));
    assert_eq!(bench.stage("i1"), Stage::Failed("no".into()));
}

#[test]
fn what_an_agent_did_not_do_before_it_was_gone_or_in_time_has_failed() {
    let mut bench = Bench::ready();
    bench.say("r1", "do it");
    bench.command(Some("i1"), Command::Interrupt(None));
    let wake = bench.space.wake_at().expect("somebody waits");
    bench.elapsed = wake.duration_since(SystemTime::UNIX_EPOCH).unwrap();
    bench.handle(Input::Tick);
    assert_eq!(bench.stage("i1"), Stage::Failed("the agent did not take it in time".into()));
    bench.report(Report::Did(Deed::Interrupt, Ok(())));
    assert!(matches!(bench.stage("i1"), Stage::Failed(_)), "what comes late changes nothing");
    bench.command(Some("i2"), Command::Interrupt(None));
    bench.report(Report::Gone(None));
    assert_eq!(bench.stage("i2"), Stage::Failed("demo was ended".into()));
    assert_eq!(bench.space.wake_at(), None);
}

#[test]
fn another_model_is_said_when_the_agent_has_agreed_and_its_refusal_is_the_answer() {
    let mut bench = Bench::ready();
    let named = |id: &str| Named { id: id.into(), title: id.into() };
    bench.report(Report::Ready(Capabilities { models: vec![named("small"), named("large")], ..capable() }));
    let choose = |model: &str| Command::Model(None, Some(model.into()));
    let said = bench.kinds().len();
    assert_eq!(bench.command(Some("m1"), choose("large")).1, None, "it is answered later");
    assert_eq!((bench.stage("m1"), bench.kinds().len()), (Stage::Accepted, said));
    let effects = bench.report(Report::Did(Deed::Model("large".into()), Ok(())));
    assert_eq!(answered(&effects).unwrap().unwrap().lines, ["demo: model large."]);
    assert_eq!((bench.stage("m1"), bench.kinds().len()), (Stage::Finished, said + 1));
    bench.command(Some("m2"), choose("small"));
    let effects = bench.report(Report::Did(Deed::Model("small".into()), Err("not on this plan".into())));
    assert_eq!(answered(&effects), Some(Err(Refusal::Failed("not on this plan".into()))));
    assert_eq!(bench.stage("m2"), Stage::Failed("not on this plan".into()));
}

#[test]
fn who_is_named_twice_is_told_once() {
    let mut bench = Bench::ready();
    let twice = vec![agent(), agent()];
    let say = Command::Say {
        text: "hi".into(),
        to: Some(twice.clone()),
        attachments: vec![],
        interrupt: false,
        literal: false,
    };
    let (effects, done) = bench.command(Some("r1"), say);
    let turn = done.unwrap().unwrap().receipt.turn.unwrap();
    assert_eq!(told(&effects).len(), 1);
    let item = bench.space.state().items.iter().next_back().unwrap();
    assert_eq!(item.to, Some(vec![agent()]));
    let effects = bench.report(Report::Ended(turn, Outcome::Completed));
    assert_eq!((told(&effects), bench.stage("r1")), (vec![], Stage::Finished));
    bench.command(None, Command::Target(super::super::command::Target::Only(twice)));
    assert_eq!(bench.space.state().targets.effective(), Some(&[agent()][..]));
    assert_eq!(told(&bench.command(None, say_to_targets()).0).len(), 1);
}

fn say_to_targets() -> Command {
    Command::Say { text: "hi".into(), to: None, attachments: vec![], interrupt: false, literal: false }
}
