mod acks;
mod envelopes;
mod managing;
mod queue;

use std::time::{Duration, Instant, SystemTime};

use super::command::{CommandAccepted, ConversationCommand, MessageSelector, Setting, SpaceRefusal};
use super::envelope;
use super::event::{Activity, SpaceEvent, TurnStats};
use super::harness::{AckedOrder, AgentOption, Call, Order, PauseReport, Report, ReportedCapabilities, TurnOutcome};
use super::item::{ItemBody, ItemProgress, ToolCall, ToolKind, ToolStatus};
use super::machine::{Now, RestoredSpace, SpaceEffect, SpaceInput, SpaceMachine, Ticket};
use super::question::{Answer, OptionMeaning, Question, QuestionKind, QuestionOption};
use super::{ItemId, ParticipantId, TurnId};
use crate::receipt::{CommandFailure, ReceiptStage};
use crate::request::{CommandContent, FingerprintedId, RequestId};
use crate::slash::{self, PaneName, SlashCommand, UiCommand, Visibility};
use acks::answered;

pub(super) struct Bench {
    pub space: SpaceMachine,
    start: Instant,
    elapsed: Duration,
    ticket: u64,
}

fn agent() -> ParticipantId {
    ParticipantId::from("demo")
}

fn me() -> ParticipantId {
    ParticipantId::from("human")
}

pub(super) fn capable() -> ReportedCapabilities {
    ReportedCapabilities {
        interrupts: true,
        acknowledges: true,
        calls: vec!["pause".to_owned(), "resume".to_owned(), "status".to_owned(), "close".to_owned()],
        commands: vec![AgentOption { id: "demo".to_owned(), title: "Tricks".to_owned() }],
        ..ReportedCapabilities::default()
    }
}

pub(super) fn permission() -> Question {
    let choice = |id: &str, meaning| QuestionOption { id: id.to_owned(), label: id.to_owned(), meaning };
    Question {
        kind: QuestionKind::Permission,
        title: "Run it?".to_owned(),
        details: Vec::new(),
        options: vec![choice("yes", OptionMeaning::AllowOnce), choice("no", OptionMeaning::RejectOnce)],
        accepts_text: false,
        preselects: true,
    }
}

impl Bench {
    pub fn new() -> Self {
        let start = Instant::now();
        let now = Now { steady: start, time: SystemTime::UNIX_EPOCH };
        let (space, _) = SpaceMachine::new("test", me(), now);
        Self { space, start, elapsed: Duration::ZERO, ticket: 0 }
    }

    /// Returns a bench whose space was restored from these items.
    pub fn restored(items: Vec<super::item::Item>) -> Self {
        let start = Instant::now();
        let now = Now { steady: start, time: SystemTime::UNIX_EPOCH };
        let (space, _) = SpaceMachine::restore(
            "test",
            me(),
            RestoredSpace { items, ..RestoredSpace::default() },
            Some("It was restarted."),
            now,
        );
        Self { space, start, elapsed: Duration::ZERO, ticket: 0 }
    }

    fn ready() -> Self {
        let mut bench = Self::new();
        bench.handle(SpaceInput::Enrol(agent(), &[]));
        bench.report(Report::Ready(capable()));
        bench
    }

    pub fn handle(&mut self, input: SpaceInput) -> Vec<SpaceEffect> {
        let time = SystemTime::UNIX_EPOCH + self.elapsed;
        let effects = self.space.handle(input, Now { steady: self.start + self.elapsed, time });
        self.space.state().check().unwrap();
        effects
    }

    /// Advances the clocks.
    pub fn pass(&mut self, milliseconds: u64) {
        self.elapsed += Duration::from_millis(milliseconds);
    }

    pub fn report(&mut self, report: Report) -> Vec<SpaceEffect> {
        self.handle(SpaceInput::Report(agent(), report))
    }

    pub fn command(
        &mut self,
        request_id: Option<&str>,
        command: ConversationCommand,
    ) -> (Vec<SpaceEffect>, Option<Result<CommandAccepted, SpaceRefusal>>) {
        self.ticket += 1;
        let ticket = Ticket(self.ticket);
        let words = format!("{command:?}");
        let request = |id| FingerprintedId::new(RequestId::new(id).unwrap(), "human", &CommandContent::Line(&words));
        let request = request_id.map(request);
        let effects = self.handle(SpaceInput::Command { ticket, by: me(), request, command });
        let answer = effects.iter().find_map(|effect| match effect {
            SpaceEffect::Answer(to, answer) if *to == ticket => Some(answer.clone()),
            _ => None,
        });
        (effects, answer)
    }

