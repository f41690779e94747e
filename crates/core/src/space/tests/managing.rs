//! Requests about agents outside their conversations.

use serde_json::json;

use super::super::command::{ConversationCommand, SpaceRefusal};
use super::super::harness::{AgentOption, Call, Order, Report, ReportedCapabilities};
use super::super::item::{ItemBody, NoticeLevel};
use super::super::machine::{SpaceEffect, SpaceInput};
use super::super::roster::{AgentReply, AgentRequest, LoginStatus};
use super::{Bench, ParticipantId, agent};
use crate::receipt::ReceiptStage;
use crate::slash::{self, SlashCommand};

fn command(line: &str) -> ConversationCommand {
    match slash::parse(line) {
        Ok(SlashCommand::Space(command)) => command,
        other => panic!("{line} is {other:?}"),
    }
}

fn manage(agent: Option<&str>, ask: AgentRequest) -> ConversationCommand {
    ConversationCommand::Manage(agent.map(ParticipantId::from), ask)
}

/// Returns the engine request of a slash command.
fn engine_request(bench: &mut Bench, id: Option<&str>, line: &str) -> (u64, Option<String>, AgentRequest) {
    let (effects, answer) = bench.command(id, command(line));
    assert_eq!(answer, None, "{line} is answered later");
    let found = effects.into_iter().find_map(|effect| match effect {
        SpaceEffect::Manage { number, agent, ask } => Some((number, agent, ask)),
        _ => None,
    });
    found.unwrap_or_else(|| panic!("{line} asks nothing"))
}

