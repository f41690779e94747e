//! The list of messages: its contents, its order, and the sender of each envelope.

use serde_json::{Value, json};

use super::super::envelope::Envelope;
use super::super::event::{SpaceEvent, StreamFrame};
use super::super::item::ToolResultPart;
use super::super::question::QuestionDetail;
use super::super::roster::AgentRequest;
use super::super::state::SpaceState;
use super::*;

fn listed(bench: &Bench) -> Vec<Envelope> {
    let listed = bench.space.state().items.envelopes(None);
    listed.filter_map(|(item, place)| envelope::at(item, place)).collect()
}

fn call(bench: &mut Bench, status: ToolStatus, done: bool) -> Vec<SpaceEffect> {
    let (name, title, input) = ("Bash".to_owned(), "ls".to_owned(), json!({ "command": "ls" }));
    let output = vec![ToolResultPart::Text("a\n".to_owned())];
    let body = ItemBody::Tool(ToolCall { name, title, kind: ToolKind::Execute, input, status, output });
    bench.report(Report::Item { key: "call".into(), body, done })
}

fn asked(bench: &mut Bench) -> ItemId {
    let details = vec![QuestionDetail::Command("ls".to_owned())];
    bench.report(Report::Asked { key: "ask".into(), question: Question { details, ..permission() } });
    bench.question()
}

fn kinds_after(bench: &Bench, count: usize) -> Vec<(String, Option<String>)> {
    let name = |one: Envelope| (one.kind, one.from.map(|from| from.to_string()));
    listed(bench).into_iter().skip(count).map(name).collect()
}

#[test]
fn a_permission_is_proposed_then_requested_by_its_approver_and_then_by_the_agent() {
    let mut bench = Bench::ready();
    bench.say("r1", "go");
    let before = listed(&bench).len();
    // Reported as running first, as Claude and Codex do, and only then asked about.
    call(&mut bench, ToolStatus::Running, false);
    bench.pass(100);
    let question = asked(&mut bench);
    call(&mut bench, ToolStatus::Pending, false);
    bench.pass(5_000);
    bench.handle(SpaceInput::Tick);
    let owned = |kind: &str, from: &str| (kind.to_owned(), Some(from.to_owned()));
    assert_eq!(kinds_after(&bench, before), [owned("mcp/proposal", "demo")]);
    bench.command(None, ConversationCommand::Answer { question, answer: answer("yes"), decision: None });
    call(&mut bench, ToolStatus::Running, false);
    bench.pass(5_000);
    bench.handle(SpaceInput::Tick);
    call(&mut bench, ToolStatus::Completed, true);
    let kinds = kinds_after(&bench, before);
    let expected = [
        owned("mcp/proposal", "demo"),
        owned("mcp/request", "human"),
        owned("mcp/request", "demo"),
        owned("mcp/response", "demo"),
    ];
    assert_eq!(kinds, expected);
    let all = listed(&bench);
    let (proposal, approval) = (&all[before], &all[before + 1]);
    let parameters = json!({ "name": "shell", "arguments": { "command": "ls" } });
    assert_eq!((&proposal.payload["method"], &proposal.payload["params"]), (&json!("tools/call"), &parameters));
    assert_eq!((&approval.payload["method"], &approval.payload["params"]), (&json!("tools/call"), &parameters));
    assert_eq!(approval.correlation_id, std::slice::from_ref(&proposal.id));
    assert_eq!(approval.to.as_deref(), Some(&[agent()][..]));
    assert_eq!(all[before + 3].correlation_id, std::slice::from_ref(&all[before + 2].id));
}

#[test]
fn a_rejected_proposal_has_a_reason_and_its_call_comes_after_it() {
    let mut bench = Bench::ready();
    bench.say("r1", "go");
    let before = listed(&bench).len();
    call(&mut bench, ToolStatus::Pending, false);
    let question = asked(&mut bench);
    bench.command(None, ConversationCommand::Answer { question, answer: answer("no"), decision: None });
    call(&mut bench, ToolStatus::Denied, true);
    let kinds: Vec<String> = kinds_after(&bench, before).into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, ["mcp/proposal", "mcp/reject", "mcp/request", "mcp/response"]);
    assert_eq!(listed(&bench)[before + 1].payload["reason"], "disagree");
}

#[test]
fn a_proposal_that_is_denied_in_words_is_rejected_for_that_reason() {
    let mut bench = Bench::ready();
    bench.say("r1", "go");
    let before = listed(&bench).len();
    let question = Question { accepts_text: true, ..permission() };
    bench.report(Report::Asked { key: "k".into(), question });
    let words = Answer { option: None, text: Some("not like this".to_owned()) };
    bench.command(None, ConversationCommand::Answer { question: bench.question(), answer: words, decision: None });
    let rejected = &listed(&bench)[before + 1];
    assert_eq!(rejected.kind, "mcp/reject");
    assert!(rejected.payload.to_string().contains("not like this"), "{}", rejected.payload);
}

