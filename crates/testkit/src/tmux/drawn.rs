//! What a person sees of what tmux captured. tmux keeps DEC line drawing as an attribute of plain letters, and says so only
//! together with the other attributes.

/// The drawn characters from `` ` `` to `~`; a blank stands where tmux shows the letter itself.
const LINE_DRAWING: [char; 31] = [
    '◆', '▒', ' ', ' ', ' ', ' ', '°', '±', ' ', ' ', '┘', '┐', '┌', '└', '┼', '⎺', '⎻', '─', '⎼', '⎽', '├', '┤', '┴',
    '┬', '│', '≤', '≥', 'π', '≠', '£', '·',
];

/// The text of what `capture-pane -e` gives: looks taken out, lines drawn.
pub(super) fn drawn(captured: &str) -> String {
    let (mut text, mut drawing) = (String::with_capacity(captured.len()), false);
    let mut characters = captured.chars();
    while let Some(character) = characters.next() {
        match character {
            // The only sequences are SGR's.
            '\x1b' => {
                characters.by_ref().find(|&character| character == 'm');
            }
            '\x0e' => drawing = true,
            '\x0f' => drawing = false,
            '`'..='~' if drawing => match LINE_DRAWING[character as usize - '`' as usize] {
                ' ' => text.push(character),
                line => text.push(line),
            },
            _ => text.push(character),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_drawn_and_looks_are_gone() {
        assert_eq!(drawn("a\x1b[1;31m\x0elqk\nb~\x0fq\x1b[0mk"), "a┌─┐\nb·qk");
    }
}
