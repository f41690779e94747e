//! The panes of the screen: everything except the conversation, the composer and the status bar. Gestures, drawing and
//! commands go through [`PANES`]. A new pane is a file with a [`Pane`] implementation and an entry in that list.

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
use wh_core::space::state::State;

use crate::app::{App, AppEffect};
use crate::keymap::ScreenAction;
use crate::view::FrameClock;
pub(crate) use question::QuestionText;

/// All panes, topmost first. Gestures are offered in this order, and drawing is in reverse order.
pub(crate) static PANES: &[&dyn Pane] = &[
    &keys::KeyHelp,
    &picker::PickerPane,
    &pager::PagerPane,
    &question::QuestionPane,
    &reasoning::ReasoningBar,
    &tools::ToolSidebar,
    &board::SignalBoard,
];

/// Part of a pane that was clicked: the index of an entry, or [`WHOLE_PANE`].
pub(crate) type PanePart = usize;

/// The pane itself, outside of its entries.
pub(crate) const WHOLE_PANE: PanePart = usize::MAX;

/// Position of a pane on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layer {
    /// Over the conversation: [`Pane::bounds`].
    Over,
    /// In rows of its own above the composer: [`Pane::rows`].
    Above,
    /// Next to the conversation, or stacked below it on a narrow screen: [`Pane::columns`], [`Pane::lines`],
    /// [`Pane::compact`].
    Beside,
}

/// Areas of the screen, for placing panes over the conversation.
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
    /// The area above a row.
    pub(crate) fn until(&self, row: Rect) -> Rect {
        Rect { height: row.y.saturating_sub(self.screen.y), ..self.screen }
    }
}

/// Content of a pane that is stacked below the conversation.
#[derive(Debug, Default)]
pub(crate) struct CompactContent {
    /// Title on the frame; may be empty.
    pub(crate) title: &'static str,
    pub(crate) lines: Vec<Line<'static>>,
    /// Number of rows that do not fit.
    pub(crate) cut: usize,
}

/// A pane of the screen. Panes are stateless; their state is in [`App`].
pub(crate) trait Pane: Debug + Sync {
    fn layer(&self) -> Layer;

    fn is_open(&self, app: &App, state: &State) -> bool;

