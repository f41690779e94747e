//! Spaces that begin with stored items.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use wh_core::space::command::SpaceRefusal;
use wh_core::space::item::{Item, ItemProgress};
use wh_core::space::machine::RestoredSpace;

use super::*;

fn said(id: &str, text: &str, progress: ItemProgress) -> Item {
    let body = ItemBody::Text { text: text.to_owned(), attachments: vec![] };
    let at = std::time::SystemTime::UNIX_EPOCH;
    Item {
        id: id.into(),
        from: "fake".into(),
        to: None,
        turn: Some("turn-3".into()),
        at,
        body,
        progress,
        extent: None,
        listed: Vec::new(),
        starts: Vec::new(),
    }
}

fn ids(mirror: &Mirror) -> Vec<String> {
    mirror.state().items.iter().map(|item| item.id.to_string()).collect()
}

#[tokio::test]
async fn a_restored_space_continues_after_its_stored_items() {
    let items = vec![said("m1", "before", ItemProgress::Done), said("i2", "half a", ItemProgress::Growing)];
    let running = RunningSpace::restore(
        "test",
        me(),
        RestoredSpace { items, ..RestoredSpace::default() },
        Some("It was restarted."),
        None,
    );
    let (harness, mut inside) = Harness::new();
    running.enrol("fake".into(), harness).await;
    inside.reports.send(Report::Ready(ReportedCapabilities::default())).await.unwrap();
    let done = running.space.command(me(), None, say("again")).await.unwrap().unwrap();
    assert_eq!(done.receipt.turn.as_ref().map(|turn| turn.as_str()), Some("turn-4"), "turn ids are not reused");
    assert!(matches!(inside.orders.recv().await, Some(Order::Prompt { text, .. }) if text == "again"));
    let body = ItemBody::Text { text: "after".into(), attachments: vec![] };
    inside.reports.send(Report::Item { key: "i2".into(), body, done: true }).await.unwrap();
    let mut mirror = running.space.mirror().await.unwrap();
    until(&mut mirror, |mirror| mirror.state().items.len() == 6).await;
    assert_eq!(ids(&mirror), ["m1", "i2", "n3", "a4", "m5", "i6"]);
    assert_eq!(mirror.state().items.at(1).unwrap().progress, ItemProgress::Cut);
    mirror.state().check().unwrap();
}

#[tokio::test]
async fn an_archived_conversation_is_read_once_on_the_first_request() {
    let reads = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&reads);
    let read = async move {
        counted.fetch_add(1, Ordering::SeqCst);
        vec![said("m1", "before", ItemProgress::Done)]
    };
    let space = RunningSpace::archived("test", me(), read, None);
    tokio::task::yield_now().await;
    assert_eq!(reads.load(Ordering::SeqCst), 0);
    assert_eq!(ids(&space.mirror().await.unwrap()), ["m1"]);
    assert_eq!(space.command(me(), None, say("hello?")).await.unwrap(), Err(SpaceRefusal::NoAgentPresent));
    assert_eq!(ids(&space.mirror().await.unwrap()), ["m1"]);
    assert_eq!(reads.load(Ordering::SeqCst), 1);
    tokio::time::timeout(Duration::from_secs(30), space.end(false)).await.unwrap().unwrap();
}
