//! Tricks of asking: permissions, choices, questions that take any text, and several at once.

use wh_core::space::question::{Answer, Choice, Detail, Meaning, Question, QuestionKind};

use crate::character::Mode;
use crate::stage::{Act, Permit, Stage};

/// What came of asking for a permission.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Yes, and nobody had to be asked.
    Standing,
    /// Yes.
    Allowed,
    /// No, and why if that was said.
    Rejected(Option<String>),
    /// Nobody answered in time.
    Unanswered,
}

fn choice(id: &str, label: &str, meaning: Meaning) -> Choice {
    Choice { id: id.to_owned(), label: label.to_owned(), meaning }
}

fn permission(title: &str, details: Vec<Detail>) -> Question {
    let options = vec![
        choice("allow_once", "Allow once", Meaning::AllowOnce),
        choice("allow_always", "Allow always", Meaning::AllowAlways),
        choice("reject", "Reject", Meaning::RejectOnce),
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
    permission("May I ring the ship's bell?", vec![Detail::Text("It only rings in your imagination.".to_owned())])
}

fn colour() -> Question {
    let options = [("red", "Red lead"), ("green", "Bottle green"), ("blue", "Deep blue")];
    Question {
        kind: QuestionKind::Choice,
        title: "Which colour shall the boat have?".to_owned(),
        details: vec![Detail::Text("The paint is mixed either way.".to_owned())],
        options: options.map(|(id, label)| choice(id, label, Meaning::Other)).to_vec(),
        accepts_text: true,
        preselects: true,
    }
}

fn name() -> Question {
    Question {
        kind: QuestionKind::Text,
        title: "What shall the boat be called?".to_owned(),
        details: Vec::new(),
        options: Vec::new(),
        accepts_text: true,
        preselects: true,
    }
}

/// What an answer to a choice or a text question says.
fn said(question: &Question, answer: &Answer) -> Option<String> {
    let chosen = answer.option.as_deref().and_then(|id| question.option(id));
    chosen.map(|choice| choice.label.clone()).or_else(|| answer.text.clone()).filter(|words| !words.trim().is_empty())
}

fn verdict(question: &Question, answer: &Answer) -> (Verdict, bool) {
    let chosen = answer.option.as_deref().and_then(|id| question.option(id));
    match chosen.map(|choice| choice.meaning) {
        Some(meaning) if meaning.allows() => (Verdict::Allowed, meaning == Meaning::AllowAlways),
        // Words without a choice are what to do instead: a no.
        _ => (Verdict::Rejected(answer.text.clone().filter(|words| !words.trim().is_empty())), false),
    }
}

fn rejected(reason: Option<&str>) -> String {
    match reason {
        Some(reason) => format!("You said no: “{reason}”. I leave it."),
        None => "You said no. I leave it.".to_owned(),
    }
}

impl Stage {
    /// Asks for a permission, unless the mode or an earlier answer decides. With a patience it waits no longer than so
    /// many words take.
    pub async fn permit(
        &mut self,
        permit: Permit,
        title: &str,
        details: Vec<Detail>,
        patience: Option<u32>,
    ) -> Act<Verdict> {
        match (self.character.mode, permit) {
            (Mode::Plan, Permit::Edit | Permit::Run) => {
                return Ok(Verdict::Rejected(Some("in the mode plan nothing is changed".to_owned())));
            }
            (Mode::Edit, Permit::Edit) => return Ok(Verdict::Standing),
            _ if self.allowed.contains(&permit) => return Ok(Verdict::Standing),
            _ => {}
        }
        let question = permission(title, details);
        let answer = match patience {
            Some(words) => self.ask_within(words, question.clone()).await?,
            None => Some(self.ask(question.clone()).await?),
        };
        let Some(answer) = answer else { return Ok(Verdict::Unanswered) };
        let (verdict, always) = verdict(&question, &answer);
        if always {
            self.allowed.insert(permit);
        }
        Ok(verdict)
    }

    pub async fn ask_permission(&mut self) -> Act {
        let question = bell();
        let words = match self.permit(Permit::Bell, &question.title, question.details, None).await? {
            Verdict::Standing => "*Ding!* You allowed that for good, so I did not ask.".to_owned(),
            Verdict::Allowed if self.allowed.contains(&Permit::Bell) => {
                "*Ding!* You allowed it, and always: next time I do not ask.".to_owned()
            }
            Verdict::Allowed => "*Ding!* You allowed it, this once.".to_owned(),
            Verdict::Rejected(reason) => rejected(reason.as_deref()),
            Verdict::Unanswered => "Nobody answered.".to_owned(),
        };
        self.speak(&words).await.map(drop)
    }

    pub async fn choose(&mut self) -> Act {
        let words = self.chosen(None).await?;
        self.speak(&words).await.map(drop)
    }

    /// Asks for a choice, and returns what to say about it.
    pub async fn chosen(&mut self, patience: Option<u32>) -> Act<String> {
        let question = colour();
        let answer = match patience {
            Some(words) => self.ask_within(words, question.clone()).await?,
            None => Some(self.ask(question.clone()).await?),
        };
        Ok(match answer.and_then(|answer| said(&question, &answer)) {
            Some(colour) => format!("You chose **{colour}**. The boat will look well."),
            None => "No colour, then: bare wood is fine too.".to_owned(),
        })
    }

    pub async fn ask_for_text(&mut self) -> Act {
        let question = name();
        let answer = self.ask(question.clone()).await?;
        let words = match said(&question, &answer) {
            Some(name) => format!("“{name}” it is. I have painted it on the stern."),
            None => "Then it stays without a name.".to_owned(),
        };
        self.speak(&words).await.map(drop)
    }

    pub async fn ask_many(&mut self) -> Act {
        self.speak("Three questions at once; answer them in any order.").await?;
        let questions = vec![bell(), colour(), name()];
        let answers = self.ask_all(questions.clone()).await?;
        let mut lines = Vec::new();
        for (question, answer) in questions.iter().zip(&answers) {
            let words = match question.kind {
                QuestionKind::Permission => match verdict(question, answer).0 {
                    Verdict::Rejected(reason) => rejected(reason.as_deref()),
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
