//! The panes of the screen: everything but the conversation, the composer and the status bar. [`PANES`] lists them; gestures, drawing
//! and commands go through the list. A new pane is a file with a [`Pane`] and a line in the list.

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
use wh_client::{Change, UiFacts};
use wh_core::input::Gesture;
use wh_core::slash::{PaneName, Visibility};
use wh_core::space::state::State;

use crate::app::{Act, App};
use crate::keymap::ScreenAction;
use crate::view::Moment;
pub(crate) use question::Text;

/// Every pane, the topmost first: a gesture is offered to them in this order, and they are drawn in the reverse one.
pub(crate) static PANES: &[&dyn Pane] = &[
    &keys::KeyHelp,
    &picker::PickerPane,
    &pager::PagerPane,
    &question::QuestionPane,
    &reasoning::ReasoningBar,
    &tools::ToolSidebar,
    &board::SignalBoard,
];

/// Part of a pane that a click is on: an entry by its index, or the pane itself.
pub(crate) type Part = usize;

/// The pane itself, as a [`Part`].
pub(crate) const WHOLE: Part = usize::MAX;

/// Position of a pane on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layer {
    /// Over the conversation: [`Pane::bounds`].
    Over,
    /// In rows of its own above the composer: [`Pane::rows`].
    Above,
    /// Beside the conversation, or stacked below it on a narrow screen: [`Pane::columns`], [`Pane::lines`], [`Pane::compact`].
    Beside,
}

/// Rows that panes over the conversation keep to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    pub(crate) screen: Rect,
    /// The rule above the composer.
    pub(crate) above: Rect,
    /// The rule below it.
    pub(crate) below: Rect,
    pub(crate) status: Rect,
}

impl Layout {
    /// Everything above a row.
    pub(crate) fn until(&self, row: Rect) -> Rect {
        Rect { height: row.y.saturating_sub(self.screen.y), ..self.screen }
    }
}

/// Content of a pane that is stacked below the conversation.
#[derive(Debug, Default)]
pub(crate) struct Compact {
    /// On its frame; may be empty.
    pub(crate) title: &'static str,
    pub(crate) lines: Vec<Line<'static>>,
    /// Rows that there is no room for.
    pub(crate) cut: usize,
}

/// A pane. It has no state of its own: that is the app's.
pub(crate) trait Pane: Debug + Sync {
    fn layer(&self) -> Layer;

    fn is_open(&self, app: &App, state: &State) -> bool;

    /// Names by which commands show it.
    fn names(&self) -> &'static [PaneName] {
        &[]
    }

    /// Actions, which keys are bound to, that toggle it from anywhere.
    fn actions(&self) -> &'static [(ScreenAction, PaneName)] {
        &[]
    }

    /// Shows or hides it, or lets it decide; `None` toggles it.
    fn show(
        &self,
        _app: &mut App,
        _name: PaneName,
        _wish: Option<Visibility>,
        _state: &State,
        _now: SystemTime,
    ) -> Vec<Act> {
        Vec::new()
    }

    /// True if nothing is typed past it while it is open.
    fn is_modal(&self) -> bool {
        false
    }

    /// True if what is typed goes to it and not to the composer.
    fn is_focused(&self, app: &App, state: &State) -> bool {
        self.is_modal() && self.is_open(app, state)
    }

    /// True if it takes text character by character.
    fn takes_characters(&self, _app: &App, _state: &State) -> bool {
        false
    }

    /// True if a gesture is for the composer although the pane is open. May change what the next gestures mean.
    fn yields(&self, _app: &mut App, _gesture: &Gesture, _now: SystemTime) -> bool {
        false
    }

    /// Takes what is typed while it is open; `None`: the gesture is for what is below.
    fn typed(&self, _app: &mut App, _gesture: &Gesture, _state: &State, _now: SystemTime) -> Option<Vec<Act>> {
        None
    }

    /// Esc: closes it, or goes a step back in it. True if that was all.
    fn escape(&self, _app: &mut App, _state: &State) -> bool {
        false
    }

    /// Ctrl+C. True if closing it was all.
    fn stop(&self, _app: &mut App) -> bool {
        false
    }

    /// The wheel over it moved by this many lines.
    fn wheel(&self, _app: &mut App, _lines: isize) -> Vec<Act> {
        Vec::new()
    }

    /// A part of it was clicked.
    fn click(&self, _app: &mut App, _part: Part, _gesture: &Gesture, _state: &State, _now: SystemTime) -> Vec<Act> {
        Vec::new()
    }

    /// Follows the space.
    fn sync(&self, _app: &mut App, _state: &State, _change: &Change, _now: SystemTime) {}

    /// Forgets what it shows; the conversation stays.
    fn clear(&self, _app: &mut App) {}

    /// A frame of this size is about to be drawn, perhaps one with nothing but the notice that it is too small.
    fn frame(&self, _app: &mut App, _state: &State, _screen: Rect, _moment: &Moment) {}

    /// Enters what other programs may know of it.
    fn report(&self, _app: &App, _facts: &mut UiFacts) {}

    /// Hints for the rule below the composer.
    fn chips(&self, _app: &App, _state: &State, _moment: &Moment) -> Vec<Span<'static>> {
        Vec::new()
    }

    /// Rows above the composer, of those that there is room for.
    fn rows(&self, _app: &mut App, _state: &State, _screen: Rect, _room: u16) -> u16 {
        0
    }

    /// The area over the conversation in which it may be drawn.
    fn bounds(&self, layout: &Layout) -> Rect {
        layout.screen
    }

    /// Columns beside the conversation.
    fn columns(&self) -> u16 {
        0
    }

    /// Content beside the conversation, for this width and height.
    fn lines(&self, _app: &App, _state: &State, _size: (usize, usize), _moment: &Moment) -> Vec<Line<'static>> {
        Vec::new()
    }

    /// Content below the conversation, for this width and height.
    fn compact(&self, _app: &App, _state: &State, _size: (usize, usize), _moment: &Moment) -> Compact {
        Compact::default()
    }

    /// Draws it into its area; returns the position of the terminal's cursor in it, if it has one.
    fn draw(&self, app: &mut App, state: &State, buffer: &mut Buffer, area: Rect, moment: &Moment) -> Option<Position>;
}

/// The visibility that is asked for; `None` toggles.
fn asked_visibility(wish: Option<Visibility>, is_open: bool) -> Visibility {
    wish.unwrap_or(if is_open { Visibility::Close } else { Visibility::Open })
}

/// The pane with this name.
pub(crate) fn named(name: PaneName) -> Option<&'static dyn Pane> {
    PANES.iter().copied().find(|pane| pane.names().contains(&name))
}

/// The pane that an action toggles, and the name by which it does.
pub(crate) fn of_action(action: ScreenAction) -> Option<(&'static dyn Pane, PaneName)> {
    PANES.iter().find_map(|pane| {
        let (_, name) = pane.actions().iter().find(|(known, _)| *known == action)?;
        Some((*pane, *name))
    })
}

/// The panes of a layer that are open, in the order of the list.
pub(crate) fn open(layer: Layer, app: &App, state: &State) -> Vec<&'static dyn Pane> {
    PANES.iter().copied().filter(|pane| pane.layer() == layer && pane.is_open(app, state)).collect()
}

/// True if something is open over the conversation.
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
    use crate::options::Options;

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
        let mut app = App::new(Options::new("me".into()));
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
