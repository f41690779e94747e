//! What is on the screen beside the space itself, and what becomes of what a person does. Pure: a gesture goes in, what
//! must be done comes out, see [`Act`]; the clock is the caller's.

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
use wh_client::Change;
use wh_core::slash::UiCommand;
use wh_core::space::command::{Command, Done, Refusal};
use wh_core::space::event::{Activity, Role};
use wh_core::space::item::Level;
use wh_core::space::question::Answer;
use wh_core::space::state::{Participant, State};
use wh_core::space::{ItemId, ParticipantId};

pub(crate) use choosing::{Choices, Look, Looked, Pick};
pub(crate) use dialog::{CONFIRMATIONS, Dialog, takes_text};
pub(crate) use pager::Pager;
pub(crate) use signals::{DOCKED_FROM, Signals};
pub(crate) use tools::{Seen, Tools};

use crate::composer::Composer;
use crate::options::Options;
use crate::panes::{self, PANES, Pane, Part};
use crate::theme::Theme;
use crate::transcript::Transcript;
use completion::Completions;

/// How long the status bar says something.
const NOTICE: Duration = Duration::from_secs(6);

/// What must be done.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Act {
    /// Ask the space for this.
    Ask(Request),
    /// Ask the agents themselves.
    Look(Look),
    /// List the files that an `@` may name.
    ListFiles,
    /// Draw everything again.
    Redraw,
    /// Leave.
    Leave,
}

/// Something that the space is asked for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Request {
    /// What.
    pub(crate) command: Command,
    /// What was written, to be given back if it is refused.
    pub(crate) written: Option<String>,
}

/// Something for the status bar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notice {
    pub(crate) text: String,
    pub(crate) level: Level,
    pub(crate) until: SystemTime,
}

/// A place on the screen where a click means something.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Spot {
    /// This part of a pane.
    Pane(&'static dyn Pane, Part),
    /// The conversation.
    Transcript,
}

/// Tells a person who types key by key from a program that types a line at once. A person goes on typing after Enter.
#[derive(Debug, Default)]
struct Typing {
    last: Option<SystemTime>,
    /// When a key last followed another one quickly.
    by_hand: Option<SystemTime>,
}

impl Typing {
    /// A key typed one character.
    fn key(&mut self, now: SystemTime) {
        let follows = |last: SystemTime| last < now && now < last + dialog::PAUSE;
        if self.last.replace(now).is_some_and(follows) {
            self.by_hand = Some(now);
        }
    }
}

/// Everything that the person has done to the screen.
#[derive(Debug)]
pub(crate) struct App {
    options: Options,
    pub(crate) composer: Composer,
    pub(crate) transcript: Transcript,
    pub(crate) dialog: Dialog,
    pub(crate) signals: Signals,
    pub(crate) tools: Tools,
    pub(crate) choices: Choices,
    /// The whole of what is asked, while it is open.
    pub(crate) pager: Option<Pager>,
    completions: Completions,
    /// The list of keys is open, from this line on.
    pub(crate) keys: Option<usize>,
    pub(crate) verbose: bool,
    pub(crate) show_streams: bool,
    /// The terminal shows nothing but that it is too small.
    pub(crate) too_small: bool,
    notice: Option<Notice>,
    /// Until then another Ctrl+C leaves.
    leaving: Option<SystemTime>,
    /// When something was last written into the composer.
    wrote: Option<SystemTime>,
    typing: Typing,
    /// Where things were drawn last, the topmost last.
    pub(crate) spots: Vec<(Rect, Spot)>,
}

