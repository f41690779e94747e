//! Text of items, read in parts by byte offset. An [`Extent`] states the shown and the total size of an item.

use serde::{Deserialize, Serialize};
use std::fmt::Write;

use serde_json::Value;

use super::item::{Item, ItemBody, ToolResultPart};
use super::question::QuestionDetail;

/// Number of unchanged lines before and after the changed lines of a [`patch`].
const PATCH_CONTEXT_LINES: usize = 3;

/// Shown and total size of an item whose content is not shown completely.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extent {
    /// Number of bytes that the item contains.
    pub shown: u64,
    /// Number of bytes of the complete content, including parts that are no longer stored.
    pub whole: u64,
}

impl std::fmt::Display for Extent {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} of {} shown", size(self.shown), size(self.whole))
    }
}

/// Part of the text of an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextPiece {
    /// Offset of the part in bytes.
    pub offset: u64,
    pub text: String,
    /// Offset of the next part; `None` if this is the last part.
    pub next: Option<u64>,
    /// Shown and total size of the item.
    pub extent: Extent,
}

/// Error for a part of an item that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum PieceError {
    #[error("there is no item with this id")]
    NoSuchItem,
    /// The item is of a kind that has no text.
    #[error("this item has no output; only texts, thoughts, tool calls and questions have output")]
    NoOutput,
    /// The offset is after the end of the item, which has this number of bytes.
    #[error("the offset is beyond the end of the item, which has {0} bytes")]
    BeyondTheEnd(u64),
    /// The item does not contain the part, and the part is no longer stored.
    #[error("this part is no longer stored; wh stores only the newest output of each running agent")]
    #[serde(rename = "NotKept")]
    NoLongerStored,
}

/// Formats a size as human-readable text: `812 B`, `1.5 KB`, `12 MB`.
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

/// Returns the largest byte index that is a character boundary of the text and is at most `most`.
pub fn boundary(text: &str, most: usize) -> usize {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    end
}

/// Joins the results of a tool call into one text. Each part begins on a new line, and a change is written as a patch.
pub fn output_text(output: &[ToolResultPart]) -> String {
    let mut all = String::new();
    for piece in output {
        if !all.is_empty() && !all.ends_with('\n') {
            all.push('\n');
        }
        match piece {
            ToolResultPart::Text(text) => all.push_str(text),
            ToolResultPart::Diff { path, old, new } => all.push_str(&patch(path, old.as_deref(), new)),
        }
    }
    all
}

impl Item {
    /// Returns the content of the item as text; `None` if its kind has no text.
    pub fn text(&self) -> Option<String> {
        match &self.body {
            ItemBody::Text { text, .. } | ItemBody::Thought { text, .. } => Some(text.clone()),
            ItemBody::Tool(call) => Some(output_text(&call.output)),
            ItemBody::Question { question, .. } => Some(question.full_text()),
            ItemBody::Notice { .. } | ItemBody::Act { .. } => None,
        }
    }

    /// Returns the part of the item's text that begins at `offset`. A part from the item itself has at most `most`
    /// bytes. `read` returns the stored content from an offset; it is called if the item does not contain the offset.
    /// For a shortened question, `read` is called for every offset, because the shown text has different offsets.
    pub fn piece(
        &self,
        offset: u64,
        most: usize,
        read: impl FnOnce(u64) -> Option<String>,
    ) -> Result<TextPiece, PieceError> {
        let words = self.text().ok_or(PieceError::NoOutput)?;
        let elsewhere = matches!(self.body, ItemBody::Question { .. }) && self.extent.is_some();
        let held = if elsewhere { 0 } else { words.len() as u64 };
        let extent = self.extent.unwrap_or(Extent { shown: held, whole: held });
        if offset > extent.whole {
            return Err(PieceError::BeyondTheEnd(extent.whole));
        }
        let text = match usize::try_from(offset).ok().filter(|_| offset < held) {
            Some(offset) => {
                let begin = boundary(&words, offset);
                words[begin..begin + boundary(&words[begin..], most)].to_owned()
            }
            None if offset == extent.whole => String::new(),
            None => read(offset).ok_or(PieceError::NoLongerStored)?,
        };
        let next = offset + text.len() as u64;
        Ok(TextPiece { offset, text, next: (next < extent.whole).then_some(next), extent })
    }

