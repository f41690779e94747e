//! Dialogs of an agent's terminal UI as questions. A dialog becomes a question once its content is stable, and the
//! question closes when the dialog has left the screen.

use std::time::Duration;

use tokio::time::Instant;
use wh_core::space::question::{Answer, Question, QuestionDetail, QuestionKind, QuestionOption};

use super::reading::{DialogKind, DialogReading};

/// Time for which a dialog must be unchanged on the screen before it becomes a question, and must be absent before its
/// question closes. A dialog may be drawn in several frames.
const DIALOG_SETTLE_WINDOW: Duration = Duration::from_millis(150);

/// Timeout for a dialog to close after its answer was typed.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// Change of the open question, for the driver.
#[derive(Debug, Clone, PartialEq)]
pub enum DialogChange {
    /// A dialog has become a question.
    Opened { id: String, dialog: DialogReading, question: Question },
    /// The question was answered on the screen by somebody, or the agent has withdrawn it.
    Closed(String),
    /// The outcome of an answer that was typed into the dialog.
    Answered(Result<(), String>),
}

/// Details of a permission request that a hook has announced.
#[derive(Debug, Clone, PartialEq)]
pub struct AnnouncedPermission {
    pub details: Vec<QuestionDetail>,
}

#[derive(Debug)]
struct OpenDialog {
    id: String,
    dialog: DialogReading,
    /// Deadline for the dialog to close, if an answer was typed.
    answered: Option<Instant>,
}

/// Dialog on the screen, and the question that stands for it.
#[derive(Debug, Default)]
pub struct DialogTracker {
    open: Option<OpenDialog>,
    /// Content of the screen that is not stable yet: a dialog or none, with the time since when it is shown.
    seen: Option<(Option<DialogReading>, Instant)>,
    announced: Option<AnnouncedPermission>,
    last_id: u64,
}

impl DialogTracker {
    /// True if a question is open, or is on the screen and not open yet, or was announced by a hook.
    pub fn is_asking(&self) -> bool {
        let on_screen = self.seen.as_ref().is_some_and(|(dialog, _)| dialog.is_some());
        self.open.is_some() || on_screen || self.announced.is_some()
    }

    /// True if a question is open.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Remembers the details of a permission request. Its dialog follows.
    pub fn announce(&mut self, permission: AnnouncedPermission) {
        self.announced = Some(permission);
    }

    /// Forgets a permission request whose tool has run or whose turn has ended.
    pub fn forget_announced(&mut self) {
        self.announced = None;
    }

    /// Records that the answer to the open question was typed.
    pub fn typed(&mut self, at: Instant) {
        if let Some(open) = &mut self.open {
            open.answered = Some(at + ANSWER_TIMEOUT);
        }
    }

    /// Forgets the open question after an answer that was not typed, so that a dialog that is still on the screen is asked
    /// again.
    pub fn reopen(&mut self) {
        self.open = None;
    }

    /// Returns the time at which [`observe`](Self::observe) must be called again.
    pub fn wake_at(&self) -> Option<Instant> {
        let settled = self.seen.as_ref().map(|(_, since)| *since + DIALOG_SETTLE_WINDOW);
        let answered = self.open.as_ref().and_then(|open| open.answered);
        settled.into_iter().chain(answered).min()
    }

    /// Handles the dialog on the screen; `None` if there is none.
    pub fn observe(&mut self, dialog: Option<&DialogReading>, at: Instant) -> Vec<DialogChange> {
        let mut changes = Vec::new();
        if self.open.as_ref().and_then(|open| open.answered).is_some_and(|deadline| at >= deadline) {
            // The dialog is asked again under a new id.
            let id = self.open.take().map(|open| open.id);
            changes.push(DialogChange::Answered(Err("the dialog did not close after the answer".to_owned())));
            changes.extend(id.map(DialogChange::Closed));
        }
        let current = self.open.as_ref().map(|open| &open.dialog);
        if is_same(current, dialog) {
            self.seen = None;
            return changes;
        }
        match &self.seen {
            Some((seen, since)) if is_same(seen.as_ref(), dialog) => {
                if at < *since + DIALOG_SETTLE_WINDOW {
                    return changes;
                }
            }
            _ => {
                self.seen = Some((dialog.cloned(), at));
                return changes;
            }
        }
        self.seen = None;
        if let Some(open) = self.open.take() {
            changes.push(match open.answered {
                Some(_) => DialogChange::Answered(Ok(())),
                None => DialogChange::Closed(open.id),
            });
        }
        if let Some(dialog) = dialog {
            self.last_id += 1;
            let id = format!("dialog-{}", self.last_id);
            let question = question(dialog, self.announced.take());
            self.open = Some(OpenDialog { id: id.clone(), dialog: dialog.clone(), answered: None });
            changes.push(DialogChange::Opened { id, dialog: dialog.clone(), question });
        }
        changes
    }
}

/// Compares dialogs by their words. The selected option may differ.
pub fn is_same(one: Option<&DialogReading>, other: Option<&DialogReading>) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => {
            let labels = |dialog: &DialogReading| -> Vec<String> {
                dialog.options.iter().map(|option| option.label.clone()).collect()
            };
            (one.kind, &one.title, &one.question) == (other.kind, &other.title, &other.question)
                && labels(one) == labels(other)
                && one.details == other.details
        }
        _ => false,
    }
}

/// Describes a dialog as a question. The options have the ids `1`, `2`, … in the order of the dialog.
fn question(dialog: &DialogReading, announced: Option<AnnouncedPermission>) -> Question {
    let kind = if dialog.kind == DialogKind::Permission { QuestionKind::Permission } else { QuestionKind::Choice };
    let option = |(index, option): (usize, &super::reading::DialogOption)| QuestionOption {
        id: (index + 1).to_string(),
        label: option.label.clone(),
        meaning: option.meaning,
    };
    let details = match announced {
        Some(announced) if kind == QuestionKind::Permission && !announced.details.is_empty() => announced.details,
        _ => dialog.details.iter().map(|line| QuestionDetail::Text(line.clone())).collect(),
    };
    Question {
        kind,
        title: if dialog.question.is_empty() { dialog.title.clone() } else { dialog.question.clone() },
        details,
        options: dialog.options.iter().enumerate().map(option).collect(),
        accepts_text: false,
        preselects: false,
    }
}

/// Returns the index of the option that an answer chooses, or the reason why the answer cannot be typed.
pub fn chosen(dialog: &DialogReading, answer: &Answer) -> Result<usize, String> {
    if answer.text.is_some() {
        return Err("this dialog takes no text from here; choose an option, or type in the agent's terminal".to_owned());
    }
    let index =
        answer.option.as_deref().and_then(|id| id.parse::<usize>().ok()).and_then(|number| number.checked_sub(1));
    let index = index.filter(|index| *index < dialog.options.len());
    index.ok_or_else(|| "the dialog has no such option".to_owned())
}
