//! Dispatches each gesture to the layers of the screen, from top to bottom: panes, completion list, composer,
//! conversation.

use std::time::{Duration, SystemTime};

use ratatui::layout::Position;
use wh_core::input::{Gesture, KeyPress, Mouse, MouseAction, MouseButton};
use wh_core::slash::UiCommand;
use wh_core::space::command::ConversationCommand;
use wh_core::space::state::SpaceState;

use super::dialog::{DialogOutcome, is_one_key};
use super::{App, AppEffect, ClickTarget, SentCommand, busy};
use crate::composer::ComposerOutcome;
use crate::keymap::ScreenAction;
use crate::panes::{self, PANES};

/// Time window in which a second Ctrl+C quits.
const QUIT_CONFIRM_WINDOW: Duration = Duration::from_secs(3);

/// Number of lines that one step of the mouse wheel scrolls.
const WHEEL_LINES: isize = 3;

impl App {
    /// Handles a gesture and returns the effects that the event loop must perform.
    pub(crate) fn gesture(&mut self, gesture: &Gesture, state: &SpaceState, now: SystemTime) -> Vec<AppEffect> {
        let leaving = self.quit_until.take().is_some_and(|until| until > now);
        if self.too_small {
            return self.too_small_gesture(gesture, leaving, now);
        }
        match gesture {
            Gesture::Key(press) => self.press(press, gesture, leaving, state, now),
            Gesture::Mouse(mouse) => self.mouse(mouse, gesture, state, now),
            Gesture::Text(typed) if self.types_into_pane(typed, state) && !self.defers_to_composer(gesture, now) => {
                let each = typed.chars().map(|one| Gesture::Text(one.to_string()));
                each.flat_map(|one| self.write_to(&one, false, state, now)).collect()
            }
            Gesture::Text(_) | Gesture::Paste(_) => self.write(gesture, state, now),
        }
    }

    /// Handles gestures while the terminal is too small for the UI: Ctrl+C twice quits, and all other gestures are
    /// dropped.
    fn too_small_gesture(&mut self, gesture: &Gesture, leaving: bool, now: SystemTime) -> Vec<AppEffect> {
        match gesture {
            Gesture::Key(press) if press.to_string() == "ctrl+c" => {}
            _ => return Vec::new(),
        }
        if leaving {
            return vec![AppEffect::Leave];
        }
        self.quit_until = Some(now + QUIT_CONFIRM_WINDOW);
        Vec::new()
    }

    /// Returns true if the text has several characters, no pane covers the conversation, and an open pane handles typed
    /// characters one by one. For example, a digit answers a question.
    fn types_into_pane(&self, typed: &str, state: &SpaceState) -> bool {
        !is_one_key(typed)
            && !panes::covered(self, state)
            && PANES.iter().any(|pane| pane.takes_characters(self, state))
    }

