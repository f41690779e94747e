//! Maps the user's text to the behaviour of the model. Pure.

use std::ops::RangeInclusive;

use serde_json::{Value, json};

/// Status codes that `fail:` accepts.
const FAILURE_STATUSES: RangeInclusive<u16> = 400..=599;

/// Maximum number of characters that are echoed.
const MAX_ECHO_CHARACTERS: usize = 200;

/// Behaviour of the model that the user's text requests.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelBehaviour {
    /// Calls the shell tool with this command.
    Shell(String),
    /// Calls the tool that writes files.
    Write {
        /// Path as given in the text.
        path: String,
        /// Content to write.
        text: String,
    },
    /// Asks the user a question.
    Ask(String),
    /// Calls a tool by name.
    Call {
        /// Name of the tool.
        tool: String,
        /// Arguments of the call, an object.
        arguments: Value,
    },
    /// Streams this reasoning, then the echo.
    Think(String),
    /// Streams this number of words, ten per second.
    Slow(usize),
    /// Streams this number of words without delay.
    Fast(usize),
    /// Streams this number of KiB without delay.
    Big(usize),
    /// Responds with this HTTP status.
    Fail(u16),
    /// Echoes the end of the text.
    Echo,
}

impl ModelBehaviour {
    /// Parses the behaviour. The keyword may be anywhere in the text, because agents wrap the user's input. Its
    /// argument ends at the end of the line. Invalid instructions are echoed.
    pub fn of(text: &str) -> Self {
        fail(text)
            .or_else(|| write(text))
            .or_else(|| after(text, "ask").map(|question| Self::Ask(question.to_owned())))
            .or_else(|| call(text))
            .or_else(|| after(text, "tool").map(|command| Self::Shell(command.to_owned())))
            .or_else(|| after(text, "think").map(|thought| Self::Think(thought.to_owned())))
            .or_else(|| number(text, "big").map(Self::Big))
            .or_else(|| number(text, "fast").map(Self::Fast))
            .or_else(|| number(text, "slow").map(Self::Slow))
            .unwrap_or(Self::Echo)
    }
}

/// Returns `echo: ` and the end of the text, as two chunks.
pub fn echo(text: &str) -> [String; 2] {
    let text = text.trim();
    let skipped = text.chars().count().saturating_sub(MAX_ECHO_CHARACTERS);
    ["echo: ".to_owned(), text.chars().skip(skipped).collect()]
}

fn fail(text: &str) -> Option<ModelBehaviour> {
    let status = after(text, "fail")?.parse().ok()?;
    FAILURE_STATUSES.contains(&status).then_some(ModelBehaviour::Fail(status))
}

fn write(text: &str) -> Option<ModelBehaviour> {
    let (path, text) = after(text, "edit")?.split_once(' ')?;
    Some(ModelBehaviour::Write { path: path.to_owned(), text: text.to_owned() })
}

fn call(text: &str) -> Option<ModelBehaviour> {
    let order = after(text, "call")?;
    let (tool, arguments) = order.split_once(' ').unwrap_or((order, ""));
    let arguments = match arguments.trim() {
        "" => json!({}),
        given => serde_json::from_str(given).ok().filter(Value::is_object)?,
    };
    Some(ModelBehaviour::Call { tool: tool.to_owned(), arguments })
}

fn number(text: &str, word: &str) -> Option<usize> {
    after(text, word)?.split_whitespace().next()?.parse().ok()
}

/// Returns the rest of the line after `word: `. The keyword must not be the end of a longer word such as `task: `.
fn after<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let order = format!("{word}: ");
    let (at, _) = text.match_indices(&order).find(|&(at, _)| !text[..at].ends_with(char::is_alphanumeric))?;
    let rest = text[at + order.len()..].lines().next()?.trim();
    (!rest.is_empty()).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_picks_its_behaviour() {
        for (text, behaviour) in [
            ("tool: echo hi", ModelBehaviour::Shell("echo hi".into())),
            ("edit: a.txt two words", ModelBehaviour::Write { path: "a.txt".into(), text: "two words".into() }),
            ("ask: which one?", ModelBehaviour::Ask("which one?".into())),
            ("think: deep thoughts", ModelBehaviour::Think("deep thoughts".into())),
            (
                r#"call: mcp__x {"a": [1]}"#,
                ModelBehaviour::Call { tool: "mcp__x".into(), arguments: json!({"a": [1]}) },
            ),
            ("call: mcp__x", ModelBehaviour::Call { tool: "mcp__x".into(), arguments: json!({}) }),
            ("slow: 12", ModelBehaviour::Slow(12)),
            ("fast: 12", ModelBehaviour::Fast(12)),
            ("big: 3 please", ModelBehaviour::Big(3)),
            ("fail: 529", ModelBehaviour::Fail(529)),
            ("hello there", ModelBehaviour::Echo),
        ] {
            assert_eq!(ModelBehaviour::of(text), behaviour, "{text}");
        }
    }

    #[test]
    fn an_order_stands_anywhere_and_ends_with_its_line() {
        let text = "<context>\nThe user says: tool: echo hi \nand more";
        assert_eq!(ModelBehaviour::of(text), ModelBehaviour::Shell("echo hi".into()));
    }

    #[test]
    fn an_order_that_makes_no_sense_is_echoed() {
        for text in
            ["fail: 200", "fail: soon", "slow: ly", "edit: alone", "call: x {", "call: x [1]", "tool:", "my task: x"]
        {
            assert_eq!(ModelBehaviour::of(text), ModelBehaviour::Echo, "{text}");
        }
    }

    #[test]
    fn the_echo_is_the_end_of_the_text() {
        let long = format!("start {}", "é".repeat(200));
        assert_eq!(echo(&long), ["echo: ".to_owned(), "é".repeat(200)]);
        assert_eq!(echo(" hi\n"), ["echo: ".to_owned(), "hi".to_owned()]);
    }
}
