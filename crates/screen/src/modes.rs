//! What the program has asked its terminal to do: the switches that decide how keys, mouse and paste are encoded.

/// Which mouse events the program wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum MouseTracking {
    /// None: the terminal keeps the mouse to itself.
    #[default]
    Off,
    /// Presses and releases (DECSET 1000).
    Click,
    /// Presses, releases, and motion while a button is down (DECSET 1002).
    Drag,
    /// All of it (DECSET 1003).
    Motion,
}

/// How a mouse event is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum MouseEncoding {
    /// Three bytes, coordinates up to 223.
    #[default]
    Legacy,
    /// As legacy with UTF-8 coordinates (DECSET 1005).
    Utf8,
    /// Decimal, with releases that name their button (DECSET 1006).
    Sgr,
}

/// The terminal's switches as the program has set them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Modes {
    /// Cursor keys send SS3 (DECCKM).
    pub application_cursor: bool,
    /// Keypad in application mode (DECKPAM).
    pub application_keypad: bool,
    /// Pastes are wrapped in markers (DECSET 2004).
    pub bracketed_paste: bool,
    /// Focus changes are reported (DECSET 1004).
    pub focus_events: bool,
    /// The wheel scrolls by cursor keys in the alternate screen (DECSET 1007).
    pub alternate_scroll: bool,
    /// The alternate screen is shown.
    pub alternate_screen: bool,
    /// Which mouse events are wanted.
    pub mouse: MouseTracking,
    /// How they are written.
    pub mouse_encoding: MouseEncoding,
    /// The kitty keyboard protocol's flags: 1 disambiguate, 2 event types, 4 alternates, 8 all keys, 16 text.
    pub kitty_keyboard: u8,
    /// xterm's modifyOtherKeys level, 0 to 2.
    pub modify_other_keys: u8,
}
