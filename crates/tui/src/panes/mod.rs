//! Panes of the screen: all parts except the conversation, the composer and the status bar. Gestures, drawing and
//! commands are dispatched through [`PANES`]. To add a pane, create a file with a [`Pane`] implementation and add the
//! pane to that list.

mod board;
mod details;
mod keys;
mod pager;
mod picker;
mod question;
mod reasoning;
mod tools;

use std::fmt::Debug;
use std::time::SystemTime;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use wh_client::{MirrorChange, UiFacts};
use wh_core::input::Gesture;
use wh_core::slash::{PaneName, Visibility};
use wh_core::space::state::SpaceState;

use crate::app::{App, AppEffect};
use crate::keymap::ScreenAction;
use crate::view::FrameClock;
pub(crate) use question::QuestionText;

/// All panes, topmost first. Gestures are offered to the panes in this order, and panes are drawn in the reverse order.
pub(crate) static PANES: &[&dyn Pane] = &[
    &keys::KeyHelp,
    &picker::PickerPane,
    &pager::PagerPane,
    &question::QuestionPane,
    &reasoning::ReasoningBar,
    &tools::ToolSidebar,
    &board::SignalBoard,
];

/// Part of a pane that can be clicked: the index of an entry, or [`WHOLE_PANE`].
pub(crate) type PanePart = usize;

/// Area of a pane that does not belong to an entry.
pub(crate) const WHOLE_PANE: PanePart = usize::MAX;

/// Position of a pane on the screen. Each variant names the methods that determine the size of the pane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PanePlacement {
    /// Over the conversation, within [`Pane::bounds`].
    Over,
    /// Above the composer, in [`Pane::rows`] rows.
    Above,
    /// Beside the conversation, with [`Pane::columns`] and [`Pane::lines`]; on a narrow screen below the conversation,
    /// with [`Pane::compact`].
    Beside,
}

/// Areas of the screen, passed to panes that are drawn over the conversation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScreenLayout {
    pub(crate) screen: Rect,
    /// Rule above the composer.
    pub(crate) above: Rect,
    /// Rule below the composer.
    pub(crate) below: Rect,
    pub(crate) status: Rect,
}

impl ScreenLayout {
    /// Returns the area of the screen above a row.
    pub(crate) fn until(&self, row: Rect) -> Rect {
        Rect { height: row.y.saturating_sub(self.screen.y), ..self.screen }
    }
}

/// Content of a pane that is drawn below the conversation on a narrow screen.
#[derive(Debug, Default)]
pub(crate) struct CompactContent {
    /// Title on the frame; empty if there is none.
    pub(crate) title: &'static str,
    pub(crate) lines: Vec<Line<'static>>,
    /// Number of rows that were omitted because they do not fit.
    pub(crate) cut: usize,
}

/// Pane of the screen. Implementations have no fields; the state of a pane is stored in [`App`].
pub(crate) trait Pane: Debug + Sync {
    fn layer(&self) -> PanePlacement;

    fn is_open(&self, app: &App, state: &SpaceState) -> bool;

    /// Returns the names that commands use for the pane.
    fn names(&self) -> &'static [PaneName] {
        &[]
    }

    /// Returns the bindable actions that open or close the pane, each with the pane name to use.
    fn actions(&self) -> &'static [(ScreenAction, PaneName)] {
        &[]
    }

    /// Sets the visibility of the pane; `None` opens a closed pane and closes an open one.
    fn show(
        &self,
        _app: &mut App,
        _name: PaneName,
        _visibility: Option<Visibility>,
        _state: &SpaceState,
        _now: SystemTime,
    ) -> Vec<AppEffect> {
        Vec::new()
    }

    /// Returns true if the pane receives all input while it is open.
    fn is_modal(&self) -> bool {
        false
    }

    /// Returns true if typed input goes to the pane and not to the composer.
    fn is_focused(&self, app: &App, state: &SpaceState) -> bool {
        self.is_modal() && self.is_open(app, state)
    }

    /// Returns true if the pane handles typed text character by character.
    fn takes_characters(&self, _app: &App, _state: &SpaceState) -> bool {
        false
    }

    /// Returns true if a gesture is for the composer although the pane is open. The call may change the handling of
    /// later gestures.
    fn defers_to_composer(&self, _app: &mut App, _gesture: &Gesture, _now: SystemTime) -> bool {
        false
    }

    /// Handles input while the pane is open. Returns `None` if the layers below must handle the input.
    fn typed(
        &self,
        _app: &mut App,
        _gesture: &Gesture,
        _state: &SpaceState,
        _now: SystemTime,
    ) -> Option<Vec<AppEffect>> {
        None
    }

    /// Handles Esc by closing the pane or going back one step in it. Returns true if the pane used the key.
    fn escape(&self, _app: &mut App, _state: &SpaceState) -> bool {
        false
    }

    /// Handles Ctrl+C and returns true if the pane used the key.
    fn stop(&self, _app: &mut App) -> bool {
        false
    }

    /// Handles the mouse wheel while the pointer is over the pane.
    fn wheel(&self, _app: &mut App, _lines: isize) -> Vec<AppEffect> {
        Vec::new()
    }

    /// Handles a click on this part of the pane.
    fn click(
        &self,
        _app: &mut App,
        _part: PanePart,
        _gesture: &Gesture,
        _state: &SpaceState,
        _now: SystemTime,
    ) -> Vec<AppEffect> {
        Vec::new()
    }

    /// Updates the state of the pane after the mirrored state has changed.
    fn sync(&self, _app: &mut App, _state: &SpaceState, _change: &MirrorChange, _now: SystemTime) {}

    /// Clears the content of the pane for `/ui-clear`. The conversation itself does not change.
    fn clear(&self, _app: &mut App) {}

    /// Updates the state of the pane before a frame is drawn, even if the frame only shows the too-small notice.
    fn frame(&self, _app: &mut App, _state: &SpaceState, _screen: Rect, _moment: &FrameClock) {}

    /// Adds the state of the pane to the UI facts that other programs can query.
    fn report(&self, _app: &App, _facts: &mut UiFacts) {}

    /// Returns the chips of the pane for the rule below the composer.
    fn chips(&self, _app: &App, _state: &SpaceState, _moment: &FrameClock) -> Vec<Span<'static>> {
        Vec::new()
    }

    /// Returns the number of rows that the pane takes above the composer, at most `room`.
    fn rows(&self, _app: &mut App, _state: &SpaceState, _screen: Rect, _room: u16) -> u16 {
        0
    }

    /// Returns the area over the conversation in which the pane may be drawn.
    fn bounds(&self, layout: &ScreenLayout) -> Rect {
        layout.screen
    }

    /// Returns the width of the pane when it is beside the conversation.
    fn columns(&self) -> u16 {
        0
    }

    /// Returns the content of the pane when it is beside the conversation, for this width and height.
    fn lines(
        &self,
        _app: &App,
        _state: &SpaceState,
        _size: (usize, usize),
        _moment: &FrameClock,
    ) -> Vec<Line<'static>> {
        Vec::new()
    }

    /// Returns the content of the pane when it is below the conversation, for this width and height.
    fn compact(&self, _app: &App, _state: &SpaceState, _size: (usize, usize), _moment: &FrameClock) -> CompactContent {
        CompactContent::default()
    }

    /// Draws the pane into this area. Returns the position of the terminal's cursor if the cursor is in the pane.
    fn draw(
        &self,
        app: &mut App,
        state: &SpaceState,
        buffer: &mut Buffer,
        area: Rect,
        moment: &FrameClock,
    ) -> Option<Position>;
}

