//! What a person did, and what becomes of it. From the top of the screen's layers to the bottom: the list of keys, the
//! list to choose from, the question, the completions, the composer, the conversation.

use std::time::{Duration, SystemTime};

use ratatui::layout::Position;
use wh_core::input::{Gesture, KeyPress, Mouse, MouseAction, MouseButton};
use wh_core::slash::{Pick, UiCommand};
use wh_core::space::command::Command;
use wh_core::space::state::State;

use super::dialog::{Did, is_one_key};
use super::{Act, App, Request, Spot, busy};
use crate::composer::Outcome;
use crate::keymap::ScreenAction;

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
            Gesture::Text(typed) if self.chooses(typed, state) && !self.goes_on_writing(gesture, now) => {
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
        let options = self.keys.is_none()
            && !self.choices.is_open()
            && self.pager.is_none()
            && self.dialog.current(state).is_some_and(|(_, question, _)| !self.dialog.in_field(question));
        options && !is_one_key(typed)
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
            Some(ScreenAction::Leave)
                if self.composer.is_empty() && !self.dialog.is_open() && !self.choices.is_open() =>
            {
                return vec![Act::Leave];
            }
            Some(ScreenAction::Redraw) => return vec![Act::Redraw],
            Some(ScreenAction::Keys) => return self.ui(UiCommand::Keys, state, now),
            Some(ScreenAction::SignalBoard) => return self.ui(UiCommand::Board(None), state, now),
            Some(ScreenAction::Details) => return self.ui(UiCommand::Verbose, state, now),
            Some(ScreenAction::Tools) => return self.ui(UiCommand::Tools(None), state, now),
            Some(ScreenAction::Streams) => return self.ui(UiCommand::Streams, state, now),
            Some(ScreenAction::Agents) => return self.pick(Pick::Agent, state, now),
            Some(ScreenAction::Models) => return self.pick(Pick::Model, state, now),
            Some(ScreenAction::Conversations) => return self.pick(Pick::Conversation, state, now),
            Some(ScreenAction::NextMode)
                if self.keys.is_none() && !self.choices.is_open() && !self.dialog.is_open() =>
            {
                return self.cycle_mode(state, now);
            }
            Some(ScreenAction::Leave | ScreenAction::NextMode) | None => {}
        }
        self.write(gesture, state, now)
    }

    /// Esc closes what is open on top; otherwise it stops whoever works; otherwise it empties the composer.
    fn escape(&mut self, gesture: &Gesture, state: &State) -> Vec<Act> {
        if self.keys.take().is_some()
            || self.choices.close()
            || self.pager.take().is_some()
            || self.dialog.leave_field(state)
        {
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
        self.keys = None;
        if self.choices.close() {
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
        let covered = self.keys.is_some() || self.choices.is_open() || self.pager.is_some();
        let composes = !covered && self.goes_on_writing(gesture, now);
        self.write_to(gesture, composes, state, now)
    }

    /// The same, where it is decided whether it is for the composer although a question is open.
    fn write_to(&mut self, gesture: &Gesture, composes: bool, state: &State, now: SystemTime) -> Vec<Act> {
        if self.keys.is_some() && self.read_keys(gesture) {
            return Vec::new();
        }
        if self.choices.is_open() {
            return self.in_picker(gesture, state);
        }
        if self.pager.is_some() {
            return self.page(gesture);
        }
        if self.dialog.is_open() && !composes {
            if self.dialog.hidden {
                self.inform("Make the window larger to answer the question; Esc interrupts", now);
                return Vec::new();
            }
            if self.dialog.is_deaf_to(gesture, now) || self.dialog.answers_unseen(gesture) {
                return Vec::new();
            }
            let did = self.dialog.handle(gesture, state);
            if let Some(acts) = self.dialog_did(did, state, now) {
                return acts;
            }
            // Keys that move the conversation do so behind a question too; the draft waits.
            self.transcript.handle(gesture);
            return Vec::new();
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

    /// Whether the person was writing when the question came, and still is.
    fn goes_on_writing(&mut self, gesture: &Gesture, now: SystemTime) -> bool {
        let drafting = !self.composer.is_empty();
        if !self.dialog.is_open() || !self.dialog.interrupts(gesture, drafting, now) {
            return false;
        }
        let tab = matches!(gesture, Gesture::Key(press) if press.to_string() == "tab");
        if tab {
            self.dialog.attend();
        } else {
            self.dialog.hold_on(now);
        }
        !tab
    }

    fn dialog_did(&mut self, did: Did, state: &State, now: SystemTime) -> Option<Vec<Act>> {
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

    /// The list of keys moves, or closes; says whether that was all.
    fn read_keys(&mut self, gesture: &Gesture) -> bool {
        let line = self.keys.unwrap_or(0);
        let name = match gesture {
            Gesture::Key(press) => press.to_string(),
            Gesture::Text(text) => text.clone(),
            Gesture::Paste(_) | Gesture::Mouse(_) => String::new(),
        };
        self.keys = match name.as_str() {
            "up" => Some(line.saturating_sub(1)),
            "down" => Some(line + 1),
            "pageup" => Some(line.saturating_sub(10)),
            "pagedown" => Some(line + 10),
            "home" => Some(0),
            "?" | "q" | "enter" | " " => None,
            // Whoever begins to write has read enough.
            _ => {
                self.keys = None;
                return false;
            }
        };
        true
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
            Some(Spot::Keys) if lines != 0 => {
                self.keys = self.keys.map(|line| line.saturating_add_signed(lines));
            }
            Some(Spot::Keys) if pressed => self.keys = None,
            Some(Spot::Row(_) | Spot::Picker) if lines != 0 => self.wheel_picker(lines),
            Some(Spot::Pager) if lines != 0 => return self.wheel_pager(lines),
            Some(Spot::Row(place)) if pressed => return self.click_row(place, state),
            Some(Spot::Details | Spot::Option(_) | Spot::Field) if lines != 0 => {
                self.dialog.scroll(lines);
            }
            Some(Spot::Option(_)) if pressed && (self.dialog.hidden || self.dialog.is_deaf_to(gesture, now)) => {}
            Some(Spot::Option(place)) if pressed => {
                let did = self.dialog.choose(place, state);
                return self.dialog_did(did, state, now).unwrap_or_default();
            }
            Some(Spot::Field) if pressed => {
                self.dialog.attend();
                let place = self.dialog.current(state).map_or(0, |(_, question, _)| question.options.len());
                self.dialog.selected = Some(place);
            }
            Some(
                Spot::Row(_) | Spot::Picker | Spot::Keys | Spot::Pager | Spot::Details | Spot::Option(_) | Spot::Field,
            ) => {}
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
