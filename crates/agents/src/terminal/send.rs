//! Sends one prompt through the composer of an agent's terminal UI, step by step, and proves that the agent has received
//! it. Pure: the caller performs the actions and passes observations and the time.

use std::time::Duration;

use tokio::time::Instant;

use super::profile::{AgentProfile, PromptForm};
use super::reading::{ComposerMatch, ComposerMode, ComposerReading, ScreenPlace};

/// Time without input of others before the keyboard is reserved, so that no key of a person is still under way.
const TYPING_QUIET_WINDOW: Duration = Duration::from_millis(300);

/// Timeout for the keyboard reservation.
const HOLD_TIMEOUT: Duration = Duration::from_secs(5);

/// Timeout for the inserted text to appear in the composer. Long, because Gemini CLI may need 20 seconds after a prompt
/// of 100 KB, and the text would appear after the failure.
const INSERT_TIMEOUT: Duration = Duration::from_secs(40);

/// Maximum number of times that the text is inserted. A text that appears twice is removed, because it is another text.
const MAX_INSERTS: u32 = 3;

/// Time after Enter in which the text may still be in the composer. Enter is then pressed again.
const ENTER_GRACE: Duration = Duration::from_millis(1500);

/// Maximum number of times that Enter is pressed.
const MAX_ENTERS: u32 = 3;

/// Timeout for the proof by a hook or the transcript that the agent has received the prompt.
const PROOF_TIMEOUT: Duration = Duration::from_secs(20);

/// Timeout for removing the text from the composer after a failure.
const CLEAR_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum number of characters that are removed behind a draft, one by one.
const MAX_TAKEN_BACK: usize = 2000;

/// Reason of the failure after a cancellation.
const CANCELLED: &str = "the message was cancelled";

/// Reason of the failure if the text was inserted in vain.
const NOT_SHOWN: &str = "the text did not appear in the composer";

/// Reason of the failure if the text stands behind a draft and could not be removed.
const MERGED: &str = "the text was inserted behind a draft that was not on the screen yet";

/// Interval between two presses of the keys that clear the composer.
const CLEAR_INTERVAL: Duration = Duration::from_millis(150);

/// Action that the caller performs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SendAction {
    HoldKeyboard,
    ReleaseKeyboard,
    /// Pastes the prompt into the composer.
    Insert,
    PressEnter,
    /// Types a blank after the text, which closes the list of completions. Enter would choose from the list.
    CloseCompletion,
    /// Presses the keys that remove text from the composer.
    Clear,
    /// Presses Backspace this many times, which removes the text behind a draft.
    TakeBack(usize),
    /// The composer has taken Enter: the prompt has left the composer.
    Delivered,
    /// The agent has received exactly this prompt, as this source proves.
    Submitted(PromptProof),
    /// The prompt was not sent, and its text is not in the composer.
    Failed(String),
    /// The prompt has left the composer, and no source tells what became of it.
    Unproven,
}

/// Source that proves that the agent has received a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptProof {
    Hook,
    Transcript,
}

/// Observation of the composer and its surroundings.
#[derive(Debug, Clone, Copy)]
pub struct SendView<'a> {
    pub place: &'a ScreenPlace,
    /// True if a question of the agent is open or announced.
    pub asked: bool,
    /// True if title or screen show that the agent works.
    pub works: bool,
    /// Time of the last input of others; `None` if nothing was typed.
    pub typed_at: Option<Instant>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum SendPhase {
    /// Waits until the composer is empty and nobody types.
    Waiting,
    /// Waits for the reservation of the keyboard.
    Reserving {
        until: Instant,
    },
    /// The keyboard is reserved, and the screen was read since.
    Reserved,
    /// The text is pasted and not yet seen in the composer.
    Inserting {
        until: Instant,
        inserts: u32,
    },
    /// The text is in the composer. Enter is pressed once the agent no longer takes it for pasted text.
    Settling {
        enter_at: Instant,
        closed_completion: bool,
        inserts: u32,
    },
    /// Enter was pressed, and the text may still be in the composer.
    Entered {
        again_at: Instant,
        presses: u32,
    },
    /// The prompt has left the composer.
    Proving {
        until: Instant,
    },
    /// The text was inserted behind a draft that was not drawn yet, and is being removed.
    TakingBack {
        why: String,
        until: Instant,
    },
    /// The text is being removed from the composer after a failure, and then inserted again if `inserts` allows it.
    Clearing {
        why: String,
        inserts: u32,
        next: Instant,
        until: Instant,
    },
    Over,
}

