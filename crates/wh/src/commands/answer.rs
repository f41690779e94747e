//! Implements `wh answer`, which lists and answers the open questions of an agent.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use wh_tui::diff::Diff;
use wh_tui::theme::Theme;
use wh_wire::control::{DetailBody, DoneBody, QuestionBody, QuestionsBody};

use crate::failure::{API_CODES, CliFailure, code, with_exit_codes};
use crate::print::{clean, clean_line};
use crate::target::TargetArguments;

/// List open questions of an agent, or answer a question
///
/// Without QUESTION, lists the open questions with their options. A question about a file change shows the changed
/// lines, not the whole file. `wh output QUESTION` prints a long question in full. OPTION is the id of an option;
/// --text replies with text.
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes("  wh answer a\n  wh answer a q3 allow_once\n  wh answer a q4 --text 'use the other branch'", API_CODES))]
pub struct AnswerCommand {
    /// Session name or id; `-` selects the only run or session
    #[arg(value_name = "SESSION")]
    named: String,

    /// Id of the question
    question: Option<String>,

    /// Id of the option to choose
    #[arg(requires = "question")]
    option: Option<String>,

    /// Reply with this text
    #[arg(long, value_name = "TEXT", requires = "question")]
    text: Option<String>,

    /// Idempotency key: repeating the command with the same key sends no second answer
    #[arg(long, value_name = "ID", requires = "question")]
    request_id: Option<String>,

    #[command(flatten)]
    target: TargetArguments,
}

impl AnswerCommand {
    pub fn run(self) -> Result<ExitCode, CliFailure> {
        let target = self.target.with_session(Some(self.named).filter(|name| name != "-"))?;
        let Some(question) = self.question else {
            return target.get("questions", &[])?.show(target.json, |body: QuestionsBody| listing(&body.questions));
        };
        if self.option.is_none() && self.text.is_none() {
            return Err(CliFailure::new(code::USAGE, "choose an option, or reply with --text TEXT")
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
        let answer = target.post("answer", &body, Duration::ZERO)?;
        answer.show(target.json, |done: DoneBody| {
            if done.duplicate { "nothing sent: duplicate request id\n" } else { "answered\n" }.to_owned()
        })
    }
}

fn listing(questions: &[QuestionBody]) -> String {
    if questions.is_empty() {
        return "no open questions\n".to_owned();
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
            out.push_str("    --text TEXT      reply with text\n");
        }
    }
    out
}

/// Formats one detail of a question as lines. Truncates nothing, because the user must see everything that an answer
/// permits.
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
            // Shows the same diff as the terminal UI, without wrapping.
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
        assert_eq!(listing(&[]), "no open questions\n");
    }
}
