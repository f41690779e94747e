//! Content blocks of a message.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::Value;

use super::{
    json::{Json, or_default},
    tagged::{Tagged, TaggedFields, tagged},
};

/// Content block of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum ContentBlock {
    /// Text for the user.
    Text(String),
    /// Reasoning of the model. Empty if the reasoning is withheld.
    Thinking(String),
    /// Encrypted reasoning that only the model can read.
    RedactedThinking,
    /// Call of a tool.
    ToolUse(ToolUse),
    /// Result of a tool call.
    ToolResult(ToolResult),
    /// Image source, as defined by the Messages API.
    Image(Value),
    /// Block of an unknown kind, for example of a server-side tool.
    Unknown {
        /// Value of `type`.
        kind: String,
        /// The complete block as received.
        raw: Json,
    },
}

/// Call of a tool by the model.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ToolUse {
    /// Id of the call.
    pub id: String,
    /// Name of the tool.
    pub name: String,
    /// Input of the call. Empty in [`StreamEvent::BlockStart`](super::StreamEvent::BlockStart); deltas with the input
    /// follow.
    #[serde(default)]
    pub input: Value,
}

/// Result of a tool call.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ToolResult {
    /// Id of the call.
    pub tool_use_id: String,
    /// Content of the result. A plain string is read as one text block.
    #[serde(default, deserialize_with = "blocks")]
    pub content: Vec<ContentBlock>,
    /// True if the tool failed or was denied.
    #[serde(default, deserialize_with = "or_default")]
    pub is_error: bool,
}

impl<'de> Deserialize<'de> for ContentBlock {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tagged(deserializer)
    }
}

impl Tagged for ContentBlock {
    const TAG: &'static str = "type";

    fn read<'de, A: MapAccess<'de>>(kind: &str, fields: TaggedFields<A>) -> Result<Self, A::Error> {
        Ok(match kind {
            "text" => {
                let Text { text } = fields.typed()?;
                Self::Text(text)
            }
            "thinking" => {
                let Thinking { thinking } = fields.typed()?;
                Self::Thinking(thinking)
            }
            "redacted_thinking" => {
                let IgnoredAny = fields.typed()?;
                Self::RedactedThinking
            }
            "tool_use" => Self::ToolUse(fields.typed()?),
            "tool_result" => Self::ToolResult(fields.typed()?),
            "image" => {
                let Image { source } = fields.typed()?;
                Self::Image(source)
            }
            _ => Self::Unknown { kind: kind.to_owned(), raw: fields.raw(Self::TAG, kind)? },
        })
    }
}

#[derive(Deserialize)]
struct Text {
    text: String,
}

#[derive(Deserialize)]
struct Thinking {
    #[serde(default)]
    thinking: String,
}

#[derive(Deserialize)]
struct Image {
    source: Value,
}

/// Deserializes a list of blocks. A string is read as one text block, null as an empty list.
pub(super) fn blocks<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<ContentBlock>, D::Error> {
    struct BlocksVisitor;

    impl<'de> Visitor<'de> for BlocksVisitor {
        type Value = Vec<ContentBlock>;

        fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
            formatter.write_str("a string or a list of blocks")
        }

        fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
            Ok(vec![ContentBlock::Text(text.to_owned())])
        }

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(Vec::new())
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            let mut blocks = Vec::new();
            while let Some(block) = list.next_element()? {
                blocks.push(block);
            }
            Ok(blocks)
        }
    }

    deserializer.deserialize_any(BlocksVisitor)
}
