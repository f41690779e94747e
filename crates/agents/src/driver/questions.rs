//! Open questions of an agent. A question may have several parts, which are answered separately. The agent receives the
//! answers to all parts together.

use std::collections::BTreeMap;

use wh_core::space::harness::HarnessKey;
use wh_core::space::question::{Answer, Question};

struct OpenQuestion<A> {
    /// Id of the question that the agent assigned.
    id: String,
    ask: A,
    parts: Vec<(Question, Option<Answer>)>,
}

impl<A> OpenQuestion<A> {
    fn keys(&self, number: u64) -> Vec<HarnessKey> {
        (0..self.parts.len()).map(|part| key(number, part)).collect()
    }
}

/// Open questions of an agent, with a key per part. Keys are never reused, not even after a restart of the agent.
pub(super) struct OpenQuestions<A> {
    asked: u64,
    open: BTreeMap<u64, OpenQuestion<A>>,
}

impl<A> Default for OpenQuestions<A> {
    fn default() -> Self {
        Self { asked: 0, open: BTreeMap::new() }
    }
}

/// Result of an answer to one part of a question.
pub(super) enum AnswerOutcome<A> {
    NotOpen,
    /// The answer cannot be sent to the agent. The part stays open and must be asked again.
    Objection {
        why: String,
        question: Question,
    },
    /// Other parts of the question are not answered yet.
    Incomplete,
    /// All parts of the question are answered.
    Complete {
        ask: A,
        answers: Vec<(Question, Answer)>,
    },
}

fn key(number: u64, part: usize) -> HarnessKey {
    format!("q{number}/{part}")
}

fn parse(key: &str) -> Option<(u64, usize)> {
    let (number, part) = key.strip_prefix('q')?.split_once('/')?;
    Some((number.parse().ok()?, part.parse().ok()?))
}

impl<A> OpenQuestions<A> {
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Adds a question and returns the key of each part.
    pub fn open(&mut self, id: String, ask: A, questions: Vec<Question>) -> Vec<(HarnessKey, Question)> {
        self.asked += 1;
        let number = self.asked;
        let asked = questions.iter().cloned().enumerate().map(|(part, question)| (key(number, part), question));
        let asked = asked.collect();
        let parts = questions.into_iter().map(|question| (question, None)).collect();
        self.open.insert(number, OpenQuestion { id, ask, parts });
        asked
    }

    pub fn answer(
        &mut self,
        key: &str,
        answer: Answer,
        objection: impl FnOnce(&A, usize, &Answer) -> Option<String>,
    ) -> AnswerOutcome<A> {
        let Some((number, part)) = parse(key) else { return AnswerOutcome::NotOpen };
        let Some(open) = self.open.get_mut(&number) else { return AnswerOutcome::NotOpen };
        let Some((question, given)) = open.parts.get_mut(part) else { return AnswerOutcome::NotOpen };
        if let Some(why) = objection(&open.ask, part, &answer) {
            return AnswerOutcome::Objection { why, question: question.clone() };
        }
        *given = Some(answer);
        if open.parts.iter().any(|(_, answer)| answer.is_none()) {
            return AnswerOutcome::Incomplete;
        }
        match self.open.remove(&number) {
            Some(OpenQuestion { ask, parts, .. }) => {
                let answers = parts.into_iter().filter_map(|(question, answer)| Some((question, answer?))).collect();
                AnswerOutcome::Complete { ask, answers }
            }
            None => AnswerOutcome::NotOpen,
        }
    }

    /// Returns true if a question with this id, which the agent assigned, is open.
    pub fn is_open(&self, id: &str) -> bool {
        self.open.values().any(|open| open.id == id)
    }

