//! Tests of user settings: key bindings and the bell.

use std::sync::Arc;
use std::time::Duration;

use wh_core::space::state::SpaceState;
use wh_tui::bell::BellSetting;
use wh_tui::keymap::{BindableAction, EditAction, KeyMap, ScreenAction};

use crate::stage::{Stage, permission};

fn keys(bound: &[(BindableAction, &str)]) -> Arc<KeyMap> {
    let bound = bound.iter().map(|(action, key)| (*action, vec![key.parse().unwrap()])).collect();
    Arc::new(KeyMap::new(bound).unwrap())
}

#[tokio::test]
async fn a_bound_key_replaces_the_default_key() {
    let bound = [
        (BindableAction::Screen(ScreenAction::Details), "f9"),
        (BindableAction::Edit(EditAction::CutLineStart), "ctrl+g"),
    ];
    let mut stage = Stage::with(100, 50, |options| options.keys = keys(&bound)).await;
    stage.press(&["f3"]).await;
    assert!(!stage.screen().contains("Details are"), "{}", stage.screen());
    stage.press(&["f9"]).await;
    stage.sees("Details are shown").await;
    stage.text("words").await;
    stage.press(&["ctrl+u"]).await;
    stage.sees("words").await;
    stage.press(&["ctrl+g"]).await;
    stage.no_longer_sees("words").await;
    stage.press(&["f1"]).await;
    stage.sees("ctrl+w, ctrl+g, ctrl+k").await;
    stage.sees("f9").await;
}

#[tokio::test]
async fn the_bell_rings_for_the_configured_events() {
    for (bell, asked, all) in [(BellSetting::Off, 0, 0), (BellSetting::Question, 1, 1), (BellSetting::All, 1, 2)] {
        let mut stage = Stage::with(80, 24, |options| options.bell = bell).await;
        let rung = |stage: &Stage| stage.written.iter().filter(|byte| **byte == 7).count();
        let turn = stage.begin("work").await;
        stage.ask("q1", permission("Run this command?", vec![])).await;
        stage.sees("Run this command?").await;
        stage.press(&["f3"]).await;
        assert_eq!(rung(&stage), asked, "{bell:?}");
        stage.press(&["3"]).await;
        stage.order().await;
        stage.end(turn).await;
        let ended = |state: &SpaceState| state.turns.values().all(|turn| turn.end.is_some());
        let end = async {
            while !stage.state(ended).await {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), end).await.expect("the end of the turn");
        stage.press(&["f3"]).await;
        assert_eq!(rung(&stage), all, "{bell:?}");
    }
}
