//! Which known name somebody meant who wrote an unknown one.

/// How alike two names must be, from 0 to 1, for one to be offered for the other: one slip in three letters is near
/// enough, one in two is a guess.
const NEAR_ENOUGH: f64 = 0.6;

/// Longer names are no slip of the finger, and comparing costs their length squared.
const LONGEST_COMPARED: usize = 64;

/// The candidate most like `name`, if one is near enough; the first of equals.
pub fn closest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > LONGEST_COMPARED {
        return None;
    }
    let name = name.to_ascii_lowercase();
    let mut best = None;
    let mut best_likeness = NEAR_ENOUGH;
    for candidate in candidates {
        let likeness = strsim::normalized_damerau_levenshtein(&name, candidate);
        if likeness > best_likeness {
            best = Some(candidate);
            best_likeness = likeness;
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