    fn say(&mut self, request_id: &str, text: &str) -> CommandAccepted {
        let command = ConversationCommand::Say {
            text: text.to_owned(),
            to: None,
            attachments: vec![],
            interrupt: false,
            literal: false,
        };
        self.command(Some(request_id), command).1.unwrap().unwrap()
    }

    fn refused(&mut self, command: ConversationCommand) -> SpaceRefusal {
        self.command(None, command).1.unwrap().unwrap_err()
    }

    fn stage(&self, request_id: &str) -> ReceiptStage {
        self.space.state().receipts.get(&RequestId::new(request_id).unwrap()).unwrap().stage.clone()
    }

    fn activity(&self) -> Activity {
        self.space.state().activity(&agent()).unwrap().clone()
    }

    fn question(&self) -> ItemId {
        self.space.state().questions().next().unwrap().id.clone()
    }

    fn kinds(&self) -> Vec<String> {
        let listed = self.space.state().items.envelopes(None);
        listed.filter_map(|(item, place)| envelope::at(item, place)).map(|envelope| envelope.kind).collect()
    }
}

fn orders(effects: &[SpaceEffect]) -> Vec<Order> {
    effects
        .iter()
        .filter_map(|effect| if let SpaceEffect::SendOrder(_, order) = effect { Some(order.clone()) } else { None })
        .collect()
}

fn answer(option: &str) -> Answer {
    Answer { option: Some(option.to_owned()), text: None }
}

#[test]
fn a_message_becomes_a_turn_and_its_receipt_follows_it() {
    let mut bench = Bench::ready();
    let done = bench.say("r1", "hello");
    let turn = done.receipt.turn.clone().unwrap();
    assert_eq!((done.receipt.stage, bench.activity()), (ReceiptStage::Accepted, Activity::Working(turn.clone())));
    bench.report(Report::Delivered(turn.clone()));
    bench.report(Report::Started(turn.clone()));
    assert_eq!(bench.stage("r1"), ReceiptStage::Started);
    bench.report(Report::Grew { key: "a".into(), text: "hi ".into(), tokens: None });
    bench.report(Report::Grew { key: "a".into(), text: "you".into(), tokens: None });
    let body = ItemBody::Text { text: "hi you".into(), attachments: vec![] };
    bench.report(Report::Item { key: "a".into(), body, done: true });
    bench.report(Report::Ended(turn.clone(), TurnOutcome::Completed));
    assert_eq!((bench.stage("r1"), bench.activity()), (ReceiptStage::Finished, Activity::Idle));
    assert_eq!(bench.kinds(), ["system/presence", "chat", "chat"]);
    let last = bench.space.state().items.iter().next_back().unwrap();
    assert_eq!((last.turn.as_ref(), last.progress), (Some(&turn), ItemProgress::Done));
}

#[test]
fn a_warning_about_a_turn_stays_on_its_receipt() {
    let mut bench = Bench::ready();
    let turn = bench.say("r1", "hello").receipt.turn.unwrap();
    bench.report(Report::Warned(turn.clone(), "a message is missing".to_owned()));
    bench.report(Report::Started(turn.clone()));
    bench.report(Report::Ended(turn.clone(), TurnOutcome::Completed));
    bench.report(Report::Warned(turn, "too late".to_owned()));
    let receipt = bench.say("r1", "hello").receipt;
    assert_eq!((receipt.stage, receipt.warning.as_deref()), (ReceiptStage::Finished, Some("a message is missing")));
}

#[test]
fn a_retried_message_is_sent_once_and_returns_its_progress() {
    let mut bench = Bench::ready();
    let first = bench.say("r1", "hello");
    bench.report(Report::Started(first.receipt.turn.clone().unwrap()));
    let again = bench.say("r1", "hello");
    assert!(again.duplicate && !first.duplicate);
    assert_eq!((again.receipt.turn, again.receipt.stage), (first.receipt.turn, ReceiptStage::Started));
    assert_eq!(bench.kinds().iter().filter(|kind| *kind == "chat").count(), 1);
    let (_, other) = bench.command(Some("r1"), ConversationCommand::Help);
    assert_eq!(other, Some(Err(SpaceRefusal::RequestIdReused)));
}

