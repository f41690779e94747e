//! Types and values of settings: parsed from TOML and text, written as text, TOML and JSON. Does no I/O.

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use serde_json::json;
use toml_edit::{Array, Item, Value as Toml};
use wh_core::input::{KeyPress, closest};
use wh_tui::keymap;

use crate::commands::duration;

/// Type of a setting's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingType {
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A name, or a list of at least `least` names.
    Names { least: usize },
    /// A whole number within bounds.
    Number { smallest: u64, largest: u64 },
    /// A time: `500ms`, `10s`, `2m`, or a number of seconds.
    Time,
    /// A key, or a list of keys.
    Keys,
}

/// Parsed value of a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingValue {
    Choice(String),
    Names(Vec<String>),
    Number(u64),
    Time(Duration),
    Keys(Vec<KeyPress>),
}

/// Invalid value of a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidSettingValue {
    /// Byte range of the invalid part in the file; `None` if the whole value is invalid.
    pub at: Option<Range<usize>>,
    /// Error message that follows the key: `is "drak"; it must be …`.
    pub message: String,
}

impl InvalidSettingValue {
    fn new(message: String) -> Self {
        Self { at: None, message }
    }
}

impl SettingType {
    /// Describes the allowed values.
    pub fn expected(self) -> String {
        match self {
            Self::Choice(words) => format!("one of {}", words.join(", ")),
            Self::Names { .. } => "a name, or a list of names".to_owned(),
            Self::Number { smallest, largest } => format!("a number from {smallest} to {largest}"),
            Self::Time => "a duration such as 500ms, 10s or 2m".to_owned(),
            Self::Keys => "a key such as ctrl+x, or a list of keys".to_owned(),
        }
    }

    fn wrong(self, given: impl fmt::Display) -> InvalidSettingValue {
        InvalidSettingValue::new(format!("is {given}; it must be {}", self.expected()))
    }

    /// Parses a value of an environment variable or an argument. Commas separate the items of a list.
    pub fn parse_text(self, text: &str) -> Result<SettingValue, InvalidSettingValue> {
        match self {
            Self::Choice(words) if words.contains(&text) => Ok(SettingValue::Choice(text.to_owned())),
            Self::Choice(words) => {
                let mut wrong = self.wrong(format_args!("{text:?}"));
                if let Some(meant) = closest(text, words.iter().copied()) {
                    wrong.message += &format!("; did you mean {meant:?}?");
                }
                Err(wrong)
            }
            Self::Names { least } => {
                let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
                let names: Vec<String> =
                    names.map(|one| name(one).map_err(InvalidSettingValue::new)).collect::<Result<_, _>>()?;
                if names.len() < least { Err(self.wrong("empty")) } else { Ok(SettingValue::Names(names)) }
            }
            Self::Number { smallest, largest } => match text.trim().parse() {
                Ok(number) if (smallest..=largest).contains(&number) => Ok(SettingValue::Number(number)),
                _ => Err(self.wrong(format_args!("{text:?}"))),
            },
            Self::Time => {
                duration(text.trim()).map(SettingValue::Time).map_err(|_| self.wrong(format_args!("{text:?}")))
            }
            Self::Keys => {
                // The text may be the comma key itself.
                if let Ok(press) = key(text) {
                    return Ok(SettingValue::Keys(vec![press]));
                }
                let keys = text.split(',').map(str::trim).filter(|name| !name.is_empty());
                keys.map(|one| key(one).map_err(InvalidSettingValue::new))
                    .collect::<Result<_, _>>()
                    .map(SettingValue::Keys)
            }
        }
    }

