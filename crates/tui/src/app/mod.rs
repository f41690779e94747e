//! State of the UI that is not part of the space, and the reactions to input. The code has no side effects: it takes
//! gestures, events and the current time, and returns [`AppEffect`]s.

mod choosing;
mod completion;
mod dialog;
mod gesture;
mod pager;
mod reading;
mod signals;
mod submit;
mod tools;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ratatui::layout::{Position, Rect};
use wh_client::MirrorChange;
use wh_core::slash::UiCommand;
use wh_core::space::command::{CommandAccepted, ConversationCommand, SpaceRefusal};
use wh_core::space::event::{Activity, ParticipantRole};
use wh_core::space::item::NoticeLevel;
use wh_core::space::question::Answer;
use wh_core::space::state::{Participant, SpaceState};
use wh_core::space::{ItemId, ParticipantId};

pub(crate) use choosing::{BackgroundAnswer, BackgroundQuery, PickerKind, PickerState};
pub(crate) use dialog::{CONFIRMATIONS, Dialog, takes_text};
pub(crate) use pager::Pager;
pub(crate) use signals::{BoardVisibility, MIN_DOCKED_WIDTH};
pub(crate) use tools::{SidebarCallView, SidebarState};

use crate::composer::Composer;
use crate::options::TuiOptions;
use crate::panes::{self, PANES, Pane, PanePart};
use crate::theme::Theme;
use crate::transcript::Transcript;
use completion::CompletionFiles;

/// Duration for which the status bar shows an informational notice. A warning is shown twice as long.
const NOTICE_DURATION: Duration = Duration::from_secs(6);

/// Effect that [`App`] returns and the event loop performs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum AppEffect {
    /// Send a request to the space.
    Ask(SentCommand),
    /// Send a query to the space without delaying frames.
    Query(BackgroundQuery),
    /// List the files that an `@` can complete.
    ListFiles,
    Redraw,
    /// Quit the UI.
    Leave,
}

/// Command for the space, with the line that the user submitted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SentCommand {
    pub(crate) command: ConversationCommand,
    /// Submitted line. If the space refuses a message, its line returns to the composer.
    pub(crate) written: Option<String>,
}

/// Message that the status bar shows for a limited time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StatusNotice {
    pub(crate) text: String,
    pub(crate) level: NoticeLevel,
    pub(crate) until: SystemTime,
}

/// Area of the screen that handles mouse events.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ClickTarget {
    /// Pane, with the part that is in the area.
    Pane(&'static dyn Pane, PanePart),
    Transcript,
}

/// Detects whether a user is typing single keys or a program is sending whole lines. The result remains valid after
/// Enter, because the user may still be typing.
#[derive(Debug, Default)]
struct TypingDetector {
    last: Option<SystemTime>,
    /// Time of the last key that came soon after another key, as when a user types.
    by_hand: Option<SystemTime>,
}

impl TypingDetector {
    /// Records the time of a key that typed one character.
    fn key(&mut self, now: SystemTime) {
        let follows = |last: SystemTime| last < now && now < last + dialog::TYPING_GRACE;
        if self.last.replace(now).is_some_and(follows) {
            self.by_hand = Some(now);
        }
    }
}

/// State of the UI, including the state of all panes.
#[derive(Debug)]
pub(crate) struct App {
    options: TuiOptions,
    pub(crate) composer: Composer,
    pub(crate) transcript: Transcript,
    pub(crate) dialog: Dialog,
    pub(crate) signals: BoardVisibility,
    pub(crate) tools: SidebarState,
    pub(crate) choices: PickerState,
    /// Pager for the full text of the open question; `None` if the pager is closed.
    pub(crate) pager: Option<Pager>,
    completions: CompletionFiles,
    /// First visible line of the list of keys; `None` if the list is closed.
    pub(crate) keys: Option<usize>,
    pub(crate) verbose: bool,
    pub(crate) show_streams: bool,
    /// True if the terminal is too small for the UI. Only a notice is then shown.
    pub(crate) too_small: bool,
    notice: Option<StatusNotice>,
    /// End of the time window in which another Ctrl+C quits.
    quit_until: Option<SystemTime>,
    /// Time of the last edit in the composer.
    last_edit: Option<SystemTime>,
    typing: TypingDetector,
    /// Areas of the last frame that handle mouse events, topmost last.
    pub(crate) click_targets: Vec<(Rect, ClickTarget)>,
}

impl App {
    pub(crate) fn new(options: TuiOptions) -> Self {
        Self {
            composer: Composer::with_keys(Arc::clone(&options.keys)),
            options,
            transcript: Transcript::new(),
            dialog: Dialog::default(),
            signals: BoardVisibility::default(),
            tools: SidebarState::default(),
            choices: PickerState::default(),
            pager: None,
            completions: CompletionFiles::default(),
            keys: None,
            verbose: false,
            show_streams: false,
            too_small: false,
            notice: None,
            quit_until: None,
            last_edit: None,
            typing: TypingDetector::default(),
            click_targets: Vec::new(),
        }
    }

    pub(crate) fn me(&self) -> &ParticipantId {
        &self.options.me
    }

    pub(crate) fn theme(&self) -> &Theme {
        &self.options.theme
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.options.directory
    }

    pub(crate) fn options(&self) -> &TuiOptions {
        &self.options
    }

    /// Updates the UI after the mirrored state has changed.
    pub(crate) fn sync(&mut self, state: &SpaceState, change: &MirrorChange, now: SystemTime) {
        self.transcript.sync(state, change);
        PANES.iter().for_each(|pane| pane.sync(self, state, change, now));
    }

