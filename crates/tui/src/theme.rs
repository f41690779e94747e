//! The colours of the terminal UI, by what they mean. Drawing code names a role and never a colour, so that dark, light
//! and colourless terminals differ in this file alone.

use ratatui::style::{Color, Modifier, Style};

/// A style for each role. The background is the terminal's own wherever a role does not need another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theme {
    /// Ordinary text.
    pub text: Style,
    /// What may be overlooked: times, hints, addresses of links.
    pub dim: Style,
    /// What the eye should find first: the prompt, what is selected or active.
    pub accent: Style,
    /// The person's own words and name.
    pub human: Style,
    /// An agent's name.
    pub agent: Style,
    /// What the system says.
    pub system: Style,
    /// A tool's name and its card.
    pub tool: Style,
    /// It went well.
    pub success: Style,
    /// It wants attention.
    pub warning: Style,
    /// It failed, or would do harm.
    pub danger: Style,
    /// Thinking: cyan wherever there are colours.
    pub reasoning: Style,
    /// Code between words.
    pub code: Style,
    /// The chosen line of a list; laid over the styles of what the line holds.
    pub selection: Style,
    /// Frames, dividers, rules.
    pub border: Style,
    /// A line that a change adds.
    pub added: Style,
    /// A line that a change takes away.
    pub removed: Style,
    /// Within an added line, the part that differs.
    pub added_part: Style,
    /// Within a removed line, the part that differs.
    pub removed_part: Style,
    /// A label on a ground of its own.
    pub badge: Style,
    /// The cell that the caret stands on.
    pub caret: Style,
    /// A title within text.
    pub heading: Style,
    /// Words that weigh more.
    pub strong: Style,
    /// Words that are stressed.
    pub emphasis: Style,
    /// Words that are struck out.
    pub strike: Style,
    /// The text of a link.
    pub link: Style,
    /// Somebody else's words.
    pub quote: Style,
    /// Code in its own block.
    pub syntax: Syntax,
}

/// A style for each kind of token in a block of code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Syntax {
    /// What is none of the others.
    pub plain: Style,
    /// A word of the language.
    pub keyword: Style,
    /// A type.
    pub kind: Style,
    /// A function's or macro's name.
    pub function: Style,
    /// Text between quotes.
    pub string: Style,
    /// A number, or a named constant such as `true`.
    pub constant: Style,
    /// A remark for the reader.
    pub comment: Style,
    /// An attribute, a decorator, a variable of a shell.
    pub attribute: Style,
    /// The name in front of a value: a key of JSON, YAML or TOML, a tag's attribute.
    pub key: Style,
    /// Operators and brackets.
    pub punctuation: Style,
}

impl Theme {
    /// For a dark background.
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
            syntax: Syntax {
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

    /// For a light background.
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
            syntax: Syntax {
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

    /// Without a single colour: bold, dim, underlined and inverse must carry the meaning.
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
            syntax: Syntax {
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

    /// The theme of this name: `dark`, `light` or `none`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "dark" => Some(Self::dark()),
            "light" => Some(Self::light()),
            "none" => Some(Self::colourless()),
            _ => None,
        }
    }

    /// What the environment asks for: `NO_COLOR` (<https://no-color.org>) or a dumb terminal has no colours, `COLORFGBG`
    /// tells a light background; dark otherwise, as nearly every terminal is.
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
