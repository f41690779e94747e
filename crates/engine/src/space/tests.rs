mod ending;
mod inviting;
mod lasting;
mod linked;

use std::time::Duration;

use wh_agents::interface::{Harness, HarnessTaskChannels};
use wh_client::Mirror;
use wh_core::receipt::ReceiptStage;
use wh_core::space::command::ConversationCommand;
use wh_core::space::harness::{Order, Report, ReportedCapabilities, TurnOutcome};
use wh_core::space::item::ItemBody;
use wh_core::space::{ParticipantId, envelope};

use super::RunningSpace;

fn me() -> ParticipantId {
    ParticipantId::from("human")
}

async fn with_agent() -> (RunningSpace, HarnessTaskChannels) {
    let running = RunningSpace::start("test", me());
    let (harness, inside) = Harness::new();
    running.enrol(ParticipantId::from("fake"), harness).await;
    let ready = ReportedCapabilities { interrupts: true, ..ReportedCapabilities::default() };
    inside.reports.send(Report::Ready(ready)).await.unwrap();
    (running, inside)
}

fn say(text: &str) -> ConversationCommand {
    ConversationCommand::say(text.to_owned(), None)
}

/// Follows until the condition holds. Panics after 30 seconds.
async fn until(mirror: &mut Mirror, holds: impl Fn(&Mirror) -> bool) {
    let follow = async {
        loop {
            mirror.catch_up().await.unwrap();
            if holds(mirror) {
                return;
            }
            mirror.changed().await.unwrap();
        }
    };
    tokio::time::timeout(Duration::from_secs(30), follow).await.expect("the condition holds within 30 s");
}

fn kinds(mirror: &Mirror) -> Vec<String> {
    mirror.state().items.iter().flat_map(|item| envelope::project(item)).map(|one| one.kind).collect()
}

#[tokio::test]
async fn a_mirror_sees_what_was_said_grow_and_end() {
    let (running, mut inside) = with_agent().await;
    let mut mirror = running.space.mirror().await.unwrap();
    let done = running.space.command(me(), None, say("hello")).await.unwrap().unwrap();
    let turn = done.receipt.turn.unwrap();
    assert!(matches!(inside.orders.recv().await, Some(Order::Prompt { text, .. }) if text == "hello"));
    for word in ["one ", "two ", "three"] {
        inside.reports.send(Report::Grew { key: "k".into(), text: word.into(), tokens: None }).await.unwrap();
    }
    let text = |mirror: &Mirror| match mirror.state().items.iter().next_back().map(|item| item.body.clone()) {
        Some(ItemBody::Text { text, .. }) => text,
        _ => String::new(),
    };
    until(&mut mirror, |mirror| text(mirror) == "one two three").await;
    let body = ItemBody::Text { text: "one two three".into(), attachments: vec![] };
    inside.reports.send(Report::Item { key: "k".into(), body, done: true }).await.unwrap();
    inside.reports.send(Report::Ended(turn, TurnOutcome::Completed)).await.unwrap();
    until(&mut mirror, |mirror| {
        mirror.state().receipts.get(&done.receipt.request_id).is_some_and(|one| one.stage == ReceiptStage::Finished)
    })
    .await;
    assert_eq!(kinds(&mirror), ["system/presence", "chat", "chat"]);
    mirror.state().check().unwrap();
}

#[tokio::test]
async fn a_command_fails_when_its_agent_ends_unexpectedly() {
    let (running, inside) = with_agent().await;
    let mut mirror = running.space.mirror().await.unwrap();
    let done = running.space.command(me(), None, say("hello")).await.unwrap().unwrap();
    drop(inside);
    until(&mut mirror, |mirror| {
        mirror
            .state()
            .receipts
            .get(&done.receipt.request_id)
            .is_some_and(|one| matches!(one.stage, ReceiptStage::Failed(_)))
    })
    .await;
}

