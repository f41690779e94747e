//! Builds tool call cards from Codex's commands, file changes and tool calls.

use serde_json::{Value, json};
use wh_core::space::item::{ToolCall, ToolKind, ToolResultPart, ToolStatus};
use wh_core::space::question::QuestionDetail;
use wh_wire::codex::{
    ChangeKind, CodexFileChange, CodexToolCall, CommandExecution, PlanStep, StepStatus, ThreadItemStatus,
};

/// Converts the status of an item. An item that is done but has no status counts as completed.
fn status(status: ThreadItemStatus, done: bool) -> ToolStatus {
    match status {
        ThreadItemStatus::InProgress if done => ToolStatus::Completed,
        ThreadItemStatus::InProgress => ToolStatus::Running,
        ThreadItemStatus::Completed => ToolStatus::Completed,
        ThreadItemStatus::Failed => ToolStatus::Failed,
        ThreadItemStatus::Declined => ToolStatus::Denied,
    }
}

/// Builds the card of a command.
pub(super) fn command(command: &CommandExecution, done: bool) -> ToolCall {
    let words = match &command.actions[..] {
        [(_, words)] => words.clone(),
        _ => without_shell(&command.command),
    };
    let mut output = Vec::new();
    if let Some(written) = command.output.as_ref().filter(|text| !text.is_empty()) {
        output.push(ToolResultPart::Text(written.clone()));
    }
    let failed = command.exit_code.is_some_and(|code| code != 0);
    if let (true, Some(code)) = (failed, command.exit_code) {
        output.push(ToolResultPart::Text(format!("exit code {code}")));
    }
    ToolCall {
        name: "shell".to_owned(),
        title: words.lines().next().unwrap_or_default().to_owned(),
        kind: kind(command),
        input: json!({ "command": words, "cwd": command.directory }),
        status: match status(command.status, done) {
            ToolStatus::Completed if failed => ToolStatus::Failed,
            status => status,
        },
        output,
    }
}

fn kind(command: &CommandExecution) -> ToolKind {
    let all = |known: &[&str]| {
        !command.actions.is_empty() && command.actions.iter().all(|(of, _)| known.contains(&of.as_str()))
    };
    if all(&["read"]) {
        ToolKind::Read
    } else if all(&["search", "listFiles"]) {
        ToolKind::Search
    } else {
        ToolKind::Execute
    }
}

/// Removes the wrapping shell command: `/bin/bash -lc 'ls -l'` becomes `ls -l`.
pub(super) fn without_shell(command: &str) -> String {
    let inner = ["-lc ", "-c "].iter().find_map(|flag| {
        let (shell, inner) = command.split_once(flag)?;
        let shell = shell.trim_end();
        (shell.ends_with("sh") && !shell.contains(char::is_whitespace)).then_some(inner.trim())
    });
    let Some(inner) = inner else { return command.to_owned() };
    let between = |quote: char| inner.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    match (between('\''), between('"')) {
        (Some(text), _) => text.replace(r"'\''", "'"),
        (None, Some(text)) => ["\"", "$", "`", "\\"]
            .iter()
            .fold(text.to_owned(), |text, escaped| text.replace(&format!("\\{escaped}"), escaped)),
        (None, None) => inner.to_owned(),
    }
}

/// Builds the card of a file change.
pub(super) fn changes(changes: &[CodexFileChange], of: ThreadItemStatus, done: bool) -> ToolCall {
    let paths: Vec<&str> = changes.iter().map(|change| change.path.as_str()).collect();
    ToolCall {
        name: "edit".to_owned(),
        title: match paths[..] {
            [] => "edit".to_owned(),
            [one] => one.to_owned(),
            [first, ..] => format!("{first} and {} more", paths.len() - 1),
        },
        kind: ToolKind::Edit,
        input: json!({ "paths": paths }),
        status: status(of, done),
        output: changes.iter().map(diff).collect(),
    }
}

/// Builds the diff of a file change: the complete text of an added or deleted file, otherwise only the changed hunks.
fn diff(change: &CodexFileChange) -> ToolResultPart {
    let (path, text) = (change.path.clone(), change.diff.clone());
    match &change.kind {
        ChangeKind::Add => ToolResultPart::Diff { path, old: None, new: text },
        ChangeKind::Delete => ToolResultPart::Diff { path, old: Some(text), new: String::new() },
        ChangeKind::Update { moved } => {
            let (old, new) = sides(&text);
            let path = moved.as_ref().map_or_else(|| path.clone(), |to| format!("{path} → {to}"));
            ToolResultPart::Diff { path, old: Some(old), new }
        }
    }
}

