//! What a person did, and what becomes of it. From the top of the screen's layers to the bottom: the panes in their order,
//! the completions, the composer, the conversation.

use std::time::{Duration, SystemTime};

use ratatui::layout::Position;
use wh_core::input::{Gesture, KeyPress, Mouse, MouseAction, MouseButton};
use wh_core::slash::UiCommand;
use wh_core::space::command::Command;
use wh_core::space::state::State;

use super::dialog::{Did, is_one_key};
use super::{Act, App, Request, Spot, busy};
use crate::composer::Outcome;
use crate::keymap::ScreenAction;
use crate::panes::{self, PANES};

/// Within this time a second Ctrl+C leaves.
const TWICE: Duration = Duration::from_secs(3);

/// Lines by which the wheel moves what is under it.
const WHEEL: isize = 3;

impl App {
    /// Does what a gesture asks for.
    pub(crate) fn gesture(&mut self, gesture: &Gesture, state: &State, now: SystemTime) -> Vec<Act> {
        let leaving = self.leaving.take().is_some_and(|until| until > now);
        if self.too_small {
            return self.under_notice(gesture, leaving, now);
        }
        match gesture {
            Gesture::Key(press) => self.press(press, gesture, leaving, state, now),
            Gesture::Mouse(mouse) => self.mouse(mouse, gesture, state, now),
            Gesture::Text(typed) if self.chooses(typed, state) && !self.yields(gesture, now) => {
                let each = typed.chars().map(|one| Gesture::Text(one.to_string()));
                each.flat_map(|one| self.write_to(&one, false, state, now)).collect()
            }
            Gesture::Text(_) | Gesture::Paste(_) => self.write(gesture, state, now),
        }
    }

    /// Handles gestures while only the too-small notice is shown: Ctrl+C twice leaves, everything else is dropped.
    fn under_notice(&mut self, gesture: &Gesture, leaving: bool, now: SystemTime) -> Vec<Act> {
        match gesture {
            Gesture::Key(press) if press.to_string() == "ctrl+c" => {}
            _ => return Vec::new(),
        }
        if leaving {
            return vec![Act::Leave];
        }
        self.leaving = Some(now + TWICE);
        Vec::new()
    }

    /// Whether each character of what was typed may mean something else.
    fn chooses(&self, typed: &str, state: &State) -> bool {
        !is_one_key(typed)
            && !panes::covered(self, state)
            && PANES.iter().any(|pane| pane.takes_characters(self, state))
    }

    fn press(
        &mut self,
        press: &KeyPress,
        gesture: &Gesture,
        leaving: bool,
        state: &State,
        now: SystemTime,
    ) -> Vec<Act> {
        match press.to_string().as_str() {
            "ctrl+c" => return self.stop(leaving, state, now),
            "escape" => return self.escape(gesture, state),
            _ => {}
        }
        match self.options.keys.screen(press) {
            Some(ScreenAction::Leave) if self.composer.is_empty() && !panes::modal(self, state) => {
                return vec![Act::Leave];
            }
            Some(ScreenAction::Redraw) => return vec![Act::Redraw],
            Some(ScreenAction::Details) => return self.ui(UiCommand::Verbose, state, now),
            Some(ScreenAction::Streams) => return self.ui(UiCommand::Streams, state, now),
            Some(ScreenAction::NextMode) if !panes::modal(self, state) && !panes::covered(self, state) => {
                return self.cycle_mode(state, now);
            }
            Some(action) => {
                if let Some((pane, name)) = panes::of_action(action) {
                    return pane.show(self, name, None, state, now);
                }
            }
            None => {}
        }
        self.write(gesture, state, now)
    }

    /// Esc closes what is open on top; otherwise it stops whoever works; otherwise it empties the composer.
    fn escape(&mut self, gesture: &Gesture, state: &State) -> Vec<Act> {
        if PANES.iter().any(|pane| pane.escape(self, state)) {
            return Vec::new();
        }
        if self.composer.completion().is_some() && !self.dialog.is_open() {
            self.composer.handle(gesture);
            return self.complete(state).into_iter().collect();
        }
        if self.transcript.handle(gesture) {
            return Vec::new();
        }
        if busy(state) {
            return vec![interrupt()];
        }
        if self.composer.clear() {
            return self.complete(state).into_iter().collect();
        }
        self.transcript.follow();
        Vec::new()
    }

