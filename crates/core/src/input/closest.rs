//! Suggestions for misspelled names.

/// Minimum similarity of a suggestion, from 0 to 1. One wrong letter in three is accepted, one in two is not.
const MIN_SIMILARITY: f64 = 0.6;

/// Maximum length of a name that is compared. A longer name gets no suggestion, because the comparison takes quadratic
/// time.
const MAX_COMPARED_BYTES: usize = 64;

/// Returns the candidate that is most similar to the name; `None` if none is similar enough. Of equally similar
/// candidates, returns the first.
pub fn closest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > MAX_COMPARED_BYTES {
        return None;
    }
    let name = name.to_ascii_lowercase();
    let mut best = None;
    let mut best_similarity = MIN_SIMILARITY;
    for candidate in candidates {
        let similarity = strsim::normalized_damerau_levenshtein(&name, candidate);
        if similarity > best_similarity {
            best = Some(candidate);
            best_similarity = similarity;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::closest;

    const NAMES: [&str; 4] = ["enter", "escape", "up", "screen_contains"];

    #[test]
    fn a_slip_finds_its_name() {
        for (slip, name) in [
            ("entr", "enter"),
            ("ENETR", "enter"),
            ("escpae", "escape"),
            ("upp", "up"),
            ("screen-contain", "screen_contains"),
        ] {
            assert_eq!(closest(slip, NAMES), Some(name), "{slip}");
        }
    }

    #[test]
    fn something_else_finds_nothing() {
        for other in ["", "x", "hello", "backspace", &"enter".repeat(100)] {
            assert_eq!(closest(other, NAMES), None, "{other}");
        }
    }
}
