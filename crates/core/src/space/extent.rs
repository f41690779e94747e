//! How much of an item is here, and how much there is of it in all; and an item as one text, so that a part of it can be
//! named by where it begins.

use serde::{Deserialize, Serialize};
use std::fmt::Write;

use serde_json::Value;

use super::item::{Body, Item, Output};
use super::question::Detail;

/// Lines around a change that a [`patch`] shows.
const CONTEXT: usize = 3;

/// How much of an item is shown, of how much. Only items that are not shown whole have one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extent {
    /// Bytes that the item holds.
    pub shown: u64,
    /// Bytes that there are, or were.
    pub whole: u64,
}

impl std::fmt::Display for Extent {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} of {} shown", size(self.shown), size(self.whole))
    }
}

/// A part of an item as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// Where it begins, in bytes.
    pub offset: u64,
    /// The text.
    pub text: String,
    /// Where the next part begins; `None` at the end.
    pub next: Option<u64>,
    /// How much there is, and how much of it the item itself holds.
    pub extent: Extent,
}

/// Why a part of an item cannot be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum NoPiece {
    /// There is no such item.
    #[error("there is no item of this id")]
    NoSuchItem,
    /// It is not made of text.
    #[error("this item is neither a text, a thought, a tool call nor a question, and has no output")]
    NoOutput,
    /// It is shorter than that.
    #[error("it ends at {0}")]
    BeyondTheEnd(u64),
    /// What was beyond what the item shows is not kept any more.
    #[error("that part is not kept any more: of each agent the newest are, and only while it runs")]
    NotKept,
}

/// A size for people: `812 B`, `1.5 KB`, `12 MB`.
pub fn size(bytes: u64) -> String {
    let (mut unit, mut divisor) = ("B", 1u128);
    for larger in ["KB", "MB", "GB", "TB"] {
        if u128::from(bytes) * 10 < divisor * 10_000 {
            break;
        }
        (unit, divisor) = (larger, divisor * 1000);
    }
    let tenths = (u128::from(bytes) * 10 + divisor / 2) / divisor;
    match (tenths / 10, tenths % 10) {
        (whole, tenth) if whole < 10 && tenth > 0 => format!("{whole}.{tenth} {unit}"),
        _ => format!("{} {unit}", (u128::from(bytes) + divisor / 2) / divisor),
    }
}

/// Where a text may be cut so that at most so many bytes stay.
pub fn boundary(text: &str, most: usize) -> usize {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    end
}

/// Pieces of what came of a tool call as one text: changes as patches, each piece on lines of its own.
pub fn words(output: &[Output]) -> String {
    let mut all = String::new();
    for piece in output {
        if !all.is_empty() && !all.ends_with('\n') {
            all.push('\n');
        }
        match piece {
            Output::Text(text) => all.push_str(text),
            Output::Diff { path, old, new } => all.push_str(&patch(path, old.as_deref(), new)),
        }
    }
    all
}

impl Item {
    /// The item as one text; `None` where it is not made of text.
    pub fn words(&self) -> Option<String> {
        match &self.body {
            Body::Text { text, .. } | Body::Thought { text, .. } => Some(text.clone()),
            Body::Tool(call) => Some(words(&call.output)),
            Body::Question { question, .. } => Some(question.words()),
            Body::Notice { .. } | Body::Act { .. } => None,
        }
    }

    /// A part of it, at most about so many bytes. What is beyond what it shows is `read`; of a question that is not shown
    /// whole, all of it is, because its parts are shown in another form than the text has.
    pub fn piece(&self, offset: u64, most: usize, read: impl FnOnce(u64) -> Option<String>) -> Result<Piece, NoPiece> {
        let words = self.words().ok_or(NoPiece::NoOutput)?;
        let elsewhere = matches!(self.body, Body::Question { .. }) && self.extent.is_some();
        let held = if elsewhere { 0 } else { words.len() as u64 };
        let extent = self.extent.unwrap_or(Extent { shown: held, whole: held });
        if offset > extent.whole {
            return Err(NoPiece::BeyondTheEnd(extent.whole));
        }
        let text = match usize::try_from(offset).ok().filter(|_| offset < held) {
            Some(offset) => {
                let begin = boundary(&words, offset);
                words[begin..begin + boundary(&words[begin..], most)].to_owned()
            }
            None if offset == extent.whole => String::new(),
            None => read(offset).ok_or(NoPiece::NotKept)?,
        };
        let next = offset + text.len() as u64;
        Ok(Piece { offset, text, next: (next < extent.whole).then_some(next), extent })
    }