    /// Ctrl+C closes a list; it stops whoever works; otherwise it empties the composer; pressed again, it leaves.
    fn stop(&mut self, leaving: bool, state: &State, now: SystemTime) -> Vec<Act> {
        if leaving {
            return vec![Act::Leave];
        }
        if PANES.iter().any(|pane| pane.stop(self)) {
            return Vec::new();
        }
        if busy(state) {
            self.leaving = Some(now + TWICE);
            self.remind("Interrupting. Press Ctrl+C again to leave", now);
            return vec![interrupt()];
        }
        if self.composer.clear() {
            return self.complete(state).into_iter().collect();
        }
        self.leaving = Some(now + TWICE);
        self.remind("Press Ctrl+C again to leave", now);
        Vec::new()
    }

    fn remind(&mut self, text: &str, now: SystemTime) {
        self.inform(text, now);
        if let Some(notice) = &mut self.notice {
            notice.until = now + TWICE;
        }
    }

    /// Anything that is not a command to the whole screen.
    fn write(&mut self, gesture: &Gesture, state: &State, now: SystemTime) -> Vec<Act> {
        let composes = !panes::covered(self, state) && self.yields(gesture, now);
        self.write_to(gesture, composes, state, now)
    }

    /// The same, where it is decided whether it is for the composer although a pane is open.
    fn write_to(&mut self, gesture: &Gesture, composes: bool, state: &State, now: SystemTime) -> Vec<Act> {
        for pane in PANES.iter().filter(|_| !composes) {
            if pane.is_open(self, state)
                && let Some(acts) = pane.typed(self, gesture, state, now)
            {
                return acts;
            }
        }
        if *gesture == Gesture::Text("?".to_owned()) && self.composer.is_empty() {
            self.keys = Some(0);
            return Vec::new();
        }
        let reads = self.transcript.navigating() || moves_conversation(gesture);
        if reads && self.transcript.handle(gesture) {
            return Vec::new();
        }
        match self.composer.handle(gesture) {
            Outcome::Submit(text) => {
                self.wrote = None;
                let mut acts = self.submit(text, state, now);
                acts.extend(self.complete(state));
                acts
            }
            Outcome::Changed => {
                if matches!(gesture, Gesture::Text(_) | Gesture::Paste(_)) {
                    self.wrote = Some(now);
                }
                if matches!(gesture, Gesture::Text(typed) if is_one_key(typed)) {
                    self.typing.key(now);
                }
                self.complete(state).into_iter().collect()
            }
            Outcome::Ignored => {
                self.transcript.handle(gesture);
                Vec::new()
            }
        }
    }

    /// True if the open panes leave a gesture to the composer.
    fn yields(&mut self, gesture: &Gesture, now: SystemTime) -> bool {
        PANES.iter().any(|pane| pane.yields(self, gesture, now))
    }

    pub(crate) fn dialog_did(&mut self, did: Did, state: &State, now: SystemTime) -> Option<Vec<Act>> {
        match did {
            Did::Nothing => None,
            Did::Changed => Some(Vec::new()),
            Did::Answer(question, answer) => Some(self.answer(question, answer, state, now)),
            Did::Open(question) => Some(self.open_pager(question)),
            Did::Confirm => {
                self.dialog.deafen(now);
                Some(Vec::new())
            }
            Did::Hint(hint) => {
                self.inform(hint, now);
                Some(Vec::new())
            }
        }
    }

    fn mouse(&mut self, mouse: &Mouse, gesture: &Gesture, state: &State, now: SystemTime) -> Vec<Act> {
        let spot = self.spot(Position::new(mouse.x, mouse.y));
        let lines = match mouse.action {
            MouseAction::WheelUp => -WHEEL,
            MouseAction::WheelDown => WHEEL,
            _ => 0,
        };
        let pressed = mouse.action == MouseAction::Press && mouse.button == MouseButton::Left;
        match spot {
            Some(Spot::Pane(pane, _)) if lines != 0 => return pane.wheel(self, lines),
            Some(Spot::Pane(pane, part)) if pressed => return pane.click(self, part, gesture, state, now),
            Some(Spot::Pane(..)) => {}
            Some(Spot::Transcript) | None => {
                self.transcript.handle(gesture);
            }
        }
        Vec::new()
    }
}

fn interrupt() -> Act {
    Act::Ask(Request { command: Command::Interrupt(None), written: None })
}

/// Keys that the conversation has, also while something is written.
fn moves_conversation(gesture: &Gesture) -> bool {
    match gesture {
        Gesture::Key(press) => {
            let name = press.to_string();
            matches!(name.as_str(), "pageup" | "pagedown" | "ctrl+home" | "ctrl+end" | "alt+up" | "alt+down" | "ctrl+o")
        }
        _ => false,
    }
}
