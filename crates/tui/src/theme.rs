//! Styles of the terminal UI by role. Drawing code uses roles, never colours, so only this file differs between dark,
//! light and colourless themes.

use ratatui::style::{Color, Modifier, Style};

/// Style for each role. A style without a background colour keeps the background of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theme {
    pub text: Style,
    /// Secondary text such as times, hints and link addresses.
    pub dim: Style,
    /// Most prominent text: the prompt, and the selected or active element.
    pub accent: Style,
    /// Messages and name of the user.
    pub human: Style,
    /// Name of an agent.
    pub agent: Style,
    /// Messages of the system.
    pub system: Style,
    /// Name and card of a tool.
    pub tool: Style,
    /// Results of successful tool calls.
    pub success: Style,
    /// Warnings and other text that needs attention.
    pub warning: Style,
    /// Errors, failures and rejections.
    pub danger: Style,
    /// Reasoning of an agent; cyan in every theme that has colours.
    pub reasoning: Style,
    pub code: Style,
    /// Selected line of a list; applied over the styles of the line.
    pub selection: Style,
    /// Frames, dividers and horizontal rules.
    pub border: Style,
    /// Added line of a diff.
    pub added: Style,
    /// Removed line of a diff.
    pub removed: Style,
    /// Changed part of an added line.
    pub added_part: Style,
    /// Changed part of a removed line.
    pub removed_part: Style,
    /// Label with a background colour.
    pub badge: Style,
    /// Cell under the caret.
    pub caret: Style,
    /// Heading in Markdown text.
    pub heading: Style,
    pub strong: Style,
    pub emphasis: Style,
    pub strike: Style,
    /// Text of a link.
    pub link: Style,
    pub quote: Style,
    pub syntax: SyntaxStyles,
}

/// Style for each kind of token in code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SyntaxStyles {
    /// Tokens without a specific style.
    pub plain: Style,
    /// Keyword of the language.
    pub keyword: Style,
    /// Name of a type.
    pub kind: Style,
    /// Name of a function or macro.
    pub function: Style,
    /// String literal, including the quotes.
    pub string: Style,
    /// Number, or named constant such as `true`.
    pub constant: Style,
    pub comment: Style,
    /// Attribute, decorator or shell variable.
    pub attribute: Style,
    /// Key of a key-value pair in JSON, YAML or TOML, or name of an attribute in a markup tag.
    pub key: Style,
    pub punctuation: Style,
}

impl Theme {
    /// Returns the theme for dark backgrounds.
    #[must_use]
    pub const fn dark() -> Self {
        Self {
            text: Style::new(),
            dim: fg(245),
            accent: fg(111),
            human: fg(117).add_modifier(Modifier::BOLD),
            agent: fg(183).add_modifier(Modifier::BOLD),
            system: fg(247),
            tool: fg(180),
            success: fg(114),
            warning: fg(221),
            danger: fg(203),
            reasoning: Style::new().fg(Color::Cyan),
            code: fg(216),
            selection: Style::new().bg(Color::Indexed(238)).add_modifier(Modifier::BOLD),
            border: fg(240),
            added: fg(114),
            removed: fg(210),
            added_part: fg(157).bg(Color::Indexed(22)),
            removed_part: fg(217).bg(Color::Indexed(52)),
            badge: fg(16).bg(Color::Indexed(111)).add_modifier(Modifier::BOLD),
            caret: Style::new().add_modifier(Modifier::REVERSED),
            heading: fg(111).add_modifier(Modifier::BOLD),
            strong: Style::new().add_modifier(Modifier::BOLD),
            emphasis: Style::new().add_modifier(Modifier::ITALIC),
            strike: Style::new().add_modifier(Modifier::CROSSED_OUT),
            link: fg(111).add_modifier(Modifier::UNDERLINED),
            quote: fg(249).add_modifier(Modifier::ITALIC),
            syntax: SyntaxStyles {
                plain: fg(252),
                keyword: fg(176),
                kind: fg(180),
                function: fg(111),
                string: fg(150),
                constant: fg(209),
                comment: fg(243).add_modifier(Modifier::ITALIC),
                attribute: fg(222),
                key: fg(110),
                punctuation: fg(247),
            },
        }
    }

    /// Returns the theme for light backgrounds.
    #[must_use]
    pub const fn light() -> Self {
        Self {
            text: Style::new(),
            dim: fg(243),
            accent: fg(26),
            human: fg(25).add_modifier(Modifier::BOLD),
            agent: fg(91).add_modifier(Modifier::BOLD),
            system: fg(241),
            tool: fg(94),
            success: fg(28),
            warning: fg(130),
            danger: fg(160),
            reasoning: Style::new().fg(Color::Cyan),
            code: fg(130),
            selection: Style::new().bg(Color::Indexed(253)).add_modifier(Modifier::BOLD),
            border: fg(249),
            added: fg(28),
            removed: fg(124),
            added_part: fg(22).bg(Color::Indexed(194)),
            removed_part: fg(88).bg(Color::Indexed(224)),
            badge: fg(231).bg(Color::Indexed(26)).add_modifier(Modifier::BOLD),
            caret: Style::new().add_modifier(Modifier::REVERSED),
            heading: fg(26).add_modifier(Modifier::BOLD),
            strong: Style::new().add_modifier(Modifier::BOLD),
            emphasis: Style::new().add_modifier(Modifier::ITALIC),
            strike: Style::new().add_modifier(Modifier::CROSSED_OUT),
            link: fg(26).add_modifier(Modifier::UNDERLINED),
            quote: fg(240).add_modifier(Modifier::ITALIC),
            syntax: SyntaxStyles {
                plain: fg(236),
                keyword: fg(90),
                kind: fg(94),
                function: fg(25),
                string: fg(28),
                constant: fg(130),
                comment: fg(244).add_modifier(Modifier::ITALIC),
                attribute: fg(94),
                key: fg(24),
                punctuation: fg(240),
            },
        }
    }

