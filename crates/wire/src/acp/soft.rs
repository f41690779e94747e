//! Fields that are never an error.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A field: what it should be, or its default.
pub(super) fn field<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(from: D) -> Result<T, D::Error> {
    Ok(serde_json::from_value(Value::deserialize(from)?).unwrap_or_default())
}

/// A list without what does not belong there.
pub(super) fn list<'de, D: Deserializer<'de>, T: DeserializeOwned>(from: D) -> Result<Vec<T>, D::Error> {
    Ok(items(Value::deserialize(from)?))
}

/// The same, where none is something else than an empty one.
pub(super) fn maybe_list<'de, D: Deserializer<'de>, T: DeserializeOwned>(from: D) -> Result<Option<Vec<T>>, D::Error> {
    let value = Value::deserialize(from)?;
    Ok(value.is_array().then(|| items(value)))
}

fn items<T: DeserializeOwned>(value: Value) -> Vec<T> {
    match value {
        Value::Array(items) => items.into_iter().filter_map(|item| serde_json::from_value(item).ok()).collect(),
        _ => Vec::new(),
    }
}

/// An enum of words that keeps those it does not know.
macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum $name {
            $($(#[$doc])* $variant,)+
            /// Another word.
            Other(String),
        }

        impl From<String> for $name {
            fn from(word: String) -> Self {
                match word.as_str() {
                    $($word => Self::$variant,)+
                    _ => Self::Other(word),
                }
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::Other(String::new())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                String::deserialize(from).map(Self::from)
            }
        }
    };
}

pub(super) use words;