    /// About how many bytes of memory it takes.
    pub fn weight(&self) -> usize {
        /// What an item takes that holds nothing.
        const BARE: usize = 256;
        let output = |piece: &Output| match piece {
            Output::Text(text) => text.len(),
            Output::Diff { path, old, new } => path.len() + old.as_ref().map_or(0, String::len) + new.len(),
        };
        let detail = |detail: &Detail| match detail {
            Detail::Input { input, .. } => value_weight(input),
            other => other.weight(),
        };
        BARE + match &self.body {
            Body::Text { text, .. } | Body::Thought { text, .. } => text.len(),
            Body::Tool(call) => value_weight(&call.input) + call.output.iter().map(output).sum::<usize>(),
            Body::Question { question, .. } => question.details.iter().map(detail).sum(),
            Body::Notice { lines, .. } => lines.iter().map(String::len).sum(),
            Body::Act { payload, .. } => value_weight(payload),
        }
    }

    /// How much of it there is.
    pub fn extent(&self) -> Option<Extent> {
        let held = || self.words().map(|words| words.len() as u64);
        self.extent.or_else(|| held().map(|held| Extent { shown: held, whole: held }))
    }
}

fn value_weight(value: &Value) -> usize {
    /// What a value takes beside its text.
    const BARE: usize = 32;
    BARE + match value {
        Value::String(text) => text.len(),
        Value::Array(list) => list.iter().map(value_weight).sum(),
        Value::Object(fields) => fields.iter().map(|(name, one)| name.len() + value_weight(one)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// A change to a file in the unified format, in one piece: from the first line that differs to the last, and a few lines
/// around them.
pub fn patch(path: &str, old: Option<&str>, new: &str) -> String {
    let (before, after): (Vec<&str>, Vec<&str>) = (lines(old.unwrap_or_default()), lines(new));
    let same = before.iter().zip(&after).take_while(|(one, other)| one == other).count();
    let most = before.len().min(after.len()) - same;
    let ends = before.iter().rev().zip(after.iter().rev()).take(most).take_while(|(one, other)| one == other).count();
    let begin = same.saturating_sub(CONTEXT);
    let tail = ends.min(CONTEXT);
    let (gone, come) = (&before[same..before.len() - ends], &after[same..after.len() - ends]);

    let mut patch = match old {
        Some(_) => format!("--- {path}\n+++ {path}\n"),
        None => format!("--- /dev/null\n+++ {path}\n"),
    };
    let counts = (same - begin + gone.len() + tail, same - begin + come.len() + tail);
    let _ = writeln!(patch, "@@ -{},{} +{},{} @@", begin + 1, counts.0, begin + 1, counts.1);
    let after_the_change = before.len() - ends;
    let parts = [
        (' ', &before[begin..same]),
        ('-', gone),
        ('+', come),
        (' ', &before[after_the_change..after_the_change + tail]),
    ];
    for (sign, lines) in parts {
        for line in lines {
            patch.push(sign);
            patch.push_str(line);
            if !line.ends_with('\n') {
                patch.push('\n');
            }
        }
    }
    patch
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_for_people() {
        let said = [
            (0, "0 B"),
            (812, "812 B"),
            (1_000, "1 KB"),
            (1_536, "1.5 KB"),
            (49_998, "50 KB"),
            (999_499, "999 KB"),
            (3_240_000, "3.2 MB"),
            (12_000_000, "12 MB"),
            (u64::MAX, "18446744 TB"),
        ];
        for (bytes, said) in said {
            assert_eq!(size(bytes), said);
        }
        assert_eq!(Extent { shown: 50_000, whole: 3_240_000 }.to_string(), "50 KB of 3.2 MB shown");
    }

    #[test]
    fn a_patch_has_the_lines_that_differ_and_where_they_are() {
        let old: String = (1..=20).map(|number| format!("{number}\n")).collect();
        let new = old.replace("10\n", "ten\n");
        let expected = "--- a\n+++ a\n@@ -7,7 +7,7 @@\n 7\n 8\n 9\n-10\n+ten\n 11\n 12\n 13\n";
        assert_eq!(patch("a", Some(&old), &new), expected);
        assert_eq!(patch("n", None, "x\ny"), "--- /dev/null\n+++ n\n@@ -1,0 +1,2 @@\n+x\n+y\n");
        assert_eq!(patch("s", Some("x\n"), "x\n"), "--- s\n+++ s\n@@ -1,1 +1,1 @@\n x\n");
        assert_eq!(patch("d", Some("x\nx\n"), "x\n"), "--- d\n+++ d\n@@ -1,2 +1,1 @@\n x\n-x\n");
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!((boundary("aé", 2), boundary("aé", 3), boundary("aé", 9), boundary("", 3)), (1, 3, 3, 0));
    }

    fn item(body: Body, extent: Option<Extent>) -> Item {
        let (at, progress) = (std::time::SystemTime::UNIX_EPOCH, crate::space::item::Progress::Done);
        Item {
            id: "i1".into(),
            from: "demo".into(),
            to: None,
            turn: None,
            at,
            body,
            progress,
            extent,
            listed: Vec::new(),
            starts: Vec::new(),
        }
    }

    fn text(words: &str) -> Body {
        Body::Text { text: words.to_owned(), attachments: Vec::new() }
    }

    fn tool(output: Vec<Output>) -> Body {
        use crate::space::item::{ToolCall, ToolKind, ToolStatus};
        let (name, title, input) = ("t".to_owned(), "T".to_owned(), serde_json::json!({"a": ["b", 1]}));
        Body::Tool(ToolCall { name, title, kind: ToolKind::Other, input, status: ToolStatus::Completed, output })
    }

    #[test]
    fn a_part_is_what_the_item_holds_or_what_is_read() {
        let whole = item(text("hé"), None);
        let part = whole.piece(0, 2, |_| None).unwrap();
        assert_eq!((part.text.as_str(), part.next), ("h", Some(1)), "no character is cut");
        assert_eq!(whole.piece(1, 9, |_| None).unwrap().next, None);
        assert_eq!(whole.piece(3, 9, |_| None).unwrap().text, "");
        assert_eq!(whole.piece(4, 9, |_| None), Err(NoPiece::BeyondTheEnd(3)));
        let extent = Extent { shown: 2, whole: 9 };
        let cut = item(tool(vec![Output::Text("ab".to_owned())]), Some(extent));
        assert_eq!(cut.piece(0, 9, |_| None).unwrap().next, Some(2));
        let read = cut.piece(2, 9, |offset| (offset == 2).then(|| "cdefghi".to_owned())).unwrap();
        assert_eq!((read.text.as_str(), read.next, read.extent), ("cdefghi", None, extent));
        assert_eq!(cut.piece(2, 9, |_| None), Err(NoPiece::NotKept));
        assert_eq!((cut.extent(), whole.extent()), (Some(extent), Some(Extent { shown: 3, whole: 3 })));
        let act = item(Body::Act { kind: "a".to_owned(), payload: Value::Null, about: Vec::new() }, None);
        assert_eq!((act.piece(0, 9, |_| None), act.extent()), (Err(NoPiece::NoOutput), None));
    }

    #[test]
    fn what_is_longer_weighs_more() {
        use crate::space::item::Level;
        use crate::space::question::{Question, QuestionKind};
        let long = || "x".repeat(1000);
        let diff = Output::Diff { path: long(), old: Some(long()), new: long() };
        let details = vec![
            Detail::Command(long()),
            Detail::Diff { path: "a".to_owned(), old: None, new: long() },
            Detail::Input { tool: "t".to_owned(), input: Value::String(long()) },
        ];
        let (kind, options) = (QuestionKind::Text, Vec::new());
        let question = Question { kind, title: String::new(), details, options, accepts_text: true, preselects: false };
        let bodies = [
            (text(&long()), 1000),
            (Body::Thought { text: long(), action: None, tokens: None }, 1000),
            (tool(vec![diff, Output::Text(long())]), 4000),
            (Body::Question { question, closing: None }, 3000),
            (Body::Notice { level: Level::Info, topic: "t".to_owned(), lines: vec![long(), long()] }, 2000),
            (Body::Act { kind: "a".to_owned(), payload: serde_json::json!([long()]), about: Vec::new() }, 1000),
        ];
        for (body, least) in bodies {
            let weight = item(body, None).weight();
            assert!((least..least + 600).contains(&weight), "{weight} for {least}");
        }
    }

    #[test]
    fn pieces_of_output_stand_on_lines_of_their_own() {
        let text = |text: &str| Output::Text(text.to_owned());
        assert_eq!(words(&[text("a"), text("b\n"), text("c")]), "a\nb\nc");
        assert_eq!(words(&[]), "");
    }
}
