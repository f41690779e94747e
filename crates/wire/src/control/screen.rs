//! Response body of `GET /control/screen`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The screen as a user sees it now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScreenBody {
    /// Escape sequences that reproduce the screen, with colours and attributes, on a blank terminal of the same size.
    pub raw: String,
    /// Text of the screen, one line per row, without trailing blanks.
    pub plain: String,
    /// Text of the screen, one string per row, padded to the width.
    pub lines: Vec<String>,
    /// Width in columns.
    pub width: u16,
    /// Height in rows.
    pub height: u16,
    /// Position and style of the cursor.
    pub cursor: CursorBody,
    /// Time of the last completed frame. Before the first frame, the time at which the blank screen was created.
    pub last_frame: String,
    /// Number of frames that the program has drawn since the start.
    pub frames_rendered: u64,
    /// The retained raw output.
    pub scrollback: ScrollbackBody,
    /// Window title set by the program.
    pub title: Option<String>,
    /// True if the alternate screen is active.
    pub alternate_screen: bool,
    /// Terminal modes set by the program.
    pub modes: ModesBody,
    /// Hash of the visible content. Equal screens have equal hashes, also across runs.
    pub hash: String,
    /// Every cell of every row. Only with `?format=cells`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cells: Option<Vec<Vec<CellBody>>>,
}

/// Position and style of the cursor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CursorBody {
    /// Column, from 0.
    pub x: u16,
    /// Row, from 0.
    pub y: u16,
    /// True if the cursor is visible.
    pub visible: bool,
    /// Shape: `block`, `underline` or `beam`.
    #[schemars(extend("enum" = ["block", "underline", "beam"]))]
    pub style: String,
    /// True if the cursor blinks.
    pub blinking: bool,
}

/// Retained raw output of the program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScrollbackBody {
    /// Number of retained characters.
    pub buffer_size: usize,
    /// True if older output was dropped.
    pub truncated: bool,
    /// The output itself. Only with `?history=1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
}

/// Terminal modes that programs can set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModesBody {
    /// True if the cursor keys send application codes.
    pub application_cursor: bool,
    /// True if the keypad sends application codes.
    pub application_keypad: bool,
    /// True if pasted text is bracketed.
    pub bracketed_paste: bool,
    /// True if focus changes are reported to the program.
    pub focus_events: bool,
    /// Mouse reporting: `off`, `click`, `drag` or `motion`.
    #[schemars(extend("enum" = ["off", "click", "drag", "motion"]))]
    pub mouse: String,
    /// Mouse encoding: `legacy`, `utf8` or `sgr`.
    #[schemars(extend("enum" = ["legacy", "utf8", "sgr"]))]
    pub mouse_encoding: String,
    /// Flags of the kitty keyboard protocol.
    pub kitty_keyboard: u8,
    /// Level of xterm's modifyOtherKeys.
    pub modify_other_keys: u8,
}

/// Cell of the screen. Default values are omitted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellBody {
    /// The character with its combining marks; empty in the second half of a wide character.
    pub text: String,
    /// Width in columns: 1, 2, or 0 for the second half of a wide character.
    pub width: u8,
    /// Foreground colour: `#rrggbb`, or the palette index as a string.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fg: Option<String>,
    /// Background colour, in the same format as `fg`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bg: Option<String>,
    /// Text attributes: `bold`, `dim`, `italic`, `inverse`, `hidden`, `strikethrough`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attributes: Vec<String>,
    /// Underline style: `single`, `double`, `curly`, `dotted` or `dashed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["single", "double", "curly", "dotted", "dashed"]))]
    pub underline: Option<String>,
    /// Colour of the underline, if set separately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub underline_color: Option<String>,
    /// Link target of the cell (OSC 8).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hyperlink: Option<String>,
}
