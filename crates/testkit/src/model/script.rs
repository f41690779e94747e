//! From the user's text to what the model does about it. Pure.

use std::ops::RangeInclusive;

use serde_json::{Value, json};

/// The statuses that `fail:` may ask for.
const FAILURES: RangeInclusive<u16> = 400..=599;

/// How much of a text is echoed, in characters.
const ECHOED: usize = 200;

/// What one text asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Behaviour {
    /// Ask for the shell tool with this command.
    Shell(String),
    /// Ask for the file-writing tool.
    Write {
        /// Where to, as the text has it.
        path: String,
        /// What to write.
        text: String,
    },
    /// Ask the user.
    Ask(String),
    /// Call a tool by its name.
    Call {
        /// The tool.
        tool: String,
        /// Its arguments, an object.
        arguments: Value,
    },
    /// Think this, then answer.
    Think(String),
    /// Say that many words, ten a second.
    Slow(usize),
    /// Say that many words at once.
    Fast(usize),
    /// Say that many KiB at once.
    Big(usize),
    /// Answer with this HTTP status.
    Fail(u16),
    /// Say the end of the text back.
    Echo,
}

impl Behaviour {
    /// What the text asks for. The word may stand anywhere in it, since agents wrap what the user typed; what it asks for
    /// ends with the line. An order that makes no sense is echoed.
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

/// `echo: ` and the end of the text, in the two words that it is said in.
pub fn echo(text: &str) -> [String; 2] {
    let text = text.trim();
    let skipped = text.chars().count().saturating_sub(ECHOED);
    ["echo: ".to_owned(), text.chars().skip(skipped).collect()]
}

fn fail(text: &str) -> Option<Behaviour> {
    let status = after(text, "fail")?.parse().ok()?;
    FAILURES.contains(&status).then_some(Behaviour::Fail(status))
}

fn write(text: &str) -> Option<Behaviour> {
    let (path, text) = after(text, "edit")?.split_once(' ')?;
    Some(Behaviour::Write { path: path.to_owned(), text: text.to_owned() })
}

fn call(text: &str) -> Option<Behaviour> {
    let order = after(text, "call")?;
    let (tool, arguments) = order.split_once(' ').unwrap_or((order, ""));
    let arguments = match arguments.trim() {
        "" => json!({}),
        given => serde_json::from_str(given).ok().filter(Value::is_object)?,
    };
    Some(Behaviour::Call { tool: tool.to_owned(), arguments })
}

fn number(text: &str, word: &str) -> Option<usize> {
    after(text, word)?.split_whitespace().next()?.parse().ok()
}

/// The rest of the line after `word: `, where that stands as a word of its own: a `task: ` asks nothing.
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
            ("tool: echo hi", Behaviour::Shell("echo hi".into())),
            ("edit: a.txt two words", Behaviour::Write { path: "a.txt".into(), text: "two words".into() }),
            ("ask: which one?", Behaviour::Ask("which one?".into())),
            ("think: deep thoughts", Behaviour::Think("deep thoughts".into())),
            (r#"call: mcp__x {"a": [1]}"#, Behaviour::Call { tool: "mcp__x".into(), arguments: json!({"a": [1]}) }),
            ("call: mcp__x", Behaviour::Call { tool: "mcp__x".into(), arguments: json!({}) }),
            ("slow: 12", Behaviour::Slow(12)),
            ("fast: 12", Behaviour::Fast(12)),
            ("big: 3 please", Behaviour::Big(3)),
            ("fail: 529", Behaviour::Fail(529)),
            ("hello there", Behaviour::Echo),
        ] {
            assert_eq!(Behaviour::of(text), behaviour, "{text}");
        }
    }

    #[test]
    fn an_order_stands_anywhere_and_ends_with_its_line() {
        let text = "<context>\nThe user says: tool: echo hi \nand more";
        assert_eq!(Behaviour::of(text), Behaviour::Shell("echo hi".into()));
    }

    #[test]
    fn an_order_that_makes_no_sense_is_echoed() {
        for text in
            ["fail: 200", "fail: soon", "slow: ly", "edit: alone", "call: x {", "call: x [1]", "tool:", "my task: x"]
        {
            assert_eq!(Behaviour::of(text), Behaviour::Echo, "{text}");
        }
    }

    #[test]
    fn the_echo_is_the_end_of_the_text() {
        let long = format!("start {}", "é".repeat(200));
        assert_eq!(echo(&long), ["echo: ".to_owned(), "é".repeat(200)]);
        assert_eq!(echo(" hi\n"), ["echo: ".to_owned(), "hi".to_owned()]);
    }
}
