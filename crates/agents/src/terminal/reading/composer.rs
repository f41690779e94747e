//! Composer of an agent: its text, and the comparison with a text that was inserted.

use super::super::rows::squeezed;

/// Mode of a composer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ComposerMode {
    /// Enter sends a prompt to the agent.
    Prompt,
    /// Enter runs a shell command.
    Shell,
    /// Another mode, named by its sign.
    Other(String),
}

/// Size that the composer shows in place of a long paste.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PastedSize {
    /// Number of line breaks (Claude).
    LineBreaks(usize),
    /// Number of lines (Gemini).
    Lines(usize),
    /// Number of characters (Codex, Gemini).
    Characters(usize),
    /// No size is displayed (Claude, one line).
    Unknown,
}

impl PastedSize {
    /// True if a text has this size.
    fn fits(self, text: &str) -> bool {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        match self {
            Self::LineBreaks(count) => text.matches('\n').count() == count,
            Self::Lines(count) => text.split('\n').count() == count || text.lines().count() == count,
            Self::Characters(count) => text.chars().count() == count || text.encode_utf16().count() == count,
            Self::Unknown => true,
        }
    }
}

/// Placeholder of a long paste in a composer, for example `[Pasted text #1 +59 lines]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastedMark {
    /// Placeholder as displayed.
    pub text: String,
    pub size: PastedSize,
}

/// Contents of a composer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComposerReading {
    pub mode: ComposerMode,
    /// Visible rows of the text, without the prompt sign and without placeholder text. Empty if there is no draft.
    pub text: Vec<String>,
    /// True if the composer may hold more lines than are visible.
    pub may_scroll: bool,
    /// Placeholders of long pastes, in order.
    pub pasted: Vec<PastedMark>,
    /// True if a list of completions is open, in which Enter would choose.
    pub completion_open: bool,
}

/// Result of the comparison of a composer with a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComposerMatch {
    /// The composer holds the text, or a placeholder with its size, or, if it scrolls, the end of the text.
    Whole,
    /// The composer holds the beginning of the text, or nothing. The rest may follow.
    Partial,
    /// The composer holds something else.
    Different,
}

impl ComposerReading {
    pub(in super::super) fn new(mode: ComposerMode, text: Vec<String>) -> Self {
        let text = if text.iter().all(|row| row.is_empty()) && text.len() <= 1 { Vec::new() } else { text };
        let pasted = marks(&text.concat()).into_iter().map(|(_, mark)| mark).collect();
        Self { mode, text, may_scroll: false, pasted, completion_open: false }
    }

    /// True if the composer holds no text. An empty composer may be in another mode than [`ComposerMode::Prompt`].
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Compares the composer with a text that was inserted as one bracketed paste into an empty composer. Blanks and
    /// line breaks are ignored, because rows are wrapped. A composer in another mode than the prompt is different.
    pub fn holds(&self, text: &str) -> ComposerMatch {
        if self.mode != ComposerMode::Prompt {
            return ComposerMatch::Different;
        }
        if self.is_empty() {
            return ComposerMatch::Partial;
        }
        let wanted = comparable(text);
        let joined = self.text.concat();
        let shown = comparable(&joined);
        if shown == wanted {
            return ComposerMatch::Whole;
        }
        if let [mark] = self.pasted.as_slice() {
            return self.holds_pasted(mark, text, &shown);
        }
        if !self.pasted.is_empty() {
            return ComposerMatch::Different;
        }
        // A scrolled composer shows the end, because the cursor is behind the last character.
        if self.may_scroll && self.text.len() > 1 && wanted.ends_with(&shown) {
            return ComposerMatch::Whole;
        }
        if wanted.starts_with(&shown) { ComposerMatch::Partial } else { ComposerMatch::Different }
    }

    /// True if the composer holds nothing but a part of this text, or the text several times, or placeholders, or a mode
    /// that the text has switched on.
    pub fn is_only(&self, text: &str) -> bool {
        let wanted = comparable(text);
        let mut shown = comparable(&self.text.concat());
        for mark in &self.pasted {
            shown = shown.replacen(&comparable(&mark.text), "", 1);
        }
        self.mode != ComposerMode::Prompt || wanted.contains(&shown) || shown.replace(&wanted, "").is_empty()
    }