    /// Names that commands use for the pane.
    fn names(&self) -> &'static [PaneName] {
        &[]
    }

    /// Bindable actions that toggle the pane.
    fn actions(&self) -> &'static [(ScreenAction, PaneName)] {
        &[]
    }

    /// Sets the visibility of the pane; `None` toggles it.
    fn show(
        &self,
        _app: &mut App,
        _name: PaneName,
        _visibility: Option<Visibility>,
        _state: &State,
        _now: SystemTime,
    ) -> Vec<AppEffect> {
        Vec::new()
    }

    /// True if the pane consumes all input while it is open.
    fn is_modal(&self) -> bool {
        false
    }

    /// True if typed input goes to the pane instead of the composer.
    fn is_focused(&self, app: &App, state: &State) -> bool {
        self.is_modal() && self.is_open(app, state)
    }

    /// True if the pane handles text character by character.
    fn takes_characters(&self, _app: &App, _state: &State) -> bool {
        false
    }

    /// True if a gesture is for the composer although the pane is open. May change the meaning of later gestures.
    fn defers_to_composer(&self, _app: &mut App, _gesture: &Gesture, _now: SystemTime) -> bool {
        false
    }

    /// Handles input while the pane is open; `None` passes it to the layers below.
    fn typed(&self, _app: &mut App, _gesture: &Gesture, _state: &State, _now: SystemTime) -> Option<Vec<AppEffect>> {
        None
    }

    /// Handles Esc: closes the pane or goes back one step in it. True if that consumed the key.
    fn escape(&self, _app: &mut App, _state: &State) -> bool {
        false
    }

    /// Handles Ctrl+C. True if that consumed the key.
    fn stop(&self, _app: &mut App) -> bool {
        false
    }

    /// Handles the mouse wheel over the pane.
    fn wheel(&self, _app: &mut App, _lines: isize) -> Vec<AppEffect> {
        Vec::new()
    }

    /// Handles a click on a part of the pane.
    fn click(
        &self,
        _app: &mut App,
        _part: PanePart,
        _gesture: &Gesture,
        _state: &State,
        _now: SystemTime,
    ) -> Vec<AppEffect> {
        Vec::new()
    }

    /// Updates the pane's state after a change of the space.
    fn sync(&self, _app: &mut App, _state: &State, _change: &MirrorChange, _now: SystemTime) {}

    /// Clears the pane's content for `/ui-clear`; the conversation is kept.
    fn clear(&self, _app: &mut App) {}

    /// Called before each frame of this size, including frames that only show the too-small notice.
    fn frame(&self, _app: &mut App, _state: &State, _screen: Rect, _moment: &FrameClock) {}

    /// Adds the pane's state to the facts about the UI that other programs can query.
    fn report(&self, _app: &App, _facts: &mut UiFacts) {}

    /// Hints for the rule below the composer.
    fn chips(&self, _app: &App, _state: &State, _moment: &FrameClock) -> Vec<Span<'static>> {
        Vec::new()
    }

    /// Number of rows that the pane takes above the composer, at most `room`.
    fn rows(&self, _app: &mut App, _state: &State, _screen: Rect, _room: u16) -> u16 {
        0
    }

    /// Area over the conversation in which the pane may be drawn.
    fn bounds(&self, layout: &ScreenLayout) -> Rect {
        layout.screen
    }

    /// Width of the pane beside the conversation.
    fn columns(&self) -> u16 {
        0
    }

    /// Content beside the conversation, for this width and height.
    fn lines(&self, _app: &App, _state: &State, _size: (usize, usize), _moment: &FrameClock) -> Vec<Line<'static>> {
        Vec::new()
    }

    /// Content below the conversation, for this width and height.
    fn compact(&self, _app: &App, _state: &State, _size: (usize, usize), _moment: &FrameClock) -> CompactContent {
        CompactContent::default()
    }

    /// Draws the pane into its area. Returns the position of the terminal's cursor, if it is in the pane.
    fn draw(
        &self,
        app: &mut App,
        state: &State,
        buffer: &mut Buffer,
        area: Rect,
        moment: &FrameClock,
    ) -> Option<Position>;
}

/// Resolves a requested visibility; `None` toggles the current one.
fn asked_visibility(visibility: Option<Visibility>, is_open: bool) -> Visibility {
    visibility.unwrap_or(if is_open { Visibility::Close } else { Visibility::Open })
}

/// Finds a pane by its name.
pub(crate) fn named(name: PaneName) -> Option<&'static dyn Pane> {
    PANES.iter().copied().find(|pane| pane.names().contains(&name))
}

/// The pane that an action toggles, and the name to show it by.
pub(crate) fn of_action(action: ScreenAction) -> Option<(&'static dyn Pane, PaneName)> {
    PANES.iter().find_map(|pane| {
        let (_, name) = pane.actions().iter().find(|(known, _)| *known == action)?;
        Some((*pane, *name))
    })
}

/// The open panes of a layer, topmost first.
pub(crate) fn open(layer: Layer, app: &App, state: &State) -> Vec<&'static dyn Pane> {
    PANES.iter().copied().filter(|pane| pane.layer() == layer && pane.is_open(app, state)).collect()
}

/// True if a pane is open over the conversation.
pub(crate) fn covered(app: &App, state: &State) -> bool {
    !open(Layer::Over, app, state).is_empty()
}

/// True if a modal pane is open.
pub(crate) fn modal(app: &App, state: &State) -> bool {
    PANES.iter().any(|pane| pane.is_modal() && pane.is_open(app, state))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use wh_core::line::ComposerLine;
    use wh_core::slash::{ROWS, Slash, UiCommand};

    use super::*;
    use crate::options::TuiOptions;

    #[test]
    fn every_pane_that_a_command_names_is_in_the_list() {
        let mut found = 0;
        let lines = ROWS.iter().flat_map(|row| row.names.iter().map(|name| format!("/{name}")));
        for line in lines.chain(["/ui board".to_owned(), "/ui tools".to_owned()]) {
            let Ok(ComposerLine::Slash(Slash::Ui(UiCommand::Pane(name, _)))) = ComposerLine::read(&line) else {
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
        let state = State::new("test", "me".into());
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
