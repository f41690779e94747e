//! Encodes mouse events as a terminal does, for programs that have enabled mouse tracking. Specified by xterm's
//! ctlseqs, "Mouse Tracking".

use wh_core::input::{KeyCode, KeyPress, Modifiers, Mouse, MouseAction, MouseButton};

use crate::keys;
use crate::modes::{MouseEncoding, MouseTracking, TerminalModes};

/// Lines that one notch of the wheel scrolls in a full-screen program without mouse tracking.
const LINES_PER_NOTCH: usize = 3;

/// Last cell, counted from 1, that one byte can encode: 255 minus the offset of 32.
const LAST_CELL_LEGACY: u16 = 223;

/// Last cell, counted from 1, that two bytes of UTF-8 can encode: 2047 minus the offset of 32.
const LAST_CELL_UTF8: u16 = 2015;

/// Bit of the button code that marks a motion event.
const MOTION: u8 = 32;

/// Button code for no button, and for any release in the encodings that do not name the button.
const NO_BUTTON: u8 = 3;

/// Encodes one event. `None` if the program receives no event: the program did not enable this kind of event, the
/// encoding cannot represent the cell, or a press or release has no button.
///
/// A program in the alternate screen without mouse tracking gets cursor keys for the wheel, unless it disabled
/// alternate scroll (DECSET 1007).
#[must_use]
pub fn encode(mouse: &Mouse, modes: &TerminalModes) -> Option<Vec<u8>> {
    if modes.mouse == MouseTracking::Off {
        return scroll_by_keys(mouse.action, modes);
    }
    let code = code(mouse, modes)? + modifier_bits(mouse.modifiers);
    // The protocol counts cells from 1.
    let column = mouse.x.checked_add(1)?;
    let row = mouse.y.checked_add(1)?;
    match modes.mouse_encoding {
        MouseEncoding::Sgr => {
            let released = mouse.action == MouseAction::Release;
            let end = if released { 'm' } else { 'M' };
            Some(format!("\x1b[<{code};{column};{row}{end}").into_bytes())
        }
        MouseEncoding::Legacy if column.max(row) <= LAST_CELL_LEGACY => {
            let mut bytes = vec![0x1b, b'[', b'M'];
            bytes.push(offset(code.into()).try_into().ok()?);
            bytes.push(offset(column).try_into().ok()?);
            bytes.push(offset(row).try_into().ok()?);
            Some(bytes)
        }
        MouseEncoding::Utf8 if column.max(row) <= LAST_CELL_UTF8 => {
            let mut text = String::from("\x1b[M");
            for value in [code.into(), column, row] {
                text.push(char::from_u32(offset(value).into())?);
            }
            Some(text.into_bytes())
        }
        MouseEncoding::Legacy | MouseEncoding::Utf8 => None,
    }
}

/// Adds 32, so that the result is not a control character.
fn offset(value: u16) -> u16 {
    value + 32
}

/// Returns the button code of the event without modifiers; `None` if the program does not track this kind of event.
fn code(mouse: &Mouse, modes: &TerminalModes) -> Option<u8> {
    let button = match mouse.button {
        MouseButton::Left => Some(0),
        MouseButton::Middle => Some(1),
        MouseButton::Right => Some(2),
        MouseButton::None => None,
    };
    match mouse.action {
        MouseAction::Press => button,
        MouseAction::Release if modes.mouse_encoding == MouseEncoding::Sgr => button,
        MouseAction::Release => button.map(|_| NO_BUTTON),
        MouseAction::Move => match (modes.mouse, button) {
            (MouseTracking::Drag | MouseTracking::Motion, Some(button)) => Some(button + MOTION),
            (MouseTracking::Motion, None) => Some(NO_BUTTON + MOTION),
            _ => None,
        },
        MouseAction::WheelUp => Some(64),
        MouseAction::WheelDown => Some(65),
        MouseAction::WheelLeft => Some(66),
        MouseAction::WheelRight => Some(67),
    }
}

fn modifier_bits(modifiers: Modifiers) -> u8 {
    4 * u8::from(modifiers.shift) + 8 * u8::from(modifiers.alt) + 16 * u8::from(modifiers.ctrl)
}