    /// True if another text stands before this text, and nothing behind it.
    pub fn has_draft_before(&self, text: &str) -> bool {
        let shown = comparable(&self.text.concat());
        self.pasted.is_empty() && !self.is_only(text) && shown.ends_with(&comparable(text))
    }

    /// Compares a composer that shows one placeholder, and possibly text before and after it.
    fn holds_pasted(&self, mark: &PastedMark, text: &str, shown: &str) -> ComposerMatch {
        let Some((before, after)) = shown.split_once(&comparable(&mark.text)) else { return ComposerMatch::Different };
        if before.is_empty() && after.is_empty() {
            return if mark.size.fits(text) { ComposerMatch::Whole } else { ComposerMatch::Different };
        }
        let wanted = comparable(text);
        // The paste arrived in parts: some agents insert the first or the last part as text.
        let around = wanted.len() > before.len() + after.len() && wanted.starts_with(before) && wanted.ends_with(after);
        if around { ComposerMatch::Whole } else { ComposerMatch::Different }
    }
}

/// Returns the text without blanks and without emoji. Terminals and composers drop parts of an emoji that has several
/// characters, for example the tone of the skin.
fn comparable(text: &str) -> String {
    let is_emoji = |character: char| {
        let joins = matches!(character, '\u{200d}' | '\u{20e3}' | '\u{fe00}'..='\u{fe0f}');
        joins || matches!(character, '\u{1f000}'..='\u{1faff}' | '\u{e0020}'..='\u{e007f}')
    };
    squeezed(text).chars().filter(|character| !is_emoji(*character)).collect()
}

/// Returns the placeholders of long pastes in a text, with their positions.
fn marks(text: &str) -> Vec<(usize, PastedMark)> {
    let mut found = Vec::new();
    for (start, _) in text.match_indices('[') {
        let rest = &text[start..];
        let Some(end) = rest.find(']') else { continue };
        let inner = &rest[1..end];
        if let Some(size) = size(inner) {
            found.push((start, PastedMark { text: rest[..=end].to_owned(), size }));
        }
    }
    found
}

