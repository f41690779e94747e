//! Behaviour of xterm that the emulator alone does not have.

use alacritty_terminal::index::Line;
use alacritty_terminal::term::Config;
use alacritty_terminal::vte::ansi::{
    Attr, CharsetIndex, Handler, Hyperlink, Mode, PrivateMode, Processor, StandardCharset,
};
use proptest::prelude::*;

use super::{Emulator, MAX_KEYBOARD_MODES};
use crate::frame::Size;
use crate::render;
use crate::vt::{EventQueue, ManualTimeout, Vt};

/// Fills a screen of 12 columns and 5 rows, each row with its own letter.
const FILLED: &str = "\x1b[1;1Haaaaaaaaaaaa\x1b[2;1Hbbbbbbbbbbbb\x1b[3;1Hcccccccccccc\
    \x1b[4;1Hdddddddddddd\x1b[5;1Heeeeeeeeeeee\x1b[1;1H";

fn fed(stream: &str) -> Vt {
    let mut vt = Vt::new(Size { columns: 12, rows: 5 }, 0);
    vt.feed(stream.as_bytes());
    vt
}

fn row(stream: &str, number: usize) -> String {
    render::lines(&fed(stream).frame())[number].trim_end().to_owned()
}

fn cursor(stream: &str) -> (u16, u16) {
    fed(stream).cursor()
}

fn replies(stream: &str) -> String {
    String::from_utf8(fed(stream).take_replies()).unwrap()
}

#[test]
fn the_margins_bound_a_cursor_that_moves_up_or_down() {
    for (moves, at) in [
        ("\x1b[3;5H\x1b[9A", (4, 1)),
        ("\x1b[3;5H\x1b[9B", (4, 3)),
        ("\x1b[3;5H\x1b[9F", (0, 1)),
        ("\x1b[3;5H\x1b[9E", (0, 3)),
        ("\x1b[5;5H\x1b[9A", (4, 1)),
        ("\x1b[5;5H\x1b[9B", (4, 4)),
        ("\x1b[1;5H\x1b[9A", (4, 0)),
        ("\x1b[1;5H\x1b[9B", (4, 3)),
    ] {
        assert_eq!(cursor(&format!("\x1b[2;4r{moves}")), at, "{moves:?}");
    }
}

#[test]
fn margins_below_the_screen_are_ignored() {
    assert_eq!(row(&format!("\x1b[50;60r{FILLED}\x1b[5;1H\n"), 0), "bbbbbbbbbbbb");
}

#[test]
fn in_origin_mode_relative_moves_are_relative() {
    for (moves, at) in [
        ("\x1b[2;2H\x1b[5G", (4, 2)),
        ("\x1b[3;2H\x1b[A", (1, 2)),
        ("\x1b[1;2H\x1b[B", (1, 2)),
        ("\x1b[2;2H\x1b[?6l", (0, 0)),
    ] {
        assert_eq!(cursor(&format!("\x1b[2;4r\x1b[?6h{moves}")), at, "{moves:?}");
    }
    assert_eq!(replies("\x1b[2;4r\x1b[?6h\x1b[2;3H\x1b[6n"), "\x1b[2;3R");
}

#[test]
fn origin_mode_and_the_charset_are_saved_with_the_cursor() {
    assert_eq!(cursor("\x1b[2;4r\x1b[?6h\x1b7\x1b[?6l\x1b8\x1b[H"), (0, 1));
    assert_eq!(cursor("\x1b[2;4r\x1b7\x1b[?6h\x1b8\x1b[H"), (0, 0));
    assert_eq!(row("\x1b)0\x1b7\x0eq\x1b8q", 0), "q");
    assert_eq!(row("\x1b)0\x0e\x1b7\x0fq\x1b8q", 0), "─");
}

#[test]
fn a_tab_does_not_leave_its_line() {
    assert_eq!(cursor("\x1b[1;12Hx\t\t"), (11, 0));
    assert_eq!(cursor("\x1b[3g\x1b[1;9H\x1b[Z"), (0, 0));
    assert_eq!(row("\x1b[1;12Hx\x1b[Z!", 0), "        !  x");
}

#[test]
fn deleting_too_many_characters_leaves_the_cells_before_the_cursor() {
    assert_eq!(row("0123456789\x1b[1;8H\x1b[11P", 0), "0123456");
}

#[test]
fn erasing_above_erases_the_first_line_too() {
    assert_eq!(row(&format!("{FILLED}\x1b[2;5H\x1b[1J"), 0), "");
}

#[test]
fn the_alignment_pattern_resets_margins_and_cursor() {
    let vt = fed("\x1b[2;4r\x1b[?6h\x1b[3;3H\x1b#8\x1b[9B");
    assert_eq!((vt.cursor(), render::lines(&vt.frame())[0].as_str()), ((0, 4), "EEEEEEEEEEEE"));
}

#[test]
fn modes_47_and_1047_do_not_change_the_primary_screen_and_the_cursor() {
    for mode in [47, 1047] {
        assert_eq!(row(&format!("main\x1b[?{mode}halt"), 0), "    alt", "mode {mode}");
        assert_eq!(row(&format!("main\x1b[?{mode}halt\x1b[?{mode}lback"), 0), "main   back", "mode {mode}");
    }
    assert_eq!(row("ab\x1b[?1048hcd\x1b[?1048lX", 0), "abXd");
}

