//! A message while it grows: the events of the Messages API, as `--include-partial-messages` passes them on.

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess},
};

use super::{
    content::ContentBlock,
    json::{Json, lax},
    message::{ApiMessage, Usage},
    tagged::{Fields, Tagged, tagged},
};

/// One event of a growing message.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct StreamMessage {
    /// What happened.
    pub event: StreamEvent,
    /// The call of the subagent whose message it is; none for the main conversation.
    pub parent_tool_use_id: Option<String>,
    /// The session.
    pub session_id: Option<String>,
}

/// What happened to a growing message.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamEvent {
    /// It begins.
    MessageStart(Box<ApiMessage>),
    /// A block begins.
    BlockStart {
        /// Which.
        index: usize,
        /// What it is; mostly still empty.
        block: ContentBlock,
    },
    /// A block grows.
    BlockDelta {
        /// Which.
        index: usize,
        /// By what.
        delta: Delta,
    },
    /// A block is complete.
    BlockStop {
        /// Which.
        index: usize,
    },
    /// It is known why the message ends.
    MessageDelta {
        /// Why; none if it was cut.
        stop_reason: Option<String>,
        /// What it cost.
        usage: Option<Usage>,
    },
    /// It is complete.
    MessageStop,
    /// Another event.
    Unknown {
        /// Its `type`.
        kind: String,
        /// All of it.
        raw: Json,
    },
}

/// What a block grows by.
#[derive(Debug, Clone, PartialEq)]
pub enum Delta {
    /// Words.
    Text(String),
    /// Reasoning.
    Thinking(String),
    /// A piece of the JSON that a tool is called with.
    InputJson(String),
    /// The proof that the reasoning is the model's.
    Signature(String),
    /// Something else.
    Unknown {
        /// Its `type`.
        kind: String,
        /// All of it.
        raw: Json,
    },
}

impl<'de> Deserialize<'de> for StreamEvent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tagged(deserializer)
    }
}

impl Tagged for StreamEvent {
    const TAG: &'static str = "type";

    fn read<'de, A: MapAccess<'de>>(kind: &str, fields: Fields<A>) -> Result<Self, A::Error> {
        Ok(match kind {
            "message_start" => {
                let MessageStart { message } = fields.typed()?;
                Self::MessageStart(message)
            }
            "content_block_start" => {
                let BlockStart { index, content_block } = fields.typed()?;
                Self::BlockStart { index, block: content_block }
            }
            "content_block_delta" => {
                let BlockDelta { index, delta } = fields.typed()?;
                Self::BlockDelta { index, delta }
            }
            "content_block_stop" => {
                let BlockStop { index } = fields.typed()?;
                Self::BlockStop { index }
            }
            "message_delta" => {
                let MessageDelta { delta, usage } = fields.typed()?;
                Self::MessageDelta { stop_reason: delta.stop_reason, usage }
            }
            "message_stop" => {
                let IgnoredAny = fields.typed()?;
                Self::MessageStop
            }
            _ => Self::Unknown { kind: kind.to_owned(), raw: fields.raw(Self::TAG, kind)? },
        })
    }
}

impl<'de> Deserialize<'de> for Delta {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tagged(deserializer)
    }
}

impl Tagged for Delta {
    const TAG: &'static str = "type";

    fn read<'de, A: MapAccess<'de>>(kind: &str, fields: Fields<A>) -> Result<Self, A::Error> {
        Ok(match kind {
            "text_delta" => {
                let TextDelta { text } = fields.typed()?;
                Self::Text(text)
            }
            "thinking_delta" => {
                let ThinkingDelta { thinking } = fields.typed()?;
                Self::Thinking(thinking)
            }
            "input_json_delta" => {
                let InputJsonDelta { partial_json } = fields.typed()?;
                Self::InputJson(partial_json)
            }
            "signature_delta" => {
                let SignatureDelta { signature } = fields.typed()?;
                Self::Signature(signature)
            }
            _ => Self::Unknown { kind: kind.to_owned(), raw: fields.raw(Self::TAG, kind)? },
        })
    }
}

#[derive(Deserialize)]
struct MessageStart {
    message: Box<ApiMessage>,
}

#[derive(Deserialize)]
struct BlockStart {
    index: usize,
    content_block: ContentBlock,
}

#[derive(Deserialize)]
struct BlockDelta {
    index: usize,
    delta: Delta,
}

#[derive(Deserialize)]
struct BlockStop {
    index: usize,
}

#[derive(Deserialize)]
struct MessageDelta {
    delta: Stop,
    #[serde(default, deserialize_with = "lax")]
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Stop {
    stop_reason: Option<String>,
}

#[derive(Deserialize)]
struct TextDelta {
    text: String,
}

#[derive(Deserialize)]
struct ThinkingDelta {
    thinking: String,
}

#[derive(Deserialize)]
struct InputJsonDelta {
    partial_json: String,
}

#[derive(Deserialize)]
struct SignatureDelta {
    signature: String,
}
