//! Which colour is meant. The palette is the one that programs are told of when they ask (xterm's, light grey on
//! black), so that what a program mixed from an answer fits what it is drawn on.

use crate::frame::{Color, DefaultColors, Style};
use crate::picture::Background;
use crate::replies;

/// A colour on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Rgb(pub(super) u8, pub(super) u8, pub(super) u8);

/// The colours of text and background that have none of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Defaults {
    pub(super) text: Rgb,
    pub(super) background: Rgb,
}

impl Defaults {
    /// Those that are asked for, else those that the program has set, else those that it is told of.
    pub(super) fn new(background: Option<Background>, set: DefaultColors) -> Self {
        let dark = Self { text: entry(256), background: entry(257) };
        let rgb = |(red, green, blue)| Rgb(red, green, blue);
        match background {
            Some(Background::Dark) => dark,
            Some(Background::Light) => Self { text: Rgb(0, 0, 0), background: Rgb(255, 255, 255) },
            None => Self {
                text: set.foreground.map_or(dark.text, rgb),
                background: set.background.map_or(dark.background, rgb),
            },
        }
    }
}

/// The colours of one cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ink {
    pub(super) text: Rgb,
    pub(super) background: Rgb,
    pub(super) underline: Rgb,
}

impl Ink {
    /// The cell under a block cursor: text and background change places, as far as that can be seen.
    pub(super) fn under_cursor(self, defaults: Defaults) -> Self {
        let (text, background) = if self.text == self.background {
            (defaults.background, defaults.text)
        } else {
            (self.background, self.text)
        };
        Self { text, background, underline: text }
    }
}

/// The colours that a style comes to.
pub(super) fn ink(style: &Style, defaults: Defaults) -> Ink {
    let text = match style.foreground {
        // xterm's blue is hard to read on black; like xterm, bold brightens it.
        Color::Indexed(index @ 0..=7) if style.bold => entry(usize::from(index) + 8),
        color => resolve(color, defaults.text),
    };
    let background = resolve(style.background, defaults.background);
    let (text, background) = if style.inverse { (background, text) } else { (text, background) };
    let text = if style.dim { mix(text, background, 3, 5) } else { text };
    let underline = match style.underline_color {
        None | Some(Color::Default) => text,
        Some(color) => resolve(color, text),
    };
    Ink { text, background, underline }
}

fn resolve(color: Color, default: Rgb) -> Rgb {
    match color {
        Color::Default => default,
        Color::Indexed(index) => entry(usize::from(index)),
        Color::Rgb(red, green, blue) => Rgb(red, green, blue),
    }
}

fn entry(index: usize) -> Rgb {
    let (red, green, blue) = replies::palette(index);
    Rgb(red, green, blue)
}

/// `part` of `whole` of the first colour, the rest of the second.
pub(super) fn mix(first: Rgb, second: Rgb, part: u32, whole: u32) -> Rgb {
    let channel = |first: u8, second: u8| {
        let sum = u32::from(first) * part + u32::from(second) * (whole - part);
        u8::try_from((sum + whole / 2) / whole).unwrap_or(u8::MAX)
    };
    Rgb(channel(first.0, second.0), channel(first.1, second.1), channel(first.2, second.2))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn defaults() -> Defaults {
        Defaults::new(None, DefaultColors::default())
    }

    fn ink(style: &Style) -> Ink {
        super::ink(style, defaults())
    }

    #[test]
    fn colours_are_the_ones_that_programs_are_told_of() {
        let style = Style { foreground: Color::Indexed(196), background: Color::Rgb(1, 2, 3), ..Style::PLAIN };
        assert_eq!((ink(&style).text, ink(&style).background), (Rgb(255, 0, 0), Rgb(1, 2, 3)));
        assert_eq!((ink(&Style::PLAIN).text, ink(&Style::PLAIN).background), (Rgb(229, 229, 229), Rgb(0, 0, 0)));
        for index in 0..=255_u8 {
            let (red, green, blue) = replies::palette(usize::from(index));
            let style = Style { background: Color::Indexed(index), ..Style::PLAIN };
            assert_eq!(ink(&style).background, Rgb(red, green, blue));
        }
    }

    #[test]
    fn default_colours_are_asked_for_or_set_by_the_program() {
        let set = DefaultColors { foreground: None, background: Some((250, 240, 230)) };
        assert_eq!(Defaults::new(None, set).background, Rgb(250, 240, 230));
        assert_eq!(Defaults::new(None, set).text, defaults().text);
        assert_eq!(Defaults::new(Some(Background::Dark), set), defaults());
        let light = Defaults::new(Some(Background::Light), set);
        assert_eq!((light.text, light.background), (Rgb(0, 0, 0), Rgb(255, 255, 255)));
        assert_eq!(super::ink(&Style::PLAIN, light).background, light.background);
    }

    #[test]
    fn bold_brightens_the_eight_dark_colours_only() {
        let text = |color| ink(&Style { foreground: color, bold: true, ..Style::PLAIN }).text;
        assert_eq!(text(Color::Indexed(4)), Rgb(92, 92, 255));
        assert_eq!(text(Color::Indexed(12)), Rgb(92, 92, 255));
        assert_eq!(text(Color::Indexed(21)), Rgb(0, 0, 255));
        assert_eq!(text(Color::Default), defaults().text);
    }

    #[test]
    fn inverse_swaps_and_dim_goes_towards_the_background() {
        let red = Style { foreground: Color::Rgb(200, 0, 0), ..Style::PLAIN };
        let swapped = ink(&Style { inverse: true, ..red });
        assert_eq!((swapped.text, swapped.background), (Rgb(0, 0, 0), Rgb(200, 0, 0)));
        assert_eq!(ink(&Style { dim: true, ..red }).text, Rgb(120, 0, 0));
        assert_eq!(ink(&Style { dim: true, inverse: true, ..red }).text, Rgb(80, 0, 0));
    }

    #[test]
    fn an_underline_has_its_own_colour_or_the_texts() {
        let style = Style { foreground: Color::Indexed(1), underline_color: Some(Color::Indexed(2)), ..Style::PLAIN };
        assert_eq!(ink(&style).underline, Rgb(0, 205, 0));
        assert_eq!(ink(&Style { underline_color: None, ..style }).underline, Rgb(205, 0, 0));
    }

    #[test]
    fn a_block_cursor_can_be_seen_on_any_cell() {
        for style in [
            Style::PLAIN,
            Style { inverse: true, ..Style::PLAIN },
            Style { foreground: Color::Indexed(0), background: Color::Indexed(0), ..Style::PLAIN },
            Style { foreground: Color::Indexed(3), background: Color::Indexed(3), ..Style::PLAIN },
        ] {
            let plain = ink(&style);
            let under = plain.under_cursor(defaults());
            assert_ne!(under.background, plain.background);
            assert_ne!(under.background, under.text);
        }
    }
}