/// Progress of sending one prompt.
#[derive(Debug)]
pub struct PromptSend {
    /// Text in the form in which it is pasted.
    text: String,
    phase: SendPhase,
    holds: bool,
    /// Time of the last observation.
    observed_at: Option<Instant>,
    actions: Vec<SendAction>,
}

impl PromptSend {
    /// Begins to send a prompt. A text that cannot reach the model as a prompt fails at once.
    pub fn new(text: &str, profile: &AgentProfile) -> Self {
        let text = match profile.prompt_form(text) {
            PromptForm::Literal => text.to_owned(),
            PromptForm::Padded { before, after, .. } => format!("{before}{text}{after}"),
            PromptForm::Refused(why) => {
                let actions = vec![SendAction::Failed(why.to_owned())];
                return Self {
                    text: text.to_owned(),
                    phase: SendPhase::Over,
                    holds: false,
                    observed_at: None,
                    actions,
                };
            }
        };
        Self { text, phase: SendPhase::Waiting, holds: false, observed_at: None, actions: Vec::new() }
    }

    /// Returns the actions to perform, in order.
    pub fn take_actions(&mut self) -> Vec<SendAction> {
        std::mem::take(&mut self.actions)
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// True while no key of the prompt was typed, so that it can be cancelled without a trace.
    pub fn is_untyped(&self) -> bool {
        matches!(self.phase, SendPhase::Waiting | SendPhase::Reserving { .. } | SendPhase::Reserved)
    }

    /// True while the keyboard is reserved. Replies to hooks are held back, so that no dialog can receive Enter.
    pub fn holds_keyboard(&self) -> bool {
        self.holds
    }

    pub fn is_over(&self) -> bool {
        self.phase == SendPhase::Over
    }

    /// True if this is the text of the prompt, and Enter was pressed.
    pub fn is_entered(&self, text: &str) -> bool {
        let entered = matches!(self.phase, SendPhase::Entered { .. } | SendPhase::Proving { .. });
        entered && is_same_prompt(text, &self.text)
    }

    /// True while the prompt waits until the composer is free.
    pub fn is_waiting(&self) -> bool {
        self.phase == SendPhase::Waiting
    }

    /// Returns the reason for which the prompt waits; `None` if it does not wait.
    pub fn waits_for(&self, view: &SendView<'_>, at: Instant) -> Option<String> {
        if self.phase != SendPhase::Waiting { None } else { obstacle(view, at) }
    }

    /// Returns the time at which [`observe`](Self::observe) must be called.
    pub fn wake_at(&self, view: &SendView<'_>) -> Option<Instant> {
        match &self.phase {
            // A prompt that still waits after that time waits for something else.
            SendPhase::Waiting => {
                let quiet = view.typed_at.map(|typed| typed + TYPING_QUIET_WINDOW);
                quiet.filter(|quiet| self.observed_at.is_none_or(|observed| observed < *quiet))
            }
            SendPhase::Reserving { until } | SendPhase::Inserting { until, .. } | SendPhase::Proving { until } => {
                Some(*until)
            }
            SendPhase::Settling { enter_at, .. } => Some(*enter_at),
            SendPhase::Entered { again_at, .. } => Some(*again_at),
            SendPhase::TakingBack { until, .. } => Some(*until),
            SendPhase::Clearing { next, .. } => Some(*next),
            SendPhase::Reserved | SendPhase::Over => None,
        }
    }

    /// Handles a new screen, or the passage of time.
    pub fn observe(&mut self, view: &SendView<'_>, profile: &AgentProfile, at: Instant) {
        self.observed_at = Some(at);
        match self.phase.clone() {
            SendPhase::Waiting => {
                if obstacle(view, at).is_none() {
                    self.holds = true;
                    self.actions.push(SendAction::HoldKeyboard);
                    self.phase = SendPhase::Reserving { until: at + HOLD_TIMEOUT };
                }
            }
            SendPhase::Reserving { until } if at >= until => self.wait_again(),
            SendPhase::Reserved => match obstacle(view, at) {
                Some(_) => self.wait_again(),
                None => self.insert(1, at),
            },
            SendPhase::Inserting { until, inserts } => {
                if shown(view, &self.text) == Some(ComposerMatch::Whole) && !view.asked {
                    let enter_at = at + profile.enter_delay;
                    self.phase = SendPhase::Settling { enter_at, closed_completion: false, inserts };
                } else if at >= until || has_draft_before(view, &self.text) {
                    let why = NOT_SHOWN.to_owned();
                    self.phase = SendPhase::Clearing { why, inserts, next: at, until: at + CLEAR_TIMEOUT };
                }
            }
            SendPhase::Settling { enter_at, closed_completion, inserts } => match shown(view, &self.text) {
                Some(ComposerMatch::Whole) if view.asked => {
                    self.clear("the agent asked a question meanwhile".to_owned(), at);
                }
                Some(ComposerMatch::Whole) if at < enter_at => {}
                Some(ComposerMatch::Whole) if !closed_completion && has_completions(view) => {
                    self.actions.push(SendAction::CloseCompletion);
                    let enter_at = at + profile.enter_delay;
                    self.phase = SendPhase::Settling { enter_at, closed_completion: true, inserts };
                }
                Some(ComposerMatch::Whole) => self.enter(1, at),
                _ => self.phase = SendPhase::Inserting { until: at + INSERT_TIMEOUT, inserts },
            },
            SendPhase::Entered { again_at, presses } => match shown(view, &self.text) {
                Some(ComposerMatch::Whole) if at >= again_at && view.asked => {
                    self.clear("the agent asked a question meanwhile".to_owned(), at);
                }
                Some(ComposerMatch::Whole) if at >= again_at && presses < MAX_ENTERS => self.enter(presses + 1, at),
                Some(ComposerMatch::Whole) if at >= again_at => {
                    self.clear(format!("the composer did not take Enter, which was pressed {presses} times"), at);
                }
                Some(ComposerMatch::Whole) => {}
                // The agent may be redrawing its screen.
                None if at < again_at && *view.place == ScreenPlace::Unrecognised => {}
                _ => self.left_composer(at),
            },
            SendPhase::Proving { until } if at >= until => {
                self.actions.push(SendAction::Unproven);
                self.phase = SendPhase::Over;
            }
            SendPhase::TakingBack { why, until } => {
                let is_gone = !has_draft_before(view, &self.text);
                if is_gone && why == NOT_SHOWN {
                    self.wait_again();
                } else if is_gone || at >= until {
                    let why = if is_gone { why } else { MERGED.to_owned() };
                    self.release();
                    self.actions.push(SendAction::Failed(why));
                    self.phase = SendPhase::Over;
                }
            }
            SendPhase::Clearing { why, inserts, next, until } => {
                if inserts < MAX_INSERTS && obstacle(&SendView { typed_at: None, ..*view }, at).is_none() {
                    self.insert(inserts + 1, at);
                } else if let Some(count) = self.take_back(view) {
                    self.actions.push(SendAction::TakeBack(count));
                    self.phase = SendPhase::TakingBack { why, until: at + CLEAR_TIMEOUT };
                } else if !holds_rest(view, &self.text) {
                    self.release();
                    self.actions.push(SendAction::Failed(why));
                    self.phase = SendPhase::Over;
                } else if at >= until {
                    self.release();
                    self.actions.push(SendAction::Failed(format!("{why}; its text may still be in the composer")));
                    self.phase = SendPhase::Over;
                } else if at >= next && !view.asked {
                    self.actions.push(SendAction::Clear);
                    self.phase = SendPhase::Clearing { why, inserts, next: at + CLEAR_INTERVAL, until };
                }
            }
            SendPhase::Reserving { .. } | SendPhase::Proving { .. } | SendPhase::Over => {}
        }
    }

    /// Handles the reservation of the keyboard. The last screen was read under the reservation.
    pub fn held(&mut self) {
        if let SendPhase::Reserving { .. } = self.phase {
            self.phase = SendPhase::Reserved;
        } else if !self.holds {
            // The reservation came after its timeout.
            self.actions.push(SendAction::ReleaseKeyboard);
        }
    }

    /// Handles a failure to type.
    pub fn not_typed(&mut self, why: &str, at: Instant) {
        match self.phase {
            SendPhase::Inserting { .. } | SendPhase::Settling { .. } | SendPhase::Entered { .. } => {
                self.clear(format!("the terminal did not take the input: {why}"), at);
            }
            _ => {}
        }
    }

    /// Handles a prompt that a hook or the transcript reports. Returns true if it is this prompt.
    pub fn prove(&mut self, text: &str, proof: PromptProof, at: Instant) -> bool {
        if !self.is_entered(text) {
            return false;
        }
        if matches!(self.phase, SendPhase::Entered { .. }) {
            self.left_composer(at);
        }
        self.actions.push(SendAction::Submitted(proof));
        self.phase = SendPhase::Over;
        true
    }

    /// Cancels the prompt. Returns true if it was not typed yet. Otherwise its text is removed, or it has already left
    /// the composer.
    pub fn cancel(&mut self, at: Instant) -> bool {
        if self.is_untyped() {
            self.release();
            self.phase = SendPhase::Over;
            return true;
        }
        match &mut self.phase {
            SendPhase::Inserting { .. } | SendPhase::Settling { .. } | SendPhase::Clearing { .. } => {
                self.clear(CANCELLED.to_owned(), at);
            }
            SendPhase::TakingBack { why, .. } => *why = CANCELLED.to_owned(),
            _ => {}
        }
        false
    }

    fn wait_again(&mut self) {
        self.release();
        self.phase = SendPhase::Waiting;
    }

    fn release(&mut self) {
        if std::mem::take(&mut self.holds) {
            self.actions.push(SendAction::ReleaseKeyboard);
        }
    }

    fn enter(&mut self, presses: u32, at: Instant) {
        self.actions.push(SendAction::PressEnter);
        self.phase = SendPhase::Entered { again_at: at + ENTER_GRACE, presses };
    }

    fn left_composer(&mut self, at: Instant) {
        self.release();
        self.actions.push(SendAction::Delivered);
        self.phase = SendPhase::Proving { until: at + PROOF_TIMEOUT };
    }

    fn clear(&mut self, why: String, at: Instant) {
        // The text is not inserted again.
        self.phase = SendPhase::Clearing { why, inserts: MAX_INSERTS, next: at, until: at + CLEAR_TIMEOUT };
    }

    /// Returns the number of characters to remove if the text stands behind a draft. `None` if the number of key presses
    /// is unknown.
    fn take_back(&self, view: &SendView<'_>) -> Option<usize> {
        let count = self.text.chars().count();
        let is_plain = |character: char| character < '\u{300}' && character != '\t';
        (has_draft_before(view, &self.text) && count <= MAX_TAKEN_BACK && self.text.chars().all(is_plain))
            .then_some(count)
    }

    fn insert(&mut self, inserts: u32, at: Instant) {
        self.actions.push(SendAction::Insert);
        self.phase = SendPhase::Inserting { until: at + INSERT_TIMEOUT, inserts };
    }
}

/// Returns the reason why nothing can be typed into the composer now; `None` if it is free.
fn obstacle(view: &SendView<'_>, at: Instant) -> Option<String> {
    if view.asked {
        return Some("a question of the agent is open".to_owned());
    }
    match view.place {
        ScreenPlace::Unrecognised => Some("the agent's composer is not on the screen".to_owned()),
        ScreenPlace::Dialog(_) => Some("a question of the agent is open".to_owned()),
        ScreenPlace::Blocked(page) => Some(format!("the screen shows {page}")),
        ScreenPlace::Composer(composer) => draft(composer).or_else(|| {
            let types = view.typed_at.is_some_and(|typed| at < typed + TYPING_QUIET_WINDOW);
            let why = if types { Some("somebody is typing") } else { view.works.then_some("the agent works") };
            why.map(str::to_owned)
        }),
    }
}

fn draft(composer: &ComposerReading) -> Option<String> {
    if !composer.is_empty() {
        return Some("a draft is in the composer".to_owned());
    }
    (composer.mode != ComposerMode::Prompt).then(|| "the composer is not in its prompt mode".to_owned())
}

fn shown(view: &SendView<'_>, text: &str) -> Option<ComposerMatch> {
    match view.place {
        ScreenPlace::Composer(composer) => Some(composer.holds(text)),
        _ => None,
    }
}

/// True if the composer holds nothing but the inserted text or a part of it. A draft is never removed.
fn holds_rest(view: &SendView<'_>, text: &str) -> bool {
    let rest = |composer: &ComposerReading| {
        (!composer.is_empty() || composer.mode != ComposerMode::Prompt) && composer.is_only(text)
    };
    matches!(view.place, ScreenPlace::Composer(composer) if rest(composer))
}

fn has_draft_before(view: &SendView<'_>, text: &str) -> bool {
    matches!(view.place, ScreenPlace::Composer(composer) if composer.has_draft_before(text))
}

fn has_completions(view: &SendView<'_>) -> bool {
    matches!(view.place, ScreenPlace::Composer(composer) if composer.completion_open)
}

/// Compares prompts as agents record them: without blanks and line breaks at both ends, with LF as the line break.
pub fn is_same_prompt(one: &str, other: &str) -> bool {
    let normal = |text: &str| text.replace("\r\n", "\n").replace('\r', "\n").trim().to_owned();
    normal(one) == normal(other)
}

#[cfg(test)]
mod tests;