impl App {
    pub(crate) fn new(options: Options) -> Self {
        Self {
            composer: Composer::with_keys(Arc::clone(&options.keys)),
            options,
            transcript: Transcript::new(),
            dialog: Dialog::default(),
            signals: Signals::default(),
            tools: Tools::default(),
            choices: Choices::default(),
            pager: None,
            completions: Completions::default(),
            keys: None,
            verbose: false,
            show_streams: false,
            too_small: false,
            notice: None,
            leaving: None,
            wrote: None,
            typing: Typing::default(),
            spots: Vec::new(),
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

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// Follows the space.
    pub(crate) fn sync(&mut self, state: &State, change: &Change, now: SystemTime) {
        self.transcript.sync(state, change);
        PANES.iter().for_each(|pane| pane.sync(self, state, change, now));
    }

    /// Does what a command of whoever shows the space says.
    pub(crate) fn ui(&mut self, command: UiCommand, state: &State, now: SystemTime) -> Vec<Act> {
        match command {
            UiCommand::Verbose => {
                self.verbose = !self.verbose;
                self.inform(if self.verbose { "Details are shown" } else { "Details are hidden" }, now);
            }
            UiCommand::Streams => {
                self.show_streams = !self.show_streams;
                let shown = if self.show_streams { "shown" } else { "hidden" };
                self.inform(format!("What comes through streams is {shown}"), now);
            }
            UiCommand::Pane(name, wish) => match panes::named(name) {
                Some(pane) => return pane.show(self, name, wish, state, now),
                None => self.warn(format!("This screen has no {}", name.0), now),
            },
            UiCommand::ClearView => {
                self.transcript.clear_view(state);
                PANES.iter().for_each(|pane| pane.clear(self));
            }
            UiCommand::Exit => return vec![Act::Leave],
        }
        Vec::new()
    }

    /// The space has answered a request.
    pub(crate) fn answered(
        &mut self,
        request: Request,
        answer: Result<Done, Refusal>,
        state: &State,
        now: SystemTime,
    ) -> Vec<Act> {
        match answer {
            Ok(done) => {
                let quiet = matches!(
                    request.command,
                    Command::Acknowledge { .. } | Command::Cancel { .. } | Command::CloseStream(_) | Command::Set(..)
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
                if let Command::Answer { question, .. } = request.command {
                    self.dialog.unsend(&question);
                    self.settle_dialog(state, now);
                }
            }
        }
        Vec::new()
    }

    /// The files that an `@` may name.
    pub(crate) fn files(&mut self, files: Vec<String>, state: &State) {
        self.completions.files(files);
        let _ = self.complete(state);
    }

    /// What the status bar says now beside the usual, if anything.
    pub(crate) fn notice(&self, now: SystemTime) -> Option<&Notice> {
        self.notice.as_ref().filter(|notice| notice.until > now)
    }

    pub(crate) fn inform(&mut self, text: impl Into<String>, now: SystemTime) {
        self.notice = Some(Notice { text: text.into(), level: Level::Info, until: now + NOTICE });
    }

    fn warn(&mut self, text: impl Into<String>, now: SystemTime) {
        self.notice = Some(Notice { text: text.into(), level: Level::Warning, until: now + 2 * NOTICE });
    }

    pub(crate) fn settle_dialog(&mut self, state: &State, now: SystemTime) {
        let draft = self.wrote.filter(|_| !self.composer.is_empty());
        let writing = draft.into_iter().chain(self.typing.by_hand).max();
        self.dialog.settle(state, writing, now);
        self.settle_pager();
    }

    /// Time left in which a second Ctrl+C leaves.
    pub(crate) fn leaving_for(&self, now: SystemTime) -> Option<Duration> {
        time_left(self.leaving, now)
    }

    fn answer(&mut self, question: ItemId, answer: Answer, state: &State, now: SystemTime) -> Vec<Act> {
        self.dialog.send(question.clone());
        self.settle_dialog(state, now);
        vec![Act::Ask(Request { command: Command::Answer { question, answer, decision: None }, written: None })]
    }

    /// What was drawn at this place, the topmost.
    pub(crate) fn spot(&self, at: Position) -> Option<Spot> {
        self.spots.iter().rev().find(|(area, _)| area.contains(at)).map(|(_, spot)| *spot)
    }
}

/// Time left until `until`; `None` once it has passed.
fn time_left(until: Option<SystemTime>, now: SystemTime) -> Option<Duration> {
    until.and_then(|until| until.duration_since(now).ok()).filter(|left| !left.is_zero())
}

/// Whether an agent is at work, or waits for an answer in the middle of it.
pub(crate) fn busy(state: &State) -> bool {
    let unfinished = || state.turns.values().any(|turn| turn.end.is_none());
    state.participants.values().any(|one| match one.session.as_ref().map(|status| &status.activity) {
        Some(Activity::Working(_) | Activity::Waiting(_)) => true,
        Some(Activity::Paused) => unfinished(),
        _ => false,
    })
}

/// The agent whose model and costs are shown: the first that chat goes to.
pub(crate) fn foremost(state: &State) -> Option<(&ParticipantId, &Participant)> {
    let targets = state.targets.effective();
    let mut agents = state.present().filter(|(_, one)| one.role == Role::Agent);
    agents.find(|(id, _)| targets.is_none_or(|targets| targets.contains(id)))
}
