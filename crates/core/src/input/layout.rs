//! Shifted and unshifted characters of a US keyboard. A client sends key names without a keyboard layout, and programs
//! assume the US layout.

/// Keys of a US keyboard that are not letters: unshifted and shifted character.
const PAIRS: [(char, char); 21] = [
    ('`', '~'),
    ('1', '!'),
    ('2', '@'),
    ('3', '#'),
    ('4', '$'),
    ('5', '%'),
    ('6', '^'),
    ('7', '&'),
    ('8', '*'),
    ('9', '('),
    ('0', ')'),
    ('-', '_'),
    ('=', '+'),
    ('[', '{'),
    (']', '}'),
    ('\\', '|'),
    (';', ':'),
    ('\'', '"'),
    (',', '<'),
    ('.', '>'),
    ('/', '?'),
];

/// Returns the character that the key of `character` types with shift; `None` if shift does not change the character.
#[must_use]
pub fn shifted(character: char) -> Option<char> {
    let pair = PAIRS.iter().find(|(plain, _)| *plain == character);
    pair.map(|(_, upper)| *upper).or_else(|| upper_case(character))
}

/// Returns the unshifted character of the key that types `character` with shift; `None` if `character` needs no shift.
#[must_use]
pub fn unshifted(character: char) -> Option<char> {
    let pair = PAIRS.iter().find(|(_, upper)| *upper == character);
    pair.map(|(plain, _)| *plain).or_else(|| lower_case(character))
}

/// Returns the lower case of a letter, which names its key. Returns any other character unchanged.
pub(super) fn letter_key(character: char) -> char {
    lower_case(character).unwrap_or(character)
}

/// Returns the upper case of a letter. Returns `None` unless both cases are single characters that map to each other;
/// `ß`, for example, has no such upper case.
fn upper_case(character: char) -> Option<char> {
    let upper = only(character.to_uppercase())?;
    (upper != character && only(upper.to_lowercase()) == Some(character)).then_some(upper)
}

fn lower_case(character: char) -> Option<char> {
    let lower = only(character.to_lowercase())?;
    (upper_case(lower) == Some(character)).then_some(lower)
}

fn only(mut characters: impl Iterator<Item = char>) -> Option<char> {
    let first = characters.next()?;
    characters.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn shift_is_that_of_a_us_keyboard() {
        for (plain, upper) in [('a', 'A'), ('1', '!'), ('/', '?'), ('é', 'É'), ('с', 'С')] {
            assert_eq!(shifted(plain), Some(upper));
            assert_eq!(unshifted(upper), Some(plain));
        }
    }

    #[test]
    fn a_key_without_a_second_character_has_none() {
        for character in [' ', '日', 'ß', 'ſ', 'ẞ', 'ǅ'] {
            assert_eq!(shifted(character), None, "{character}");
            assert_eq!(unshifted(character), None, "{character}");
        }
    }

    proptest! {
        #[test]
        fn the_two_directions_agree(character in any::<char>()) {
            if let Some(upper) = shifted(character) {
                prop_assert_eq!(unshifted(upper), Some(character));
            }
            if let Some(plain) = unshifted(character) {
                prop_assert_eq!(shifted(plain), Some(character));
            }
        }

        #[test]
        fn no_character_is_both_shifted_and_unshifted(character in any::<char>()) {
            prop_assert!(shifted(character).is_none() || unshifted(character).is_none());
        }
    }
}