#[test]
fn a_prompt_waits_until_the_agent_is_ready_and_then_until_it_is_idle() {
    let mut bench = Bench::new();
    bench.handle(SpaceInput::Enrol(agent(), &[]));
    bench.say("r1", "one");
    assert_eq!(bench.activity(), Activity::Starting);
    let told_first = orders(&bench.report(Report::Ready(capable())));
    assert!(matches!(&told_first[..], [Order::Prompt { text, .. }] if text == "one"));
    bench.say("r2", "two");
    let Activity::Working(turn) = bench.activity() else { panic!("it works") };
    let told_second = orders(&bench.report(Report::Ended(turn, TurnOutcome::Completed)));
    assert!(matches!(&told_second[..], [Order::Prompt { text, .. }] if text == "two"));
}

#[test]
fn a_busy_agent_has_a_bounded_queue() {
    let mut bench = Bench::ready();
    let say = |text: &str| ConversationCommand::Say {
        text: text.to_owned(),
        to: None,
        attachments: vec![],
        interrupt: false,
        literal: false,
    };
    for number in 0..33 {
        bench.say(&format!("r{number}"), "more");
    }
    assert_eq!(bench.refused(say("too much")), SpaceRefusal::Busy(agent()));
    assert_eq!(bench.refused(say("  ")), SpaceRefusal::Empty);
}

#[test]
fn a_question_is_answered_once_by_its_id() {
    let mut bench = Bench::ready();
    bench.say("r1", "do it");
    bench.report(Report::Asked { key: "provider-7".into(), question: permission() });
    let question = bench.question();
    assert_eq!(bench.activity(), Activity::Waiting(question.clone()));
    let with = |option: &str| ConversationCommand::Answer {
        question: question.clone(),
        answer: answer(option),
        decision: None,
    };
    assert!(matches!(bench.refused(with("maybe")), SpaceRefusal::WrongAnswer(_)));
    let (effects, done) = bench.command(Some("a1"), with("yes"));
    assert_eq!(orders(&effects), [Order::Answer { question: "provider-7".into(), answer: answer("yes") }]);
    assert_eq!(done.unwrap().unwrap().receipt.stage, ReceiptStage::Accepted);
    bench.report(Report::Acked(AckedOrder::Answer("provider-7".into()), Ok(())));
    assert_eq!(bench.stage("a1"), ReceiptStage::Finished);
    assert!(matches!(bench.refused(with("yes")), SpaceRefusal::Closed(..)));
    let unknown = ConversationCommand::Answer { question: ItemId::from("q99"), answer: answer("yes"), decision: None };
    assert!(matches!(bench.refused(unknown), SpaceRefusal::NoSuchQuestion(_)));
}

#[test]
fn a_secret_is_sent_to_the_agent_and_not_stored() {
    let mut bench = Bench::ready();
    bench.say("r1", "do it");
    let secret = Question { kind: QuestionKind::Secret, options: Vec::new(), accepts_text: true, ..permission() };
    bench.report(Report::Asked { key: "k".into(), question: secret });
    let answer = Answer { option: None, text: Some("hunter2".to_owned()) };
    let (effects, _) = bench.command(
        Some("a1"),
        ConversationCommand::Answer { question: bench.question(), answer: answer.clone(), decision: None },
    );
    assert_eq!(orders(&effects), [Order::Answer { question: "k".into(), answer }]);
    let items: Vec<String> = bench.space.state().items.iter().map(|item| format!("{item:?}")).collect();
    assert!(items.iter().any(|item| item.contains("Answered")), "{items:?}");
    assert!(!items.iter().any(|item| item.contains("hunter2")), "{items:?}");
}

#[test]
fn an_interrupt_closes_the_open_question_and_the_turn_ends_as_cancelled() {
    let mut bench = Bench::ready();
    let turn = bench.say("r1", "do it").receipt.turn.unwrap();
    bench.report(Report::Asked { key: "k".into(), question: permission() });
    let question = bench.question();
    let (effects, _) = bench.command(None, ConversationCommand::Interrupt(None));
    assert_eq!(orders(&effects), [Order::Interrupt]);
    bench.report(Report::Ended(turn, TurnOutcome::Cancelled));
    assert_eq!(bench.space.state().questions().count(), 0);
    assert_eq!(
        (bench.stage("r1"), bench.activity()),
        (ReceiptStage::Failed(CommandFailure::cancelled()), Activity::Idle)
    );
    assert!(bench.kinds().contains(&"system/interrupted".to_owned()));
    let late = ConversationCommand::Answer { question, answer: answer("yes"), decision: None };
    assert!(matches!(bench.refused(late), SpaceRefusal::Closed(..)));
    assert_eq!(bench.refused(ConversationCommand::Interrupt(None)), SpaceRefusal::NothingToInterrupt);
}

