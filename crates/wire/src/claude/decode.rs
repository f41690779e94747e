//! Decodes one line from the agent and classifies it as a message, request, reply or cancellation.

use std::{borrow::Cow, error, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{Error, IgnoredAny, MapAccess, Visitor},
};

use super::{
    ask::IncomingRequest,
    json::{Json, read},
    message::ClaudeMessage,
    reply::Reply,
    surrogates::replace_unpaired,
    tagged::{TagStr, Tagged, TaggedFields, tagged, tagged_as},
};

/// Decoded line from the agent.
#[derive(Debug, Clone, PartialEq)]
pub enum Incoming {
    /// Empty line, or output of another program on the same pipe. Skip the line.
    Noise,
    /// Request of the agent. The agent waits for a [`ClientResponse`](super::ClientResponse).
    Ask(IncomingRequest),
    /// Reply to a control request of the client. An agent that replays messages also returns the client's own
    /// responses; ignore replies with unknown ids.
    Reply(Reply),
    /// The agent withdraws a request. Dismiss the request without a response.
    Cancel {
        /// Id of the withdrawn request.
        request_id: String,
    },
    /// Keep-alive frame without content.
    KeepAlive,
    /// Message of the conversation, or a frame of an unknown kind.
    Message(ClaudeMessage),
}

/// Frame of an unknown kind or with an unexpected structure.
#[derive(Debug, Clone, PartialEq)]
pub struct UnknownFrame {
    /// Value of `type`, if present.
    pub kind: Option<String>,
    /// Value of `subtype`, if present.
    pub subtype: Option<String>,
    /// The complete frame as received.
    pub raw: Json,
}

/// Error for a line that starts like a frame but is not valid JSON. Causes: the line was truncated, or another program
/// wrote to the same pipe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeError {
    /// Position of the error in the line, in bytes, counted from 1.
    pub column: usize,
    /// Description of the error.
    pub reason: String,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "the agent sent a line that is not valid JSON: {}", self.reason)
    }
}

impl error::Error for DecodeError {}

impl From<serde_json::Error> for DecodeError {
    fn from(error: serde_json::Error) -> Self {
        Self { column: error.column(), reason: error.to_string() }
    }
}

/// Decodes one line, with or without its line terminator.
///
/// # Errors
///
/// Fails if the line begins with `{` but is not a JSON object. Decoding can continue with the next line.
pub fn decode(line: &[u8]) -> Result<Incoming, DecodeError> {
    let line = line.trim_ascii();
    if !line.starts_with(b"{") {
        return Ok(Incoming::Noise);
    }
    // `from_utf8` checks valid input faster than `from_utf8_lossy`, which checks every byte individually.
    let text = str::from_utf8(line).map_or_else(|_| String::from_utf8_lossy(line), Cow::Borrowed);
    if let Ok(incoming) = classify(&text) {
        return Ok(incoming);
    }
    if let Some(incoming) = replace_unpaired(&text).and_then(|mended| classify(&mended).ok()) {
        return Ok(incoming);
    }
    let raw: Json = serde_json::from_str(&text)?;
    let FrameHead { kind, subtype } = read(&text).unwrap_or_default();
    Ok(Incoming::Message(ClaudeMessage::Unknown(Box::new(UnknownFrame { kind, subtype, raw }))))
}

/// Decodes a frame by its type. Most frames begin with the type and are decoded in one pass. For other frames, an
/// additional pass finds the type, which is faster than buffering the fields that precede the type.
fn classify(text: &str) -> Result<Incoming, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let incoming = if text.starts_with("{\"type\"") {
        tagged(&mut deserializer)?
    } else {
        let FrameHead { kind, .. } = serde_json::from_str(text)?;
        tagged_as(&kind.unwrap_or_default(), &mut deserializer)?
    };
    deserializer.end()?;
    Ok(incoming)
}

impl Tagged for Incoming {
    const TAG: &'static str = "type";

    fn read<'de, A: MapAccess<'de>>(kind: &str, fields: TaggedFields<A>) -> Result<Self, A::Error> {
        Ok(match kind {
            "control_request" => Self::Ask(fields.typed()?),
            "control_response" => Self::Reply(fields.typed()?),
            "control_cancel_request" => {
                let Cancel { request_id } = fields.typed()?;
                Self::Cancel { request_id }
            }
            "keep_alive" => {
                let IgnoredAny = fields.typed()?;
                Self::KeepAlive
            }
            "assistant" => Self::Message(ClaudeMessage::Assistant(fields.typed()?)),
            "user" => Self::Message(ClaudeMessage::User(fields.typed()?)),
            "stream_event" => Self::Message(ClaudeMessage::Stream(fields.typed()?)),
            "result" => Self::Message(ClaudeMessage::Result(fields.typed()?)),
            "system" => Self::Message(ClaudeMessage::System(fields.dispatch()?)),
            "tool_progress" => Self::Message(ClaudeMessage::ToolProgress(fields.typed()?)),
            "tool_use_summary" => Self::Message(ClaudeMessage::ToolUseSummary(fields.typed()?)),
            "rate_limit_event" => Self::Message(ClaudeMessage::RateLimit(fields.typed()?)),
            "auth_status" => Self::Message(ClaudeMessage::AuthStatus(fields.typed()?)),
            "conversation_reset" => Self::Message(ClaudeMessage::ConversationReset(fields.typed()?)),
            "command_lifecycle" => Self::Message(ClaudeMessage::CommandLifecycle(fields.typed()?)),
            "prompt_suggestion" => Self::Message(ClaudeMessage::PromptSuggestion(fields.typed()?)),
            _ => return Err(A::Error::custom(format_args!("unknown type `{kind}`"))),
        })
    }
}

#[derive(Deserialize)]
struct Cancel {
    request_id: String,
}

/// The `type` and `subtype` of any object. If a key is repeated, the first value is used.
#[derive(Default)]
pub(super) struct FrameHead {
    pub(super) kind: Option<String>,
    pub(super) subtype: Option<String>,
}

impl<'de> Deserialize<'de> for FrameHead {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct HeadVisitor;

        impl<'de> Visitor<'de> for HeadVisitor {
            type Value = FrameHead;

            fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<FrameHead, A::Error> {
                let mut head = FrameHead::default();
                while let Some(key) = map.next_key::<TagStr>()? {
                    let name = match &*key.0 {
                        "type" => &mut head.kind,
                        "subtype" => &mut head.subtype,
                        _ => {
                            let IgnoredAny = map.next_value()?;
                            continue;
                        }
                    };
                    let value: Json = map.next_value()?;
                    if name.is_none() {
                        *name = serde_json::from_str(value.text()).ok();
                    }
                }
                Ok(head)
            }
        }

        deserializer.deserialize_map(HeadVisitor)
    }
}
