//! Something that waits for an answer: what is asked, which answers there are, and how it was closed.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::extent::patch;
use super::name::ParticipantId;

/// Something that waits for an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// What kind of question.
    pub kind: QuestionKind,
    /// What is asked, in one line.
    pub title: String,
    /// What it is about, in full.
    #[serde(default)]
    pub details: Vec<Detail>,
    /// The answers to choose from. None: any text is an answer.
    #[serde(default)]
    pub options: Vec<Choice>,
    /// Whether words of one's own are an answer too.
    #[serde(default)]
    pub accepts_text: bool,
    /// Whether an answer may be chosen to begin with. Not where a hasty Enter could do harm.
    #[serde(default)]
    pub preselects: bool,
}

/// What kind of question it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionKind {
    /// May I?
    Permission,
    /// Which of these?
    Choice,
    /// What?
    Text,
    /// What? Words that answer it are neither shown nor kept.
    Secret,
}

/// A part of what a question is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Detail {
    /// Explained in words.
    Text(String),
    /// A command that would be run.
    Command(String),
    /// A file or folder.
    Path(String),
    /// A change to a file.
    Diff {
        /// Its path.
        path: String,
        /// What it holds; `None` if it is new.
        #[serde(default)]
        old: Option<String>,
        /// What it would hold.
        new: String,
    },
    /// What a tool would be given.
    Input {
        /// The tool.
        tool: String,
        /// Its input.
        input: Value,
    },
}

impl Detail {
    /// The part as text.
    pub fn words(&self) -> Cow<'_, str> {
        match self {
            Self::Text(text) | Self::Path(text) => Cow::Borrowed(text),
            Self::Command(command) => Cow::Owned(format!("$ {command}")),
            Self::Diff { path, old, new } => Cow::Owned(patch(path, old.as_deref(), new)),
            Self::Input { tool, input } => Cow::Owned(format!("{tool}\n{input:#}")),
        }
    }

    /// Bytes that it holds.
    pub fn weight(&self) -> usize {
        match self {
            Self::Text(text) | Self::Command(text) | Self::Path(text) => text.len(),
            Self::Diff { path, old, new } => path.len() + old.as_ref().map_or(0, String::len) + new.len(),
            Self::Input { tool, input } => tool.len() + input.to_string().len(),
        }
    }
}

/// An answer to choose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// Its id within the question.
    pub id: String,
    /// What it says.
    pub label: String,
    /// What choosing it means.
    pub meaning: Meaning,
}

/// What choosing an answer means, whatever it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Meaning {
    /// This once.
    AllowOnce,
    /// From now on.
    AllowAlways,
    /// Not this time.
    RejectOnce,
    /// Never.
    RejectAlways,
    /// Neither yes nor no.
    #[serde(other)]
    Other,
}

impl Meaning {
    /// True unless the option is known to reject: an option of unknown meaning may grant something.
    pub fn grants(self) -> bool {
        !self.rejects()
    }

    /// Whether it says yes.
    pub fn allows(self) -> bool {
        matches!(self, Self::AllowOnce | Self::AllowAlways)
    }

    /// Whether it says no.
    pub fn rejects(self) -> bool {
        matches!(self, Self::RejectOnce | Self::RejectAlways)
    }
}

/// What somebody answers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Answer {
    /// The option chosen.
    pub option: Option<String>,
    /// Words of one's own: the answer itself, or a reason.
    pub text: Option<String>,
}

/// How a question was closed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Closing {
    /// Somebody answered.
    Answered {
        /// Who.
        by: ParticipantId,
        /// What.
        answer: Answer,
    },
    /// Who asked no longer wants to know.
    Withdrawn,
    /// Its turn was interrupted.
    Cancelled,
}

/// An answer that the question does not have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum WrongAnswer {
    /// There is no such option.
    #[error("the question has no option {given:?}; it has {known}")]
    NoSuchOption {
        /// What was given.
        given: String,
        /// What there is.
        known: String,
    },
    /// Neither an option nor a text.
    #[error("give an option, or a text that says something")]
    Empty,
    /// Words of one's own are no answer here.
    #[error("the question takes one of its options: {known}")]
    OptionsOnly {
        /// What there is.
        known: String,
    },
}

