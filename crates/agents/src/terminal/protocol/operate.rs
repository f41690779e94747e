//! Operations on an agent's terminal: types prompts and answers, interrupts, and ends turns, as time passes.

use tokio::time::Instant;
use wh_core::input::{Gesture, KeyCode, KeyPress};
use wh_core::space::TurnId;
use wh_core::space::harness::TurnOutcome;
use wh_core::space::question::{Answer, Question};

use super::super::codec::TerminalTaskCommand;
use super::super::dialogs::{self, DialogChange};
use super::super::profile::TitleReading;
use super::super::reading::{DialogReading, ScreenPlace};
use super::super::send::SendAction;
use super::{IDLE_FALLBACK_WINDOW, TerminalProtocol, TypedPrompt};
use crate::driver::{DriverState, DriverStep, DriverSteps};

impl TerminalProtocol {
    /// Advances all operations after an observation or a deadline.
    pub(super) fn advance(&mut self, now: DriverState<'_>, steps: &mut DriverSteps<Self>) {
        self.advance_dialogs(now.at, steps);
        self.advance_prompt(now, steps);
        self.advance_end(now, steps);
        self.report_activity(now, steps);
    }

    pub(super) fn next_wake(&self, now: DriverState<'_>) -> Option<Instant> {
        let prompt = self.prompt.as_ref().and_then(|prompt| {
            if prompt.is_new || (prompt.cancelled && prompt.send.is_over()) {
                Some(now.at)
            } else {
                prompt.send.wake_at(&self.send_view())
            }
        });
        let ending = self.ending.as_ref().map(|(_, at)| *at);
        let idle = self.looks_idle_since.map(|since| since + IDLE_FALLBACK_WINDOW);
        [prompt, ending, idle, self.dialogs.wake_at()].into_iter().flatten().min()
    }

    fn advance_dialogs(&mut self, at: Instant, steps: &mut DriverSteps<Self>) {
        let dialog = self.dialog_on_screen().cloned();
        for change in self.dialogs.observe(dialog.as_ref(), at) {
            match change {
                DialogChange::Opened { id, dialog, question } => {
                    steps.push(DriverStep::Ask { id, ask: dialog, questions: vec![question] });
                }
                DialogChange::Closed(id) => steps.push(DriverStep::Withdraw(id)),
                DialogChange::Answered(outcome) => {
                    self.answering = false;
                    steps.push(DriverStep::AnswerSettled(outcome));
                }
            }
        }
        let asking = self.dialogs.is_asking();
        if asking != self.guards_text {
            self.guards_text = asking;
            steps.push(DriverStep::Send(TerminalTaskCommand::GuardText(asking)));
        }
    }

    fn advance_prompt(&mut self, now: DriverState<'_>, steps: &mut DriverSteps<Self>) {
        let Some(mut prompt) = self.prompt.take() else { return };
        prompt.is_new = false;
        let view = self.send_view();
        // The driver has given up the turn, for example after an interrupt.
        if now.turn != Some(&prompt.turn) && !prompt.cancelled {
            prompt.cancelled = true;
            prompt.send.cancel(now.at);
        }
        prompt.send.observe(&view, self.profile, now.at);
        let mut is_over = false;
        for action in prompt.send.take_actions() {
            is_over |= self.act(&prompt, action, steps);
        }
        if prompt.cancelled && prompt.send.is_over() && !is_over {
            is_over = true;
            if now.turn == Some(&prompt.turn) {
                self.finish_work(TurnOutcome::Cancelled, steps);
            }
        }
        if !is_over {
            self.prompt = Some(prompt);
        }
    }