#[test]
fn lines_are_read() {
    assert_eq!(command("/agents"), manage(None, AgentRequest::Agents));
    assert_eq!(command("/agent codex"), manage(Some("codex"), AgentRequest::Invite));
    assert_eq!(command("/login"), manage(None, AgentRequest::LogIn));
    assert_eq!(command("/login cancel"), manage(None, AgentRequest::CancelLogin));
    assert_eq!(command("/login codex"), manage(Some("codex"), AgentRequest::LogIn));
    assert_eq!(command("/login codex cancel"), manage(Some("codex"), AgentRequest::CancelLogin));
    assert_eq!(command("/login codex x#y"), manage(Some("codex"), AgentRequest::SubmitLoginCode("x#y".into())));
    assert!(slash::parse("/login codex two words").is_err());
    assert_eq!(command("/logout codex"), manage(Some("codex"), AgentRequest::LogOut));
    assert_eq!(command("/sessions codex"), manage(Some("codex"), AgentRequest::Conversations));
    assert_eq!(command("/models codex"), ConversationCommand::Model(Some("codex".into()), None));
    let mcp = |agent: Option<&str>, words: &[&str]| {
        let call = Call::Other { name: "mcp".into(), parameters: json!({ "words": words }) };
        ConversationCommand::Call(agent.map(ParticipantId::from), call)
    };
    assert_eq!(command("/mcp"), mcp(None, &[]));
    assert_eq!(command("/mcp enable desk"), mcp(None, &["enable", "desk"]));
    assert_eq!(command("/mcp codex disable desk"), mcp(Some("codex"), &["disable", "desk"]));
    for wrong in ["/mcp enable", "/mcp codex enable", "/mcp codex frobnicate desk"] {
        assert!(slash::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn an_agent_that_has_not_joined_or_lacks_the_call_is_asked_outside_the_conversation() {
    let mut bench = Bench::ready();
    let ask = |bench: &mut Bench, line: &str| {
        let (_, agent, ask) = engine_request(bench, None, line);
        (agent.unwrap_or_default(), ask)
    };
    assert_eq!(ask(&mut bench, "/status codex"), ("codex".into(), AgentRequest::Status));
    assert_eq!(ask(&mut bench, "/models codex"), ("codex".into(), AgentRequest::Models));
    assert_eq!(ask(&mut bench, "/models"), ("demo".into(), AgentRequest::Models), "it names no models while it runs");
    assert_eq!(ask(&mut bench, "/mcp"), ("demo".into(), AgentRequest::Mcp));
    let off = AgentRequest::SwitchMcp { server: "desk".into(), on: false };
    assert_eq!(ask(&mut bench, "/mcp disable desk"), ("demo".into(), off));
    let on = AgentRequest::SwitchMcp { server: "desk".into(), on: true };
    assert_eq!(ask(&mut bench, "/mcp codex enable desk"), ("codex".into(), on));
    assert_eq!(ask(&mut bench, "/login"), ("demo".into(), AgentRequest::LogIn));
    assert_eq!(ask(&mut bench, "/agents"), (String::new(), AgentRequest::Agents));
    let refused = bench.refused(command("/mcp reconnect desk"));
    assert_eq!(
        refused,
        SpaceRefusal::NotSupported(agent(), "run the command \"mcp\"".into()),
        "only the agent can do that"
    );
}

#[test]
fn a_running_agent_that_supports_the_call_is_asked_directly() {
    let mut bench = Bench::ready();
    let named = |id: &str| AgentOption { id: id.into(), title: id.into() };
    let able = ReportedCapabilities {
        calls: vec!["status".into(), "mcp".into()],
        models: vec![named("small"), named("demo")],
        ..ReportedCapabilities::default()
    };
    bench.report(Report::Ready(able));
    for line in ["/status", "/status demo", "/mcp", "/mcp demo"] {
        let (effects, _) = bench.command(None, command(line));
        let told = |effect: &SpaceEffect| matches!(effect, SpaceEffect::SendOrder(_, Order::Call { .. }));
        assert!(effects.iter().any(told), "{line}: {effects:?}");
    }
    let chosen = |bench: &mut Bench, line: &str| {
        let (effects, _) = bench.command(None, command(line));
        effects.into_iter().find_map(|effect| match effect {
            SpaceEffect::SendOrder(_, Order::SetModel(model)) => Some(model),
            _ => None,
        })
    };
    assert_eq!(chosen(&mut bench, "/model small").as_deref(), Some("small"));
    assert_eq!(chosen(&mut bench, "/model demo small").as_deref(), Some("small"), "its name may come first");
    assert_eq!(chosen(&mut bench, "/model demo"), None, "and alone it lists");
    assert_eq!(chosen(&mut bench, "/models"), None);
}

#[test]
fn a_managed_request_is_announced_answered_and_stored() {
    let mut bench = Bench::ready();
    let (number, _, _) = engine_request(&mut bench, Some("r1"), "/agent codex");
    let effects = bench.handle(SpaceInput::Managed(number, Ok(AgentReply::Joined("codex".into()))));
    let answered = |effect: &SpaceEffect| matches!(effect, SpaceEffect::Answer(_, Ok(done)) if done.lines == ["Chat goes to codex."]);
    assert!(effects.iter().any(answered), "{effects:?}");
    assert_eq!(bench.space.state().targets.effective(), Some(&["codex".into()][..]));
    assert_eq!(bench.stage("r1"), ReceiptStage::Finished);
    let (effects, again) = bench.command(Some("r1"), command("/agent codex"));
    assert!(again.unwrap().unwrap().duplicate && !effects.iter().any(|one| matches!(one, SpaceEffect::Manage { .. })));
    let late = bench.handle(SpaceInput::Managed(number, Ok(AgentReply::Done("twice".into()))));
    assert_eq!(late, [], "it was answered");
}

#[test]
fn the_status_of_a_running_agent_is_combined_with_its_card() {
    let mut bench = Bench::ready();
    bench.command(Some("r1"), command("/status demo"));
    let effects = bench.report(Report::Called(1, Ok("I am well".into())));
    let asks = SpaceEffect::Manage { number: 2, agent: Some("demo".into()), ask: AgentRequest::Status };
    assert_eq!(effects, [asks], "and nothing is answered yet");
    bench.handle(SpaceInput::Managed(2, Ok(AgentReply::Done("a card".into()))));
    let (_, again) = bench.command(Some("r1"), command("/status demo"));
    assert_eq!(again.unwrap().unwrap().lines, ["I am well", "a card"]);
    bench.command(Some("r2"), command("/status demo"));
    bench.report(Report::Called(3, Ok("still well".into())));
    bench.handle(SpaceInput::Managed(4, Err(SpaceRefusal::NoSuchAgent("demo".into()))));
    let (_, again) = bench.command(Some("r2"), command("/status demo"));
    assert_eq!(again.unwrap().unwrap().lines, ["still well"], "its own answer is sufficient");
}

#[test]
fn a_refused_request_fails_its_receipt_and_a_late_result_is_announced() {
    let mut bench = Bench::ready();
    let (number, _, _) = engine_request(&mut bench, Some("r1"), "/login demo");
    let effects = bench.handle(SpaceInput::Managed(number, Err(SpaceRefusal::NoSuchAgent("demo".into()))));
    assert!(effects.iter().any(|one| matches!(one, SpaceEffect::Answer(_, Err(SpaceRefusal::NoSuchAgent(_))))));
    assert!(matches!(bench.stage("r1"), ReceiptStage::Failed(_)));
    let done = LoginStatus { success: true, ..LoginStatus::default() };
    bench.handle(SpaceInput::Announced(NoticeLevel::Info, AgentReply::LoggedIn { agent: "One".into(), done }));
    let last = bench.space.state().items.iter().next_back().unwrap().body.clone();
    assert!(matches!(last, ItemBody::Notice { lines, .. } if lines == ["One Login", "  ✓ Logged in."]));
}
