//! Bounds questions: the first [`SHOWN_OF_RESULT`] bytes of what is asked are shown, and the whole is kept to be read.

use super::super::extent::{Extent, boundary};
use super::super::harness::Key;
use super::super::question::{Detail, Question};
use super::{Beyond, LINE, MOST_NAMED, Passed, SHOWN_OF_RESULT, line};

/// Everything that a question asks, where not all of it is shown.
#[derive(Debug, PartialEq)]
pub(super) struct Whole {
    text: String,
    shown: usize,
}

/// Has the whole kept under the question's key; how much of it is shown.
pub(super) fn keep_whole(key: &Key, whole: Whole, passed: &mut Passed) -> Extent {
    let extent = Extent { shown: whole.shown as u64, whole: whole.text.len() as u64 };
    passed.beyond.push(Beyond::Forget(key.clone()));
    passed.beyond.push(Beyond::Keep { key: key.clone(), at: 0, text: whole.text });
    extent
}

/// The question as it is shown, and the whole where that is more. The parts that are shown are the beginning of the
/// whole, byte for byte as [`Question::words`] has them.
pub(super) fn bounded_question(mut question: Question) -> (Question, Option<Whole>) {
    // A line that is too long is asked about, too: it is among the parts in full.
    if question.title.len() > LINE {
        question.details.insert(0, Detail::Text(question.title.clone()));
    }
    question.title = line(question.title);
    question.options.truncate(MOST_NAMED);
    for option in &mut question.options {
        if option.label.len() > LINE {
            question.details.push(Detail::Text(option.label.clone()));
        }
        option.label = line(std::mem::take(&mut option.label));
    }
    let weight: usize = question.details.iter().map(|detail| detail.weight().max(1)).sum();
    if weight <= SHOWN_OF_RESULT && question.details.len() <= MOST_NAMED {
        return (question, None);
    }
    let text = question.words();
    let mut room = SHOWN_OF_RESULT;
    let (mut shown, mut cut) = (0, false);
    for detail in std::mem::take(&mut question.details) {
        if shown > 0 && !text[..shown].ends_with('\n') {
            shown += 1;
        }
        let words = detail.words().into_owned();
        cut = question.details.len() == MOST_NAMED;
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
            // Without the mark before it.
            Detail::Command(_) if end > 2 => Detail::Command(words[2..end].to_owned()),
            Detail::Path(_) => Detail::Path(words[..end].to_owned()),
            Detail::Text(_) => Detail::Text(words[..end].to_owned()),
            Detail::Command(_) => Detail::Text(String::new()),
            Detail::Diff { .. } => Detail::Text(fenced("diff", &words[..end])),
            Detail::Input { .. } => Detail::Text(fenced("json", &words[..end])),
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
    question.details.push(Detail::Text(format!("… {extent}")));
    (question, Some(Whole { text, shown }))
}

/// Text as a code block of Markdown that it cannot end itself.
fn fenced(language: &str, text: &str) -> String {
    let longest = text.split(|character| character != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{text}\n{fence}")
}
