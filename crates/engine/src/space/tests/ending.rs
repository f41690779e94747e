//! Agents that do not end when asked to. Time is paused, so long waits are instant.

use wh_core::request::RequestId;
use wh_core::space::event::Activity;

use super::*;

/// Starts an agent that reads no orders and never ends, with a message queued for it.
async fn stubborn() -> (RunningSpace, Mirror, RequestId) {
    let running = RunningSpace::start("test", me());
    let harness = Harness::run(|inside| async move {
        let ready = ReportedCapabilities { interrupts: true, ..ReportedCapabilities::default() };
        inside.reports.send(Report::Ready(ready)).await.unwrap();
        std::future::pending::<()>().await;
        drop(inside);
    });
    running.enrol(ParticipantId::from("fake"), harness).await;
    let mut mirror = running.space.mirror().await.unwrap();
    until(&mut mirror, |mirror| mirror.state().activity(&"fake".into()) == Some(&Activity::Idle)).await;
    let done = running.space.command(me(), None, say("hello")).await.unwrap().unwrap();
    (running, mirror, done.receipt.request_id)
}

fn gone(mirror: &Mirror) -> Option<Option<String>> {
    match mirror.state().activity(&"fake".into()) {
        Some(Activity::Gone(why)) => Some(why.clone()),
        _ => None,
    }
}

fn stage(mirror: &Mirror, id: &RequestId) -> ReceiptStage {
    mirror.state().receipts.get(id).unwrap().stage.clone()
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_does_not_end_is_killed_and_reported() {
    let (running, mut mirror, request) = stubborn().await;
    running.space.end(false).await.unwrap();
    mirror.catch_up().await.unwrap();
    let why = gone(&mirror).expect("the agent is gone").expect("with a reason");
    assert!(why.contains("was killed"), "{why}");
    assert_eq!(stage(&mirror, &request), ReceiptStage::Failed(why.into()), "the command has failed");
}

#[tokio::test(start_paused = true)]
async fn an_immediate_end_does_not_wait_for_the_agent() {
    let (running, mut mirror, request) = stubborn().await;
    let start = tokio::time::Instant::now();
    running.space.end(true).await.unwrap();
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    mirror.catch_up().await.unwrap();
    assert_eq!(gone(&mirror), Some(None), "a requested end has no reason");
    assert_eq!(stage(&mirror, &request), ReceiptStage::Failed("fake was shut down".into()));
}

#[tokio::test(start_paused = true)]
async fn a_pending_end_can_be_made_immediate() {
    let (running, _mirror, _) = stubborn().await;
    let start = tokio::time::Instant::now();
    let space = running.space.clone();
    let slow = tokio::spawn(async move { space.end(false).await });
    running.space.revision().await.unwrap();
    running.space.end(true).await.unwrap();
    slow.await.unwrap().unwrap();
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn an_ignored_shutdown_kills_the_agent() {
    let (running, mut mirror, request) = stubborn().await;
    running.space.command(me(), None, ConversationCommand::Shutdown("fake".into(), None)).await.unwrap().unwrap();
    until(&mut mirror, |mirror| gone(mirror).is_some()).await;
    assert!(matches!(stage(&mirror, &request), ReceiptStage::Failed(why) if why.message.contains("was killed")));
}

#[tokio::test(start_paused = true)]
async fn an_order_that_could_not_be_given_has_failed() {
    let (running, mut mirror, _) = stubborn().await;
    let mut ids = Vec::new();
    while gone(&mirror).is_none() {
        if let Ok(done) = running.space.command(me(), None, ConversationCommand::Interrupt(None)).await.unwrap() {
            ids.push(done.receipt.request_id);
        }
        mirror.catch_up().await.unwrap();
    }
    assert!(ids.len() > 1);
    for id in ids {
        assert_eq!(stage(&mirror, &id), ReceiptStage::Failed("the queue of orders to the agent is full".into()));
    }
}
