use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use wh_client::{ScreenReadOptions, TerminalAttachment, Ui, UserTerminalMessage};
use wh_core::input::Gesture;
use wh_core::session::AnswerTiming;

use super::*;
use crate::space::RunningSpace;

const SIZE: Size = Size { columns: 40, rows: 5 };

async fn hosted(attended: bool) -> (HostedTerminal, UiTerminalEnd, RunningSpace) {
    let running = RunningSpace::start("test", "human".into());
    let spec = UiTerminalSpec {
        command: vec!["wh".into()],
        size: SIZE,
        attended,
        screen: Some(ScreenSpec { history_lines: 10, log_characters: 100 }),
        recording: None,
        space: running.space.clone(),
        ledger: None,
    };
    let (hosted, host) = host(spec).await.unwrap();
    (hosted, host, running)
}

async fn change_count(running: &RunningSpace) -> u64 {
    running.space.watch().await.unwrap().change_count
}

#[tokio::test]
async fn output_before_a_terminal_is_attached_waits_for_it() {
    let (hosted, mut host, running) = hosted(true).await;
    host.line.write_all(b"enter and the first frame").await.unwrap();
    host.drawn.send_replace(DrawProgress { typed: 0, change_count: change_count(&running).await });
    // The read is served after the report, and shows that nothing was read from the UI.
    let shown = hosted.surface.read_screen(ScreenReadOptions::default()).await.unwrap();
    assert_eq!(wh_screen::render::plain(&shown.frame).trim(), "");
    let ((output, mut terminal), (_input, input), (_changes, changes)) =
        (mpsc::channel(8), mpsc::channel(1), mpsc::channel(1));
    hosted.surface.attach(TerminalAttachment { size: SIZE, output, input, changes }).await.unwrap();
    let Some(UserTerminalMessage::Output(bytes)) = terminal.recv().await else { panic!("it is told what was drawn") };
    assert_eq!(&bytes[..], b"enter and the first frame");
}

#[tokio::test]
async fn a_look_waits_until_the_ui_has_drawn_what_happened_before() {
    let (hosted, mut host, running) = hosted(false).await;
    let looking = tokio::spawn(async move { hosted.surface.read_screen(ScreenReadOptions::default()).await.unwrap() });
    tokio::task::yield_now().await;
    host.line.write_all(b"the newest frame").await.unwrap();
    host.drawn.send_replace(DrawProgress { typed: 0, change_count: change_count(&running).await });
    let shown = looking.await.unwrap();
    assert_eq!(wh_screen::render::plain(&shown.frame).trim(), "the newest frame");
}

/// Idle period of the UIs in these tests.
const IDLE_PERIOD: Duration = Duration::from_millis(50);

/// Numbers of started and ended UIs.
#[derive(Clone, Default)]
struct Count(Arc<(AtomicUsize, AtomicUsize)>);

impl Count {
    fn now(&self) -> (usize, usize) {
        (self.0.0.load(Ordering::SeqCst), self.0.1.load(Ordering::SeqCst))
    }
}

struct Ends(Count);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.0.1.fetch_add(1, Ordering::SeqCst);
    }
}

/// A UI that shows the typed bytes. It is at rest while they are all dots.
async fn echo(mut host: UiTerminalEnd, port: UiPort, space: Space, ends: Ends) {
    let mut typed = Vec::new();
    loop {
        let frame = format!("\x1b[2J\x1b[Hui {} typed {:?}", ends.0.now().0, String::from_utf8_lossy(&typed));
        host.line.write_all(frame.as_bytes()).await.unwrap();
        port.facts.send_replace(UiFacts { at_rest: typed.iter().all(|byte| *byte == b'.'), ..UiFacts::default() });
        let change_count = space.watch().await.unwrap().change_count;
        host.drawn.send_replace(DrawProgress { typed: typed.len() as u64, change_count });
        let mut buffer = [0; 64];
        match host.line.read(&mut buffer).await {
            Ok(count) if count > 0 => typed.extend(&buffer[..count]),
            _ => return,
        }
    }
}