    /// Returns the theme without colours, which uses bold, dim, underlined and inverse text instead.
    #[must_use]
    pub const fn colourless() -> Self {
        const PLAIN: Style = Style::new();
        const BOLD: Style = PLAIN.add_modifier(Modifier::BOLD);
        const DIM: Style = PLAIN.add_modifier(Modifier::DIM);
        const UNDERLINED: Style = PLAIN.add_modifier(Modifier::UNDERLINED);
        const INVERSE: Style = PLAIN.add_modifier(Modifier::REVERSED);
        Self {
            text: PLAIN,
            dim: DIM,
            accent: BOLD,
            human: BOLD,
            agent: BOLD,
            system: DIM,
            tool: PLAIN,
            success: PLAIN,
            warning: BOLD,
            danger: BOLD.add_modifier(Modifier::UNDERLINED),
            reasoning: DIM,
            code: BOLD,
            selection: INVERSE,
            border: DIM,
            added: BOLD,
            removed: DIM,
            added_part: BOLD.add_modifier(Modifier::UNDERLINED),
            removed_part: DIM.add_modifier(Modifier::UNDERLINED),
            badge: INVERSE,
            caret: INVERSE,
            heading: BOLD.add_modifier(Modifier::UNDERLINED),
            strong: BOLD,
            emphasis: UNDERLINED,
            strike: DIM,
            link: UNDERLINED,
            quote: DIM,
            syntax: SyntaxStyles {
                plain: PLAIN,
                keyword: BOLD,
                kind: PLAIN,
                function: PLAIN,
                string: PLAIN,
                constant: PLAIN,
                comment: DIM,
                attribute: PLAIN,
                key: PLAIN,
                punctuation: PLAIN,
            },
        }
    }

    /// Returns the theme with this name (`dark`, `light` or `none`); `None` for any other name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "dark" => Some(Self::dark()),
            "light" => Some(Self::light()),
            "none" => Some(Self::colourless()),
            _ => None,
        }
    }

    /// Selects a theme from environment variables: no colours for `NO_COLOR` (<https://no-color.org>) or a dumb
    /// terminal, the light theme if `COLORFGBG` gives a light background, and else the dark theme.
    #[must_use]
    pub fn from_environment(variable: impl Fn(&str) -> Option<String>) -> Self {
        let no_color = variable("NO_COLOR").is_some_and(|value| !value.is_empty());
        if no_color || variable("TERM").as_deref() == Some("dumb") {
            return Self::colourless();
        }
        let colours = variable("COLORFGBG").unwrap_or_default();
        match colours.rsplit(';').next() {
            Some("7" | "15") => Self::light(),
            _ => Self::dark(),
        }
    }
}

const fn fg(index: u8) -> Style {
    Style::new().fg(Color::Indexed(index))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(environment: &[(&str, &str)]) -> Theme {
        Theme::from_environment(|name| {
            let entry = environment.iter().find(|(known, _)| *known == name);
            entry.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_environment_chooses() {
        assert_eq!(of(&[]), Theme::dark());
        assert_eq!(of(&[("COLORFGBG", "15;0")]), Theme::dark());
        assert_eq!(of(&[("COLORFGBG", "0;15")]), Theme::light());
        assert_eq!(of(&[("COLORFGBG", "0;default;7")]), Theme::light());
        assert_eq!(of(&[("NO_COLOR", "")]), Theme::dark());
        assert_eq!(of(&[("NO_COLOR", "1"), ("COLORFGBG", "0;15")]), Theme::colourless());
        assert_eq!(of(&[("TERM", "dumb")]), Theme::colourless());
    }

    #[test]
    fn a_theme_can_be_named() {
        assert_eq!(Theme::named("light"), Some(Theme::light()));
        assert_eq!(Theme::named("none"), Some(Theme::colourless()));
        assert_eq!(Theme::named("solarized"), None);
    }

    #[test]
    fn without_colours_there_is_no_colour_and_no_unusual_attribute() {
        let drawn = format!("{:?}", Theme::colourless());
        for word in ["Indexed", "Rgb", "Cyan", "ITALIC", "CROSSED_OUT", "BLINK", "HIDDEN"] {
            assert!(!drawn.contains(word), "{word} in {drawn}");
        }
    }

    #[test]
    fn thinking_is_cyan() {
        assert_eq!(Theme::dark().reasoning.fg, Some(Color::Cyan));
        assert_eq!(Theme::light().reasoning.fg, Some(Color::Cyan));
    }
}
