//! What `GET /control/screen` gives.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The screen that a person would see now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScreenBody {
    /// The frame with its colours and attributes: written to a blank terminal of the same size, it draws the same frame.
    pub raw: String,
    /// The text, a line a row, without trailing blanks.
    pub plain: String,
    /// The text, a line a row, padded to the width.
    pub lines: Vec<String>,
    /// Columns.
    pub width: u16,
    /// Rows.
    pub height: u16,
    /// The cursor, from the top left, from 0.
    pub cursor: CursorBody,
    /// When the last frame was complete; before the first, when the blank screen came to be.
    pub last_frame: String,
    /// Frames since the start.
    pub frames_rendered: u64,
    /// The retained raw output.
    pub scrollback: ScrollbackBody,
    /// The window title that the program set.
    pub title: Option<String>,
    /// Whether the alternate screen is shown.
    pub alternate_screen: bool,
    /// What the program has switched on.
    pub modes: ModesBody,
    /// A fingerprint of what is shown: the same screen has the same hash, in every run.
    pub hash: String,
    /// With `?format=cells`: every cell of every row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cells: Option<Vec<Vec<CellBody>>>,
}

/// Where the cursor is and how it looks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CursorBody {
    /// Column.
    pub x: u16,
    /// Row.
    pub y: u16,
    /// Whether it is shown.
    pub visible: bool,
    /// `block`, `underline` or `beam`.
    #[schemars(extend("enum" = ["block", "underline", "beam"]))]
    pub style: String,
    /// Whether it blinks.
    pub blinking: bool,
}

/// The retained raw output: the program's own bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScrollbackBody {
    /// Characters retained.
    pub buffer_size: usize,
    /// Whether older ones were dropped.
    pub truncated: bool,
    /// With `?history=1`: the output itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
}

/// The terminal's switches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModesBody {
    /// Cursor keys send application codes.
    pub application_cursor: bool,
    /// The keypad sends application codes.
    pub application_keypad: bool,
    /// Pastes are bracketed.
    pub bracketed_paste: bool,
    /// Focus changes are reported.
    pub focus_events: bool,
    /// `off`, `click`, `drag` or `motion`.
    #[schemars(extend("enum" = ["off", "click", "drag", "motion"]))]
    pub mouse: String,
    /// `legacy`, `utf8` or `sgr`.
    #[schemars(extend("enum" = ["legacy", "utf8", "sgr"]))]
    pub mouse_encoding: String,
    /// Flags of the kitty keyboard protocol.
    pub kitty_keyboard: u8,
    /// xterm's modifyOtherKeys level.
    pub modify_other_keys: u8,
}

/// One cell. What is at its default is left out.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellBody {
    /// The character with its combining marks; empty in the second half of a wide one.
    pub text: String,
    /// Columns: 1, 2, or 0 in the second half of a wide character.
    pub width: u8,
    /// Foreground: `#rrggbb`, or the palette's index as a string.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fg: Option<String>,
    /// Background, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bg: Option<String>,
    /// `bold`, `dim`, `italic`, `inverse`, `hidden`, `strikethrough`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attributes: Vec<String>,
    /// `single`, `double`, `curly`, `dotted` or `dashed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["single", "double", "curly", "dotted", "dashed"]))]
    pub underline: Option<String>,
    /// The underline's own colour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub underline_color: Option<String>,
    /// Where the cell links to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hyperlink: Option<String>,
}
