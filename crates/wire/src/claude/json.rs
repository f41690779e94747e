//! Raw JSON values and lenient field deserializers.

use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::{Value, value::RawValue};

use super::surrogates::replace_unpaired;

/// JSON value, stored as the text that the agent sent. The text is valid JSON but is not parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Json(Box<str>);

impl Json {
    /// Returns the JSON text.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Parses the value; `None` if it is nested deeper than 127 levels.
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

/// Parses a type from JSON text. Unpaired surrogate escapes are replaced.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    serde_json::from_str(text).or_else(|error| match replace_unpaired(text) {
        Some(mended) => serde_json::from_str(&mended),
        None => Err(error),
    })
}

/// Deserializes a field. Null becomes the default value.
pub(super) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Deserializes an optional field. A value of an unexpected type becomes the default, so that the frame can still be
/// decoded.
pub(super) fn lax<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + Default,
{
    let raw = Box::<RawValue>::deserialize(deserializer)?;
    Ok(read(raw.get()).unwrap_or_default())
}
