//! JSON that is passed on unread, and how strictly fields are taken.

use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::{Value, value::RawValue};

use super::mend::mend;

/// A JSON value as the agent wrote it, checked but not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Json(Box<str>);

impl Json {
    /// The text.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// The value, unless it is nested deeper than 127 levels.
    pub fn value(&self) -> Option<Value> {
        read(&self.0).ok()
    }
}

impl From<Value> for Json {
    fn from(value: Value) -> Self {
        Self(value.to_string().into())
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(|raw| Self(raw.into()))
    }
}

/// Reads a type from a text of its own; halves of characters in it do not matter.
pub(super) fn read<T: DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    serde_json::from_str(text).or_else(|error| match mend(text) {
        Some(mended) => serde_json::from_str(&mended),
        None => Err(error),
    })
}

/// A field that may be null where it could as well be absent.
pub(super) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// A figure or an ornament: of another shape than expected it is left out, and does not cost the whole frame.
pub(super) fn lax<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + Default,
{
    let raw = Box::<RawValue>::deserialize(deserializer)?;
    Ok(read(raw.get()).unwrap_or_default())
}