    /// Assigns new keys to a question. Returns the old and the new key of each unanswered part.
    pub fn reopen(&mut self, id: &str) -> Vec<(HarnessKey, HarnessKey, Question)> {
        let Some(old) = self.open.iter().find(|(_, open)| open.id == id).map(|(number, _)| *number) else {
            return Vec::new();
        };
        let Some(open) = self.open.remove(&old) else { return Vec::new() };
        self.asked += 1;
        let new = self.asked;
        let parts = open.parts.iter().enumerate().filter(|(_, (_, answer))| answer.is_none());
        let keys = parts.map(|(part, (question, _))| (key(old, part), key(new, part), question.clone())).collect();
        self.open.insert(new, open);
        keys
    }

    /// Closes a question and returns the keys of its parts.
    pub fn withdraw(&mut self, id: &str) -> Option<Vec<HarnessKey>> {
        let number = self.open.iter().find(|(_, open)| open.id == id).map(|(number, _)| *number)?;
        self.open.remove(&number).map(|open| open.keys(number))
    }

    /// Closes the questions for which `is_wanted` returns true. Returns the keys of their parts.
    pub fn take_if(&mut self, is_wanted: impl Fn(&A) -> bool) -> Vec<(Vec<HarnessKey>, A)> {
        let (taken, kept) = std::mem::take(&mut self.open).into_iter().partition(|(_, open)| is_wanted(&open.ask));
        self.open = kept;
        let taken: BTreeMap<u64, OpenQuestion<A>> = taken;
        taken.into_iter().map(|(number, open)| (open.keys(number), open.ask)).collect()
    }

    /// Closes all questions. Returns the keys of their parts.
    pub fn take_all(&mut self) -> Vec<(Vec<HarnessKey>, A)> {
        self.take_if(|_| true)
    }
}

#[cfg(test)]
mod tests {
    use wh_core::space::question::QuestionKind;

    use super::*;

    fn question(title: &str) -> Question {
        Question {
            kind: QuestionKind::Choice,
            title: title.to_owned(),
            details: Vec::new(),
            options: Vec::new(),
            accepts_text: true,
            preselects: false,
        }
    }

    fn said(text: &str) -> Answer {
        Answer { option: None, text: Some(text.to_owned()) }
    }

    #[test]
    fn the_parts_of_a_question_are_answered_one_by_one_and_sent_together() {
        let mut questions = OpenQuestions::default();
        let asked = questions.open("a".to_owned(), 7, vec![question("one"), question("two")]);
        let [(first, _), (second, _)] = &asked[..] else { panic!("two parts") };
        assert!(matches!(questions.answer(second, said("2"), |_, _, _| None), AnswerOutcome::Incomplete));
        let refused = questions.answer(first, said("no"), |ask, part, _| Some(format!("{ask} {part}")));
        assert!(matches!(refused, AnswerOutcome::Objection { why, .. } if why == "7 0"));
        let AnswerOutcome::Complete { ask: 7, answers } = questions.answer(first, said("1"), |_, _, _| None) else {
            panic!("it is complete")
        };
        let texts: Vec<_> = answers.into_iter().map(|(question, answer)| (question.title, answer.text)).collect();
        assert_eq!(texts, [("one".to_owned(), Some("1".to_owned())), ("two".to_owned(), Some("2".to_owned()))]);
        assert!(matches!(questions.answer(first, said("1"), |_, _, _| None), AnswerOutcome::NotOpen));
    }

    #[test]
    fn a_withdrawn_question_is_not_open_and_keys_are_not_used_again() {
        let mut questions = OpenQuestions::default();
        let first = questions.open("a".to_owned(), (), vec![question("one")]);
        assert_eq!(questions.withdraw("a"), Some(vec![first[0].0.clone()]));
        assert_eq!(questions.withdraw("a"), None);
        let second = questions.open("a".to_owned(), (), vec![question("one")]);
        assert_ne!(first[0].0, second[0].0);
        for key in ["", "q", "q1", "q1/", "q9/0", "qx/0", "q2/1"] {
            assert!(matches!(questions.answer(key, said(""), |(), _, _| None), AnswerOutcome::NotOpen), "{key}");
        }
        assert_eq!(questions.take_all().len(), 1);
        assert!(questions.is_empty());
    }
}
