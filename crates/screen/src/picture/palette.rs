//! Resolves colours. The palette is the one reported to programs: xterm's, with light grey on black. Colours that a
//! program derives from the report therefore match the background.

use crate::frame::{Color, DefaultColors, Style};
use crate::picture::Background;
use crate::replies;

/// Resolved colour in red, green and blue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Rgb(pub(super) u8, pub(super) u8, pub(super) u8);

/// Default colours of text and background.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ResolvedDefaultColors {
    pub(super) text: Rgb,
    pub(super) background: Rgb,
}

impl ResolvedDefaultColors {
    /// Returns the colours of the requested background, else the colours set by the program, else the dark colours.
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

/// Resolved colours of one cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CellColors {
    pub(super) text: Rgb,
    pub(super) background: Rgb,
    pub(super) underline: Rgb,
}

impl CellColors {
    /// Returns the colours under a block cursor: text and background swapped. If both are the same colour, returns the
    /// default colours swapped.
    pub(super) fn under_cursor(self, defaults: ResolvedDefaultColors) -> Self {
        let (text, background) = if self.text == self.background {
            (defaults.background, defaults.text)
        } else {
            (self.background, self.text)
        };
        Self { text, background, underline: text }
    }
}

/// Resolves the colours of a style.
pub(super) fn cell_colors(style: &Style, defaults: ResolvedDefaultColors) -> CellColors {
    let text = match style.foreground {
        // Like xterm, bold brightens the eight dark colours.
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
    CellColors { text, background, underline }
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

/// Mixes two colours. The share of the first colour is `part / whole`.
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

    fn defaults() -> ResolvedDefaultColors {
        ResolvedDefaultColors::new(None, DefaultColors::default())
    }

    fn cell_colors(style: &Style) -> CellColors {
        super::cell_colors(style, defaults())
    }

    #[test]
    fn colours_are_the_ones_reported_to_programs() {
        let style = Style { foreground: Color::Indexed(196), background: Color::Rgb(1, 2, 3), ..Style::PLAIN };
        assert_eq!((cell_colors(&style).text, cell_colors(&style).background), (Rgb(255, 0, 0), Rgb(1, 2, 3)));
        assert_eq!(
            (cell_colors(&Style::PLAIN).text, cell_colors(&Style::PLAIN).background),
            (Rgb(229, 229, 229), Rgb(0, 0, 0))
        );
        for index in 0..=255_u8 {
            let (red, green, blue) = replies::palette(usize::from(index));
            let style = Style { background: Color::Indexed(index), ..Style::PLAIN };
            assert_eq!(cell_colors(&style).background, Rgb(red, green, blue));
        }
    }

    #[test]
    fn default_colours_are_requested_or_set_by_the_program() {
        let set = DefaultColors { foreground: None, background: Some((250, 240, 230)) };
        assert_eq!(ResolvedDefaultColors::new(None, set).background, Rgb(250, 240, 230));
        assert_eq!(ResolvedDefaultColors::new(None, set).text, defaults().text);
        assert_eq!(ResolvedDefaultColors::new(Some(Background::Dark), set), defaults());
        let light = ResolvedDefaultColors::new(Some(Background::Light), set);
        assert_eq!((light.text, light.background), (Rgb(0, 0, 0), Rgb(255, 255, 255)));
        assert_eq!(super::cell_colors(&Style::PLAIN, light).background, light.background);
    }

    #[test]
    fn bold_brightens_the_eight_dark_colours_only() {
        let text = |color| cell_colors(&Style { foreground: color, bold: true, ..Style::PLAIN }).text;
        assert_eq!(text(Color::Indexed(4)), Rgb(92, 92, 255));
        assert_eq!(text(Color::Indexed(12)), Rgb(92, 92, 255));
        assert_eq!(text(Color::Indexed(21)), Rgb(0, 0, 255));
        assert_eq!(text(Color::Default), defaults().text);
    }

    #[test]
    fn inverse_swaps_and_dim_goes_towards_the_background() {
        let red = Style { foreground: Color::Rgb(200, 0, 0), ..Style::PLAIN };
        let swapped = cell_colors(&Style { inverse: true, ..red });
        assert_eq!((swapped.text, swapped.background), (Rgb(0, 0, 0), Rgb(200, 0, 0)));
        assert_eq!(cell_colors(&Style { dim: true, ..red }).text, Rgb(120, 0, 0));
        assert_eq!(cell_colors(&Style { dim: true, inverse: true, ..red }).text, Rgb(80, 0, 0));
    }

    #[test]
    fn an_underline_has_its_own_or_the_text_colour() {
        let style = Style { foreground: Color::Indexed(1), underline_color: Some(Color::Indexed(2)), ..Style::PLAIN };
        assert_eq!(cell_colors(&style).underline, Rgb(0, 205, 0));
        assert_eq!(cell_colors(&Style { underline_color: None, ..style }).underline, Rgb(205, 0, 0));
    }

    #[test]
    fn a_block_cursor_can_be_seen_on_any_cell() {
        for style in [
            Style::PLAIN,
            Style { inverse: true, ..Style::PLAIN },
            Style { foreground: Color::Indexed(0), background: Color::Indexed(0), ..Style::PLAIN },
            Style { foreground: Color::Indexed(3), background: Color::Indexed(3), ..Style::PLAIN },
        ] {
            let plain = cell_colors(&style);
            let under = plain.under_cursor(defaults());
            assert_ne!(under.background, plain.background);
            assert_ne!(under.background, under.text);
        }
    }
}