/// Splits a unified diff into the old and the new text of its hunks.
fn sides(diff: &str) -> (String, String) {
    let (mut old, mut new) = (String::new(), String::new());
    let hunks = diff.lines().skip_while(|line| !line.starts_with("@@"));
    for line in hunks.filter(|line| !line.starts_with("@@") && !line.starts_with('\\')) {
        let put = |side: &mut String, text: &str| {
            side.push_str(text);
            side.push('\n');
        };
        match line.split_at_checked(1) {
            Some(("-", text)) => put(&mut old, text),
            Some(("+", text)) => put(&mut new, text),
            Some((" ", text)) => {
                put(&mut old, text);
                put(&mut new, text);
            }
            _ => {
                put(&mut old, line);
                put(&mut new, line);
            }
        }
    }
    (old, new)
}

/// Returns the complete details of a permission question about file changes.
pub(super) fn details(changes: &[CodexFileChange]) -> Vec<QuestionDetail> {
    let detail = |change| match diff(change) {
        ToolResultPart::Diff { path, old, new } => QuestionDetail::Diff { path, old, new },
        ToolResultPart::Text(text) => QuestionDetail::Text(text),
    };
    changes.iter().map(detail).collect()
}

/// Builds the card of any other tool call.
pub(super) fn call(call: &CodexToolCall, done: bool) -> ToolCall {
    let name = match &call.server {
        Some(server) => format!("{server}: {}", call.name),
        None => call.name.clone(),
    };
    let subject = call.input.as_str().and_then(|text| text.lines().next()).filter(|text| !text.is_empty());
    ToolCall {
        title: subject.map_or_else(|| name.clone(), |subject| format!("{name} {subject}")),
        name,
        kind: match call.item_type.as_str() {
            "webSearch" => ToolKind::Fetch,
            "imageView" => ToolKind::Read,
            _ => ToolKind::Other,
        },
        input: call.input.clone(),
        status: status(call.status, done),
        output: call.output.iter().cloned().map(ToolResultPart::Text).collect(),
    }
}

/// Builds the card of a plan.
pub(super) fn plan(explanation: Option<&str>, steps: &[PlanStep]) -> ToolCall {
    let line = |step: &PlanStep| {
        let mark = match step.status {
            StepStatus::Completed => "[x]",
            StepStatus::InProgress => "[>]",
            StepStatus::Pending => "[ ]",
        };
        format!("{mark} {}", step.step)
    };
    let done = steps.iter().filter(|step| step.status == StepStatus::Completed).count();
    let lines: Vec<String> = explanation.map(str::to_owned).into_iter().chain(steps.iter().map(line)).collect();
    ToolCall {
        name: "plan".to_owned(),
        title: format!("plan: {done} of {} done", steps.len()),
        kind: ToolKind::Other,
        input: Value::Null,
        status: if done == steps.len() { ToolStatus::Completed } else { ToolStatus::Running },
        output: vec![ToolResultPart::Text(lines.join("\n"))],
    }
}

/// Returns the number of bytes that Codex omitted from an output. Codex retains the first and last half MiB.
pub(super) fn omitted(output: &str) -> Option<u64> {
    let lines = output.lines().filter_map(|line| line.strip_prefix("... ")?.strip_suffix(" bytes omitted ..."));
    lines.filter_map(|number| number.parse().ok()).next().filter(|_| output.len() >= MAX_CODEX_OUTPUT_BYTES)
}