#[tokio::test]
async fn a_space_ends_when_every_agent_is_gone() {
    let (running, mut inside) = with_agent().await;
    let agent = tokio::spawn(async move {
        while inside.orders.recv().await.is_some() {}
        inside.reports.send(Report::Gone(None)).await.unwrap();
    });
    running.space.revision().await.unwrap();
    tokio::time::timeout(Duration::from_secs(30), running.space.end(false)).await.unwrap().unwrap();
    agent.await.unwrap();
}

#[tokio::test]
async fn the_same_request_ten_times_at_once_is_one_message() {
    let (running, _inside) = with_agent().await;
    let ten = (0..10).map(|_| {
        let space = running.space.clone();
        let id = wh_core::request::RequestId::new("r1").unwrap();
        tokio::spawn(async move {
            space
                .command(
                    me(),
                    Some(wh_core::request::FingerprintedId::new(
                        id,
                        "me",
                        &wh_core::request::CommandContent::text("once"),
                    )),
                    say("once"),
                )
                .await
                .unwrap()
                .unwrap()
        })
    });
    let mut firsts = 0;
    for one in ten.collect::<Vec<_>>() {
        firsts += usize::from(!one.await.unwrap().duplicate);
    }
    let state = running.space.watch().await.unwrap().state;
    let chats = state.items.iter().flat_map(|item| envelope::project(item)).filter(|one| one.kind == "chat");
    assert_eq!((firsts, chats.count()), (1, 1));
}

#[tokio::test]
async fn a_resume_id_is_neither_logged_nor_shown() {
    let (mut running, inside) = with_agent().await;
    let mut mirror = running.space.mirror().await.unwrap();
    let before = running.space.watch().await.unwrap().end;
    for name in [Some("secret-1"), Some("secret-2"), Some("secret-2"), None, Some("secret-3")] {
        inside.reports.send(Report::ResumeId(name.map(str::to_owned))).await.unwrap();
        let wanted = name.map(str::to_owned);
        let agent = ParticipantId::from("fake");
        let known = running.resume_ids.wait_for(|resume_ids| resume_ids.get(&agent) == wanted.as_ref());
        tokio::time::timeout(Duration::from_secs(30), known).await.expect("the resume id is published").unwrap();
    }
    running.space.command(me(), None, say("hello")).await.unwrap().unwrap();
    until(&mut mirror, |mirror| kinds(mirror).contains(&"chat".to_owned())).await;
    let state = format!("{:?}", running.space.watch().await.unwrap().state);
    let events = format!("{:?}", running.space.updates(before, 0).await.unwrap().unwrap());
    assert!(state.contains("hello") && events.contains("hello"));
    for shown in [state, events, format!("{:?} {running:?}", mirror.state())] {
        assert!(!shown.contains("secret"), "{shown}");
    }
    assert!(format!("{:?}", running.resume_ids).contains("secret-3"), "the resume id is not in {running:?}");
}

#[tokio::test]
async fn a_new_agent_does_not_get_the_resume_id_of_its_predecessor() {
    let (mut running, inside) = with_agent().await;
    inside.reports.send(Report::ResumeId(Some("old".into()))).await.unwrap();
    running.resume_ids.wait_for(|resume_ids| !resume_ids.is_empty()).await.unwrap();
    drop(inside);
    let mut mirror = running.space.mirror().await.unwrap();
    let gone = |mirror: &Mirror| {
        matches!(mirror.state().activity(&"fake".into()), Some(wh_core::space::event::Activity::Gone(_)))
    };
    until(&mut mirror, gone).await;
    assert!(!running.resume_ids.borrow().is_empty(), "the conversation of an ended agent can be resumed");
    let (harness, _inside) = Harness::new();
    running.enrol("fake".into(), harness).await;
    tokio::time::timeout(Duration::from_secs(30), running.resume_ids.wait_for(|resume_ids| resume_ids.is_empty()))
        .await
        .unwrap()
        .unwrap();
}
