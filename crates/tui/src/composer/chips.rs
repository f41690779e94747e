//! Large pastes folded into chips: within the text a chip is one character of a private plane, which no text that comes
//! in may contain.

use std::ops::RangeInclusive;

/// A paste of more lines than this is folded.
const MOST_LINES: usize = 10;

/// A paste of more characters than this is folded.
const MOST_CHARACTERS: usize = 1000;

const PLANE: RangeInclusive<char> = '\u{f0000}'..='\u{ffffd}';

/// The pastes that were folded. One is never forgotten: undo and history may bring its chip back.
#[derive(Debug, Default)]
pub(super) struct Chips(Vec<String>);

impl Chips {
    /// The chip for a paste if it is large, else the paste.
    pub(super) fn fold(&mut self, pasted: String) -> String {
        let lines = pasted.lines().count();
        let large = lines > MOST_LINES || pasted.chars().nth(MOST_CHARACTERS).is_some();
        let next = u32::try_from(self.0.len()).ok().and_then(|index| char::from_u32(*PLANE.start() as u32 + index));
        match next.filter(|chip| large && is_chip(*chip)) {
            Some(chip) => {
                self.0.push(pasted);
                chip.to_string()
            }
            None => pasted,
        }
    }

    /// What stands for a chip on the screen.
    pub(super) fn label(&self, chip: char) -> Option<String> {
        let (number, text) = self.get(chip)?;
        let lines = text.lines().count();
        let size = if lines > 1 { format!("{lines} lines") } else { format!("{} characters", text.chars().count()) };
        Some(format!("[paste #{}: {size}]", number + 1))
    }

    /// The text with every paste in its place.
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
        let index = usize::try_from(u32::from(chip).checked_sub(u32::from(*PLANE.start()))?).ok()?;
        self.0.get(index).map(|text| (index, text.as_str()))
    }
}

pub(super) fn is_chip(character: char) -> bool {
    PLANE.contains(&character)
}

/// Text as the composer holds it: line breaks are LF, other controls than tabs go, and no character passes for a chip.
pub(super) fn harmless(text: &str) -> String {
    let unified = text.replace("\r\n", "\n").replace('\r', "\n");
    let kept = unified.chars().filter(|character| !character.is_control() || matches!(character, '\n' | '\t'));
    kept.map(|character| if is_chip(character) { char::REPLACEMENT_CHARACTER } else { character }).collect()
}