    /// Returns the approximate size of the item in memory in bytes.
    pub fn weight(&self) -> usize {
        /// Approximate size of an item without its content.
        const ITEM_OVERHEAD_BYTES: usize = 256;
        let output = |piece: &ToolResultPart| match piece {
            ToolResultPart::Text(text) => text.len(),
            ToolResultPart::Diff { path, old, new } => path.len() + old.as_ref().map_or(0, String::len) + new.len(),
        };
        let detail = |detail: &QuestionDetail| match detail {
            QuestionDetail::Input { input, .. } => value_weight(input),
            other => other.weight(),
        };
        ITEM_OVERHEAD_BYTES
            + match &self.body {
                ItemBody::Text { text, .. } | ItemBody::Thought { text, .. } => text.len(),
                ItemBody::Tool(call) => value_weight(&call.input) + call.output.iter().map(output).sum::<usize>(),
                ItemBody::Question { question, .. } => question.details.iter().map(detail).sum(),
                ItemBody::Notice { lines, .. } => lines.iter().map(String::len).sum(),
                ItemBody::Act { payload, .. } => value_weight(payload),
            }
    }

    /// Returns the shown and total size, which are equal if the item is shown completely. Returns `None` if the item
    /// has no text.
    pub fn extent(&self) -> Option<Extent> {
        let held = || self.text().map(|words| words.len() as u64);
        self.extent.or_else(|| held().map(|held| Extent { shown: held, whole: held }))
    }
}

fn value_weight(value: &Value) -> usize {
    /// Approximate size of a JSON value without its text.
    const VALUE_OVERHEAD_BYTES: usize = 32;
    VALUE_OVERHEAD_BYTES
        + match value {
            Value::String(text) => text.len(),
            Value::Array(list) => list.iter().map(value_weight).sum(),
            Value::Object(fields) => fields.iter().map(|(name, one)| name.len() + value_weight(one)).sum(),
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        }
}

