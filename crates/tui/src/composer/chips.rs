//! Chips that replace large pastes in the composer. Each chip is represented by one private-use character. Such
//! characters in typed or pasted text are replaced with U+FFFD.

use std::ops::RangeInclusive;

/// Maximum number of lines of a paste that is not folded into a chip.
const MAX_UNFOLDED_LINES: usize = 10;

/// Maximum number of characters of a paste that is not folded into a chip.
const MAX_UNFOLDED_CHARS: usize = 1000;

const CHIP_CHARS: RangeInclusive<char> = '\u{f0000}'..='\u{ffffd}';

/// Texts of the folded pastes. Texts are never removed, because undo or the input history may restore a chip.
#[derive(Debug, Default)]
pub(super) struct PasteChips(Vec<String>);

impl PasteChips {
    /// Folds a large paste and returns its chip. Returns a small paste unchanged.
    pub(super) fn fold(&mut self, pasted: String) -> String {
        let lines = pasted.lines().count();
        let large = lines > MAX_UNFOLDED_LINES || pasted.chars().nth(MAX_UNFOLDED_CHARS).is_some();
        let first = *CHIP_CHARS.start() as u32;
        let next = u32::try_from(self.0.len()).ok().and_then(|index| char::from_u32(first + index));
        match next.filter(|chip| large && is_chip(*chip)) {
            Some(chip) => {
                self.0.push(pasted);
                chip.to_string()
            }
            None => pasted,
        }
    }

    /// Returns the label of a chip; `None` for any other character.
    pub(super) fn label(&self, chip: char) -> Option<String> {
        let (number, text) = self.get(chip)?;
        let lines = text.lines().count();
        let size = if lines > 1 { format!("{lines} lines") } else { format!("{} characters", text.chars().count()) };
        Some(format!("[paste #{}: {size}]", number + 1))
    }

    /// Replaces every chip in the text with its paste.
    pub(super) fn expand(&self, content: &str) -> String {
        let mut expanded = String::with_capacity(content.len());
        for character in content.chars() {
            match self.get(character) {
                Some((_, text)) => expanded.push_str(text),
                None => expanded.push(character),
            }
        }
        expanded
    }

    fn get(&self, chip: char) -> Option<(usize, &str)> {
        let index = usize::try_from(u32::from(chip).checked_sub(u32::from(*CHIP_CHARS.start()))?).ok()?;
        self.0.get(index).map(|text| (index, text.as_str()))
    }
}

pub(super) fn is_chip(character: char) -> bool {
    CHIP_CHARS.contains(&character)
}

/// Sanitizes text for the composer: line breaks become LF, control characters except tabs are removed, and the
/// characters that represent chips are replaced with U+FFFD.
pub(super) fn sanitized(text: &str) -> String {
    let unified = text.replace("\r\n", "\n").replace('\r', "\n");
    let kept = unified.chars().filter(|character| !character.is_control() || matches!(character, '\n' | '\t'));
    kept.map(|character| if is_chip(character) { char::REPLACEMENT_CHARACTER } else { character }).collect()
}
