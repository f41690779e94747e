//! Observations of an agent's terminal, hooks and transcript, turned into steps of the driver.

use std::path::PathBuf;

use tokio::time::Instant;
use wh_core::space::harness::{Report, TurnOutcome};
use wh_core::space::question::QuestionDetail;
use wh_wire::hook::{HookEvent, HookMessage};

use super::super::codec::{Observation, ScreenObservation, TerminalTaskCommand};
use super::super::dialogs::AnnouncedPermission;
use super::super::send::{PromptProof, is_same_prompt};
use super::super::transcript::{TranscriptEnd, TranscriptFact};
use super::{MAX_UNMATCHED_PROMPTS, TRANSCRIPT_GRACE, TerminalProtocol};
use crate::driver::{DriverState, DriverStep, DriverSteps};

impl TerminalProtocol {
    pub(super) fn observe(&mut self, observation: Observation, now: DriverState<'_>, steps: &mut DriverSteps<Self>) {
        match observation {
            Observation::Screen(screen) => self.observe_screen(screen, now.at),
            Observation::Held => {
                if let Some(prompt) = &mut self.prompt {
                    prompt.send.held();
                } else {
                    steps.push(DriverStep::Send(TerminalTaskCommand::ReleaseKeyboard));
                }
            }
            Observation::NotTyped(why) => {
                if let Some(prompt) = &mut self.prompt {
                    prompt.send.not_typed(&why, now.at);
                }
            }
            Observation::DialogAnswered(Ok(())) => self.dialogs.typed(now.at),
            Observation::DialogAnswered(Err(why)) => {
                self.answering = false;
                steps.push(DriverStep::AnswerSettled(Err(why)));
                // The dialog that is still on the screen is asked again.
                self.dialogs.reopen();
            }
            Observation::Interrupted(outcome) => {
                if let Err(why) = outcome {
                    tracing::debug!(why, "Escape was not pressed");
                }
            }
            Observation::Hook { number, message, process } => self.observe_hook(number, *message, process, now, steps),
            Observation::TranscriptFound(path) => self.follow(path, steps),
            Observation::TranscriptLine(line) => {
                for fact in self.translator.line(&line) {
                    self.transcript_fact(fact, now, steps);
                }
            }
            Observation::TranscriptOpened => self.replays = false,
            Observation::Warning(text) => steps.warn(text),
        }
    }

    fn observe_screen(&mut self, screen: ScreenObservation, at: Instant) {
        let before = self.screen.as_ref().map_or(0, |before| before.typed);
        // Once the keyboard is reserved, only wh types. A key that was typed just before may not be drawn yet.
        let send = self.prompt.as_ref().map(|prompt| &prompt.send);
        let own = send.is_some_and(|send| send.holds_keyboard() && !send.is_untyped()) || self.answering;
        if screen.typed != before && !own {
            self.typed_at = Some(at);
        }
        self.screen = Some(screen);
    }

    fn observe_hook(
        &mut self,
        number: u64,
        message: HookMessage,
        process: Option<i32>,
        now: DriverState<'_>,
        steps: &mut DriverSteps<Self>,
    ) {
        // No dialog may open while a prompt is typed.
        if self.prompt.as_ref().is_some_and(|prompt| prompt.send.holds_keyboard()) {
            self.held_hooks.push(number);
        } else {
            steps.push(DriverStep::Send(TerminalTaskCommand::ContinueHook(number)));
        }
        // A nested agent inherits the socket and has another process.
        if let (Some(own), Some(other)) = (self.agent_process, process)
            && own != other
        {
            return;
        }
        self.agent_process = self.agent_process.or(process);
        // A subagent has a transcript and prompts of its own.
        if message.subagent_id.is_some() {
            return;
        }
        if let Some(path) = message.transcript_path {
            self.follow(path, steps);
        }
        match message.event {
            HookEvent::PromptSubmitted { prompt, .. } => {
                self.activity.hook("prompt", true, now.at);
                self.prompt_reported(prompt, PromptProof::Hook, now, steps);
            }
            HookEvent::PermissionRequested { tool, input, .. } => {
                self.activity.hook("permission", true, now.at);
                self.dialogs.announce(AnnouncedPermission { details: vec![QuestionDetail::Input { tool, input }] });
            }
            HookEvent::ToolStarting { .. } => self.activity.hook("tool", true, now.at),
            HookEvent::ToolFinished { .. } => {
                self.activity.hook("tool result", true, now.at);
                self.dialogs.forget_announced();
            }
            HookEvent::Stopped { .. } => {
                self.activity.hook("stop", false, now.at);
                self.dialogs.forget_announced();
                self.end_work(TurnOutcome::Completed, now);
            }
            HookEvent::StopFailed { error, message } => {
                self.activity.hook("stop", false, now.at);
                self.dialogs.forget_announced();
                self.end_work(TurnOutcome::Failed(message.unwrap_or(error)), now);
            }
            HookEvent::Interrupted => {
                self.activity.hook("interrupt", false, now.at);
                self.dialogs.forget_announced();
                self.end_work(TurnOutcome::Cancelled, now);
            }
            _ => {}
        }
    }