#[test]
fn reports_after_the_end_of_their_turn_change_nothing() {
    let mut bench = Bench::ready();
    let turn = bench.say("r1", "go").receipt.turn.unwrap();
    bench.report(Report::Grew { key: "a".into(), text: "half".into(), tokens: None });
    bench.report(Report::Ended(turn.clone(), TurnOutcome::Cancelled));
    let before = bench.kinds();
    assert_eq!(before.last().unwrap(), "chat", "the cut item is marked itself");
    bench.report(Report::Grew { key: "a".into(), text: " late".into(), tokens: None });
    bench.report(Report::Ended(turn, TurnOutcome::Completed));
    assert_eq!(bench.kinds(), before);
    assert!(bench.space.state().items.growing().next().is_none());
}

#[test]
fn an_agent_that_ends_fails_its_queued_commands() {
    let mut bench = Bench::ready();
    bench.say("r1", "one");
    bench.say("r2", "two");
    let (_, open) = bench.command(Some("c1"), ConversationCommand::Call(Some(agent()), Call::ReportStatus));
    assert_eq!(open, None);
    let effects = bench.report(Report::Gone(Some("it crashed".into())));
    let failed = effects.iter().any(|effect| matches!(effect, SpaceEffect::Answer(_, Err(SpaceRefusal::Failed(_)))));
    assert!(failed);
    for id in ["r1", "r2", "c1"] {
        assert_eq!(bench.stage(id), ReceiptStage::Failed("it crashed".into()), "{id}");
    }
    assert_eq!(bench.activity(), Activity::Gone(Some("it crashed".into())));
    let say = ConversationCommand::Say {
        text: "hello?".into(),
        to: Some(vec![agent()]),
        attachments: vec![],
        interrupt: false,
        literal: false,
    };
    assert_eq!(bench.refused(say), SpaceRefusal::Gone(agent()));
}

#[test]
fn acknowledgements_are_wanted_given_and_dropped() {
    let mut bench = Bench::ready();
    let item = bench.say("r1", "hello").receipt.item.unwrap();
    assert_eq!(bench.space.state().acknowledgements.len(), 1);
    bench.report(Report::Acknowledged(item, true));
    assert!(bench.space.state().acknowledgements.is_empty());
    let body = ItemBody::Text { text: "seen?".into(), attachments: vec![] };
    bench.report(Report::Item { key: "a".into(), body, done: true });
    bench.report(Report::WantsAcknowledgement("a".into()));
    let all = ConversationCommand::Acknowledge { selector: MessageSelector::All, status: None };
    assert!(bench.command(None, all.clone()).1.unwrap().is_ok());
    assert_eq!(bench.refused(all).to_string(), "no message is waiting for your acknowledgement");
    let refused = bench.refused(ConversationCommand::Cancel { selector: MessageSelector::All, reason: None });
    assert!(refused.to_string().ends_with("that you requested, and no agent is reasoning"), "{refused}");
    assert!(bench.space.state().acknowledgements.is_empty());
}

#[test]
fn a_pause_ends_when_its_time_is_up() {
    let mut bench = Bench::ready();
    let pause = PauseReport { timeout: Some(Duration::from_secs(60)), reason: Some("rest".into()) };
    bench.report(Report::Paused(Some(pause)));
    assert_eq!(bench.activity(), Activity::Paused);
    bench.say("r1", "hello");
    assert_eq!(bench.activity(), Activity::Paused);
    bench.elapsed = Duration::from_secs(60);
    assert_eq!(bench.space.wake_at(), Some(SystemTime::UNIX_EPOCH + bench.elapsed));
    let effects = bench.handle(SpaceInput::Tick);
    assert!(matches!(&orders(&effects)[..], [Order::Prompt { .. }]));
}

#[test]
fn chat_targets_apply_by_scope() {
    let mut bench = Bench::ready();
    bench.handle(SpaceInput::Enrol(ParticipantId::from("other"), &[]));
    let Ok(SlashCommand::Space(target)) = slash::parse("/target other") else { panic!("it is for the space") };
    bench.command(None, target);
    let effective: Vec<String> =
        bench.space.state().targets.effective().unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(effective, ["other"]);
    let done = bench.say("r1", "to the other");
    assert_eq!(bench.activity(), Activity::Idle);
    assert!(done.receipt.turn.is_some());
    let Ok(SlashCommand::Space(unknown)) = slash::parse("/target nobody") else { panic!("it is for the space") };
    assert_eq!(bench.refused(unknown), SpaceRefusal::NoSuchParticipant("nobody".into()));
}

