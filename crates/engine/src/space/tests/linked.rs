//! A space used through a link.

use futures_util::FutureExt;
use tokio::io::BufReader;
use tokio::net::UnixStream;
use wh_client::link::{self, LinkEnd};
use wh_client::{SessionGone, Space};

use super::*;

/// Returns the space at the other end of a link, the task of the link, and a sender that stops it.
fn linked(running: &RunningSpace) -> (Space, tokio::task::JoinHandle<LinkEnd>, tokio::sync::oneshot::Sender<()>) {
    let (near, far) = UnixStream::pair().unwrap();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let (reader, writer) = far.into_split();
    let space = running.space.clone();
    tokio::spawn(async move {
        let stop = async {
            let _ = stopped.await;
            "the test is over"
        };
        link::serve(&space, &me(), BufReader::new(reader), writer, stop).await
    });
    let (reader, writer) = near.into_split();
    let (space, link) = link::connect(BufReader::new(reader), writer);
    (space, tokio::spawn(link), stop)
}

fn shown(state: &wh_core::space::state::SpaceState) -> String {
    serde_json::to_string(state).unwrap()
}

#[tokio::test]
async fn a_mirror_at_the_other_end_of_a_line_follows_the_space() {
    let (running, inside) = with_agent().await;
    let (far, _link, _stop) = linked(&running);
    let mut mirror = far.mirror().await.unwrap();
    assert_eq!(shown(mirror.state()), shown(&running.space.watch().await.unwrap().state));
    far.command(me(), None, say("from afar")).await.unwrap().unwrap();
    until(&mut mirror, |mirror| kinds(mirror).contains(&"chat".to_owned())).await;
    // Growth that is not an event arrives as well.
    let body = ItemBody::Text { text: "grow".to_owned(), attachments: Vec::new() };
    inside.reports.send(Report::Item { key: "k".to_owned(), body, done: false }).await.unwrap();
    inside.reports.send(Report::Grew { key: "k".to_owned(), text: "n".to_owned(), tokens: None }).await.unwrap();
    let grown = |mirror: &Mirror| {
        mirror.state().items.iter().any(|item| matches!(&item.body, ItemBody::Text { text, .. } if text == "grown"))
    };
    until(&mut mirror, grown).await;
    assert_eq!(far.history(10).await.unwrap().len(), running.space.history(10).await.unwrap().len());
    assert_eq!(far.questions().await.unwrap(), running.space.questions().await.unwrap());
    let refused = far.command(me(), None, say("")).await.unwrap();
    assert_eq!(refused, running.space.command(me(), None, say("")).await.unwrap());
}

#[tokio::test]
async fn commands_through_a_line_keep_their_order() {
    let (running, _inside) = with_agent().await;
    let (far, _link, _stop) = linked(&running);
    let mut all = Vec::new();
    for number in 0..200 {
        let mut one = Box::pin(far.command(me(), None, say(&number.to_string())));
        // Polled once, so that it is sent before the next.
        if (&mut one).now_or_never().is_none() {
            all.push(one);
        }
    }
    for one in all {
        let _ = one.await.unwrap();
    }
    let said = running.space.watch().await.unwrap().state;
    let said: Vec<String> = said
        .items
        .iter()
        .filter_map(|item| match &item.body {
            ItemBody::Text { text, .. } => Some(text.clone()),
            _ => None,
        })
        .collect();
    let mut sorted = said.clone();
    sorted.sort_by_key(|text| text.parse::<u32>().unwrap());
    assert_eq!(said, sorted);
    assert!(said.len() > 10, "{said:?}");
}

#[tokio::test]
async fn the_end_of_a_line_has_a_reason_and_a_lost_one_has_none() {
    let (running, _inside) = with_agent().await;
    let (far, link, stop) = linked(&running);
    far.revision().await.unwrap();
    stop.send(()).unwrap();
    assert_eq!(link.await.unwrap(), LinkEnd::Over("the test is over".to_owned()));
    assert_eq!(far.revision().await, Err(SessionGone));

    let (near, far) = UnixStream::pair().unwrap();
    let (reader, writer) = near.into_split();
    let (space, link) = link::connect(BufReader::new(reader), writer);
    let link = tokio::spawn(link);
    drop(far);
    assert_eq!(space.revision().await, Err(SessionGone));
    assert_eq!(link.await.unwrap(), LinkEnd::Broken);
}