#[test]
fn a_stream_is_opened_for_the_newest_request_once() {
    let mut bench = Bench::ready();
    bench.report(Report::Ready(ReportedCapabilities { calls: vec!["stream".to_owned()], ..capable() }));
    let call = Call::OpenStream { description: Some("clock".to_owned()) };
    let (_, asked) = bench.command(None, ConversationCommand::Call(Some(agent()), call));
    assert_eq!(asked, None, "the agent answers later");
    bench.report(Report::StreamOpened("s1".into()));
    bench.report(Report::StreamOpened("s2".into()));
    let all = listed(&bench);
    let request = all.iter().find(|one| one.kind == "stream/request").unwrap();
    let opened: Vec<_> = all.iter().filter(|one| one.kind == "stream/open").map(|one| &one.correlation_id).collect();
    assert_eq!(opened, [&vec![request.id.clone()], &Vec::new()]);
}

#[test]
fn a_call_without_a_question_is_listed_while_it_runs() {
    let mut bench = Bench::ready();
    bench.say("r1", "go");
    let before = listed(&bench).len();
    call(&mut bench, ToolStatus::Running, false);
    assert_eq!(kinds_after(&bench, before), [], "it may still ask");
    assert!(bench.space.wake_at().is_some());
    bench.pass(500);
    bench.handle(SpaceInput::Tick);
    assert_eq!(listed(&bench)[before].kind, "mcp/request");
    assert_eq!(bench.space.wake_at(), None);
    // A call that produces output is running.
    let body = |status| {
        let (name, title, input, output) = ("t".to_owned(), "T".to_owned(), Value::Null, Vec::new());
        ItemBody::Tool(ToolCall { name, title, kind: ToolKind::Other, input, status, output })
    };
    bench.report(Report::Item { key: "other".into(), body: body(ToolStatus::Running), done: false });
    bench.report(Report::Grew { key: "other".into(), text: "out".to_owned(), tokens: None });
    assert_eq!(listed(&bench).len(), before + 2);
}

#[test]
fn an_item_is_listed_when_it_is_complete() {
    let mut bench = Bench::ready();
    bench.say("r1", "go");
    let before = listed(&bench).len();
    let text = |text: &str| ItemBody::Text { text: text.to_owned(), attachments: vec![] };
    let thought = ItemBody::Thought { text: "hm".to_owned(), action: None, tokens: None };
    bench.report(Report::Item { key: "long".into(), body: text("lo"), done: false });
    bench.report(Report::Item { key: "thought".into(), body: thought, done: false });
    bench.pass(1_000);
    bench.report(Report::Item { key: "short".into(), body: text("short"), done: true });
    bench.report(Report::Finished("thought".into()));
    bench.pass(1_000);
    bench.report(Report::Item { key: "long".into(), body: text("long"), done: true });
    let all = listed(&bench);
    let new = &all[before..];
    let kinds: Vec<&str> = new.iter().map(|one| one.kind.as_str()).collect();
    assert_eq!(kinds, ["reasoning/start", "chat", "reasoning/thought", "reasoning/conclusion", "chat"]);
    assert_eq!(new[2].context.as_deref(), Some(new[0].id.as_str()));
    assert_eq!(new[3].context.as_deref(), Some(new[0].id.as_str()));
    assert!(new.windows(2).all(|pair| pair[0].at < pair[1].at), "{new:?}");
    assert_eq!(new[4].at, SystemTime::UNIX_EPOCH + Duration::from_secs(2));
}

#[test]
fn a_pause_names_the_participant_that_requested_it() {
    let mut bench = Bench::ready();
    let pause = || PauseReport { timeout: None, reason: Some("lunch".to_owned()) };
    let asked = Call::Pause { timeout: None, reason: Some("lunch".to_owned()) };
    bench.command(None, ConversationCommand::Call(Some(agent()), asked));
    bench.report(Report::Paused(Some(pause())));
    assert_eq!(bench.space.state().pause().unwrap().1.by, me());
    bench.report(Report::Called(1, Ok(json!("Paused."))));
    let (effects, _) = bench.command(None, ConversationCommand::Call(None, Call::Resume));
    assert_eq!(orders(&effects), [Order::Call { id: 2, call: Call::Resume }], "the only one that is paused");
    bench.report(Report::Paused(None));
    let (effects, _) = bench.command(None, ConversationCommand::Call(None, Call::Resume));
    let asks = |effect: &SpaceEffect| matches!(effect, SpaceEffect::Manage { ask: AgentRequest::Conversations, .. });
    assert!(effects.iter().any(asks), "no agent is paused: {effects:?}");
    bench.report(Report::Paused(Some(pause())));
    assert_eq!(bench.space.state().pause().unwrap().1.by, agent(), "this pause was not requested");
}

#[test]
fn the_last_frame_of_a_stream_may_come_after_its_end() {
    let mut state = SpaceState::new("test", me());
    let frame = |mark: u64| StreamFrame {
        stream: "stream-1".into(),
        payload: json!({ "mark": mark }),
        at: SystemTime::UNIX_EPOCH,
    };
    state.apply(&SpaceEvent::StreamOpened("stream-1".into(), agent()), SystemTime::UNIX_EPOCH);
    state.frame(frame(1));
    state.apply(&SpaceEvent::StreamClosed("stream-1".into()), SystemTime::UNIX_EPOCH);
    state.frame(frame(2));
    assert_eq!(state.frames.iter().map(|frame| frame.payload["mark"].as_u64()).collect::<Vec<_>>(), [Some(1), Some(2)]);
}
