//! Content blocks of messages and tool results.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Content block of a message or tool result.
#[derive(Debug, Clone, PartialEq)]
pub enum ContentBlock {
    /// Text for the user.
    Text(String),
    /// Image. The image data is discarded.
    Image,
    /// Audio. The audio data is discarded.
    Audio,
    /// Link to a resource.
    Link {
        /// URI of the resource.
        uri: String,
        /// Name of the resource.
        name: Option<String>,
    },
    /// Embedded resource, with its text if it has one.
    Resource {
        /// URI of the resource.
        uri: String,
        /// Text content of the resource.
        text: Option<String>,
    },
    /// Block of an unknown kind, as received.
    Unknown(Value),
}

impl Default for ContentBlock {
    fn default() -> Self {
        Self::Unknown(Value::Null)
    }
}

impl ContentBlock {
    /// Returns the text to display for the block. For a block without text, this is a placeholder in brackets.
    pub fn display_text(&self) -> String {
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