    /// Parses a value in a file.
    pub fn parse_toml(self, item: &Item) -> Result<SettingValue, InvalidSettingValue> {
        let not_this = || self.wrong(kind_of(item));
        match self {
            Self::Choice(_) => self.parse_text(item.as_str().ok_or_else(not_this)?),
            Self::Number { smallest, largest } => {
                let number = item.as_integer().ok_or_else(not_this)?;
                match u64::try_from(number) {
                    Ok(number) if (smallest..=largest).contains(&number) => Ok(SettingValue::Number(number)),
                    _ => Err(self.wrong(number)),
                }
            }
            Self::Time => {
                let number = item.as_integer().map(|number| number as f64).or_else(|| item.as_float());
                let seconds = number.map(|number| Duration::try_from_secs_f64(number).map_err(|_| self.wrong(number)));
                match (seconds, item.as_str()) {
                    (Some(seconds), _) => seconds.map(SettingValue::Time),
                    (None, Some(text)) => self.parse_text(text),
                    (None, None) => Err(not_this()),
                }
            }
            Self::Names { least } => {
                let names = texts(item, name).map_err(|wrong| wrong.unwrap_or_else(not_this))?;
                if names.len() < least { Err(self.wrong("empty")) } else { Ok(SettingValue::Names(names)) }
            }
            Self::Keys => texts(item, key).map(SettingValue::Keys).map_err(|wrong| wrong.unwrap_or_else(not_this)),
        }
    }
}

/// Parses a string or a list of strings with `read`. The error is `None` if `item` is neither.
fn texts<T>(item: &Item, read: impl Fn(&str) -> Result<T, String>) -> Result<Vec<T>, Option<InvalidSettingValue>> {
    let list = match item {
        Item::Value(Toml::Array(list)) => list.iter().map(|one| (one.as_str(), one.span())).collect(),
        item => vec![(item.as_str(), item.span())],
    };
    let mut values = Vec::new();
    for (text, at) in list {
        let text = text.ok_or(None)?;
        values.push(read(text).map_err(|message| Some(InvalidSettingValue { at, message }))?);
    }
    Ok(values)
}

fn name(text: &str) -> Result<String, String> {
    let unusable = |letter: char| letter.is_whitespace() || letter.is_control() || letter == ',';
    if text.is_empty() || text.contains(unusable) {
        return Err(format!(
            "has the invalid name {text:?}; a name is one word without commas; write several names as a list"
        ));
    }
    Ok(text.to_owned())
}

fn key(text: &str) -> Result<KeyPress, String> {
    let press: KeyPress = text.parse().map_err(|error: wh_core::input::UnknownKey| format!("has an {error}"))?;
    keymap::check(press).map_err(|error| format!("is refused: {error}"))?;
    Ok(press)
}

fn kind_of(item: &Item) -> String {
    match item.type_name() {
        kind @ ("integer" | "array" | "inline table" | "array of tables") => format!("an {kind}"),
        kind => format!("a {kind}"),
    }
}

impl SettingValue {
    /// Converts to a TOML value.
    pub fn to_toml(&self) -> Toml {
        match self {
            Self::Names(names) => list(names.clone()),
            Self::Keys(keys) => list(keys.iter().map(KeyPress::to_string).collect()),
            Self::Number(number) => i64::try_from(*number).unwrap_or(i64::MAX).into(),
            Self::Choice(_) | Self::Time(_) => self.to_string().into(),
        }
    }

    /// Converts to JSON.
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Names(names) => json!(names),
            Self::Keys(keys) => json!(keys.iter().map(KeyPress::to_string).collect::<Vec<_>>()),
            Self::Number(number) => json!(number),
            Self::Choice(_) | Self::Time(_) => json!(self.to_string()),
        }
    }

    /// Converts to values for the flag: one value per name for a list of names, else a single value.
    pub fn to_arguments(&self) -> Vec<String> {
        match self {
            Self::Names(names) => names.clone(),
            other => vec![other.to_string()],
        }
    }
}

fn list(mut texts: Vec<String>) -> Toml {
    match texts.len() {
        1 => texts.remove(0).into(),
        _ => Toml::Array(texts.into_iter().collect::<Array>()),
    }
}