    /// Performs an action of the prompt. Returns true if the prompt needs no further attention.
    fn act(&mut self, prompt: &TypedPrompt, action: SendAction, steps: &mut DriverSteps<Self>) -> bool {
        let command = match action {
            SendAction::HoldKeyboard => TerminalTaskCommand::HoldKeyboard,
            SendAction::ReleaseKeyboard => {
                let hooks = std::mem::take(&mut self.held_hooks);
                steps.push(DriverStep::Send(TerminalTaskCommand::ReleaseKeyboard));
                for number in hooks {
                    steps.push(DriverStep::Send(TerminalTaskCommand::ContinueHook(number)));
                }
                return false;
            }
            SendAction::Insert => TerminalTaskCommand::Type(vec![Gesture::Paste(prompt.send.text().to_owned())]),
            SendAction::PressEnter => {
                steps.push(DriverStep::Send(TerminalTaskCommand::ExpectPrompt(prompt.send.text().to_owned())));
                TerminalTaskCommand::Type(pressed(vec![KeyPress::from(KeyCode::Enter)]))
            }
            SendAction::CloseCompletion => TerminalTaskCommand::Type(vec![Gesture::Text(" ".to_owned())]),
            SendAction::Clear => match self.place() {
                // Backspace in an empty composer leaves its mode.
                ScreenPlace::Composer(composer) if composer.is_empty() => {
                    TerminalTaskCommand::Type(pressed(vec![KeyPress::from(KeyCode::Backspace)]))
                }
                ScreenPlace::Composer(composer) => {
                    TerminalTaskCommand::Type(pressed(self.profile.clear_keys(composer)))
                }
                _ => return false,
            },
            SendAction::TakeBack(count) => {
                TerminalTaskCommand::Type(pressed(vec![KeyPress::from(KeyCode::Backspace); count]))
            }
            SendAction::Delivered => {
                steps.push(DriverStep::Delivered(prompt.turn.clone()));
                return false;
            }
            SendAction::Submitted(_) => {
                steps.push(DriverStep::Submitted(prompt.turn.clone()));
                self.begin_work(steps);
                return true;
            }
            SendAction::Failed(why) => {
                let outcome = if prompt.cancelled { TurnOutcome::Cancelled } else { TurnOutcome::Failed(why) };
                self.finish_work(outcome, steps);
                return true;
            }
            SendAction::Unproven => {
                let why = "the prompt has left the composer, but neither a hook nor the transcript reports it";
                self.finish_work(TurnOutcome::Failed(why.to_owned()), steps);
                return true;
            }
        };
        steps.push(DriverStep::Send(command));
        false
    }

    fn advance_end(&mut self, now: DriverState<'_>, steps: &mut DriverSteps<Self>) {
        if !now.working || self.prompt.is_some() {
            self.looks_idle_since = None;
            if !now.working {
                self.ending = None;
            }
            return;
        }
        if let Some((_, at)) = &self.ending {
            if now.at >= *at
                && let Some((outcome, _)) = self.ending.take()
            {
                self.finish_work(outcome, steps);
            }
            return;
        }
        if !self.looks_idle() {
            self.looks_idle_since = None;
            return;
        }
        let since = *self.looks_idle_since.get_or_insert(now.at);
        if now.at >= since + IDLE_FALLBACK_WINDOW {
            let outcome = if now.interrupted { TurnOutcome::Cancelled } else { TurnOutcome::Completed };
            self.finish_work(outcome, steps);
        }
    }

    /// True if both title and screen show an agent that waits for a prompt.
    fn looks_idle(&self) -> bool {
        let Some(screen) = &self.screen else { return false };
        matches!(screen.reading.place, ScreenPlace::Composer(_))
            && screen.reading.shows_work != Some(true)
            && screen.title != TitleReading::Working
            && !self.dialogs.is_asking()
    }

    pub(super) fn interrupt_command(&mut self, turn: Option<&TurnId>) -> Option<TerminalTaskCommand> {
        if let Some(prompt) = &mut self.prompt
            && turn == Some(&prompt.turn)
        {
            prompt.cancelled = true;
            // A prompt that has left the composer is interrupted once the agent works on it.
            let at = Instant::now();
            return prompt.send.cancel(at).then_some(TerminalTaskCommand::Nothing);
        }
        Some(TerminalTaskCommand::Interrupt)
    }

    /// Returns the keys that give an answer, or the reason why it cannot be given from here.
    pub(super) fn answer_keys(&self, ask: &DialogReading, answer: &Answer) -> Result<Vec<KeyPress>, String> {
        let index = dialogs::chosen(ask, answer)?;
        let keys = self.profile.option_keys(ask, index);
        keys.ok_or_else(|| "this dialog cannot be answered from here; answer it in the agent's terminal".to_owned())
    }

    pub(super) fn answer_command(&mut self, ask: DialogReading, answers: &[(Question, Answer)]) -> TerminalTaskCommand {
        // `objection` has refused an answer without keys.
        let keys = answers.first().and_then(|(_, answer)| self.answer_keys(&ask, answer).ok()).unwrap_or_default();
        self.answering = true;
        TerminalTaskCommand::AnswerDialog { dialog: ask, input: pressed(keys) }
    }
}

fn pressed(keys: Vec<KeyPress>) -> Vec<Gesture> {
    keys.into_iter().map(Gesture::Key).collect()
}
