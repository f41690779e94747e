//! Snapshots, resumption, heartbeats, frame rate and the end of a feed, over a session without a program.

use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use wh_client::{SurfaceFacts, SurfaceRequest, SurfaceWatch};
use wh_core::event::{Epoch, Event, Journal};
use wh_core::histogram::Histogram;
use wh_core::session::ProgramStatus;
use wh_core::terminal::Size;
use wh_screen::vt::{TerminalReports, Vt};
use wh_wire::control::EventBody;

use super::*;

const SIZE: Size = Size { columns: 10, rows: 2 };

/// Serves a surface from a journal that the test writes.
#[derive(Clone)]
struct FakeSession {
    journal: Arc<Mutex<Journal>>,
    events: watch::Sender<u64>,
    frames: watch::Sender<u64>,
    closing: watch::Sender<bool>,
    surface: Surface,
}

impl FakeSession {
    fn new() -> Self {
        let (surface, mut requests) = Surface::new();
        let journal = Arc::new(Mutex::new(Journal::new(Epoch::new("e1"))));
        let session = Self {
            journal,
            events: watch::Sender::new(0),
            frames: watch::Sender::new(0),
            closing: watch::Sender::new(false),
            surface,
        };
        let serving = (Arc::clone(&session.journal), session.events.clone(), session.frames.clone());
        tokio::spawn(async move {
            let (journal, events, frames) = serving;
            while let Some(request) = requests.recv().await {
                match request {
                    SurfaceRequest::Watch { reply, .. } => {
                        let (end, shown) = (journal.lock().unwrap().end(), Some(shown(*frames.borrow())));
                        let (events, frames) = (events.subscribe(), frames.subscribe());
                        let typed = watch::Sender::new(0).subscribe();
                        let _ = reply.send(SurfaceWatch {
                            end,
                            facts: facts(),
                            shown,
                            events,
                            frames,
                            typed,
                            screen_use: None,
                        });
                    }
                    SurfaceRequest::Events { after, reply } => {
                        let _ = reply.send(journal.lock().unwrap().after(&after, 100));
                    }
                    SurfaceRequest::ReadScreen { reply, .. } => {
                        let _ = reply.send(shown(*frames.borrow()));
                    }
                    other => panic!("unexpected request {other:?}"),
                }
            }
        });
        session
    }

    fn publish(&self, event: Event) {
        let mut journal = self.journal.lock().unwrap();
        journal.append(event, SystemTime::UNIX_EPOCH);
        self.events.send_replace(journal.last());
    }

    fn draw_frame(&self) {
        self.frames.send_modify(|frames| *frames += 1);
    }

    async fn feed(&self, after: Option<&str>, frames: FrameFormat, rate: u32) -> EventFeed {
        let after = after.map(|after| after.parse().unwrap());
        let wishes = (after, frames, rate);
        EventFeed::open(self.surface.clone(), None, self.closing.subscribe(), None, wishes).await.unwrap()
    }
}

fn facts() -> SurfaceFacts {
    SurfaceFacts {
        id: "s1".to_owned(),
        command: vec!["cat".to_owned()],
        pid: None,
        status: ProgramStatus::Running,
        since: SystemTime::UNIX_EPOCH,
        size: SIZE,
        attached: false,
        title: None,
        alternate_screen: false,
        reports: TerminalReports::default(),
        output_bytes: 0,
        frames_rendered: 0,
        open_waits: 0,
        queued_input: 0,
        typed_bytes: 0,
        input_to_frame: Histogram::default(),
    }
}

fn shown(frames_rendered: u64) -> ScreenSnapshot {
    ScreenSnapshot {
        frame: Arc::new(Vt::new(SIZE, 0).frame()),
        frames_rendered,
        last_frame: SystemTime::UNIX_EPOCH,
        log_characters: 0,
        log_truncated: false,
        output_bytes: 0,
        history: None,
    }
}

/// Returns a short description of a message.
fn summary(body: Option<StreamBody>) -> String {
    match body {
        None => "over".to_owned(),
        Some(StreamBody::Snapshot { epoch, seq, screen, .. }) => {
            format!("snapshot {epoch}.{seq}{}", if screen.is_some() { " with a screen" } else { "" })
        }
        Some(StreamBody::Event { epoch, seq, event: EventBody::Marked { label }, .. }) => {
            format!("{label} {epoch}.{seq}")
        }
        Some(StreamBody::Frame(frame)) => format!("frame {}", frame.frames_rendered),
        Some(StreamBody::Heartbeat { epoch, seq }) => format!("heartbeat {epoch}.{seq}"),
        Some(StreamBody::Reset { .. }) => "reset".to_owned(),
        Some(StreamBody::Dropped { reason }) => format!("dropped: {reason}"),
        other => format!("{other:?}"),
    }
}

