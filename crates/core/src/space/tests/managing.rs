//! What is asked about agents beside their conversations.

use serde_json::json;

use super::super::command::{Command, Refusal};
use super::super::harness::{Call, Capabilities, Named, Order, Report};
use super::super::item::{Body, Level};
use super::super::machine::{Effect, Input};
use super::super::roster::{Ask, LoginDone, Told};
use super::{Bench, ParticipantId, agent};
use crate::receipt::Stage;
use crate::slash::{self, Slash};

fn command(line: &str) -> Command {
    match slash::parse(line) {
        Ok(Slash::Space(command)) => command,
        other => panic!("{line} is {other:?}"),
    }
}

fn manage(agent: Option<&str>, ask: Ask) -> Command {
    Command::Manage(agent.map(ParticipantId::from), ask)
}

/// What a line has the engine ask.
fn asked(bench: &mut Bench, id: Option<&str>, line: &str) -> (u64, Option<String>, Ask) {
    let (effects, answer) = bench.command(id, command(line));
    assert_eq!(answer, None, "{line} is answered later");
    let found = effects.into_iter().find_map(|effect| match effect {
        Effect::Manage { number, agent, ask } => Some((number, agent, ask)),
        _ => None,
    });
    found.unwrap_or_else(|| panic!("{line} asks nothing"))
}

