use tokio::sync::watch;
use wh_client::{Drawn, Pulse, Space, SpaceRequest, SpaceWatch, Ui};
use wh_core::event::{Cursor, Epoch};
use wh_core::slash::UiCommand;
use wh_core::space::harness::Order;
use wh_core::space::state::State;
use wh_screen::modes::{MouseEncoding, MouseTracking};
use wh_tui::{Left, Options, run};

use crate::stage::{Stage, size};

#[tokio::test]
async fn the_terminal_is_taken_and_given_back() {
    let mut stage = Stage::new(80, 24).await;
    let modes = stage.modes();
    assert!(modes.alternate_screen && modes.bracketed_paste && !modes.focus_events);
    assert_eq!((modes.mouse, modes.mouse_encoding), (MouseTracking::Drag, MouseEncoding::Sgr));
    assert_eq!(modes.kitty_keyboard, 1);
    stage.text("/exit\r").await;
    let (written, vt, left) = stage.rest().await;
    assert_eq!(left, Left::Person);
    let modes = vt.modes();
    assert!(!modes.alternate_screen && !modes.bracketed_paste);
    assert_eq!((modes.mouse, modes.kitty_keyboard), (MouseTracking::Off, 0));
    assert!(written.ends_with(b"\x1b[?1049l"));
    assert!(vt.frame().cursor.visible);
}

#[tokio::test]
async fn control_c_twice_leaves_and_once_does_not() {
    let mut stage = Stage::new(80, 24).await;
    stage.text("draft").await;
    stage.press(&["ctrl+c"]).await;
    assert!(!stage.screen().contains("draft"));
    stage.press(&["ctrl+c"]).await;
    assert!(stage.screen().contains("Press Ctrl+C again to leave"), "{}", stage.screen());
    stage.text("x").await;
    stage.press(&["ctrl+c", "ctrl+c"]).await;
    assert!(!stage.task.is_finished());
    stage.press(&["ctrl+c"]).await;
    assert_eq!(stage.rest().await.2, Left::Person);
}

#[tokio::test]
async fn control_c_stops_whoever_works_first() {
    let mut stage = Stage::new(80, 24).await;
    stage.begin("go").await;
    stage.sees("demo works").await;
    stage.press(&["ctrl+c"]).await;
    assert_eq!(stage.order().await, Order::Interrupt);
    stage.press(&["ctrl+c"]).await;
    assert_eq!(stage.rest().await.2, Left::Person);
}

#[tokio::test]
async fn control_d_leaves_where_nothing_is_written() {
    let mut stage = Stage::new(80, 24).await;
    stage.text("x").await;
    stage.press(&["home", "ctrl+d"]).await;
    assert!(!stage.task.is_finished());
    stage.press(&["ctrl+d"]).await;
    assert_eq!(stage.rest().await.2, Left::Person);
}

#[tokio::test]
async fn an_order_to_leave_is_obeyed() {
    let stage = Stage::new(80, 24).await;
    stage.ui.run(UiCommand::Exit).await.unwrap();
    assert_eq!(stage.rest().await.2, Left::Person);
}

#[tokio::test]
async fn a_space_that_goes_leaves_nobody_behind() {
    let (space, mut requests) = Space::new();
    let (_terminal, line) = tokio::io::duplex(1 << 20);
    let (_sizes, sizes) = watch::channel(size(80, 24));
    let (drawn, _drawn) = watch::channel(Drawn::default());
    let (_ui, port) = Ui::new();
    let shown = tokio::spawn(run(line, sizes, drawn, space, port, Options::new("human".into())));
    let Some(SpaceRequest::Watch(reply)) = requests.recv().await else { panic!("not watched") };
    let (pulses, pulse) = watch::channel(Pulse::default());
    let end = Cursor { epoch: Epoch::new("e"), seq: 0 };
    reply.send(SpaceWatch { state: State::new("test", "human".into()), end, revision: 0, beat: 0, pulse }).unwrap();
    drop((pulses, requests));
    assert_eq!(shown.await.unwrap().unwrap(), Left::Space);
}

#[tokio::test]
async fn a_terminal_that_goes_ends_it() {
    let stage = Stage::new(80, 24).await;
    assert_eq!(stage.hang_up().await, Left::Terminal);
}