    /// Executes a command that concerns only the UI.
    pub(crate) fn ui(&mut self, command: UiCommand, state: &SpaceState, now: SystemTime) -> Vec<AppEffect> {
        match command {
            UiCommand::Verbose => {
                self.verbose = !self.verbose;
                self.inform(if self.verbose { "Details are shown" } else { "Details are hidden" }, now);
            }
            UiCommand::Streams => {
                self.show_streams = !self.show_streams;
                let shown = if self.show_streams { "shown" } else { "hidden" };
                self.inform(format!("Stream data is {shown}"), now);
            }
            UiCommand::Pane(name, visibility) => match panes::named(name) {
                Some(pane) => return pane.show(self, name, visibility, state, now),
                None => self.warn(format!("There is no pane named {}", name.0), now),
            },
            UiCommand::ClearView => {
                self.transcript.clear_view(state);
                PANES.iter().for_each(|pane| pane.clear(self));
            }
            UiCommand::Exit => return vec![AppEffect::Leave],
        }
        Vec::new()
    }

    /// Handles the answer of the space to a request.
    pub(crate) fn on_answer(
        &mut self,
        request: SentCommand,
        answer: Result<CommandAccepted, SpaceRefusal>,
        state: &SpaceState,
        now: SystemTime,
    ) -> Vec<AppEffect> {
        match answer {
            Ok(done) => {
                let quiet = matches!(
                    request.command,
                    ConversationCommand::Acknowledge { .. }
                        | ConversationCommand::Cancel { .. }
                        | ConversationCommand::CloseStream(_)
                        | ConversationCommand::Set(..)
                );
                if let (true, [line]) = (quiet, done.lines.as_slice()) {
                    self.inform(line.clone(), now);
                }
            }
            Err(refusal) => {
                if let Some(line) = request.written.as_ref().filter(|written| !submit::is_message(written)) {
                    return vec![submit::refused(line.clone(), refusal.to_string())];
                }
                self.warn(refusal.to_string(), now);
                if let Some(written) = request.written
                    && self.composer.is_empty()
                {
                    self.composer.set_text(&written);
                    let _ = self.complete(state);
                }
                if let ConversationCommand::Answer { question, .. } = request.command {
                    self.dialog.unmark_answered(&question);
                    self.sync_dialog(state, now);
                }
            }
        }
        Vec::new()
    }

    /// Sets the files that can complete an `@`.
    pub(crate) fn files(&mut self, files: Vec<String>, state: &SpaceState) {
        self.completions.files(files);
        let _ = self.complete(state);
    }

    /// Returns the current notice for the status bar, unless it has expired.
    pub(crate) fn notice(&self, now: SystemTime) -> Option<&StatusNotice> {
        self.notice.as_ref().filter(|notice| notice.until > now)
    }

    pub(crate) fn inform(&mut self, text: impl Into<String>, now: SystemTime) {
        self.notice = Some(StatusNotice { text: text.into(), level: NoticeLevel::Info, until: now + NOTICE_DURATION });
    }

    fn warn(&mut self, text: impl Into<String>, now: SystemTime) {
        self.notice =
            Some(StatusNotice { text: text.into(), level: NoticeLevel::Warning, until: now + 2 * NOTICE_DURATION });
    }

    pub(crate) fn sync_dialog(&mut self, state: &SpaceState, now: SystemTime) {
        let draft = self.last_edit.filter(|_| !self.composer.is_empty());
        let writing = draft.into_iter().chain(self.typing.by_hand).max();
        self.dialog.follow_state(state, writing, now);
        self.close_stale_pager();
    }

    /// Returns the time left in which a second Ctrl+C quits.
    pub(crate) fn quit_time_left(&self, now: SystemTime) -> Option<Duration> {
        time_left(self.quit_until, now)
    }

    fn answer(&mut self, question: ItemId, answer: Answer, state: &SpaceState, now: SystemTime) -> Vec<AppEffect> {
        self.dialog.mark_answered(question.clone());
        self.sync_dialog(state, now);
        vec![AppEffect::Ask(SentCommand {
            command: ConversationCommand::Answer { question, answer, decision: None },
            written: None,
        })]
    }

    /// Returns the target of the topmost area at this position.
    pub(crate) fn click_target_at(&self, at: Position) -> Option<ClickTarget> {
        self.click_targets.iter().rev().find(|(area, _)| area.contains(at)).map(|(_, spot)| *spot)
    }
}

/// Returns the time left until `until`; `None` if there is no such time or it has passed.
fn time_left(until: Option<SystemTime>, now: SystemTime) -> Option<Duration> {
    until.and_then(|until| until.duration_since(now).ok()).filter(|left| !left.is_zero())
}

/// Returns true if an agent is working, or waits for an answer during a turn.
pub(crate) fn busy(state: &SpaceState) -> bool {
    let unfinished = || state.turns.values().any(|turn| turn.end.is_none());
    state.participants.values().any(|one| match one.session.as_ref().map(|status| &status.activity) {
        Some(Activity::Working(_) | Activity::Waiting(_)) => true,
        Some(Activity::Paused) => unfinished(),
        _ => false,
    })
}

/// Returns the first agent that receives chat messages. The status bar shows the model and costs of this agent.
pub(crate) fn primary_agent(state: &SpaceState) -> Option<(&ParticipantId, &Participant)> {
    let targets = state.targets.effective();
    let mut agents = state.present().filter(|(_, one)| one.role == ParticipantRole::Agent);
    agents.find(|(id, _)| targets.is_none_or(|targets| targets.contains(id)))
}
