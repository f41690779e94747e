//! Incremental message updates: events of the Messages API, as forwarded with `--include-partial-messages`.

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess},
};

use super::{
    content::ContentBlock,
    json::{Json, lax},
    message::{ApiMessage, TokenUsage},
    tagged::{Tagged, TaggedFields, tagged},
};

/// Frame with one event of a message that is being streamed.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct StreamMessage {
    /// The event itself.
    pub event: StreamEvent,
    /// Id of the tool call that started the subagent; `None` for a message of the main conversation.
    pub parent_tool_use_id: Option<String>,
    /// Id of the session.
    pub session_id: Option<String>,
}

/// Event of a message that is being streamed.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamEvent {
    /// The message starts.
    MessageStart(Box<ApiMessage>),
    /// A content block starts.
    BlockStart {
        /// Index of the block.
        index: usize,
        /// Initial block, usually empty. The content follows in deltas.
        block: ContentBlock,
    },
    /// A content block is extended.
    BlockDelta {
        /// Index of the block.
        index: usize,
        /// Content to append.
        delta: Delta,
    },
    /// A content block is complete.
    BlockStop {
        /// Index of the block.
        index: usize,
    },
    /// Reports the stop reason and the token usage of the message.
    MessageDelta {
        /// Stop reason; `None` if the message was cut off.
        stop_reason: Option<String>,
        /// Token usage of the message.
        usage: Option<TokenUsage>,
    },
    /// The message is complete.
    MessageStop,
    /// Event of an unknown kind.
    Unknown {
        /// Value of `type`.
        kind: String,
        /// The complete event as received.
        raw: Json,
    },
}

/// Content appended to a block.
#[derive(Debug, Clone, PartialEq)]
pub enum Delta {
    /// Text of the answer.
    Text(String),
    /// Text of the reasoning.
    Thinking(String),
    /// Fragment of the JSON input of a tool call.
    InputJson(String),
    /// Signature that authenticates the reasoning.
    Signature(String),
    /// Delta of an unknown kind.
    Unknown {
        /// Value of `type`.
        kind: String,
        /// The complete delta as received.
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

    fn read<'de, A: MapAccess<'de>>(kind: &str, fields: TaggedFields<A>) -> Result<Self, A::Error> {
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

    fn read<'de, A: MapAccess<'de>>(kind: &str, fields: TaggedFields<A>) -> Result<Self, A::Error> {
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
    usage: Option<TokenUsage>,
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
