//! Request bodies of `POST /control/send_input`, `/resize`, `/mark` and `/signal`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Request body of `POST /control/send_input`. At least one of `text`, `paste`, `key`, `keys` and `mouse` is required.
/// The fields are sent in this order as one command.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({"text": "hello", "key": "enter"}))]
pub struct SendInputBody {
    /// Text to type, sent byte for byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Text to paste. Sent as a bracketed paste if the program has enabled that mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paste: Option<String>,
    /// Name of one key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Names of several keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<Vec<String>>,
    /// A mouse event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mouse: Option<MouseBody>,
    /// True to type text even if a question of the agent is open on its screen. Without it, the text is refused, because
    /// it could answer the question.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
    /// Idempotency key that makes a retry safe: 1 to 128 printable characters without whitespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 128), regex(pattern = r"^[^\s\p{Cc}]+$"))]
    pub request_id: Option<String>,
}

/// A mouse event at a cell. The cell at the top left has column 0 and row 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MouseBody {
    /// Event type: `press`, `release`, `move`, `wheel_up`, `wheel_down`, `wheel_left` or `wheel_right`.
    #[schemars(extend("enum" = ["press", "release", "move", "wheel_up", "wheel_down", "wheel_left", "wheel_right"]))]
    pub action: String,
    /// `left`, `middle` or `right`. Default: `left`, or no button for a move.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["left", "middle", "right", null]))]
    pub button: Option<String>,
    /// Column, from 0.
    pub x: u16,
    /// Row, from 0.
    pub y: u16,
    /// Modifier keys held down: `ctrl`, `alt`, `shift`.
    #[serde(default)]
    #[schemars(inner(regex(pattern = r"^(ctrl|alt|shift)$")))]
    pub modifiers: Vec<String>,
}

/// Request body of `POST /control/resize`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({"width": 120, "height": 40}))]
pub struct ResizeBody {
    /// Width in columns.
    #[serde(alias = "cols")]
    #[schemars(range(min = 2, max = 1000))]
    pub width: u16,
    /// Height in rows.
    #[serde(alias = "rows")]
    #[schemars(range(min = 1, max = 500))]
    pub height: u16,
    /// Idempotency key that makes a retry safe: 1 to 128 printable characters without whitespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 128), regex(pattern = r"^[^\s\p{Cc}]+$"))]
    pub request_id: Option<String>,
}

/// Request body of `POST /control/mark`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({"label": "logged in"}))]
pub struct MarkBody {
    /// Label of this moment in the recording; may be empty.
    #[schemars(length(max = 256))]
    pub label: String,
    /// Idempotency key that makes a retry safe: 1 to 128 printable characters without whitespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 128), regex(pattern = r"^[^\s\p{Cc}]+$"))]
    pub request_id: Option<String>,
}

/// Request body of `POST /control/signal`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({"signal": "INT"}))]
pub struct SignalBody {
    /// Signal name such as `INT` or `TERM`, with or without `SIG`.
    #[schemars(regex(pattern = r"^(SIG)?(HUP|INT|QUIT|KILL|USR1|USR2|TERM|CONT|STOP|TSTP|WINCH)$"))]
    pub signal: String,
    /// Receiver of the signal: `program` (the process group that wh started; the default) or `foreground` (the
    /// foreground process group of the terminal).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["program", "foreground", null]))]
    pub target: Option<String>,
    /// Idempotency key that makes a retry safe: 1 to 128 printable characters without whitespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 128), regex(pattern = r"^[^\s\p{Cc}]+$"))]
    pub request_id: Option<String>,
}