/// Maximum number of bytes of an output that Codex retains.
const MAX_CODEX_OUTPUT_BYTES: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_somebody_would_type_it() {
        assert_eq!(without_shell("/bin/bash -lc 'touch a && echo hi'"), "touch a && echo hi");
        assert_eq!(without_shell(r"/bin/zsh -lc 'echo '\''x'\'''"), "echo 'x'");
        assert_eq!(without_shell(r#"/bin/bash -lc "echo 'a' \"b\" \$c""#), r#"echo 'a' "b" $c"#);
        assert_eq!(without_shell("git -c x=y status"), "git -c x=y status");
        assert_eq!(without_shell("ls"), "ls");
    }

    #[test]
    fn a_command_that_ends_badly_has_failed() {
        let bad =
            CommandExecution { status: ThreadItemStatus::Completed, exit_code: Some(2), ..CommandExecution::default() };
        let card = command(&bad, true);
        assert_eq!(card.status, ToolStatus::Failed);
        assert_eq!(card.output, [ToolResultPart::Text("exit code 2".to_owned())]);
        let read =
            CommandExecution { actions: vec![("read".to_owned(), "cat a".to_owned())], ..CommandExecution::default() };
        assert_eq!((command(&read, false).kind, command(&read, false).title.as_str()), (ToolKind::Read, "cat a"));
    }

    #[test]
    fn a_change_shows_both_sides() {
        let diff_of = "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n\\ No newline at end of file\n";
        assert_eq!(sides(diff_of), ("one\ntwo\nthree\n".to_owned(), "one\n2\nthree\n".to_owned()));
        let new = CodexFileChange { path: "n".to_owned(), kind: ChangeKind::Add, diff: "all of it\n".to_owned() };
        let card = changes(&[new.clone(), new], ThreadItemStatus::Completed, true);
        assert_eq!(card.title, "n and 1 more");
        assert_eq!(
            card.output[0],
            ToolResultPart::Diff { path: "n".to_owned(), old: None, new: "all of it\n".to_owned() }
        );
    }

    #[test]
    fn what_is_not_allowed_searched_or_deleted_is_shown_so() {
        let declined = CommandExecution {
            command: "ls".to_owned(),
            status: ThreadItemStatus::Declined,
            ..CommandExecution::default()
        };
        assert_eq!(command(&declined, true).status, ToolStatus::Denied);
        let failed = CommandExecution {
            status: ThreadItemStatus::Failed,
            output: Some("no".to_owned()),
            ..CommandExecution::default()
        };
        assert_eq!((command(&failed, true).status, command(&failed, true).output.len()), (ToolStatus::Failed, 1));
        assert_eq!(command(&CommandExecution::default(), false).status, ToolStatus::Running);
        assert_eq!(
            command(&CommandExecution::default(), true).status,
            ToolStatus::Completed,
            "over, and no word of how"
        );
        let listed = CommandExecution {
            actions: vec![("listFiles".to_owned(), "ls".to_owned())],
            ..CommandExecution::default()
        };
        assert_eq!(command(&listed, false).kind, ToolKind::Search);
        let gone = CodexFileChange { path: "g".to_owned(), kind: ChangeKind::Delete, diff: "all\n".to_owned() };
        let moved = ChangeKind::Update { moved: Some("n".to_owned()) };
        let moved = CodexFileChange { path: "m".to_owned(), kind: moved, diff: "@@\nodd\n".to_owned() };
        assert_eq!(changes(&[], ThreadItemStatus::InProgress, false).title, "edit");
        let QuestionDetail::Diff { path, old, new } = &details(&[gone])[0] else { panic!("a change") };
        assert_eq!((path.as_str(), old.as_deref(), new.as_str()), ("g", Some("all\n"), ""));
        let QuestionDetail::Diff { path, new, .. } = &details(&[moved])[0] else { panic!("a change") };
        assert_eq!((path.as_str(), new.as_str()), ("m → n", "odd\n"));
    }

    #[test]
    fn other_tools_say_whose_they_are_and_what_for() {
        let used = |of: &str, server: Option<&str>, input: Value| CodexToolCall {
            item_type: of.to_owned(),
            server: server.map(str::to_owned),
            name: "seek".to_owned(),
            input,
            status: ThreadItemStatus::Completed,
            output: Some("found".to_owned()),
        };
        let card = call(&used("webSearch", None, json!("a wheel\nand more")), true);
        assert_eq!((card.title.as_str(), card.kind), ("seek a wheel", ToolKind::Fetch));
        let card = call(&used("mcpToolCall", Some("desk"), json!({})), true);
        assert_eq!((card.title.as_str(), card.kind), ("desk: seek", ToolKind::Other));
        assert_eq!(call(&used("imageView", None, json!("/a.png")), false).kind, ToolKind::Read);
        assert_eq!(card.output, [ToolResultPart::Text("found".to_owned())]);
    }

    #[test]
    fn a_plan_says_how_far_it_is() {
        let step = |step: &str, status| PlanStep { step: step.to_owned(), status };
        let steps = [step("look", StepStatus::Completed), step("leap", StepStatus::InProgress)];
        let card = plan(Some("because"), &steps);
        assert_eq!((card.title.as_str(), card.status), ("plan: 1 of 2 done", ToolStatus::Running));
        assert_eq!(card.output, [ToolResultPart::Text("because\n[x] look\n[>] leap".to_owned())]);
    }

    #[test]
    fn an_output_that_codex_has_cut_says_by_how_much() {
        let half = "x".repeat(MAX_CODEX_OUTPUT_BYTES / 2);
        assert_eq!(omitted(&format!("{half}\n... 240319 bytes omitted ...\n{half}")), Some(240_319));
        assert_eq!(omitted("... 240319 bytes omitted ..."), None, "words of a short output");
        assert_eq!(omitted(&half.repeat(2)), None);
    }
}