    fn press(
        &mut self,
        press: &KeyPress,
        gesture: &Gesture,
        leaving: bool,
        state: &SpaceState,
        now: SystemTime,
    ) -> Vec<AppEffect> {
        match press.to_string().as_str() {
            "ctrl+c" => return self.stop(leaving, state, now),
            "escape" => return self.escape(gesture, state),
            _ => {}
        }
        match self.options.keys.screen(press) {
            Some(ScreenAction::Leave) if self.composer.is_empty() && !panes::modal(self, state) => {
                return vec![AppEffect::Leave];
            }
            Some(ScreenAction::Redraw) => return vec![AppEffect::Redraw],
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

    /// Handles Esc with the first action that applies: close the topmost layer, interrupt the busy agents, clear the
    /// composer, return to the end of the conversation.
    fn escape(&mut self, gesture: &Gesture, state: &SpaceState) -> Vec<AppEffect> {
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

    /// Handles Ctrl+C with the first action that applies: quit on a second press, close a list, interrupt the busy
    /// agents, clear the composer.
    fn stop(&mut self, leaving: bool, state: &SpaceState, now: SystemTime) -> Vec<AppEffect> {
        if leaving {
            return vec![AppEffect::Leave];
        }
        if PANES.iter().any(|pane| pane.stop(self)) {
            return Vec::new();
        }
        if busy(state) {
            self.quit_until = Some(now + QUIT_CONFIRM_WINDOW);
            self.remind("Interrupting. Press Ctrl+C again to quit", now);
            return vec![interrupt()];
        }
        if self.composer.clear() {
            return self.complete(state).into_iter().collect();
        }
        self.quit_until = Some(now + QUIT_CONFIRM_WINDOW);
        self.remind("Press Ctrl+C again to quit", now);
        Vec::new()
    }

    fn remind(&mut self, text: &str, now: SystemTime) {
        self.inform(text, now);
        if let Some(notice) = &mut self.notice {
            notice.until = now + QUIT_CONFIRM_WINDOW;
        }
    }

    /// Handles input that is not bound to a screen action.
    fn write(&mut self, gesture: &Gesture, state: &SpaceState, now: SystemTime) -> Vec<AppEffect> {
        let composes = !panes::covered(self, state) && self.defers_to_composer(gesture, now);
        self.write_to(gesture, composes, state, now)
    }

    /// Handles input like [`write`](Self::write), but the caller chooses the receiver: if `composes` is true, the panes
    /// do not receive the input.
    fn write_to(&mut self, gesture: &Gesture, composes: bool, state: &SpaceState, now: SystemTime) -> Vec<AppEffect> {
        for pane in PANES.iter().filter(|_| !composes) {
            if pane.is_open(self, state)
                && let Some(effects) = pane.typed(self, gesture, state, now)
            {
                return effects;
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
            ComposerOutcome::Submit(text) => {
                self.last_edit = None;
                let mut effects = self.submit(text, state, now);
                effects.extend(self.complete(state));
                effects
            }
            ComposerOutcome::Changed => {
                if matches!(gesture, Gesture::Text(_) | Gesture::Paste(_)) {
                    self.last_edit = Some(now);
                }
                if matches!(gesture, Gesture::Text(typed) if is_one_key(typed)) {
                    self.typing.key(now);
                }
                self.complete(state).into_iter().collect()
            }
            ComposerOutcome::Ignored => {
                self.transcript.handle(gesture);
                Vec::new()
            }
        }
    }

    /// Returns true if an open pane leaves the gesture to the composer.
    fn defers_to_composer(&mut self, gesture: &Gesture, now: SystemTime) -> bool {
        PANES.iter().any(|pane| pane.defers_to_composer(self, gesture, now))
    }

    pub(crate) fn apply_dialog_outcome(
        &mut self,
        outcome: DialogOutcome,
        state: &SpaceState,
        now: SystemTime,
    ) -> Option<Vec<AppEffect>> {
        match outcome {
            DialogOutcome::Nothing => None,
            DialogOutcome::Changed => Some(Vec::new()),
            DialogOutcome::Answer(question, answer) => Some(self.answer(question, answer, state, now)),
            DialogOutcome::Open(question) => Some(self.open_pager(question)),
            DialogOutcome::Confirm => {
                self.dialog.ignore_answers(now);
                Some(Vec::new())
            }
            DialogOutcome::Hint(hint) => {
                self.inform(hint, now);
                Some(Vec::new())
            }
        }
    }

    fn mouse(&mut self, mouse: &Mouse, gesture: &Gesture, state: &SpaceState, now: SystemTime) -> Vec<AppEffect> {
        let spot = self.click_target_at(Position::new(mouse.x, mouse.y));
        let lines = match mouse.action {
            MouseAction::WheelUp => -WHEEL_LINES,
            MouseAction::WheelDown => WHEEL_LINES,
            _ => 0,
        };
        let pressed = mouse.action == MouseAction::Press && mouse.button == MouseButton::Left;
        match spot {
            Some(ClickTarget::Pane(pane, _)) if lines != 0 => return pane.wheel(self, lines),
            Some(ClickTarget::Pane(pane, part)) if pressed => return pane.click(self, part, gesture, state, now),
            Some(ClickTarget::Pane(..)) => {}
            Some(ClickTarget::Transcript) | None => {
                self.transcript.handle(gesture);
            }
        }
        Vec::new()
    }
}

fn interrupt() -> AppEffect {
    AppEffect::Ask(SentCommand { command: ConversationCommand::Interrupt(None), written: None })
}

/// Returns true for keys that scroll or expand the conversation even while the user writes a message.
fn moves_conversation(gesture: &Gesture) -> bool {
    match gesture {
        Gesture::Key(press) => {
            let name = press.to_string();
            matches!(name.as_str(), "pageup" | "pagedown" | "ctrl+home" | "ctrl+end" | "alt+up" | "alt+down" | "ctrl+o")
        }
        _ => false,
    }
}
