//! Replies to terminal queries that the emulator does not answer.

use std::fmt::Write as _;

use crate::frame::{Color, Style, Underline};

/// Terminal name and version in the reply to XTVERSION.
const TERMINAL_NAME: &str = concat!("wheelhouse(", env!("CARGO_PKG_VERSION"), ")");

/// Size of a cell in pixels, reported to programs. A headless terminal has to report some size.
pub(crate) const CELL_PIXELS: (u16, u16) = (8, 16);

/// Returns the reply to XTVERSION.
pub(crate) fn version() -> String {
    format!("\x1bP>|{TERMINAL_NAME}\x1b\\")
}

/// Returns the reply to XTWINOPS 16, the size of a cell.
pub(crate) fn cell_size() -> String {
    format!("\x1b[6;{};{}t", CELL_PIXELS.1, CELL_PIXELS.0)
}

/// Returns the reply to XTQMODKEYS.
pub(crate) fn modify_other_keys(level: u8) -> String {
    format!("\x1b[>4;{level}m")
}

/// Returns the reply to a DCS query: XTGETTCAP (`+q`) or DECRQSS (`$q`).
pub(crate) fn dcs(string: &[u8], style: &Style, cursor_style: u8) -> Option<String> {
    if let Some(names) = string.strip_prefix(b"+q") {
        return Some(capabilities(names));
    }
    string.strip_prefix(b"$q").map(|setting| status(setting, style, cursor_style))
}

/// Returns the reply to XTGETTCAP: one reply for each name, negative for unknown names.
fn capabilities(names: &[u8]) -> String {
    let mut answer = String::new();
    for name in names.split(|byte| *byte == b';') {
        let hex = String::from_utf8_lossy(name).to_ascii_uppercase();
        let valid = !hex.is_empty() && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
        let _ = match unhex(name).as_deref().and_then(capability) {
            Some(value) => write!(answer, "\x1bP1+r{hex}={}\x1b\\", to_hex(value)),
            None if valid => write!(answer, "\x1bP0+r{hex}\x1b\\"),
            None => write!(answer, "\x1bP0+r\x1b\\"),
        };
    }
    answer
}

fn capability(name: &[u8]) -> Option<&'static str> {
    match name {
        b"TN" | b"name" => Some("xterm-256color"),
        b"Co" | b"colors" => Some("256"),
        b"RGB" => Some("8/8/8"),
        _ => None,
    }
}

fn unhex(digits: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(digits).ok().filter(|text| text.is_ascii() && text.len() % 2 == 0)?;
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok()).collect()
}

fn to_hex(text: &str) -> String {
    text.bytes().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02X}");
        hex
    })
}

/// Returns the reply to DECRQSS.
fn status(setting: &[u8], style: &Style, cursor_style: u8) -> String {
    let value = match setting {
        b"m" => format!("{}m", sgr_parameters(style)),
        b" q" => format!("{cursor_style} q"),
        b"\"q" => "0\"q".to_owned(),
        b"\"p" => "61;1\"p".to_owned(),
        _ => return "\x1bP0$r\x1b\\".to_owned(),
    };
    format!("\x1bP1$r{value}\x1b\\")
}

fn sgr_parameters(style: &Style) -> String {
    let mut parameters = "0".to_owned();
    let underline = style.underline != Underline::None;
    let flags = [
        (style.bold, 1),
        (style.dim, 2),
        (style.italic, 3),
        (underline, 4),
        (style.inverse, 7),
        (style.hidden, 8),
        (style.strikethrough, 9),
    ];
    for (_, code) in flags.iter().filter(|(set, _)| *set) {
        let _ = write!(parameters, ";{code}");
    }
    for (color, base) in [(style.foreground, 38), (style.background, 48)] {
        let _ = match color {
            Color::Default => Ok(()),
            Color::Indexed(index) => write!(parameters, ";{base}:5:{index}"),
            Color::Rgb(red, green, blue) => write!(parameters, ";{base}:2::{red}:{green}:{blue}"),
        };
    }
    parameters
}

/// Returns a colour of the default palette: xterm's, with light grey on black.
pub(crate) fn palette(index: usize) -> (u8, u8, u8) {
    const BASE: [(u8, u8, u8); 16] = [
        (0, 0, 0),
        (205, 0, 0),
        (0, 205, 0),
        (205, 205, 0),
        (0, 0, 238),
        (205, 0, 205),
        (0, 205, 205),
        (229, 229, 229),
        (127, 127, 127),
        (255, 0, 0),
        (0, 255, 0),
        (255, 255, 0),
        (92, 92, 255),
        (255, 0, 255),
        (0, 255, 255),
        (255, 255, 255),
    ];
    let step = |level: usize| if level == 0 { 0 } else { (55 + level * 40) as u8 };
    match index {
        0..=15 => BASE[index],
        16..=231 => (step((index - 16) / 36), step((index - 16) / 6 % 6), step((index - 16) % 6)),
        232..=255 => {
            let level = (8 + (index - 232) * 10) as u8;
            (level, level, level)
        }
        // 257 is the background; 256 and 258 are the foreground and the cursor.
        257 => (0, 0, 0),
        _ => (229, 229, 229),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_capability_asked_for_gets_its_own_answer() {
        let answer = dcs(b"+q544e;436f;4d73;zz", &Style::PLAIN, 2).unwrap();
        let expected =
            "\x1bP1+r544E=787465726D2D323536636F6C6F72\x1b\\\x1bP1+r436F=323536\x1b\\\x1bP0+r4D73\x1b\\\x1bP0+r\x1b\\";
        assert_eq!(answer, expected);
    }

    #[test]
    fn settings_are_reported_as_they_are() {
        let style =
            Style { bold: true, foreground: Color::Indexed(9), background: Color::Rgb(1, 2, 3), ..Style::PLAIN };
        assert_eq!(dcs(b"$qm", &style, 2).unwrap(), "\x1bP1$r0;1;38:5:9;48:2::1:2:3m\x1b\\");
        assert_eq!(dcs(b"$q q", &style, 4).unwrap(), "\x1bP1$r4 q\x1b\\");
        assert_eq!(dcs(b"$qz", &style, 2).unwrap(), "\x1bP0$r\x1b\\");
        assert_eq!(dcs(b"0;1|17/ab", &style, 2), None);
    }

    #[test]
    fn the_palette_is_xterms() {
        assert_eq!(
            (palette(1), palette(16), palette(196), palette(231)),
            ((205, 0, 0), (0, 0, 0), (255, 0, 0), (255, 255, 255))
        );
        assert_eq!((palette(232), palette(255), palette(257)), ((8, 8, 8), (238, 238, 238), (0, 0, 0)));
    }
}
