//! The blocks that a message is made of.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::Value;

use super::{
    json::{Json, or_default},
    tagged::{Fields, Tagged, tagged},
};

/// One block of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum ContentBlock {
    /// Words.
    Text(String),
    /// The model's reasoning. May be empty: it can be kept from us.
    Thinking(String),
    /// Reasoning that only the model can read.
    RedactedThinking,
    /// The model calls a tool.
    ToolUse(ToolUse),
    /// What a tool answered.
    ToolResult(ToolResult),
    /// A picture: where it comes from, as the Messages API has it.
    Image(Value),
    /// A block of another kind, such as those of the server's own tools.
    Unknown {
        /// Its `type`.
        kind: String,
        /// All of it.
        raw: Json,
    },
}

/// The model calls a tool.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ToolUse {
    /// The call's id.
    pub id: String,
    /// The tool.
    pub name: String,
    /// What it is called with. Empty at a block's start: then it comes in deltas.
    #[serde(default)]
    pub input: Value,
}

/// What a tool answered.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ToolResult {
    /// The call's id.
    pub tool_use_id: String,
    /// The answer; a mere string is one block of text.
    #[serde(default, deserialize_with = "blocks")]
    pub content: Vec<ContentBlock>,
    /// Whether the tool failed or was not allowed.
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

    fn read<'de, A: MapAccess<'de>>(kind: &str, fields: Fields<A>) -> Result<Self, A::Error> {
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

/// A list of blocks, or a string for one block of text, or null for none.
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
