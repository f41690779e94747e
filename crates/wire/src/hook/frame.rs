//! Frames between a hook process and its listener: one request line, then one response line. Both are JSON objects.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::HookAgent;

/// Environment variable with the path of the listener's socket.
pub const HOOK_SOCKET_VARIABLE: &str = "WH_HOOK_SOCKET";

/// Maximum length of a payload in bytes. Tool results are part of payloads and can be long.
pub const MAX_HOOK_PAYLOAD_BYTES: usize = 16 << 20;

/// Maximum length of a request line in bytes.
pub const MAX_HOOK_REQUEST_BYTES: usize = MAX_HOOK_PAYLOAD_BYTES + 1024;

/// Maximum length of a response line in bytes.
pub const MAX_HOOK_RESPONSE_BYTES: usize = 1 << 20;

/// Exit code by which a hook process denies a permission, with the reason on stderr. Codex then blocks the tool call;
/// Claude Code 2.1.197 leaves the decision to its own dialog.
pub const HOOK_DENIED_CODE: u8 = 2;

/// Error for bytes that are not a valid hook frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HookFrameError {
    /// The payload is not JSON.
    #[error("the payload is not JSON")]
    Payload,
    /// The payload is longer than [`MAX_HOOK_PAYLOAD_BYTES`].
    #[error("the payload is longer than {MAX_HOOK_PAYLOAD_BYTES} bytes")]
    TooLong,
    /// The line is not a request or a response.
    #[error("received bytes that are not a valid hook frame")]
    Line,
}

/// Request of a hook process: the payload of one event.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HookRequest {
    /// Agent that called the hook.
    pub agent: HookAgent,
    /// Parent of the hook process: the agent, or a shell below it.
    pub parent: Option<u32>,
    /// Payload as the agent sent it, as JSON text.
    pub payload: Box<RawValue>,
}

impl HookRequest {
    /// Creates the request for a payload. The payload becomes one line.
    pub fn new(agent: HookAgent, parent: Option<u32>, payload: &[u8]) -> Result<Self, HookFrameError> {
        if payload.len() > MAX_HOOK_PAYLOAD_BYTES {
            return Err(HookFrameError::TooLong);
        }
        let mut text = std::str::from_utf8(payload).map_err(|_| HookFrameError::Payload)?.trim().to_owned();
        if text.contains(['\n', '\r']) {
            // Line breaks inside of strings are escaped in JSON, so these are white space.
            text = text.replace(['\n', '\r'], " ");
        }
        let payload = RawValue::from_string(text).map_err(|_| HookFrameError::Payload)?;
        Ok(Self { agent, parent, payload })
    }

    /// Encodes the request as one line.
    pub fn encode(&self) -> Result<Vec<u8>, HookFrameError> {
        line(self)
    }

    /// Decodes a request from one line.
    pub fn decode(line: &[u8]) -> Result<Self, HookFrameError> {
        serde_json::from_slice(line).map_err(|_| HookFrameError::Line)
    }
}

/// Response of the listener: output and exit code of the hook process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookExit {
    /// Exit code of the hook process.
    pub code: u8,
    /// Text for stdout, without a line break at the end.
    #[serde(default)]
    pub stdout: String,
    /// Text for stderr, without a line break at the end.
    #[serde(default)]
    pub stderr: String,
}

impl HookExit {
    /// Returns the response without a decision: `{}` and exit code 0.
    pub fn undecided() -> Self {
        Self { code: 0, stdout: "{}".to_owned(), stderr: String::new() }
    }

    /// Returns the response that denies a permission by its exit code.
    pub fn denied(reason: impl Into<String>) -> Self {
        Self { code: HOOK_DENIED_CODE, stdout: String::new(), stderr: reason.into() }
    }

    /// Encodes the response as one line.
    pub fn encode(&self) -> Result<Vec<u8>, HookFrameError> {
        line(self)
    }

    /// Decodes a response from one line.
    pub fn decode(line: &[u8]) -> Result<Self, HookFrameError> {
        serde_json::from_slice(line).map_err(|_| HookFrameError::Line)
    }
}

fn line(frame: &impl Serialize) -> Result<Vec<u8>, HookFrameError> {
    let mut line = serde_json::to_vec(frame).map_err(|_| HookFrameError::Line)?;
    line.push(b'\n');
    Ok(line)
}

/// Returns true if the payload belongs to a permission hook. Reads only the name of the event.
pub fn is_permission_payload(payload: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct PayloadName<'a> {
        #[serde(borrow)]
        hook_event_name: Cow<'a, str>,
    }
    serde_json::from_slice(payload).is_ok_and(|PayloadName { hook_event_name }| hook_event_name == "PermissionRequest")
}
