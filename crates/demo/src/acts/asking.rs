//! Tricks that ask questions: permissions, choices, free text, and several questions at the same time.

use wh_core::space::question::{Answer, OptionMeaning, Question, QuestionDetail, QuestionKind, QuestionOption};

use crate::character::DemoMode;
use crate::stage::{DemoPermission, DemoTask, TrickResult};

/// Outcome of asking for a permission.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PermissionOutcome {
    /// Allowed by the mode or by an earlier answer. No question was asked.
    Standing,
    /// Allowed by the answer to the question.
    Allowed,
    /// Rejected by the answer or by the mode, with an optional reason.
    Rejected(Option<String>),
    /// Timed out without an answer.
    Unanswered,
}

fn choice(id: &str, label: &str, meaning: OptionMeaning) -> QuestionOption {
    QuestionOption { id: id.to_owned(), label: label.to_owned(), meaning }
}

fn permission(title: &str, details: Vec<QuestionDetail>) -> Question {
    let options = vec![
        choice("allow_once", "Allow once", OptionMeaning::AllowOnce),
        choice("allow_always", "Allow always", OptionMeaning::AllowAlways),
        choice("reject", "Reject", OptionMeaning::RejectOnce),
    ];
    Question {
        kind: QuestionKind::Permission,
        title: title.to_owned(),
        details,
        options,
        accepts_text: true,
        preselects: true,
    }
}

fn bell() -> Question {
    permission("May I ring the ship's bell?", vec![QuestionDetail::Text("The bell is simulated.".to_owned())])
}

fn colour() -> Question {
    let options = [("red", "Red lead"), ("green", "Bottle green"), ("blue", "Deep blue")];
    Question {
        kind: QuestionKind::Choice,
        title: "What colour should the boat be?".to_owned(),
        details: vec![QuestionDetail::Text("Choose a colour, or describe another one.".to_owned())],
        options: options.map(|(id, label)| choice(id, label, OptionMeaning::Other)).to_vec(),
        accepts_text: true,
        preselects: true,
    }
}

fn name() -> Question {
    Question {
        kind: QuestionKind::Text,
        title: "What should the boat be called?".to_owned(),
        details: Vec::new(),
        options: Vec::new(),
        accepts_text: true,
        preselects: true,
    }
}

/// Returns the label of the chosen option or the text of an answer; `None` if the answer is empty.
fn said(question: &Question, answer: &Answer) -> Option<String> {
    let chosen = answer.option.as_deref().and_then(|id| question.option(id));
    chosen.map(|choice| choice.label.clone()).or_else(|| answer.text.clone()).filter(|words| !words.trim().is_empty())
}

fn verdict(question: &Question, answer: &Answer) -> (PermissionOutcome, bool) {
    let chosen = answer.option.as_deref().and_then(|id| question.option(id));
    match chosen.map(|choice| choice.meaning) {
        Some(meaning) if meaning.allows() => (PermissionOutcome::Allowed, meaning == OptionMeaning::AllowAlways),
        // A text without a choice is an instruction to do something else, and counts as a rejection.
        _ => (PermissionOutcome::Rejected(answer.text.clone().filter(|words| !words.trim().is_empty())), false),
    }
}

fn rejected(reason: Option<&str>) -> String {
    match reason {
        Some(reason) => format!("You said no: “{reason}”. I will not do it."),
        None => "You said no. I will not do it.".to_owned(),
    }
}

impl DemoTask {
    /// Asks for a permission, unless the mode or an earlier answer already decides. The timeout of the question is
    /// `timeout_words` times the time per word; `None` means no timeout.
    pub async fn permit(
        &mut self,
        permit: DemoPermission,
        title: &str,
        details: Vec<QuestionDetail>,
        timeout_words: Option<u32>,
    ) -> TrickResult<PermissionOutcome> {
        match (self.character.mode, permit) {
            (DemoMode::Plan, DemoPermission::Edit | DemoPermission::Run) => {
                return Ok(PermissionOutcome::Rejected(Some("plan mode allows no changes".to_owned())));
            }
            (DemoMode::Edit, DemoPermission::Edit) => return Ok(PermissionOutcome::Standing),
            _ if self.allowed.contains(&permit) => return Ok(PermissionOutcome::Standing),
            _ => {}
        }
        let question = permission(title, details);
        let answer = match timeout_words {
            Some(words) => self.ask_within(words, question.clone()).await?,
            None => Some(self.ask(question.clone()).await?),
        };
        let Some(answer) = answer else { return Ok(PermissionOutcome::Unanswered) };
        let (verdict, always) = verdict(&question, &answer);
        if always {
            self.allowed.insert(permit);
        }
        Ok(verdict)
    }

    pub async fn ask_permission(&mut self) -> TrickResult {
        let question = bell();
        let words = match self.permit(DemoPermission::Bell, &question.title, question.details, None).await? {
            PermissionOutcome::Standing => "*Ding!* You chose “Allow always” before, so I did not ask.".to_owned(),
            PermissionOutcome::Allowed if self.allowed.contains(&DemoPermission::Bell) => {
                "*Ding!* You chose “Allow always”, so I will not ask again.".to_owned()
            }
            PermissionOutcome::Allowed => "*Ding!* You allowed it once.".to_owned(),
            PermissionOutcome::Rejected(reason) => rejected(reason.as_deref()),
            PermissionOutcome::Unanswered => "There was no answer.".to_owned(),
        };
        self.speak(&words).await.map(drop)
    }

    pub async fn choose(&mut self) -> TrickResult {
        let words = self.chosen(None).await?;
        self.speak(&words).await.map(drop)
    }

    /// Asks the user to choose a colour, and returns the text with which the agent replies to the choice.
    pub async fn chosen(&mut self, timeout_words: Option<u32>) -> TrickResult<String> {
        let question = colour();
        let answer = match timeout_words {
            Some(words) => self.ask_within(words, question.clone()).await?,
            None => Some(self.ask(question.clone()).await?),
        };
        Ok(match answer.and_then(|answer| said(&question, &answer)) {
            Some(colour) => format!("You chose **{colour}**. The boat will look good."),
            None => "You chose no colour. The boat stays unpainted.".to_owned(),
        })
    }

    pub async fn ask_for_text(&mut self) -> TrickResult {
        let question = name();
        let answer = self.ask(question.clone()).await?;
        let words = match said(&question, &answer) {
            Some(name) => format!("The boat is now called “{name}”. I have painted the name on the stern."),
            None => "The boat stays without a name.".to_owned(),
        };
        self.speak(&words).await.map(drop)
    }

    pub async fn ask_many(&mut self) -> TrickResult {
        self.speak("Three questions at once; answer them in any order.").await?;
        let questions = vec![bell(), colour(), name()];
        let answers = self.ask_all(questions.clone()).await?;
        let mut lines = Vec::new();
        for (question, answer) in questions.iter().zip(&answers) {
            let words = match question.kind {
                QuestionKind::Permission => match verdict(question, answer).0 {
                    PermissionOutcome::Rejected(reason) => rejected(reason.as_deref()),
                    _ => "Yes.".to_owned(),
                },
                QuestionKind::Choice | QuestionKind::Text | QuestionKind::Secret => {
                    said(question, answer).unwrap_or_else(|| "No answer.".to_owned())
                }
            };
            lines.push(format!("- {} **{words}**", question.title));
        }
        let text = format!("Here is what you said:\n\n{}", lines.join("\n"));
        self.speak(&text).await.map(drop)
    }
}
