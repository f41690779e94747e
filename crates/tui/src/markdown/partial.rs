//! Completes the last block of Markdown text that is still growing, so that the text can be parsed. All earlier blocks
//! are complete.

use std::borrow::Cow;

/// Closes the marks that are open at the end of the text, and removes marks that have no content yet.
pub(super) fn completed(source: &str) -> Cow<'_, str> {
    let last = last_block(source);
    let Some(last) = last else { return Cow::Borrowed(source) };
    let (before, block) = source.split_at(last);
    let block = without_bare_mark(block);
    let closing = open_marks(block);
    if closing.cut == block.len() && closing.marks.is_empty() {
        return Cow::Borrowed(&source[..before.len() + block.len()]);
    }
    let mut whole = String::with_capacity(source.len() + 8);
    whole.push_str(before);
    whole.push_str(block[..closing.cut].trim_end());
    whole.push_str(&closing.marks);
    Cow::Owned(whole)
}

/// Returns the offset of the last block; `None` if the text ends inside a code fence, where marks have no meaning.
fn last_block(source: &str) -> Option<usize> {
    let mut fence: Option<&str> = None;
    let mut start = 0;
    let mut offset = 0;
    for line in source.split_inclusive('\n') {
        let text = line.trim();
        let marks = |mark: char| &text[..text.len() - text.trim_start_matches(mark).len()];
        let ticks = if text.starts_with('`') { marks('`') } else { marks('~') };
        match fence {
            Some(open) if ticks.len() >= open.len() && ticks == text && ticks.starts_with(open) => {
                fence = None;
                start = offset + line.len();
            }
            Some(_) => {}
            None if ticks.len() >= 3 => fence = Some(ticks),
            None if text.is_empty() => start = offset + line.len(),
            None => {}
        }
        offset += line.len();
    }
    fence.is_none().then_some(start)
}

/// Strips the last line if the line consists only of a mark. Without this, a dash below a paragraph would turn the
/// paragraph into a heading until the first word of the list item arrives.
fn without_bare_mark(block: &str) -> &str {
    let start = block.rfind('\n').map_or(0, |newline| newline + 1);
    let line = block[start..].trim();
    let fence = line.starts_with("```") || line.starts_with("~~~");
    let marks = line.chars().all(|mark| matches!(mark, '-' | '=' | '*' | '+' | '#' | '>' | '`' | '~' | '_'));
    let number = line.strip_suffix(['.', ')']).is_some_and(|number| number.chars().all(|digit| digit.is_ascii_digit()));
    if !line.is_empty() && !fence && (marks || number) { &block[..start] } else { block }
}

struct ClosingMarks {
    /// Offset at which the block is cut.
    cut: usize,
    /// Marks to append after the cut.
    marks: String,
}

/// Finds the marks that must be closed at the end of a block: emphasis, code, and an incomplete link.
fn open_marks(block: &str) -> ClosingMarks {
    let mut open: Vec<(&str, usize)> = Vec::new();
    let mut link: Option<usize> = None;
    let mut at = 0;
    while at < block.len() {
        let rest = &block[at..];
        let Some(first) = rest.chars().next() else { break };
        // A run of emphasis marks is read two at a time. Scanning the whole run at each step would take quadratic time.
        let most = if first == '`' { usize::MAX } else { 2 };
        let run = || rest.chars().take(most).take_while(|next| *next == first).count();
        let length = match first {
            '\\' => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
            '`' => {
                let run = run();
                let ticks = &rest[..run];
                match closing_ticks(&rest[run..], ticks) {
                    Some(end) => run + end + run,
                    None => {
                        open.push((ticks, at));
                        // Nothing within code is a mark.
                        at = block.len();
                        continue;
                    }
                }
            }
            '*' | '_' | '~' => {
                let mark = &rest[..run()];
                let before = block[..at].chars().next_back();
                let after = rest[mark.len()..].chars().next();
                let tilde = first == '~' && mark.len() < 2;
                let within = first == '_'
                    && before.is_some_and(char::is_alphanumeric)
                    && after.is_some_and(char::is_alphanumeric);
                match open.iter().rposition(|(opened, _)| *opened == mark) {
                    _ if tilde || within => {}
                    Some(index) if before.is_some_and(|before| !before.is_whitespace()) => open.truncate(index),
                    _ if after.is_none_or(|after| !after.is_whitespace()) => open.push((mark, at)),
                    _ => {}
                }
                mark.len()
            }
            '[' => {
                link = Some(at);
                1
            }
            ')' | '\n' => {
                link = None;
                1
            }
            _ => first.len_utf8(),
        };
        at += length;
    }
    let mut closing = ClosingMarks { cut: block.len(), marks: String::new() };
    // In `[text](http://exam` only the text is complete.
    let address = link.and_then(|start| block[start..].find("](").map(|end| start + end + 2));
    let alone = |address: &usize| open.iter().all(|(mark, at)| at < address && !mark.starts_with('`'));
    if let Some(address) = address.filter(alone) {
        closing.cut = address;
        closing.marks.push(')');
    }
    for (mark, at) in open.into_iter().rev() {
        if at + mark.len() >= closing.cut {
            closing.cut = closing.cut.min(at);
        } else {
            closing.marks.push_str(mark);
        }
    }
    closing
}

/// Returns the offset of the next run of backticks that is exactly as long as `ticks`.
fn closing_ticks(text: &str, ticks: &str) -> Option<usize> {
    let mut at = 0;
    while let Some(found) = text[at..].find('`') {
        let start = at + found;
        let run = text[start..].len() - text[start..].trim_start_matches('`').len();
        if run == ticks.len() {
            return Some(start);
        }
        at = start + run;
    }
    None
}
