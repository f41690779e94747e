//! Converts text captured by tmux to the visible text. tmux captures DEC line drawing characters as letters with an
//! attribute. The capture contains this attribute only if all other attributes are captured too.

/// Line drawing characters for the letters `` ` `` to `~`. A blank means that tmux shows the letter itself.
const LINE_DRAWING: [char; 31] = [
    '◆', '▒', ' ', ' ', ' ', ' ', '°', '±', ' ', ' ', '┘', '┐', '┌', '└', '┼', '⎺', '⎻', '─', '⎼', '⎽', '├', '┤', '┴',
    '┬', '│', '≤', '≥', 'π', '≠', '£', '·',
];

/// Converts the output of `capture-pane -e` to plain text: attributes are removed, line drawing is translated.
pub(super) fn drawn(captured: &str) -> String {
    let (mut text, mut drawing) = (String::with_capacity(captured.len()), false);
    let mut characters = captured.chars();
    while let Some(character) = characters.next() {
        match character {
            // tmux emits SGR sequences only.
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
