//! One line from the agent, sorted by who must act on it.

use std::{borrow::Cow, error, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{Error, IgnoredAny, MapAccess, Visitor},
};

use super::{
    ask::Ask,
    json::{Json, read},
    mend::mend,
    message::Message,
    reply::Reply,
    tagged::{Fields, Tagged, Word, tagged, tagged_as},
};

/// What a line from the agent is.
#[derive(Debug, Clone, PartialEq)]
pub enum Incoming {
    /// No frame: an empty line, or words of something that writes to the same pipe. To be skipped.
    Noise,
    /// The agent asks something and waits for a [`Response`](super::Response).
    Ask(Ask),
    /// Answers a request of ours. With replayed messages also our own answers come back so: an id that nobody waits for
    /// is to be ignored.
    Reply(Reply),
    /// The agent withdraws a question: it is to be taken away, and not answered.
    Cancel {
        /// The question's id.
        request_id: String,
    },
    /// The agent is alive.
    KeepAlive,
    /// Part of the conversation, or about it; or of a kind that is not known.
    Message(Message),
}

/// A frame of a kind or of a shape that is not known.
#[derive(Debug, Clone, PartialEq)]
pub struct Unknown {
    /// Its `type`, if it has one.
    pub kind: Option<String>,
    /// Its `subtype`, if it has one.
    pub subtype: Option<String>,
    /// All of it.
    pub raw: Json,
}

/// A line that begins as a frame and is no JSON: it was cut, or something wrote into the middle of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeError {
    /// Where, in bytes from 1.
    pub column: usize,
    /// What is wrong there.
    pub reason: String,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "the agent's line is not valid JSON: {}", self.reason)
    }
}

impl error::Error for DecodeError {}

impl From<serde_json::Error> for DecodeError {
    fn from(error: serde_json::Error) -> Self {
        Self { column: error.column(), reason: error.to_string() }
    }
}

/// Reads one line, with or without its end.
///
/// # Errors
///
/// If it begins with `{` and is no JSON object. The next line may well be good.
pub fn decode(line: &[u8]) -> Result<Incoming, DecodeError> {
    let line = line.trim_ascii();
    if !line.starts_with(b"{") {
        return Ok(Incoming::Noise);
    }
    // Not at once `from_utf8_lossy`: that looks at every byte by itself.
    let text = str::from_utf8(line).map_or_else(|_| String::from_utf8_lossy(line), Cow::Borrowed);
    if let Ok(incoming) = sort(&text) {
        return Ok(incoming);
    }
    if let Some(incoming) = mend(&text).and_then(|mended| sort(&mended).ok()) {
        return Ok(incoming);
    }
    let raw: Json = serde_json::from_str(&text)?;
    let Head { kind, subtype } = read(&text).unwrap_or_default();
    Ok(Incoming::Message(Message::Unknown(Box::new(Unknown { kind, subtype, raw }))))
}

/// Most frames begin with their type and are read in one pass. For the others it is looked for first: that is faster than to
/// keep what stands before it.
fn sort(text: &str) -> Result<Incoming, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let incoming = if text.starts_with("{\"type\"") {
        tagged(&mut deserializer)?
    } else {
        let Head { kind, .. } = serde_json::from_str(text)?;
        tagged_as(&kind.unwrap_or_default(), &mut deserializer)?
    };
    deserializer.end()?;
    Ok(incoming)
}

impl Tagged for Incoming {
    const TAG: &'static str = "type";

    fn read<'de, A: MapAccess<'de>>(kind: &str, fields: Fields<A>) -> Result<Self, A::Error> {
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
            "assistant" => Self::Message(Message::Assistant(fields.typed()?)),
            "user" => Self::Message(Message::User(fields.typed()?)),
            "stream_event" => Self::Message(Message::Stream(fields.typed()?)),
            "result" => Self::Message(Message::Result(fields.typed()?)),
            "system" => Self::Message(Message::System(fields.sort()?)),
            "tool_progress" => Self::Message(Message::ToolProgress(fields.typed()?)),
            "tool_use_summary" => Self::Message(Message::ToolUseSummary(fields.typed()?)),
            "rate_limit_event" => Self::Message(Message::RateLimit(fields.typed()?)),
            "auth_status" => Self::Message(Message::AuthStatus(fields.typed()?)),
            "conversation_reset" => Self::Message(Message::ConversationReset(fields.typed()?)),
            "command_lifecycle" => Self::Message(Message::CommandLifecycle(fields.typed()?)),
            "prompt_suggestion" => Self::Message(Message::PromptSuggestion(fields.typed()?)),
            _ => return Err(A::Error::custom("an unknown type")),
        })
    }
}

#[derive(Deserialize)]
struct Cancel {
    request_id: String,
}

/// What can be said of any object: its `type` and its `subtype`. Of two of a name the first counts.
#[derive(Default)]
pub(super) struct Head {
    pub(super) kind: Option<String>,
    pub(super) subtype: Option<String>,
}

impl<'de> Deserialize<'de> for Head {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct HeadVisitor;

        impl<'de> Visitor<'de> for HeadVisitor {
            type Value = Head;

            fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Head, A::Error> {
                let mut head = Head::default();
                while let Some(key) = map.next_key::<Word>()? {
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
