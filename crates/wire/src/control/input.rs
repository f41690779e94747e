//! What `POST /control/send_input`, `/resize` and `/signal` take.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// `POST /control/send_input`: at least one of `text`, `paste`, `key`, `keys`, `mouse`, sent in that order as one command.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({"text": "hello", "key": "enter"}))]
pub struct SendInputBody {
    /// Typed as it is, byte for byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Pasted: in brackets if the program asked for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paste: Option<String>,
    /// One key by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Several keys by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<Vec<String>>,
    /// One mouse event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mouse: Option<MouseBody>,
    /// Makes a retry safe: 1 to 128 printable characters without blanks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 128), regex(pattern = r"^[^\s\p{Cc}]+$"))]
    pub request_id: Option<String>,
}

/// One mouse event, at a cell counted from the top left, from 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MouseBody {
    /// `press`, `release`, `move`, `wheel_up`, `wheel_down`, `wheel_left` or `wheel_right`.
    #[schemars(extend("enum" = ["press", "release", "move", "wheel_up", "wheel_down", "wheel_left", "wheel_right"]))]
    pub action: String,
    /// `left`, `middle` or `right`; `left` when absent, none for a move.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["left", "middle", "right", null]))]
    pub button: Option<String>,
    /// Column.
    pub x: u16,
    /// Row.
    pub y: u16,
    /// `ctrl`, `alt`, `shift` held down meanwhile.
    #[serde(default)]
    #[schemars(inner(regex(pattern = r"^(ctrl|alt|shift)$")))]
    pub modifiers: Vec<String>,
}

/// `POST /control/resize`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({"width": 120, "height": 40}))]
pub struct ResizeBody {
    /// Columns.
    #[serde(alias = "cols")]
    #[schemars(range(min = 2, max = 1000))]
    pub width: u16,
    /// Rows.
    #[serde(alias = "rows")]
    #[schemars(range(min = 1, max = 500))]
    pub height: u16,
    /// Makes a retry safe: 1 to 128 printable characters without blanks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 128), regex(pattern = r"^[^\s\p{Cc}]+$"))]
    pub request_id: Option<String>,
}

/// `POST /control/mark`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({"label": "logged in"}))]
pub struct MarkBody {
    /// The name of this moment; may be empty.
    #[schemars(length(max = 256))]
    pub label: String,
    /// Makes a retry safe: 1 to 128 printable characters without blanks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 128), regex(pattern = r"^[^\s\p{Cc}]+$"))]
    pub request_id: Option<String>,
}

/// `POST /control/signal`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({"signal": "INT"}))]
pub struct SignalBody {
    /// `INT`, `TERM`, …; with or without `SIG`.
    #[schemars(regex(pattern = r"^(SIG)?(HUP|INT|QUIT|KILL|USR1|USR2|TERM|CONT|STOP|TSTP|WINCH)$"))]
    pub signal: String,
    /// `program` (the process group that wh started; the default) or `foreground` (the terminal's foreground group).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["program", "foreground", null]))]
    pub target: Option<String>,
    /// Makes a retry safe: 1 to 128 printable characters without blanks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 128), regex(pattern = r"^[^\s\p{Cc}]+$"))]
    pub request_id: Option<String>,
}