#[test]
fn lines_are_read() {
    assert_eq!(command("/agents"), manage(None, Ask::Agents));
    assert_eq!(command("/agent codex"), manage(Some("codex"), Ask::Invite));
    assert_eq!(command("/login"), manage(None, Ask::LogIn));
    assert_eq!(command("/login cancel"), manage(None, Ask::StopLogin));
    assert_eq!(command("/login codex"), manage(Some("codex"), Ask::LogIn));
    assert_eq!(command("/login codex cancel"), manage(Some("codex"), Ask::StopLogin));
    assert_eq!(command("/login codex x#y"), manage(Some("codex"), Ask::TellLogin("x#y".into())));
    assert!(slash::parse("/login codex two words").is_err());
    assert_eq!(command("/logout codex"), manage(Some("codex"), Ask::LogOut));
    assert_eq!(command("/sessions codex"), manage(Some("codex"), Ask::Conversations));
    assert_eq!(command("/models codex"), Command::Model(Some("codex".into()), None));
    let mcp = |agent: Option<&str>, words: &[&str]| {
        let call = Call::Other { name: "mcp".into(), parameters: json!({ "words": words }) };
        Command::Call(agent.map(ParticipantId::from), call)
    };
    assert_eq!(command("/mcp"), mcp(None, &[]));
    assert_eq!(command("/mcp enable desk"), mcp(None, &["enable", "desk"]));
    assert_eq!(command("/mcp codex disable desk"), mcp(Some("codex"), &["disable", "desk"]));
    for wrong in ["/mcp enable", "/mcp codex enable", "/mcp codex frobnicate desk"] {
        assert!(slash::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn who_does_not_take_part_or_cannot_say_it_is_asked_apart() {
    let mut bench = Bench::ready();
    let ask = |bench: &mut Bench, line: &str| {
        let (_, agent, ask) = asked(bench, None, line);
        (agent.unwrap_or_default(), ask)
    };
    assert_eq!(ask(&mut bench, "/status codex"), ("codex".into(), Ask::Status));
    assert_eq!(ask(&mut bench, "/models codex"), ("codex".into(), Ask::Models));
    assert_eq!(ask(&mut bench, "/models"), ("demo".into(), Ask::Models), "it names no models while it runs");
    assert_eq!(ask(&mut bench, "/mcp"), ("demo".into(), Ask::Mcp));
    let off = Ask::SwitchMcp { server: "desk".into(), on: false };
    assert_eq!(ask(&mut bench, "/mcp disable desk"), ("demo".into(), off));
    let on = Ask::SwitchMcp { server: "desk".into(), on: true };
    assert_eq!(ask(&mut bench, "/mcp codex enable desk"), ("codex".into(), on));
    assert_eq!(ask(&mut bench, "/login"), ("demo".into(), Ask::LogIn));
    assert_eq!(ask(&mut bench, "/agents"), (String::new(), Ask::Agents));
    let refused = bench.refused(command("/mcp reconnect desk"));
    assert_eq!(refused, Refusal::NotSupported(agent(), "mcp".into()), "nobody else can do that");
}

#[test]
fn who_runs_and_knows_better_is_asked_itself() {
    let mut bench = Bench::ready();
    let named = |id: &str| Named { id: id.into(), title: id.into() };
    let able = Capabilities {
        calls: vec!["status".into(), "mcp".into()],
        models: vec![named("small"), named("demo")],
        ..Capabilities::default()
    };
    bench.report(Report::Ready(able));
    for line in ["/status", "/status demo", "/mcp", "/mcp demo"] {
        let (effects, _) = bench.command(None, command(line));
        let told = |effect: &Effect| matches!(effect, Effect::Tell(_, Order::Call { .. }));
        assert!(effects.iter().any(told), "{line}: {effects:?}");
    }
    let chosen = |bench: &mut Bench, line: &str| {
        let (effects, _) = bench.command(None, command(line));
        effects.into_iter().find_map(|effect| match effect {
            Effect::Tell(_, Order::SetModel(model)) => Some(model),
            _ => None,
        })
    };
    assert_eq!(chosen(&mut bench, "/model small").as_deref(), Some("small"));
    assert_eq!(chosen(&mut bench, "/model demo small").as_deref(), Some("small"), "its name may come first");
    assert_eq!(chosen(&mut bench, "/model demo"), None, "and alone it lists");
    assert_eq!(chosen(&mut bench, "/models"), None);
}

#[test]
fn what_it_came_to_is_told_answered_and_remembered() {
    let mut bench = Bench::ready();
    let (number, _, _) = asked(&mut bench, Some("r1"), "/agent codex");
    let effects = bench.handle(Input::Managed(number, Ok(Told::TakesPart("codex".into()))));
    let answered =
        |effect: &Effect| matches!(effect, Effect::Answer(_, Ok(done)) if done.lines == ["Chat goes to codex."]);
    assert!(effects.iter().any(answered), "{effects:?}");
    assert_eq!(bench.space.state().targets.effective(), Some(&["codex".into()][..]));
    assert_eq!(bench.stage("r1"), Stage::Finished);
    let (effects, again) = bench.command(Some("r1"), command("/agent codex"));
    assert!(again.unwrap().unwrap().duplicate && !effects.iter().any(|one| matches!(one, Effect::Manage { .. })));
    let late = bench.handle(Input::Managed(number, Ok(Told::Done("twice".into()))));
    assert_eq!(late, [], "it was answered");
}

#[test]
fn what_a_running_one_says_of_itself_is_joined_with_what_is_known_of_it() {
    let mut bench = Bench::ready();
    bench.command(Some("r1"), command("/status demo"));
    let effects = bench.report(Report::Called(1, Ok("I am well".into())));
    let asks = Effect::Manage { number: 2, agent: Some("demo".into()), ask: Ask::Status };
    assert_eq!(effects, [asks], "and nothing is answered yet");
    bench.handle(Input::Managed(2, Ok(Told::Done("a card".into()))));
    let (_, again) = bench.command(Some("r1"), command("/status demo"));
    assert_eq!(again.unwrap().unwrap().lines, ["I am well", "a card"]);
    bench.command(Some("r2"), command("/status demo"));
    bench.report(Report::Called(3, Ok("still well".into())));
    bench.handle(Input::Managed(4, Err(Refusal::NoSuchAgent("demo".into()))));
    let (_, again) = bench.command(Some("r2"), command("/status demo"));
    assert_eq!(again.unwrap().unwrap().lines, ["still well"], "its own word is enough");
}

#[test]
fn what_was_refused_fails_its_receipt_and_what_comes_later_is_announced() {
    let mut bench = Bench::ready();
    let (number, _, _) = asked(&mut bench, Some("r1"), "/login demo");
    let effects = bench.handle(Input::Managed(number, Err(Refusal::NoSuchAgent("demo".into()))));
    assert!(effects.iter().any(|one| matches!(one, Effect::Answer(_, Err(Refusal::NoSuchAgent(_))))));
    assert!(matches!(bench.stage("r1"), Stage::Failed(_)));
    let done = LoginDone { success: true, ..LoginDone::default() };
    bench.handle(Input::Announced(Level::Info, Told::LoggedIn { agent: "One".into(), done }));
    let last = bench.space.state().items.iter().next_back().unwrap().body.clone();
    assert!(matches!(last, Body::Notice { lines, .. } if lines == ["One Login", "  ✓ Logged in."]));
}