fn mark(label: &str) -> Event {
    Event::Marked(label.to_owned())
}

#[tokio::test]
async fn a_new_subscriber_gets_a_snapshot_and_then_the_events() {
    let session = FakeSession::new();
    session.publish(mark("before"));
    let mut feed = session.feed(None, FrameFormat::None, 1).await;
    assert_eq!(summary(feed.next().await), "snapshot e1.1");
    session.publish(mark("a"));
    session.publish(mark("b"));
    assert_eq!(summary(feed.next().await), "a e1.2");
    assert_eq!(summary(feed.next().await), "b e1.3");
    assert_eq!(feed.cursor(), ("e1".to_owned(), 3));
}

#[tokio::test]
async fn a_resumed_subscriber_gets_the_missed_events_and_no_snapshot() {
    let session = FakeSession::new();
    for label in ["a", "b", "c"] {
        session.publish(mark(label));
    }
    let mut feed = session.feed(Some("e1.1"), FrameFormat::None, 1).await;
    assert_eq!(summary(feed.next().await), "b e1.2");
    assert_eq!(summary(feed.next().await), "c e1.3");
}

#[tokio::test]
async fn an_unusable_cursor_is_answered_with_reset_and_a_snapshot() {
    let session = FakeSession::new();
    session.publish(mark("a"));
    for cursor in ["e0.1", "e1.7"] {
        let mut feed = session.feed(Some(cursor), FrameFormat::None, 1).await;
        assert_eq!(summary(feed.next().await), "reset", "{cursor}");
        assert_eq!(summary(feed.next().await), "snapshot e1.1", "{cursor}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_heartbeat_is_sent_only_after_silence() {
    let session = FakeSession::new();
    let mut feed = session.feed(None, FrameFormat::None, 1).await;
    assert_eq!(summary(feed.next().await), "snapshot e1.0");
    let start = Instant::now();
    assert!(tokio::time::timeout(HEARTBEAT_INTERVAL - Duration::from_secs(1), feed.next()).await.is_err());
    session.publish(mark("a"));
    assert_eq!(summary(feed.next().await), "a e1.1");
    assert_eq!(summary(feed.next().await), "heartbeat e1.1");
    assert_eq!(start.elapsed(), 2 * HEARTBEAT_INTERVAL - Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn frames_are_sent_at_the_requested_rate_and_only_the_newest() {
    let session = FakeSession::new();
    let mut feed = session.feed(None, FrameFormat::Plain, 2).await;
    assert_eq!(summary(feed.next().await), "snapshot e1.0 with a screen");
    session.draw_frame();
    assert_eq!(summary(feed.next().await), "frame 1");
    let first = Instant::now();
    session.draw_frame();
    session.draw_frame();
    assert_eq!(summary(feed.next().await), "frame 3");
    assert_eq!(first.elapsed(), Duration::from_millis(500));
    let mut plain = session.feed(None, FrameFormat::None, 60).await;
    assert_eq!(summary(plain.next().await), "snapshot e1.0");
    session.draw_frame();
    assert_eq!(summary(plain.next().await), "heartbeat e1.0", "no frames were asked for");
}

#[tokio::test]
async fn a_resumed_subscriber_gets_the_screen_at_once() {
    let session = FakeSession::new();
    session.publish(mark("a"));
    session.draw_frame();
    let mut feed = session.feed(Some("e1.1"), FrameFormat::Raw, 30).await;
    let Some(StreamBody::Frame(frame)) = feed.next().await else { panic!("a frame") };
    assert_eq!((frame.frames_rendered, frame.plain, frame.raw.is_some()), (1, None, true));
}

#[tokio::test]
async fn the_end_is_sent_once() {
    let session = FakeSession::new();
    let mut feed = session.feed(None, FrameFormat::None, 1).await;
    assert_eq!(summary(feed.next().await), "snapshot e1.0");
    session.closing.send_replace(true);
    assert_eq!(summary(feed.next().await), "dropped: wh is shutting down");
    assert_eq!(summary(feed.next().await), "over");
}

#[tokio::test]
async fn a_subscriber_behind_the_journal_is_dropped() {
    let session = FakeSession::new();
    let mut feed = session.feed(None, FrameFormat::None, 1).await;
    assert_eq!(summary(feed.next().await), "snapshot e1.0");
    for _ in 0..=wh_core::event::MAX_JOURNAL_EVENTS {
        session.publish(mark("x"));
    }
    assert_eq!(summary(feed.next().await), "dropped: the reader was too slow; the next event is no longer available");
    assert_eq!(summary(feed.next().await), "over");
}