impl Question {
    /// The option of this id.
    pub fn option(&self, id: &str) -> Option<&Choice> {
        self.options.iter().find(|option| option.id == id)
    }

    /// Decides which answers grant what is asked, for everybody who must show the question first. An option grants unless
    /// it rejects; words of one's own reject a permission, and answer every other question.
    pub fn grants(&self, answer: &Answer) -> bool {
        match &answer.option {
            Some(id) => self.option(id).is_none_or(|option| option.meaning.grants()),
            None => self.kind != QuestionKind::Permission,
        }
    }

    /// Everything that the question is about as one text: each part on lines of its own, changes as patches.
    pub fn words(&self) -> String {
        let mut all = String::new();
        for detail in &self.details {
            if !all.is_empty() && !all.ends_with('\n') {
                all.push('\n');
            }
            all.push_str(&detail.words());
        }
        all
    }

    /// What may be kept of an answer.
    pub fn kept(&self, answer: &Answer) -> Answer {
        let text = answer.text.clone().filter(|_| self.kind != QuestionKind::Secret);
        Answer { option: answer.option.clone(), text }
    }

    /// Whether this can be an answer.
    pub fn check(&self, answer: &Answer) -> Result<(), WrongAnswer> {
        let known = || self.options.iter().map(|option| option.id.as_str()).collect::<Vec<_>>().join(", ");
        match (&answer.option, &answer.text) {
            (Some(id), _) if self.option(id).is_some() => Ok(()),
            (Some(id), _) => Err(WrongAnswer::NoSuchOption { given: id.clone(), known: known() }),
            (None, Some(text)) if text.trim().is_empty() => Err(WrongAnswer::Empty),
            (None, Some(_)) if self.accepts_text || self.options.is_empty() => Ok(()),
            (None, Some(_)) => Err(WrongAnswer::OptionsOnly { known: known() }),
            (None, None) => Err(WrongAnswer::Empty),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_answer_grants_that_is_not_known_to_reject() {
        let meanings = [
            (Meaning::AllowOnce, true),
            (Meaning::AllowAlways, true),
            (Meaning::Other, true),
            (Meaning::RejectOnce, false),
            (Meaning::RejectAlways, false),
        ];
        let options = meanings.map(|(meaning, _)| Choice { id: format!("{meaning:?}"), label: String::new(), meaning });
        let mut question = Question {
            kind: QuestionKind::Permission,
            title: String::new(),
            details: Vec::new(),
            options: options.to_vec(),
            accepts_text: true,
            preselects: true,
        };
        for (meaning, grants) in meanings {
            let answer = Answer { option: Some(format!("{meaning:?}")), text: Some("why".to_owned()) };
            assert_eq!(question.grants(&answer), grants, "{meaning:?}");
        }
        let words = Answer { option: None, text: Some("do something else".to_owned()) };
        assert!(!question.grants(&words), "words are a reason to reject");
        for kind in [QuestionKind::Choice, QuestionKind::Text, QuestionKind::Secret] {
            question.kind = kind;
            assert!(question.grants(&words), "words are what is asked for");
        }
    }

    #[test]
    fn what_is_asked_can_be_read_as_one_text() {
        let details = vec![
            Detail::Command("ls\n".to_owned()),
            Detail::Diff { path: "a".to_owned(), old: Some("x\n".to_owned()), new: "y\n".to_owned() },
            Detail::Input { tool: "t".to_owned(), input: serde_json::json!({"b": 1}) },
        ];
        let question = Question {
            kind: QuestionKind::Permission,
            title: "?".to_owned(),
            details,
            options: Vec::new(),
            accepts_text: false,
            preselects: false,
        };
        let expected = "$ ls\n--- a\n+++ a\n@@ -1,1 +1,1 @@\n-x\n+y\nt\n{\n  \"b\": 1\n}";
        assert_eq!(question.words(), expected);
    }
}
