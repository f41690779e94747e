//! Questions of agents, their options, and their answers.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::extent::patch;
use super::name::ParticipantId;

/// Question of an agent to the user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    pub kind: QuestionKind,
    /// Title in one line.
    pub title: String,
    /// Parts of the complete description.
    #[serde(default)]
    pub details: Vec<QuestionDetail>,
    /// Options from which the user chooses. If empty, the question accepts any text.
    #[serde(default)]
    pub options: Vec<QuestionOption>,
    /// True if the question has options and also accepts a free text.
    #[serde(default)]
    pub accepts_text: bool,
    /// True if an interface may preselect an option. False if an accidental Enter could do harm.
    #[serde(default)]
    pub preselects: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionKind {
    /// The agent asks for permission.
    Permission,
    /// The agent asks the user to choose an option.
    Choice,
    /// The agent asks for a text.
    Text,
    /// The agent asks for a secret, such as a password. The answer is neither shown nor stored.
    Secret,
}

/// Part of the description of a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionDetail {
    Text(String),
    /// Command that the agent wants to run.
    Command(String),
    /// File or folder that the question is about.
    Path(String),
    /// Change that the agent wants to make to a file.
    Diff {
        path: String,
        /// Contents before the change; `None` if the file is new.
        #[serde(default)]
        old: Option<String>,
        /// Contents after the change.
        new: String,
    },
    /// Arguments with which the agent wants to call a tool.
    Input {
        tool: String,
        input: Value,
    },
}

impl QuestionDetail {
    /// Returns the part as text; a change as a patch.
    pub fn as_text(&self) -> Cow<'_, str> {
        match self {
            Self::Text(text) | Self::Path(text) => Cow::Borrowed(text),
            Self::Command(command) => Cow::Owned(format!("$ {command}")),
            Self::Diff { path, old, new } => Cow::Owned(patch(path, old.as_deref(), new)),
            Self::Input { tool, input } => Cow::Owned(format!("{tool}\n{input:#}")),
        }
    }

    /// Returns the number of bytes that count towards the size of the question.
    pub fn weight(&self) -> usize {
        match self {
            Self::Text(text) | Self::Command(text) | Self::Path(text) => text.len(),
            Self::Diff { path, old, new } => path.len() + old.as_ref().map_or(0, String::len) + new.len(),
            Self::Input { tool, input } => tool.len() + input.to_string().len(),
        }
    }
}

/// Option of a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionOption {
    /// Id of the option, unique within the question.
    pub id: String,
    pub label: String,
    /// Effect of choosing the option.
    pub meaning: OptionMeaning,
}

/// Effect of an option, which does not depend on its label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OptionMeaning {
    AllowOnce,
    AllowAlways,
    RejectOnce,
    RejectAlways,
    /// The option neither approves nor rejects, or its effect is unknown.
    #[serde(other)]
    Other,
}

impl OptionMeaning {
    /// True if the option may grant the request: it approves, or its effect is unknown.
    pub fn grants(self) -> bool {
        !self.rejects()
    }

    /// True if the option is known to approve.
    pub fn allows(self) -> bool {
        matches!(self, Self::AllowOnce | Self::AllowAlways)
    }

    /// True if the option is known to reject.
    pub fn rejects(self) -> bool {
        matches!(self, Self::RejectOnce | Self::RejectAlways)
    }
}

/// Answer of a user to a question.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Answer {
    pub option: Option<String>,
    /// Free text: the answer, or a reason for the chosen option.
    pub text: Option<String>,
}

/// Reason why a question was closed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionCloseReason {
    /// A participant has answered the question.
    Answered { by: ParticipantId, answer: Answer },
    /// The agent has withdrawn the question.
    Withdrawn,
    /// The turn in which the question was asked was interrupted.
    Cancelled,
}

/// Error for an answer that does not fit the question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum InvalidAnswer {
    #[error("the question has no option {given:?}; choose one of {known}")]
    NoSuchOption {
        given: String,
        /// Ids of the options that the question has.
        known: String,
    },
    /// The answer has neither an option nor a text.
    #[error("give an option or a text that is not blank")]
    Empty,
    /// The question accepts only its options, and the answer is a text.
    #[error("the question accepts only one of its options: {known}")]
    OptionsOnly {
        /// Ids of the options that the question has.
        known: String,
    },
}

impl Question {
    pub fn option(&self, id: &str) -> Option<&QuestionOption> {
        self.options.iter().find(|option| option.id == id)
    }

    /// True if the answer may grant the request of the question. An interface must show the complete question before it
    /// sends such an answer. An option may grant the request if it is not known to reject. A free text rejects a
    /// request for permission, and grants any other question.
    pub fn grants(&self, answer: &Answer) -> bool {
        match &answer.option {
            Some(id) => self.option(id).is_none_or(|option| option.meaning.grants()),
            None => self.kind != QuestionKind::Permission,
        }
    }

    /// Returns the complete description as text. Each part begins on a new line, and a change is written as a patch.
    pub fn full_text(&self) -> String {
        let mut all = String::new();
        for detail in &self.details {
            if !all.is_empty() && !all.ends_with('\n') {
                all.push('\n');
            }
            all.push_str(&detail.as_text());
        }
        all
    }

    /// Returns the answer without the text of a secret, which must not be stored.
    pub fn storable(&self, answer: &Answer) -> Answer {
        let text = answer.text.clone().filter(|_| self.kind != QuestionKind::Secret);
        Answer { option: answer.option.clone(), text }
    }

    /// Checks that the question accepts the answer.
    pub fn check(&self, answer: &Answer) -> Result<(), InvalidAnswer> {
        let known = || self.options.iter().map(|option| option.id.as_str()).collect::<Vec<_>>().join(", ");
        match (&answer.option, &answer.text) {
            (Some(id), _) if self.option(id).is_some() => Ok(()),
            (Some(id), _) => Err(InvalidAnswer::NoSuchOption { given: id.clone(), known: known() }),
            (None, Some(text)) if text.trim().is_empty() => Err(InvalidAnswer::Empty),
            (None, Some(_)) if self.accepts_text || self.options.is_empty() => Ok(()),
            (None, Some(_)) => Err(InvalidAnswer::OptionsOnly { known: known() }),
            (None, None) => Err(InvalidAnswer::Empty),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_answer_grants_that_is_not_known_to_reject() {
        let meanings = [
            (OptionMeaning::AllowOnce, true),
            (OptionMeaning::AllowAlways, true),
            (OptionMeaning::Other, true),
            (OptionMeaning::RejectOnce, false),
            (OptionMeaning::RejectAlways, false),
        ];
        let options =
            meanings.map(|(meaning, _)| QuestionOption { id: format!("{meaning:?}"), label: String::new(), meaning });
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
        assert!(!question.grants(&words), "a text is a reason to reject");
        for kind in [QuestionKind::Choice, QuestionKind::Text, QuestionKind::Secret] {
            question.kind = kind;
            assert!(question.grants(&words), "a text is what is asked for");
        }
    }

    #[test]
    fn a_question_can_be_read_as_one_text() {
        let details = vec![
            QuestionDetail::Command("ls\n".to_owned()),
            QuestionDetail::Diff { path: "a".to_owned(), old: Some("x\n".to_owned()), new: "y\n".to_owned() },
            QuestionDetail::Input { tool: "t".to_owned(), input: serde_json::json!({"b": 1}) },
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
        assert_eq!(question.full_text(), expected);
    }
}
