//! Checks every row of the table: it parses as its usage states, by each of its names, and is in the help and in
//! docs/commands.md.

use std::collections::BTreeSet;
use std::path::Path;

use super::*;

/// Returns a word that the usage allows for an argument.
fn example(argument: &Argument) -> &'static str {
    let word = argument.written.trim_matches(['[', ']']).split('|').next().unwrap();
    match word.trim_end_matches("...") {
        "SECONDS" | "COUNT" | "TOKENS" | "NUMBER" => "3",
        "DIRECTION" => "upload",
        "JSON" => "{}",
        word if word.chars().all(|letter| letter.is_ascii_uppercase()) => "demo",
        word => word,
    }
}

/// Returns a line with all arguments of a form, and one with its required arguments only.
fn examples(name: &str, form: &ArgumentForm) -> [String; 2] {
    let line = |arguments: &[Argument]| {
        let words = arguments.iter().map(|argument| format!(" {}", example(argument)));
        format!("/{name}{}", words.collect::<String>())
    };
    let needed = form.arguments.iter().take_while(|argument| !argument.written.starts_with('[')).count();
    [line(form.arguments), line(&form.arguments[..needed])]
}

#[test]
fn every_usage_parses_by_every_name() {
    for row in ROWS {
        for (name, form) in row.names.iter().flat_map(|name| row.forms.iter().map(move |form| (name, form))) {
            for line in examples(name, form) {
                let parsed = parse(&line).unwrap_or_else(|mistake| panic!("{line}: {mistake}"));
                let of_agent = matches!(parsed, SlashCommand::Space(ConversationCommand::AgentCommand { .. }));
                assert!(!of_agent, "{line} is a command of wh");
                assert_eq!(parse(&format!(" {line} ")), Ok(parsed), "blanks around it");
            }
        }
    }
}

#[test]
fn every_name_belongs_to_one_row() {
    let names: Vec<&str> = ROWS.iter().flat_map(|row| row.names.iter().copied()).collect();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    for row in ROWS {
        assert!(!row.forms.is_empty(), "{}", row.name());
        assert!(row.names.iter().all(|name| find(name).is_some_and(|found| found.name() == row.name())));
    }
}

#[test]
fn the_help_has_a_line_for_every_row() {
    let lines = help(&[]);
    for row in ROWS {
        let listed = match row.listing {
            HelpListing::With(other) => find(other).unwrap(),
            _ => row,
        };
        let usage = match listed.listing {
            HelpListing::Joint(_, usage, _) => usage.to_owned(),
            _ => listed.usage(),
        };
        assert!(lines.iter().any(|line| line.trim_start().starts_with(&usage)), "{}: {usage}", row.name());
    }
}

#[test]
fn a_mistake_has_the_usage_of_its_command() {
    for (line, expected) in [
        ("/pause", "a participant is missing; usage: /pause PARTICIPANT [SECONDS] [REASON]"),
        ("/login a b c", "the login code must be one word; usage: /login [AGENT] [cancel|CODE]"),
        ("/ui nonsense", "the argument must be board, tools or clear; usage: /ui board|tools [open|close|auto]"),
        (
            "/stream",
            "give request and a participant, or close and an id; usage: /stream request PARTICIPANT DIRECTION [DESCRIPTION]",
        ),
    ] {
        assert_eq!(parse(line).unwrap_err().to_string(), expected, "{line}");
    }
}

#[test]
fn an_unknown_command_names_the_one_that_is_like_it() {
    let unknown = |name: &str| crate::space::command::SpaceRefusal::UnknownCommand(name.to_owned()).to_string();
    assert_eq!(unknown("hlep"), "Unknown command: /hlep; did you mean /help? /help lists the commands");
    assert_eq!(unknown("frobnicate"), "Unknown command: /frobnicate; /help lists the commands");
}

#[test]
fn a_form_completes_its_own_arguments() {
    let [request, close] = find("stream").unwrap().forms else { panic!("there are two") };
    assert_eq!(request.completes(&["request"]), &[CompletionSource::Agents]);
    assert_eq!(request.completes(&["close"]), &[]);
    assert_eq!(close.completes(&["close"]), &[CompletionSource::Streams]);
    let target = find("target").unwrap().forms[0];
    assert_eq!(target.completes(&["a", "b"]), &[CompletionSource::Agents]);
}

/// Returns the table of docs/commands.md.
fn documented() -> String {
    let mut page = "| command | aliases | effect |\n|---|---|---|\n".to_owned();
    for row in ROWS {
        let aliases: Vec<String> = row.names.iter().skip(1).map(|name| format!("`/{name}`")).collect();
        for form in row.forms {
            let usage = form.usage(row.name()).replace('|', "\\|");
            page.push_str(&format!("| `{usage}` | {} | {} |\n", aliases.join(", "), form.about));
        }
    }
    page
}

#[test]
fn the_documentation_has_the_table() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/commands.md");
    let page = std::fs::read_to_string(page).unwrap();
    let table = documented();
    assert!(page.contains(&table), "put this table into docs/commands.md:\n{table}");
}
