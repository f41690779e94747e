//! Terminal modes set by the program that affect the encoding of keys, mouse events and pastes.

/// Mouse events that the program receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum MouseTracking {
    /// No events: the terminal handles the mouse itself.
    #[default]
    Off,
    /// Presses and releases (DECSET 1000).
    Click,
    /// Presses, releases, and motion while a button is down (DECSET 1002).
    Drag,
    /// Presses, releases, and all motion (DECSET 1003).
    Motion,
}

/// Encoding of mouse events, chosen by the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum MouseEncoding {
    /// Three bytes, coordinates up to 223.
    #[default]
    Legacy,
    /// Three values as in [`Legacy`](Self::Legacy), with coordinates in UTF-8 (DECSET 1005).
    Utf8,
    /// Decimal numbers; a release names its button (DECSET 1006).
    Sgr,
}

/// Terminal modes as the program has set them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct TerminalModes {
    /// True if cursor keys send SS3 (DECCKM).
    pub application_cursor: bool,
    /// True if the keypad is in application mode (DECKPAM).
    pub application_keypad: bool,
    /// True if pastes are wrapped in markers (DECSET 2004).
    pub bracketed_paste: bool,
    /// True if focus changes are reported (DECSET 1004).
    pub focus_events: bool,
    /// True if the wheel sends cursor keys in the alternate screen (DECSET 1007).
    pub alternate_scroll: bool,
    /// True if the alternate screen is shown.
    pub alternate_screen: bool,
    pub mouse: MouseTracking,
    pub mouse_encoding: MouseEncoding,
    /// The kitty keyboard protocol's flags: 1 disambiguate, 2 event types, 4 alternates, 8 all keys, 16 text.
    pub kitty_keyboard: u8,
    /// xterm's modifyOtherKeys level, 0 to 2.
    pub modify_other_keys: u8,
}