/// Formats a change to a file as a unified diff. The diff has a single hunk from the first changed line to the last,
/// with three lines of context.
pub fn patch(path: &str, old: Option<&str>, new: &str) -> String {
    let (before, after): (Vec<&str>, Vec<&str>) = (lines(old.unwrap_or_default()), lines(new));
    let same = before.iter().zip(&after).take_while(|(one, other)| one == other).count();
    let most = before.len().min(after.len()) - same;
    let ends = before.iter().rev().zip(after.iter().rev()).take(most).take_while(|(one, other)| one == other).count();
    let begin = same.saturating_sub(PATCH_CONTEXT_LINES);
    let tail = ends.min(PATCH_CONTEXT_LINES);
    let (removed, added) = (&before[same..before.len() - ends], &after[same..after.len() - ends]);

    let mut patch = match old {
        Some(_) => format!("--- {path}\n+++ {path}\n"),
        None => format!("--- /dev/null\n+++ {path}\n"),
    };
    let counts = (same - begin + removed.len() + tail, same - begin + added.len() + tail);
    let _ = writeln!(patch, "@@ -{},{} +{},{} @@", begin + 1, counts.0, begin + 1, counts.1);
    let after_the_change = before.len() - ends;
    let parts = [
        (' ', &before[begin..same]),
        ('-', removed),
        ('+', added),
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
        let expected = [
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
        for (bytes, expected) in expected {
            assert_eq!(size(bytes), expected);
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

    fn item(body: ItemBody, extent: Option<Extent>) -> Item {
        let (at, progress) = (std::time::SystemTime::UNIX_EPOCH, crate::space::item::ItemProgress::Done);
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

    fn text(words: &str) -> ItemBody {
        ItemBody::Text { text: words.to_owned(), attachments: Vec::new() }
    }

    fn tool(output: Vec<ToolResultPart>) -> ItemBody {
        use crate::space::item::{ToolCall, ToolKind, ToolStatus};
        let (name, title, input) = ("t".to_owned(), "T".to_owned(), serde_json::json!({"a": ["b", 1]}));
        ItemBody::Tool(ToolCall { name, title, kind: ToolKind::Other, input, status: ToolStatus::Completed, output })
    }

    #[test]
    fn a_piece_comes_from_the_item_or_the_stored_overflow() {
        let whole = item(text("hé"), None);
        let part = whole.piece(0, 2, |_| None).unwrap();
        assert_eq!((part.text.as_str(), part.next), ("h", Some(1)), "no character is cut");
        assert_eq!(whole.piece(1, 9, |_| None).unwrap().next, None);
        assert_eq!(whole.piece(3, 9, |_| None).unwrap().text, "");
        assert_eq!(whole.piece(4, 9, |_| None), Err(PieceError::BeyondTheEnd(3)));
        let extent = Extent { shown: 2, whole: 9 };
        let cut = item(tool(vec![ToolResultPart::Text("ab".to_owned())]), Some(extent));
        assert_eq!(cut.piece(0, 9, |_| None).unwrap().next, Some(2));
        let read = cut.piece(2, 9, |offset| (offset == 2).then(|| "cdefghi".to_owned())).unwrap();
        assert_eq!((read.text.as_str(), read.next, read.extent), ("cdefghi", None, extent));
        assert_eq!(cut.piece(2, 9, |_| None), Err(PieceError::NoLongerStored));
        assert_eq!((cut.extent(), whole.extent()), (Some(extent), Some(Extent { shown: 3, whole: 3 })));
        let act = item(ItemBody::Act { kind: "a".to_owned(), payload: Value::Null, about: Vec::new() }, None);
        assert_eq!((act.piece(0, 9, |_| None), act.extent()), (Err(PieceError::NoOutput), None));
    }

    #[test]
    fn a_longer_item_has_more_weight() {
        use crate::space::item::NoticeLevel;
        use crate::space::question::{Question, QuestionKind};
        let long = || "x".repeat(1000);
        let diff = ToolResultPart::Diff { path: long(), old: Some(long()), new: long() };
        let details = vec![
            QuestionDetail::Command(long()),
            QuestionDetail::Diff { path: "a".to_owned(), old: None, new: long() },
            QuestionDetail::Input { tool: "t".to_owned(), input: Value::String(long()) },
        ];
        let (kind, options) = (QuestionKind::Text, Vec::new());
        let question = Question { kind, title: String::new(), details, options, accepts_text: true, preselects: false };
        let bodies = [
            (text(&long()), 1000),
            (ItemBody::Thought { text: long(), action: None, tokens: None }, 1000),
            (tool(vec![diff, ToolResultPart::Text(long())]), 4000),
            (ItemBody::Question { question, closing: None }, 3000),
            (ItemBody::Notice { level: NoticeLevel::Info, topic: "t".to_owned(), lines: vec![long(), long()] }, 2000),
            (ItemBody::Act { kind: "a".to_owned(), payload: serde_json::json!([long()]), about: Vec::new() }, 1000),
        ];
        for (body, least) in bodies {
            let weight = item(body, None).weight();
            assert!((least..least + 600).contains(&weight), "{weight} for {least}");
        }
    }

    #[test]
    fn pieces_of_output_stand_on_lines_of_their_own() {
        let text = |text: &str| ToolResultPart::Text(text.to_owned());
        assert_eq!(output_text(&[text("a"), text("b\n"), text("c")]), "a\nb\nc");
        assert_eq!(output_text(&[]), "");
    }
}