#[test]
fn a_soft_reset_leaves_text_and_cursor() {
    let vt = fed(&format!("{FILLED}\x1b[2;3r\x1b[4h\x1b[?7l\x1b[?25l\x1b[3;6H\x1b[!pX"));
    assert_eq!(render::lines(&vt.frame())[2], "cccccXcccccc");
    assert_eq!((vt.cursor(), vt.frame().cursor.visible), ((6, 2), true));
    assert_eq!(row(&format!("{FILLED}\x1b[2;3r\x1b[!p\x1b[5;1H\n"), 0), "bbbbbbbbbbbb");
    assert_eq!(row("\x1b[?7l\x1b[!p0123456789abc", 1), "c");
}

#[test]
fn new_line_mode_returns_the_carriage() {
    assert_eq!(cursor("\x1b[20habc\n"), (0, 1));
    assert_eq!(cursor("\x1b[20h\x1b[20labc\n"), (3, 1));
}

#[test]
fn half_a_wide_character_is_a_blank() {
    for (edit, left) in [
        ("\x1b[1;2Hx", " x本語"),
        ("\x1b[1;1Hx", "x 本語"),
        ("\x1b[1;2H\x1b[X", "  本語"),
        ("\x1b[1;3H\x1b[X", "日  語"),
        ("\x1b[1;2H\x1b[P", " 本語"),
        ("\x1b[1;1H\x1b[P", " 本語"),
        ("\x1b[1;2H\x1b[@", "   本語"),
        ("\x1b[1;4H\x1b[K", "日"),
    ] {
        let frame = fed(&format!("日本語{edit}")).frame();
        assert_eq!(render::lines(&frame)[0].trim_end(), left, "{edit:?}");
        let width: usize = frame.rows[0][..12].iter().map(|cell| usize::from(cell.width)).sum();
        assert_eq!(width, 12, "{edit:?}");
    }
}

#[test]
fn keyboard_modes_may_be_pushed_without_end() {
    let many = MAX_KEYBOARD_MODES + 5;
    let pushed = fed(&("\x1b[>1u".repeat(many) + "\x1b[>5u"));
    assert_eq!(pushed.modes().kitty_keyboard, 5);
    let popped = fed(&("\x1b[>1u".repeat(many) + &"\x1b[<u".repeat(many)));
    assert_eq!(popped.modes().kitty_keyboard, 0);
    assert_eq!(replies("\x1b[=5u\x1b[?u"), "\x1b[?5u");
}

#[test]
fn a_split_character_does_not_drop_following_characters() {
    let stream = "éa漢éb字c😀d";
    for chunk in 1..stream.len() {
        let mut vt = Vt::new(Size { columns: 20, rows: 2 }, 0);
        for bytes in stream.as_bytes().chunks(chunk) {
            vt.feed(bytes);
        }
        assert_eq!(render::lines(&vt.frame())[0].trim_end(), stream, "in chunks of {chunk}");
    }
}

/// Output that is critical for the fast path: wide and combining characters, the end of a line, insert mode, graphic
/// character sets, links, overwriting.
const PIECES: [&str; 22] = [
    "a",
    "word ",
    "~",
    "世",
    "e\u{301}",
    "\u{7f}",
    "\t",
    "\r",
    "\n",
    "\x08",
    "\x1b[4h",
    "\x1b[4l",
    "\x1b(0",
    "\x1b(B",
    "\x0e",
    "\x0f",
    "\x1b[?7l",
    "\x1b[?7h",
    "\x1b[31;4:3;58;5;2m",
    "\x1b[0m",
    "\x1b]8;id=one;http://a\x1b\\",
    "\x1b]8;;\x1b\\",
];

proptest! {
    #[test]
    fn the_fast_path_for_text_leads_to_the_same_screen(
        pieces in proptest::collection::vec((0..PIECES.len() + 1, 1u16..14, 1u16..5), 0..120),
    ) {
        let stream: String = pieces
            .iter()
            .map(|(piece, column, row)| match PIECES.get(*piece) {
                Some(piece) => (*piece).to_owned(),
                None => format!("\x1b[{row};{column}H"),
            })
            .collect();
        let size = Size { columns: 12, rows: 4 };
        let emulator = || Emulator::new(Config::default(), size, EventQueue::default());
        let (mut short, mut long) = (emulator(), WithoutFastPath(emulator()));
        Processor::<ManualTimeout>::new().advance(&mut short, stream.as_bytes());
        Processor::<ManualTimeout>::new().advance(&mut long, stream.as_bytes());
        let (short, long) = (short.term().grid(), long.0.term().grid());
        prop_assert!((0..4).all(|line| short[Line(line)][..] == long[Line(line)][..]), "{stream:?}");
        prop_assert!(short.cursor == long.cursor, "{stream:?}");
    }
}

/// Emulator without the fast path.
struct WithoutFastPath(Emulator);

macro_rules! same {
    ($($name:ident($($argument:ident: $kind:ty),*);)*) => {
        $(fn $name(&mut self, $($argument: $kind),*) {
            self.0.$name($($argument),*);
        })*
    };
}

impl Handler for WithoutFastPath {
    fn input(&mut self, character: char) {
        self.0.term.input(character);
    }

    same! {
        backspace();
        carriage_return();
        configure_charset(index: CharsetIndex, charset: StandardCharset);
        goto(line: i32, column: usize);
        linefeed();
        put_tab(count: u16);
        set_active_charset(index: CharsetIndex);
        set_hyperlink(link: Option<Hyperlink>);
        set_mode(mode: Mode);
        set_private_mode(mode: PrivateMode);
        terminal_attribute(attribute: Attr);
        unset_mode(mode: Mode);
        unset_private_mode(mode: PrivateMode);
    }
}