async fn on_demand(unused_after: Duration) -> (Surface, Ui, Count, RunningSpace) {
    let running = RunningSpace::start("test", "human".into());
    let (count, (ui, port)) = (Count::default(), Ui::new());
    let (started, space) = (count.clone(), running.space.clone());
    let start = Box::new(move |host, port| {
        started.0.0.fetch_add(1, Ordering::SeqCst);
        tokio::spawn(echo(host, port, space.clone(), Ends(started.clone())))
    });
    let spec = UiTerminalSpec {
        command: vec!["wh".into()],
        size: SIZE,
        attended: false,
        screen: None,
        recording: None,
        space: running.space.clone(),
        ledger: None,
    };
    let screen = ScreenSpec { history_lines: 10, log_characters: 100 };
    let hosted = host_on_demand(spec, OnDemandUiSpec { port, start, screen, unused_after }).await.unwrap();
    (hosted.surface, ui, count, running)
}

async fn plain(surface: &Surface) -> String {
    wh_screen::render::plain(&surface.read_screen(ScreenReadOptions::default()).await.unwrap().frame).trim().to_owned()
}

async fn type_in(surface: &Surface, text: &str) {
    let gestures = vec![Gesture::Text(text.to_owned())];
    surface.type_in(gestures, None, AnswerTiming::Offered).await.unwrap();
}

async fn eventually(what: &str, holds: impl Fn() -> bool) {
    let waiting = async {
        while !holds() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), waiting).await.unwrap_or_else(|_| panic!("never: {what}"));
}

#[tokio::test]
async fn a_ui_on_demand_is_started_by_the_first_use_of_its_screen() {
    let (surface, _ui, count, _running) = on_demand(Duration::from_secs(600)).await;
    surface.facts().await.unwrap();
    let watched = surface.watch(false).await.unwrap();
    assert!(watched.shown.is_none() && watched.screen_use.is_none());
    let wait = |condition: &str| surface.wait(wh_core::condition::Condition::parse(condition).unwrap(), Duration::ZERO);
    wait("message_count > 1000").await.unwrap();
    assert_eq!(count.now(), (0, 0), "nobody has used its screen");
    let met = wait("screen_contains \"ui 1\"").await.unwrap();
    assert_eq!(met.waited.outcome, wh_core::session::WaitOutcome::Matched, "its first frame is waited for");
    assert_eq!((plain(&surface).await.as_str(), count.now()), ("ui 1 typed \"\"", (1, 0)));
    type_in(&surface, "abc").await;
    assert_eq!(plain(&surface).await, "ui 1 typed \"abc\"");
}

#[tokio::test]
async fn a_ui_that_nobody_uses_ends_unless_something_would_be_lost() {
    let (surface, ui, count, _running) = on_demand(IDLE_PERIOD).await;
    type_in(&surface, "..").await;
    eventually("it ends", || count.now() == (1, 1)).await;
    eventually("its facts are gone", || !ui.facts().at_rest).await;
    // The second UI starts fresh: bytes typed to the first do not count as typed to it.
    type_in(&surface, "draft").await;
    assert_eq!(plain(&surface).await, "ui 2 typed \"draft\"");
    // Waits for real time to pass: without the draft the UI would have ended.
    tokio::time::sleep(IDLE_PERIOD * 6).await;
    assert_eq!(count.now(), (2, 1), "a draft keeps it");
    assert_eq!(plain(&surface).await, "ui 2 typed \"draft\"");
}

#[tokio::test]
async fn a_ui_whose_screen_is_watched_stays() {
    let (surface, _ui, count, _running) = on_demand(IDLE_PERIOD).await;
    let watched = surface.watch(true).await.unwrap();
    assert!(watched.shown.is_some(), "its first frame is there");
    // Waits for real time to pass: without the watcher the UI would have ended.
    tokio::time::sleep(IDLE_PERIOD * 6).await;
    assert_eq!(count.now(), (1, 0));
    drop(watched);
    eventually("it ends", || count.now() == (1, 1)).await;
}