#[test]
fn a_command_of_the_agents_own_is_a_prompt_and_others_are_unknown() {
    let mut bench = Bench::ready();
    let Ok(SlashCommand::Space(demo)) = slash::parse("/demo edit") else { panic!("it is for the space") };
    let (effects, _) = bench.command(None, demo);
    assert!(matches!(&orders(&effects)[..], [Order::Prompt { text, .. }] if text == "/demo edit"));
    let Ok(SlashCommand::Space(unknown)) = slash::parse("/frobnicate") else { panic!("it may be the agent's") };
    assert_eq!(bench.refused(unknown), SpaceRefusal::UnknownCommand("frobnicate".into()));
}

#[test]
fn the_help_begins_with_its_title_and_names_the_agents_commands() {
    let mut bench = Bench::ready();
    let lines = bench.command(None, ConversationCommand::Help).1.unwrap().unwrap().lines;
    assert_eq!(lines[0], "Available Commands");
    assert!(lines.iter().any(|line| line.contains("/demo")));
    let columns: std::collections::BTreeSet<_> = slash::help_lines()
        .map(|command| lines.iter().find(|line| line[2..].starts_with(&command.usage)).unwrap().find(command.about))
        .collect();
    assert_eq!(columns.len(), 1, "no usage breaks the column: {lines:#?}");
    assert_eq!(bench.kinds().last().unwrap(), "system/help");
}

#[test]
fn the_end_of_an_unknown_turn_is_ignored() {
    let mut bench = Bench::ready();
    let effects = bench.report(Report::Ended(TurnId::from("turn-77"), TurnOutcome::Completed));
    assert!(!effects.iter().any(|effect| matches!(effect, SpaceEffect::Publish(SpaceEvent::TurnEnded(..)))));
}

#[test]
fn a_pause_beyond_all_time_has_no_end() {
    let mut bench = Bench::ready();
    let pause = PauseReport { timeout: Some(Duration::MAX), reason: None };
    bench.report(Report::Paused(Some(pause)));
    assert_eq!((bench.activity(), bench.space.wake_at()), (Activity::Paused, None));
    assert!(slash::parse("/pause demo 18446744073709551615").is_err());
}

#[test]
fn a_turn_that_ends_tells_how_long_it_took_which_tools_it_used_and_with_which_model() {
    let mut bench = Bench::ready();
    bench.report(Report::Ready(ReportedCapabilities { model: Some("big".into()), ..capable() }));
    let turn = bench.say("r1", "go").receipt.turn.unwrap();
    for key in ["a", "b"] {
        let (name, title) = (key.to_owned(), key.to_owned());
        let (kind, input, status, output) = (ToolKind::Read, serde_json::Value::Null, ToolStatus::Completed, vec![]);
        let body = ItemBody::Tool(ToolCall { name, title, kind, input, status, output });
        bench.report(Report::Item { key: key.into(), body, done: true });
    }
    bench.elapsed += Duration::from_secs(5);
    let effects = bench.report(Report::Ended(turn.clone(), TurnOutcome::Completed));
    let tally = TurnStats { duration: Duration::from_secs(5), tool_calls: 2, model: Some("big".into()) };
    let ended = SpaceEffect::Publish(SpaceEvent::TurnEnded(turn.clone(), TurnOutcome::Completed, tally.clone()));
    assert!(effects.contains(&ended), "{effects:?}");
    let (last, known) = bench.space.state().last_turn(&agent()).unwrap();
    assert_eq!((last, known.stats.as_ref()), (&turn, Some(&tally)));
}

#[test]
fn a_retried_call_is_answered_as_the_first_was() {
    let mut bench = Bench::ready();
    let call = || ConversationCommand::Call(Some(agent()), Call::ReportStatus);
    bench.command(Some("c1"), call());
    bench.report(Report::Called(1, Ok("well".into())));
    bench.handle(SpaceInput::Managed(2, Err(SpaceRefusal::NoSuchAgent("demo".into()))));
    let again = bench.command(Some("c1"), call()).1.unwrap().unwrap();
    assert_eq!(
        (again.lines, again.duplicate, again.receipt.stage),
        (vec!["well".to_owned()], true, ReceiptStage::Finished)
    );
    bench.command(Some("c2"), call());
    bench.report(Report::Called(3, Err("no".into())));
    assert_eq!(bench.command(Some("c2"), call()).1.unwrap(), Err(SpaceRefusal::Failed("no".into())));
}

