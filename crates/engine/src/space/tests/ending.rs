//! Agents that do not end when they are told to. The clock is the test's: what takes long takes no time here.

use wh_core::request::RequestId;
use wh_core::space::event::Activity;

use super::*;

/// One that takes no orders, never ends, and has been given something to do.
async fn stubborn() -> (RunningSpace, Mirror, RequestId) {
    let running = RunningSpace::start("test", me());
    let harness = Harness::run(|inside| async move {
        let ready = Capabilities { interrupts: true, ..Capabilities::default() };
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

fn stage(mirror: &Mirror, id: &RequestId) -> Stage {
    mirror.state().receipts.get(id).unwrap().stage.clone()
}

#[tokio::test(start_paused = true)]
async fn one_that_does_not_end_is_ended_and_that_is_said() {
    let (running, mut mirror, request) = stubborn().await;
    running.space.end(false).await.unwrap();
    mirror.catch_up().await.unwrap();
    let why = gone(&mirror).expect("it is gone").expect("and why is said");
    assert!(why.contains("was killed"), "{why}");
    assert_eq!(stage(&mirror, &request), Stage::Failed(why.into()), "nothing stays under way");
}

#[tokio::test(start_paused = true)]
async fn one_that_is_to_end_at_once_is_not_waited_for() {
    let (running, mut mirror, request) = stubborn().await;
    let start = tokio::time::Instant::now();
    running.space.end(true).await.unwrap();
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    mirror.catch_up().await.unwrap();
    assert_eq!(gone(&mirror), Some(None), "it was asked for");
    assert_eq!(stage(&mirror, &request), Stage::Failed("fake was ended".into()));
}

#[tokio::test(start_paused = true)]
async fn who_was_asked_to_end_may_still_be_ended_at_once() {
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
async fn a_shutdown_that_is_not_heeded_is_carried_out() {
    let (running, mut mirror, request) = stubborn().await;
    running.space.command(me(), None, Command::Shutdown("fake".into(), None)).await.unwrap().unwrap();
    until(&mut mirror, |mirror| gone(mirror).is_some()).await;
    assert!(matches!(stage(&mirror, &request), Stage::Failed(why) if why.words.contains("was killed")));
}

#[tokio::test(start_paused = true)]
async fn an_order_that_could_not_be_given_has_failed() {
    let (running, mut mirror, _) = stubborn().await;
    let mut ids = Vec::new();
    while gone(&mirror).is_none() {
        if let Ok(done) = running.space.command(me(), None, Command::Interrupt(None)).await.unwrap() {
            ids.push(done.receipt.request_id);
        }
        mirror.catch_up().await.unwrap();
    }
    assert!(ids.len() > 1);
    for id in ids {
        assert_eq!(stage(&mirror, &id), Stage::Failed("it does not take its orders".into()));
    }
}
