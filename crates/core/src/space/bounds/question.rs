//! Size limits of questions. The first [`MAX_SHOWN_RESULT_BYTES`] bytes of a description are shown. If the description
//! is longer, the complete text is stored.

use super::super::extent::{Extent, boundary};
use super::super::harness::HarnessKey;
use super::super::question::{Question, QuestionDetail};
use super::{BoundedReport, MAX_LISTED_ENTRIES, MAX_REPORT_LINE_BYTES, MAX_SHOWN_RESULT_BYTES, ReportOverflow, line};

/// Complete description of a question, and the number of its bytes that are shown.
#[derive(Debug, PartialEq)]
pub(super) struct FullDescription {
    text: String,
    shown: usize,
}

/// Adds the complete description to the overflow, under the key of the question. Returns the shown and total size.
pub(super) fn store_full_description(key: &HarnessKey, whole: FullDescription, passed: &mut BoundedReport) -> Extent {
    let extent = Extent { shown: whole.shown as u64, whole: whole.text.len() as u64 };
    passed.overflow.push(ReportOverflow::Discard(key.clone()));
    passed.overflow.push(ReportOverflow::Store { key: key.clone(), at: 0, text: whole.text });
    extent
}

/// Shortens a question. Returns the question, and its complete description if it was shortened. The shown parts contain
/// the first bytes of [`Question::full_text`].
pub(super) fn bounded_question(mut question: Question) -> (Question, Option<FullDescription>) {
    // A title that is too long is also added to the description, in full.
    if question.title.len() > MAX_REPORT_LINE_BYTES {
        question.details.insert(0, QuestionDetail::Text(question.title.clone()));
    }
    question.title = line(question.title);
    question.options.truncate(MAX_LISTED_ENTRIES);
    for option in &mut question.options {
        if option.label.len() > MAX_REPORT_LINE_BYTES {
            question.details.push(QuestionDetail::Text(option.label.clone()));
        }
        option.label = line(std::mem::take(&mut option.label));
    }
    let weight: usize = question.details.iter().map(|detail| detail.weight().max(1)).sum();
    if weight <= MAX_SHOWN_RESULT_BYTES && question.details.len() <= MAX_LISTED_ENTRIES {
        return (question, None);
    }
    let text = question.full_text();
    let mut room = MAX_SHOWN_RESULT_BYTES;
    let (mut shown, mut cut) = (0, false);
    for detail in std::mem::take(&mut question.details) {
        if shown > 0 && !text[..shown].ends_with('\n') {
            shown += 1;
        }
        let words = detail.as_text().into_owned();
        cut = question.details.len() == MAX_LISTED_ENTRIES;
        if cut {
            break;
        }
        let weight = detail.weight().max(1);
        if weight <= room {
            question.details.push(detail);
            (shown, room) = (shown + words.len(), room - weight);
            continue;
        }
        let end = boundary(&words, room);
        cut = end < words.len();
        let part = match detail {
            // Omits the `$ ` that `as_text` puts before a command.
            QuestionDetail::Command(_) if end > 2 => QuestionDetail::Command(words[2..end].to_owned()),
            QuestionDetail::Path(_) => QuestionDetail::Path(words[..end].to_owned()),
            QuestionDetail::Text(_) => QuestionDetail::Text(words[..end].to_owned()),
            QuestionDetail::Command(_) => QuestionDetail::Text(String::new()),
            QuestionDetail::Diff { .. } => QuestionDetail::Text(fenced("diff", &words[..end])),
            QuestionDetail::Input { .. } => QuestionDetail::Text(fenced("json", &words[..end])),
        };
        question.details.push(part);
        (shown, room) = (shown + end, room - end);
        if cut {
            break;
        }
    }
    if !cut {
        return (question, None);
    }
    let extent = Extent { shown: shown as u64, whole: text.len() as u64 };
    question.details.push(QuestionDetail::Text(format!("… {extent}")));
    (question, Some(FullDescription { text, shown }))
}

/// Returns a Markdown code block with the text. The fence is longer than any fence in the text.
fn fenced(language: &str, text: &str) -> String {
    let longest = text.split(|character| character != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{text}\n{fence}")
}
