//! `wh answer`.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use wh_tui::diff::Diff;
use wh_tui::theme::Theme;
use wh_wire::control::{DetailBody, DoneBody, QuestionBody, QuestionsBody};

use crate::door::DoorArguments;
use crate::failure::{Failure, code, with_exit_codes};
use crate::print::{clean, clean_line};

/// List an agent's questions, or answer one by its id
///
/// Without QUESTION it lists what is open, with the options; of a change, the lines that differ. Of what is too long to be listed, `wh output
/// QUESTION` prints all. OPTION is an option's id; --text answers in words.
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes("  wh answer a\n  wh answer a q3 allow_once\n  wh answer a q4 --text 'use the other branch'"))]
pub struct Answer {
    /// The session, by its name or id; - is the only run
    #[arg(value_name = "SESSION")]
    named: String,

    /// The question
    question: Option<String>,

    /// The option
    #[arg(requires = "question")]
    option: Option<String>,

    /// Answer in words
    #[arg(long, value_name = "WORDS", requires = "question")]
    text: Option<String>,

    /// Makes a retry safe: the same id again answers nothing
    #[arg(long, value_name = "ID", requires = "question")]
    request_id: Option<String>,

    #[command(flatten)]
    door: DoorArguments,
}

impl Answer {
    pub fn run(self) -> Result<ExitCode, Failure> {
        let door = self.door.onto(Some(self.named).filter(|name| name != "-"))?;
        let Some(question) = self.question else {
            return door.get("questions", &[])?.show(door.json, |body: QuestionsBody| listing(&body.questions));
        };
        if self.option.is_none() && self.text.is_none() {
            return Err(Failure::new(code::USAGE, "choose an option, or answer with --text WORDS")
                .hint("wh answer SESSION lists the questions with their options"));
        }
        let mut body = json!({ "id": question });
        if let Some(option) = self.option {
            body["option"] = option.into();
        }
        if let Some(text) = self.text {
            body["text"] = text.into();
        }
        if let Some(id) = self.request_id {
            body["request_id"] = id.into();
        }
        let answer = door.post("answer", &body, Duration::ZERO)?;
        answer.show(door.json, |done: DoneBody| {
            if done.duplicate { "nothing sent: this request id was used before\n" } else { "answered\n" }.to_owned()
        })
    }
}

fn listing(questions: &[QuestionBody]) -> String {
    if questions.is_empty() {
        return "nothing waits for an answer\n".to_owned();
    }
    let mut out = String::new();
    for question in questions {
        out.push_str(&format!("{}  {}: {}\n", question.id, clean_line(&question.from), clean(&question.title)));
        for line in question.details.iter().flat_map(about) {
            out.push_str(&format!("    {line}\n"));
        }
        for option in &question.options {
            out.push_str(&format!("    {:<16} {}\n", clean_line(&option.id), clean_line(&option.label)));
        }
        if question.accepts_text {
            out.push_str("    --text WORDS     an answer of your own\n");
        }
    }
    out
}

/// What a question is about: nobody should allow what they have not seen.
fn about(detail: &DetailBody) -> Vec<String> {
    let lines = |before: &str, text: &str| -> Vec<String> {
        text.lines().map(|line| format!("{before}{}", clean_line(line))).collect()
    };
    match detail {
        DetailBody::Text { text } => lines("", text),
        DetailBody::Command { command } => lines("$ ", command),
        DetailBody::Path { path } => lines("", path),
        DetailBody::Input { tool, input } => lines("", &format!("{tool} {input}")),
        DetailBody::Diff { path, old, new } => {
            let fresh = if old.is_none() { " (new file)" } else { "" };
            let diff = Diff::between(old.as_deref().unwrap_or_default(), new);
            // As in the terminal UI, and as wide as it takes.
            let changed = diff.lines(u16::MAX, usize::MAX, &Theme::colourless());
            let changed = changed.iter().map(|line| line.to_string().trim_end().to_owned());
            std::iter::once(format!("{}{fresh}:", clean_line(path))).chain(changed).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_listed_as_escapes() {
        let hidden = "\u{202e}\u{2066}\u{200b}\u{e0041}";
        let shown = "\\u{202e}\\u{2066}\\u{200b}\\u{e0041}";
        let text = |word: &str| format!("{word}{hidden}");
        let question = QuestionBody {
            id: "q-1".to_owned(),
            from: text("from"),
            kind: "permission".to_owned(),
            title: text("title"),
            details: vec![
                DetailBody::Command { command: text("command") },
                DetailBody::Diff { path: text("path"), old: None, new: text("new") },
            ],
            options: vec![wh_wire::control::OptionBody {
                id: text("id"),
                label: text("label"),
                kind: "allow_once".to_owned(),
            }],
            accepts_text: false,
            preselects: true,
            turn: None,
            asked_at: String::new(),
        };
        let listed = listing(&[question]);
        for word in ["from", "title", "command", "path", "new", "id", "label"] {
            assert!(listed.contains(&format!("{word}{shown}")), "{word} in {listed}");
        }
        assert!(!listed.contains(|character| hidden.contains(character)), "{listed:?}");
    }

    #[test]
    fn questions_are_listed_with_their_options() {
        let old: String = (1..=9).map(|number| format!("{number}\n")).collect();
        let question = QuestionBody {
            id: "q-1".to_owned(),
            from: "demo".to_owned(),
            kind: "permission".to_owned(),
            title: "Run it?".to_owned(),
            details: vec![
                DetailBody::Command { command: "rm -r build".to_owned() },
                DetailBody::Diff {
                    path: "a.txt".to_owned(),
                    old: Some(old.clone()),
                    new: old.replace("5\n", "five\n"),
                },
            ],
            options: vec![wh_wire::control::OptionBody {
                id: "allow".to_owned(),
                label: "Yes".to_owned(),
                kind: "allow_once".to_owned(),
            }],
            accepts_text: true,
            preselects: true,
            turn: None,
            asked_at: String::new(),
        };
        let text = listing(&[question]);
        let lines = ["2   2", "3   3", "4   4", "5 - 5", "5 + five", "6   6", "7   7", "8   8"];
        let hunk: String = lines.iter().map(|line| format!("    {line}\n")).collect();
        let about = format!("    $ rm -r build\n    a.txt:\n{hunk}");
        assert!(
            text.starts_with(&format!("q-1  demo: Run it?\n{about}    allow            Yes\n    --text")),
            "{text}"
        );
        assert_eq!(listing(&[]), "nothing waits for an answer\n");
    }
}