fn scroll_by_keys(action: MouseAction, modes: &TerminalModes) -> Option<Vec<u8>> {
    if !(modes.alternate_screen && modes.alternate_scroll) {
        return None;
    }
    let key = match action {
        MouseAction::WheelUp => KeyCode::Up,
        MouseAction::WheelDown => KeyCode::Down,
        _ => return None,
    };
    Some(keys::encode(&KeyPress::from(key), modes).repeat(LINES_PER_NOTCH))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(action: MouseAction, button: MouseButton, x: u16, y: u16) -> Mouse {
        Mouse { action, button, x, y, modifiers: Modifiers::NONE }
    }

    fn left(action: MouseAction) -> Mouse {
        at(action, MouseButton::Left, 9, 4)
    }

    fn sent(event: &Mouse, mouse: MouseTracking, mouse_encoding: MouseEncoding) -> Option<Vec<u8>> {
        let modes = TerminalModes { mouse, mouse_encoding, ..TerminalModes::default() };
        encode(event, &modes)
    }

    #[test]
    fn sgr_names_the_button_and_distinguishes_press_from_release() {
        use MouseAction::{Move, Press, Release, WheelDown, WheelLeft, WheelRight, WheelUp};
        use MouseButton::{Left, Middle, None, Right};
        for (action, button, expected) in [
            (Press, Left, "\x1b[<0;10;5M"),
            (Press, Middle, "\x1b[<1;10;5M"),
            (Press, Right, "\x1b[<2;10;5M"),
            (Release, Left, "\x1b[<0;10;5m"),
            (Release, Middle, "\x1b[<1;10;5m"),
            (Release, Right, "\x1b[<2;10;5m"),
            (Move, Left, "\x1b[<32;10;5M"),
            (Move, Middle, "\x1b[<33;10;5M"),
            (Move, Right, "\x1b[<34;10;5M"),
            (Move, None, "\x1b[<35;10;5M"),
            (WheelUp, None, "\x1b[<64;10;5M"),
            (WheelDown, None, "\x1b[<65;10;5M"),
            (WheelLeft, None, "\x1b[<66;10;5M"),
            (WheelRight, None, "\x1b[<67;10;5M"),
            (WheelUp, Left, "\x1b[<64;10;5M"),
        ] {
            let event = at(action, button, 9, 4);
            assert_eq!(
                sent(&event, MouseTracking::Motion, MouseEncoding::Sgr).as_deref(),
                Some(expected.as_bytes()),
                "{event:?}"
            );
        }
    }

    #[test]
    fn the_old_encodings_do_not_name_the_button_that_came_up() {
        use MouseAction::{Move, Press, Release, WheelDown};
        use MouseButton::{Left, None, Right};
        for (action, button, expected) in [
            (Press, Left, b"\x1b[M *%"),
            (Press, Right, b"\x1b[M\"*%"),
            (Release, Left, b"\x1b[M#*%"),
            (Release, Right, b"\x1b[M#*%"),
            (Move, Left, b"\x1b[M@*%"),
            (Move, None, b"\x1b[MC*%"),
            (WheelDown, None, b"\x1b[Ma*%"),
        ] {
            let event = at(action, button, 9, 4);
            for encoding in [MouseEncoding::Legacy, MouseEncoding::Utf8] {
                assert_eq!(
                    sent(&event, MouseTracking::Motion, encoding).as_deref(),
                    Some(&expected[..]),
                    "{event:?} {encoding:?}"
                );
            }
        }
    }

    #[test]
    fn modifiers_are_bits_of_the_code() {
        for (ctrl, alt, shift, expected) in [
            (false, false, true, "\x1b[<4;10;5M"),
            (false, true, false, "\x1b[<8;10;5M"),
            (true, false, false, "\x1b[<16;10;5M"),
            (true, true, true, "\x1b[<28;10;5M"),
        ] {
            let event = Mouse { modifiers: Modifiers { ctrl, alt, shift }, ..left(MouseAction::Press) };
            assert_eq!(sent(&event, MouseTracking::Click, MouseEncoding::Sgr).as_deref(), Some(expected.as_bytes()));
        }
    }

    #[test]
    fn a_program_gets_the_events_it_asked_for_and_no_others() {
        use MouseTracking::{Click, Drag, Motion, Off};
        let hover = at(MouseAction::Move, MouseButton::None, 9, 4);
        for (event, wanted_by) in [
            (left(MouseAction::Press), &[Click, Drag, Motion][..]),
            (left(MouseAction::Release), &[Click, Drag, Motion]),
            (left(MouseAction::WheelUp), &[Click, Drag, Motion]),
            (left(MouseAction::Move), &[Drag, Motion]),
            (hover, &[Motion]),
        ] {
            for tracking in [Off, Click, Drag, Motion] {
                assert_eq!(
                    sent(&event, tracking, MouseEncoding::Sgr).is_some(),
                    wanted_by.contains(&tracking),
                    "{event:?} {tracking:?}"
                );
            }
        }
    }

    #[test]
    fn a_press_or_release_of_no_button_is_no_event() {
        for action in [MouseAction::Press, MouseAction::Release] {
            let event = at(action, MouseButton::None, 0, 0);
            for encoding in [MouseEncoding::Legacy, MouseEncoding::Sgr] {
                assert_eq!(sent(&event, MouseTracking::Motion, encoding), None);
            }
        }
    }

    #[test]
    fn a_cell_that_the_encoding_cannot_name_is_not_sent_wrong() {
        let press = |x, y| at(MouseAction::Press, MouseButton::Left, x, y);
        let click = |event: Mouse, encoding| sent(&event, MouseTracking::Click, encoding);
        use MouseEncoding::{Legacy, Sgr, Utf8};

        assert_eq!(click(press(222, 0), Legacy).as_deref(), Some(&b"\x1b[M \xff!"[..]));
        assert_eq!(click(press(223, 0), Legacy), None);
        assert_eq!(click(press(0, 223), Legacy), None);
        assert_eq!(click(press(94, 95), Utf8).as_deref(), Some("\x1b[M \u{7f}\u{80}".as_bytes()));
        assert_eq!(click(press(2014, 223), Utf8).as_deref(), Some("\x1b[M \u{7ff}\u{100}".as_bytes()));
        assert_eq!(click(press(2015, 0), Utf8), None);
        assert_eq!(click(press(65534, 3000), Sgr).as_deref(), Some(&b"\x1b[<0;65535;3001M"[..]));
        assert_eq!(click(press(65535, 0), Sgr), None);
    }

    #[test]
    fn the_wheel_scrolls_a_full_screen_program_by_cursor_keys() {
        let pager = TerminalModes { alternate_screen: true, alternate_scroll: true, ..TerminalModes::default() };
        let application = TerminalModes { application_cursor: true, ..pager };
        let wheel = |action, modes: &TerminalModes| encode(&left(action), modes);

        let up = wheel(MouseAction::WheelUp, &pager);
        assert_eq!(up.as_deref(), Some(&b"\x1b[A\x1b[A\x1b[A"[..]));
        let down = wheel(MouseAction::WheelDown, &application);
        assert_eq!(down.as_deref(), Some(&b"\x1bOB\x1bOB\x1bOB"[..]));
        for other in [MouseAction::WheelLeft, MouseAction::Press, MouseAction::Move] {
            assert_eq!(wheel(other, &pager), None);
        }
        for without in
            [TerminalModes { alternate_screen: false, ..pager }, TerminalModes { alternate_scroll: false, ..pager }]
        {
            assert_eq!(wheel(MouseAction::WheelUp, &without), None);
        }
        let tracked = TerminalModes { mouse: MouseTracking::Click, mouse_encoding: MouseEncoding::Sgr, ..pager };
        let up = wheel(MouseAction::WheelUp, &tracked);
        assert_eq!(up.as_deref(), Some(&b"\x1b[<64;10;5M"[..]));
    }

    proptest! {
        #[test]
        fn every_old_report_has_six_bytes_or_is_not_sent(x: u16, y: u16, ctrl: bool, shift: bool) {
            let event = Mouse {
                modifiers: Modifiers { ctrl, alt: false, shift },
                ..at(MouseAction::WheelRight, MouseButton::None, x, y)
            };
            let bytes = sent(&event, MouseTracking::Click, MouseEncoding::Legacy);
            prop_assert_eq!(bytes.is_some(), x < LAST_CELL_LEGACY && y < LAST_CELL_LEGACY);
            prop_assert!(bytes.is_none_or(|bytes| bytes.len() == 6));
        }
    }
}
