use tokio::sync::watch;
use wh_client::{ChangeNotice, DrawProgress, Space, SpaceRequest, SpaceWatch, Ui};
use wh_core::event::{Cursor, Epoch};
use wh_core::slash::UiCommand;
use wh_core::space::harness::Order;
use wh_core::space::state::SpaceState;
use wh_screen::modes::{MouseEncoding, MouseTracking};
use wh_tui::{TuiExit, TuiOptions, run};

use crate::stage::{Stage, size};

#[tokio::test]
async fn the_terminal_is_set_up_and_restored() {
    let mut stage = Stage::new(80, 24).await;
    let modes = stage.modes();
    assert!(modes.alternate_screen && modes.bracketed_paste && !modes.focus_events);
    assert_eq!((modes.mouse, modes.mouse_encoding), (MouseTracking::Drag, MouseEncoding::Sgr));
    assert_eq!(modes.kitty_keyboard, 1);
    stage.text("/exit\r").await;
    let (written, vt, left) = stage.rest().await;
    assert_eq!(left, TuiExit::UserQuit);
    let modes = vt.modes();
    assert!(!modes.alternate_screen && !modes.bracketed_paste);
    assert_eq!((modes.mouse, modes.kitty_keyboard), (MouseTracking::Off, 0));
    assert!(written.ends_with(b"\x1b[?1049l"));
    assert!(vt.frame().cursor.visible);
}

#[tokio::test]
async fn control_c_twice_quits_and_once_does_not() {
    let mut stage = Stage::new(80, 24).await;
    stage.text("draft").await;
    stage.press(&["ctrl+c"]).await;
    assert!(!stage.screen().contains("draft"));
    stage.press(&["ctrl+c"]).await;
    assert!(stage.screen().contains("Press Ctrl+C again to quit"), "{}", stage.screen());
    stage.text("x").await;
    stage.press(&["ctrl+c", "ctrl+c"]).await;
    assert!(!stage.task.is_finished());
    stage.press(&["ctrl+c"]).await;
    assert_eq!(stage.rest().await.2, TuiExit::UserQuit);
}

#[tokio::test]
async fn control_c_first_interrupts_a_busy_agent() {
    let mut stage = Stage::new(80, 24).await;
    stage.begin("go").await;
    stage.sees("demo works").await;
    stage.press(&["ctrl+c"]).await;
    assert_eq!(stage.order().await, Order::Interrupt);
    stage.press(&["ctrl+c"]).await;
    assert_eq!(stage.rest().await.2, TuiExit::UserQuit);
}

#[tokio::test]
async fn control_d_quits_if_the_input_is_empty() {
    let mut stage = Stage::new(80, 24).await;
    stage.text("x").await;
    stage.press(&["home", "ctrl+d"]).await;
    assert!(!stage.task.is_finished());
    stage.press(&["ctrl+d"]).await;
    assert_eq!(stage.rest().await.2, TuiExit::UserQuit);
}

#[tokio::test]
async fn the_exit_command_quits() {
    let stage = Stage::new(80, 24).await;
    stage.ui.run(UiCommand::Exit).await.unwrap();
    assert_eq!(stage.rest().await.2, TuiExit::UserQuit);
}

#[tokio::test]
async fn the_ui_ends_with_its_space() {
    let (space, mut requests) = Space::new();
    let (_terminal, line) = tokio::io::duplex(1 << 20);
    let (_sizes, sizes) = watch::channel(size(80, 24));
    let (drawn, _drawn) = watch::channel(DrawProgress::default());
    let (_ui, port) = Ui::new();
    let shown = tokio::spawn(run(line, sizes, drawn, space, port, TuiOptions::new("human".into())));
    let Some(SpaceRequest::Watch(reply)) = requests.recv().await else { panic!("not watched") };
    let (notices, changes) = watch::channel(ChangeNotice::default());
    let end = Cursor { epoch: Epoch::new("e"), seq: 0 };
    reply
        .send(SpaceWatch { state: SpaceState::new("test", "human".into()), end, revision: 0, change_count: 0, changes })
        .unwrap();
    drop((notices, requests));
    assert_eq!(shown.await.unwrap().unwrap(), TuiExit::Space);
}

#[tokio::test]
async fn the_ui_ends_with_its_terminal() {
    let stage = Stage::new(80, 24).await;
    assert_eq!(stage.hang_up().await, TuiExit::Terminal);
}