#[test]
fn an_expired_request_id_is_refused() {
    let mut bench = Bench::ready();
    let turn = bench.say("r1", "hello").receipt.turn.unwrap();
    bench.report(Report::Ended(turn, TurnOutcome::Completed));
    bench.elapsed = Duration::from_secs(700);
    let say = ConversationCommand::Say {
        text: "hello".into(),
        to: None,
        attachments: vec![],
        interrupt: false,
        literal: false,
    };
    assert_eq!(bench.command(Some("r1"), say).1.unwrap(), Err(SpaceRefusal::UsedBefore));
}

#[test]
fn a_message_to_two_agents_fails_if_either_fails() {
    let mut bench = Bench::ready();
    let other = ParticipantId::from("other");
    bench.handle(SpaceInput::Enrol(other.clone(), &[]));
    bench.handle(SpaceInput::Report(other.clone(), Report::Ready(capable())));
    bench.say("r1", "both of you");
    let Activity::Working(first) = bench.activity() else { panic!("it works") };
    let Some(Activity::Working(second)) = bench.space.state().activity(&other).cloned() else { panic!("it works") };
    bench.report(Report::Ended(first, TurnOutcome::Failed("no".into())));
    assert_eq!(bench.stage("r1"), ReceiptStage::Accepted);
    bench.handle(SpaceInput::Report(other, Report::Ended(second, TurnOutcome::Completed)));
    assert_eq!(bench.stage("r1"), ReceiptStage::Failed("no".into()));
}

#[test]
fn items_outside_a_turn_end_with_their_agent() {
    let mut bench = Bench::ready();
    let body = ItemBody::Thought { text: "hm".into(), action: None, tokens: None };
    bench.report(Report::Item { key: "t".into(), body, done: false });
    bench.report(Report::Asked { key: "q".into(), question: permission() });
    let turn = bench.say("r1", "go").receipt.turn.unwrap();
    bench.report(Report::Ended(turn, TurnOutcome::Completed));
    assert_eq!(bench.space.state().questions().count(), 1, "it belongs to no turn");
    bench.report(Report::Gone(None));
    assert!(bench.space.state().items.growing().next().is_none());
}

#[test]
fn a_setting_is_sent_to_the_agent_without_a_notice() {
    let mut bench = Bench::ready();
    let named = |id: &str| AgentOption { id: id.into(), title: id.into() };
    bench.report(Report::Ready(ReportedCapabilities { modes: vec![named("ask"), named("plan")], ..capable() }));
    let said = bench.space.state().items.len();
    let set = |mode: &str| ConversationCommand::Set(agent(), Setting::Mode(mode.into()));
    let (effects, answer) = bench.command(None, set("plan"));
    assert_eq!((orders(&effects), answer), (vec![Order::SetMode("plan".into())], None));
    let effects = bench.report(Report::Acked(AckedOrder::Mode("plan".into()), Ok(())));
    assert_eq!(answered(&effects).unwrap().unwrap().lines, ["demo: mode plan."]);
    assert_eq!(bench.space.state().items.len(), said);
    assert_eq!(bench.refused(set("never")).to_string(), "demo has no mode \"never\"; choose one of ask, plan");
}

#[test]
fn list_commands_are_ui_commands() {
    let pane = |name, visibility| Ok(SlashCommand::Ui(UiCommand::Pane(PaneName(name), visibility)));
    for (line, list) in [("/agent", "agents"), ("/sessions", "conversations")] {
        assert_eq!(slash::parse(line), pane(list, None), "{line}");
    }
    let invited = ConversationCommand::Manage(Some(agent()), crate::space::roster::AgentRequest::Invite);
    assert_eq!(slash::parse("/agent demo"), Ok(SlashCommand::Space(invited)));
    assert_eq!(slash::parse("/resume"), Ok(SlashCommand::Space(ConversationCommand::Call(None, Call::Resume))));
    assert_eq!(
        slash::parse("/resume demo"),
        Ok(SlashCommand::Space(ConversationCommand::Call(Some(agent()), Call::Resume)))
    );
    assert_eq!(slash::parse("/tools auto"), pane("tools", Some(Visibility::Auto)));
    assert_eq!(slash::parse("/ui tools"), pane("tools", None));
    assert!(slash::parse("/tools sometimes").is_err());
}
