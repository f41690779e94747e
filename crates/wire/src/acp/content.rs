//! A block of a message.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A block of a message or of what a tool gave.
#[derive(Debug, Clone, PartialEq)]
pub enum ContentBlock {
    /// Words.
    Text(String),
    /// A picture.
    Image,
    /// A sound.
    Audio,
    /// A link to something.
    Link {
        /// Where.
        uri: String,
        /// What it is called.
        name: Option<String>,
    },
    /// Something whole, with its words if it has some.
    Resource {
        /// Where it is from.
        uri: String,
        /// Its words.
        text: Option<String>,
    },
    /// Something else, as it came.
    Unknown(Value),
}

impl Default for ContentBlock {
    fn default() -> Self {
        Self::Unknown(Value::Null)
    }
}

impl ContentBlock {
    /// What can be shown of it as words.
    pub fn words(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Image => "[image]".to_owned(),
            Self::Audio => "[audio]".to_owned(),
            Self::Link { uri, name: None } | Self::Resource { uri, text: None } => format!("[{uri}]"),
            Self::Link { uri, name: Some(name) } => format!("[{name}: {uri}]"),
            Self::Resource { text: Some(text), .. } => text.clone(),
            Self::Unknown(value) => match value["type"].as_str() {
                Some(kind) => format!("[{kind}]"),
                None => String::new(),
            },
        }
    }
}

impl From<Value> for ContentBlock {
    fn from(value: Value) -> Self {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let known = match value["type"].as_str() {
            Some("text") => text(&value["text"]).map(Self::Text),
            Some("image") => Some(Self::Image),
            Some("audio") => Some(Self::Audio),
            Some("resource_link") => text(&value["uri"]).map(|uri| Self::Link { uri, name: text(&value["name"]) }),
            Some("resource") => {
                let resource = &value["resource"];
                text(&resource["uri"]).map(|uri| Self::Resource { uri, text: text(&resource["text"]) })
            }
            _ => None,
        };
        known.unwrap_or(Self::Unknown(value))
    }
}

impl<'de> Deserialize<'de> for ContentBlock {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Value::deserialize(from).map(Self::from)
    }
}