impl fmt::Display for SettingValue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Choice(word) => formatter.write_str(word),
            Self::Names(names) => formatter.write_str(&names.join(", ")),
            Self::Number(number) => number.fmt(formatter),
            Self::Time(time) if time.subsec_nanos() == 0 => write!(formatter, "{}s", time.as_secs()),
            Self::Time(time) => write!(formatter, "{}ms", time.as_secs_f64() * 1000.0),
            Self::Keys(keys) => {
                let names: Vec<String> = keys.iter().map(KeyPress::to_string).collect();
                formatter.write_str(&names.join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBER: SettingType = SettingType::Number { smallest: 1, largest: 9 };
    const NAMES: SettingType = SettingType::Names { least: 0 };
    const CHOICE: SettingType = SettingType::Choice(&["dark", "light"]);

    fn read(kind: SettingType, toml: &str) -> Result<SettingValue, InvalidSettingValue> {
        let document: toml_edit::Document<String> = format!("key = {toml}").parse().unwrap();
        kind.parse_toml(document.get("key").unwrap())
    }

    #[test]
    fn a_value_reads_back_from_what_it_is_written_as() {
        for (kind, text) in [
            (CHOICE, "dark"),
            (NUMBER, "7"),
            (SettingType::Time, "500ms"),
            (SettingType::Time, "90s"),
            (NAMES, "a"),
            (NAMES, "a, b"),
            (NAMES, ""),
            (SettingType::Keys, "ctrl+x"),
            (SettingType::Keys, "f5, ctrl+,"),
            (SettingType::Keys, "ctrl+,"),
        ] {
            let value = match text {
                // No text can say this.
                "f5, ctrl+," => read(kind, "['f5', 'ctrl+,']").unwrap(),
                _ => kind.parse_text(text).unwrap(),
            };
            assert_eq!(value.to_string(), text);
            assert_eq!(read(kind, &value.to_toml().to_string()), Ok(value), "{text}");
        }
        assert_eq!(read(SettingType::Time, "2"), Ok(SettingValue::Time(Duration::from_secs(2))));
        assert_eq!(read(SettingType::Time, "'2m'").unwrap().to_string(), "120s");
    }

    #[test]
    fn a_wrong_value_is_refused_with_what_is_expected() {
        for (kind, toml, words) in [
            (CHOICE, "'drak'", r#"is "drak"; it must be one of dark, light; did you mean "dark"?"#),
            (CHOICE, "3", "is an integer; it must be one of dark, light"),
            (NUMBER, "'3'", "is a string; it must be a number from 1 to 9"),
            (NUMBER, "-3", "is -3; it must be a number from 1 to 9"),
            (NUMBER, "10", "is 10; it must be a number from 1 to 9"),
            (SettingType::Time, "'soon'", r#"is "soon"; it must be a duration such as 500ms, 10s or 2m"#),
            (SettingType::Time, "-1", "is -1; it must be a duration such as 500ms, 10s or 2m"),
            (
                NAMES,
                "['a b']",
                r#"has the invalid name "a b"; a name is one word without commas; write several names as a list"#,
            ),
            (NAMES, "{ a = 1 }", "is an inline table; it must be a name, or a list of names"),
            (SettingType::Names { least: 1 }, "[]", "is empty; it must be a name, or a list of names"),
            (SettingType::Keys, "'ctlr+x'", r#"has an unknown key "ctlr+x"; did you mean "ctrl+x"?"#),
            (
                SettingType::Keys,
                "'x'",
                "is refused: x types a character and cannot be bound; add ctrl or alt, or choose a function key",
            ),
            (SettingType::Keys, "[1]", "is an array; it must be a key such as ctrl+x, or a list of keys"),
        ] {
            assert_eq!(read(kind, toml).unwrap_err().message, words, "{toml}");
        }
        for (kind, text) in [(CHOICE, ""), (NUMBER, "ten"), (SettingType::Time, "x"), (SettingType::Keys, "warp")] {
            assert!(kind.parse_text(text).is_err(), "{text}");
        }
    }
}