/// Returns the requested visibility; for `None`, the opposite of the current one.
fn asked_visibility(visibility: Option<Visibility>, is_open: bool) -> Visibility {
    visibility.unwrap_or(if is_open { Visibility::Close } else { Visibility::Open })
}

/// Finds a pane by its name.
pub(crate) fn named(name: PaneName) -> Option<&'static dyn Pane> {
    PANES.iter().copied().find(|pane| pane.names().contains(&name))
}

/// Returns the pane that an action opens or closes, and the pane name to use.
pub(crate) fn of_action(action: ScreenAction) -> Option<(&'static dyn Pane, PaneName)> {
    PANES.iter().find_map(|pane| {
        let (_, name) = pane.actions().iter().find(|(known, _)| *known == action)?;
        Some((*pane, *name))
    })
}

/// Returns the open panes of a layer, topmost first.
pub(crate) fn open(layer: PanePlacement, app: &App, state: &SpaceState) -> Vec<&'static dyn Pane> {
    PANES.iter().copied().filter(|pane| pane.layer() == layer && pane.is_open(app, state)).collect()
}

/// Returns true if a pane is open over the conversation.
pub(crate) fn covered(app: &App, state: &SpaceState) -> bool {
    !open(PanePlacement::Over, app, state).is_empty()
}

/// Returns true if a modal pane is open.
pub(crate) fn modal(app: &App, state: &SpaceState) -> bool {
    PANES.iter().any(|pane| pane.is_modal() && pane.is_open(app, state))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use wh_core::line::ComposerLine;
    use wh_core::slash::{ROWS, SlashCommand, UiCommand};

    use super::*;
    use crate::options::TuiOptions;

    #[test]
    fn every_pane_that_a_command_names_is_in_the_list() {
        let mut found = 0;
        let lines = ROWS.iter().flat_map(|row| row.names.iter().map(|name| format!("/{name}")));
        for line in lines.chain(["/ui board".to_owned(), "/ui tools".to_owned()]) {
            let Ok(ComposerLine::Slash(SlashCommand::Ui(UiCommand::Pane(name, _)))) = ComposerLine::read(&line) else {
                continue;
            };
            assert!(named(name).is_some(), "{line}: {name:?}");
            found += 1;
        }
        assert!(found >= 6, "{found}");
    }

    #[test]
    fn names_and_actions_belong_to_one_pane() {
        let mut names: Vec<&str> = PANES.iter().flat_map(|pane| pane.names().iter().map(|name| name.0)).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count, "{names:?}");
        let actions: Vec<_> = PANES.iter().flat_map(|pane| pane.actions()).map(|(action, _)| *action).collect();
        assert_eq!(actions.iter().collect::<HashSet<_>>().len(), actions.len(), "{actions:?}");
        assert!(PANES.iter().all(|pane| pane.actions().iter().all(|(_, name)| pane.names().contains(name))));
    }

    #[test]
    fn every_pane_with_an_action_opens_and_closes_by_it() {
        let state = SpaceState::new("test", "me".into());
        let mut app = App::new(TuiOptions::new("me".into()));
        let actions = [ScreenAction::Keys, ScreenAction::SignalBoard, ScreenAction::Tools, ScreenAction::Agents];
        for action in actions {
            let (pane, name) = of_action(action).unwrap();
            for open in [true, false] {
                pane.show(&mut app, name, None, &state, SystemTime::UNIX_EPOCH);
                assert_eq!(pane.is_open(&app, &state), open, "{action:?}");
            }
        }
    }
}