    fn transcript_fact(&mut self, fact: TranscriptFact, now: DriverState<'_>, steps: &mut DriverSteps<Self>) {
        match fact {
            // A prompt in flight is the first line after the history.
            TranscriptFact::Prompt { text, .. } if self.replays && !self.is_in_flight(&text) => {
                steps.report(Report::EarlierPrompt(text));
            }
            TranscriptFact::Prompt { text, .. } => {
                self.replays = false;
                self.activity.transcript("prompt", true, now.at);
                self.prompt_reported(text, PromptProof::Transcript, now, steps);
            }
            TranscriptFact::Report(report) => steps.report(report),
            _ if self.replays => {}
            TranscriptFact::TurnBegan => self.activity.transcript("turn began", true, now.at),
            // The transcript does not have the current prompt yet, so the end is that of an earlier turn.
            TranscriptFact::TurnEnded(_) if !self.hooked_prompts.is_empty() => {}
            TranscriptFact::TurnEnded(end) => {
                self.activity.transcript("turn ended", false, now.at);
                // A permission that was denied within moments has shown no dialog.
                self.dialogs.forget_announced();
                self.end_work(
                    match end {
                        TranscriptEnd::Completed => TurnOutcome::Completed,
                        TranscriptEnd::Interrupted => TurnOutcome::Cancelled,
                        TranscriptEnd::Failed(why) => TurnOutcome::Failed(why),
                    },
                    now,
                );
            }
            _ => {}
        }
    }

    /// Follows another transcript.
    fn follow(&mut self, path: PathBuf, steps: &mut DriverSteps<Self>) {
        if self.transcript.as_ref() == Some(&path) {
            return;
        }
        self.translator = self.format.reader();
        self.replays = true;
        self.recorded_prompts.clear();
        steps.push(DriverStep::Send(TerminalTaskCommand::Follow(path.clone())));
        self.transcript = Some(path);
    }

    /// True if the prompt was typed by wh or reported by a hook, and was not in the transcript yet.
    fn is_in_flight(&self, text: &str) -> bool {
        let typed = self.prompt.as_ref().is_some_and(|prompt| prompt.send.is_entered(text));
        typed || self.hooked_prompts.iter().any(|known| is_same_prompt(known, text))
    }

    /// Handles a prompt that the agent has received. Each prompt is reported by the hook, the transcript or both.
    fn prompt_reported(
        &mut self,
        text: String,
        proof: PromptProof,
        now: DriverState<'_>,
        steps: &mut DriverSteps<Self>,
    ) {
        let (known, other) = match proof {
            PromptProof::Hook => (&mut self.recorded_prompts, &mut self.hooked_prompts),
            PromptProof::Transcript => (&mut self.hooked_prompts, &mut self.recorded_prompts),
        };
        if let Some(place) = known.iter().position(|known| is_same_prompt(known, &text)) {
            known.remove(place);
            return;
        }
        // Only a profile with prompt hooks reports a prompt twice.
        if self.has_prompt_hook {
            if other.len() == MAX_UNMATCHED_PROMPTS {
                other.pop_front();
            }
            other.push_back(text.clone());
        }
        if let Some(prompt) = &mut self.prompt
            && prompt.send.prove(&text, proof, now.at)
        {
            return;
        }
        // The previous work has ended if the agent works on another prompt.
        if let Some((outcome, _)) = self.ending.take() {
            self.finish_work(outcome, steps);
        }
        steps.report(Report::EarlierPrompt(text));
        self.works = true;
        steps.push(DriverStep::OwnWorkBegun);
    }

    /// Ends the current work once the transcript had time to arrive.
    pub(super) fn end_work(&mut self, outcome: TurnOutcome, now: DriverState<'_>) {
        if self.prompt.is_some() || !now.working {
            return;
        }
        // The transcript tells more about the outcome than a hook.
        let outcome = match self.ending.take() {
            Some((TurnOutcome::Completed, _)) | None => outcome,
            Some((known, _)) => known,
        };
        self.ending = Some((outcome, now.at + TRANSCRIPT_GRACE));
    }
}