/// Returns the size in the words of a placeholder; `None` if it is none.
fn size(inner: &str) -> Option<PastedSize> {
    let number = |text: &str| text.trim().parse::<usize>().ok();
    let truncated = inner.strip_prefix("...Truncated text #").or_else(|| inner.strip_prefix("…Truncated text #"));
    if let Some(rest) = truncated {
        let rest = rest.trim_end_matches("...").trim_end_matches('…');
        return rest.split_once(" +").map_or_else(|| number(rest), |(id, _)| number(id)).map(|_| PastedSize::Unknown);
    }
    if let Some(rest) = inner.strip_prefix("Pasted text #") {
        return match rest.split_once(" +") {
            None => number(rest).map(|_| PastedSize::Unknown),
            Some((id, lines)) => {
                number(id)?;
                let lines = lines.strip_suffix("lines").or_else(|| lines.strip_suffix("line"))?;
                number(lines).map(PastedSize::LineBreaks)
            }
        };
    }
    if let Some(rest) = inner.strip_prefix("Pasted Content ") {
        // A second paste of the same size has a number: `[Pasted Content 1200 chars #2]`.
        let rest = rest.split(" #").next().unwrap_or(rest);
        return number(rest.strip_suffix("chars")?).map(PastedSize::Characters);
    }
    let rest = inner.strip_prefix("Pasted Text: ")?;
    let rest = rest.split(" #").next().unwrap_or(rest);
    if let Some(lines) = rest.strip_suffix("lines") {
        return number(lines).map(PastedSize::Lines);
    }
    number(rest.strip_suffix("chars")?).map(PastedSize::Characters)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn composer(rows: &[&str]) -> ComposerReading {
        ComposerReading::new(ComposerMode::Prompt, rows.iter().map(|row| (*row).to_owned()).collect())
    }

    #[test]
    fn a_composer_holds_the_text_that_it_shows_in_wrapped_rows() {
        let wrapped = composer(&["first line of a", "text", "second"]);
        assert_eq!(wrapped.holds("first line of a text\nsecond"), ComposerMatch::Whole);
        assert_eq!(wrapped.holds("first line of a text\nsecond and more"), ComposerMatch::Partial);
        assert_eq!(wrapped.holds("first line of a text\nthird"), ComposerMatch::Different);
        assert_eq!(wrapped.holds("line of a text\nsecond"), ComposerMatch::Different);
        assert_eq!(composer(&[]).holds("anything"), ComposerMatch::Partial);
    }

    #[test]
    fn a_part_of_an_emoji_may_be_missing_on_the_screen() {
        assert_eq!(composer(&["thumbs 👍 up"]).holds("thumbs 👍🏽 up"), ComposerMatch::Whole);
        assert_eq!(composer(&["👨"]).holds("👨\u{200d}👩\u{200d}👧"), ComposerMatch::Whole);
        assert_eq!(composer(&["draft 👍"]).holds("👍"), ComposerMatch::Different);
        assert_eq!(composer(&[]).holds("👍"), ComposerMatch::Partial);
    }

    #[test]
    fn a_draft_before_the_text_makes_it_different() {
        assert_eq!(composer(&["draft and text"]).holds("text"), ComposerMatch::Different);
        assert_eq!(composer(&["text and draft"]).holds("text"), ComposerMatch::Different);
    }

    #[test]
    fn a_draft_is_told_from_the_text_and_from_parts_of_it() {
        for (rows, only, before) in [
            (&["text"][..], true, false),
            (&["texttext"], true, false),
            (&["te"], true, false),
            (&["[Pasted text #1]"], true, false),
            (&["draft [Pasted text #1]"], false, false),
            (&["draft", "text"], false, true),
            (&["text draft"], false, false),
            (&["draft"], false, false),
        ] {
            let reading = composer(rows);
            assert_eq!((reading.is_only("text"), reading.has_draft_before("text")), (only, before), "{rows:?}");
        }
    }

    #[test]
    fn a_composer_in_shell_mode_never_holds_a_prompt() {
        let shell = ComposerReading::new(ComposerMode::Shell, vec!["ls".to_owned()]);
        assert_eq!(shell.holds("ls"), ComposerMatch::Different);
        assert_eq!(shell.holds("!ls"), ComposerMatch::Different);
    }

    #[test]
    fn a_scrolled_composer_holds_the_text_whose_end_it_shows() {
        let mut tail = composer(&["line 8", "line 9"]);
        let text: String = (0..10).map(|number| format!("line {number}\n")).collect();
        assert_eq!(tail.holds(&text), ComposerMatch::Different);
        tail.may_scroll = true;
        assert_eq!(tail.holds(&text), ComposerMatch::Whole);
        assert_eq!(tail.holds("line 8\nline 10"), ComposerMatch::Different);
    }

    #[test]
    fn a_placeholder_stands_for_a_text_of_its_size() {
        let sixty = vec!["line"; 60].join("\n");
        assert_eq!(composer(&["[Pasted text #2 +59 lines]"]).holds(&sixty), ComposerMatch::Whole);
        assert_eq!(composer(&["[Pasted text #2 +58 lines]"]).holds(&sixty), ComposerMatch::Different);
        assert_eq!(composer(&["[Pasted text #3]"]).holds(&"y".repeat(12_000)), ComposerMatch::Whole);
        assert_eq!(composer(&["[Pasted Content 299 chars]"]).holds(&sixty), ComposerMatch::Whole);
        assert_eq!(composer(&["[Pasted Content 298 chars]"]).holds(&sixty), ComposerMatch::Different);
        assert_eq!(composer(&["[Pasted Text: 60 lines]"]).holds(&sixty), ComposerMatch::Whole);
        assert_eq!(composer(&["[Pasted Text: 1200 chars]"]).holds(&"y".repeat(1200)), ComposerMatch::Whole);
        assert_eq!(composer(&["draft [Pasted text #2 +59 lines]"]).holds(&sixty), ComposerMatch::Different);
        assert_eq!(composer(&["[Pasted text #1] [Pasted text #2]"]).holds("text"), ComposerMatch::Different);
    }

    #[test]
    fn a_wrapped_placeholder_is_recognised_and_a_text_about_one_is_its_own_text() {
        let wrapped = composer(&["[Pasted text ", "#2 +59 lines]"]);
        assert_eq!(wrapped.pasted.len(), 1);
        let about = composer(&["see [Pasted text #1] there"]);
        assert_eq!(about.holds("see [Pasted text #1] there"), ComposerMatch::Whole);
        assert!(composer(&["[Pasted text #x] [other] [Pasted Content chars]"]).pasted.is_empty());
    }
}
