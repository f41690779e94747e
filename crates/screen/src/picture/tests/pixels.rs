//! Tests of PNG pictures.

use proptest::prelude::*;

use super::{Pixels, cell, fingerprint, impossible_frames, screen};
use crate::frame::Size;
use crate::picture::shapes::shapes;
use crate::picture::{CellMetrics, PictureError, PictureOptions, Scale, png};
use crate::vt::Vt;

const SCALES: [Scale; 2] = [Scale::One, Scale::Two];
const BLACK: [u8; 3] = [0, 0, 0];
const LIGHT: [u8; 3] = [229, 229, 229];

/// Screen with every kind of drawn element.
const SAMPLE: &str = "\x1b[1mbold\x1b[m \x1b[3mitalic\x1b[m \x1b[1;3;4:3;58:5:1mboth\x1b[m \x1b[2;7mdim\x1b[m\r\n\
    \x1b[44;93m┌─┬╮\x1b[m╱╲ ▚░⣿ \x1b[38;2;255;100;0m漢字😀\x1b[m e\u{301} \x1b[9mstruck\x1b[m \u{378}";

#[test]
fn the_same_frame_gives_the_same_bytes_everywhere() {
    let frame = screen(30, 2, SAMPLE);
    let bytes = png(&frame, PictureOptions::default()).unwrap();
    assert_eq!(bytes, png(&frame, PictureOptions::default()).unwrap());
    let pixels: Vec<u8> = Pixels::decode(&bytes).rows.concat().into_flattened();
    // A change of the first hash means that the appearance changed, and with it every golden picture. A change of the
    // second alone comes from the compressor.
    assert_eq!(fingerprint(&pixels), 274_829_431_257_088_784, "pixels");
    assert_eq!(fingerprint(&bytes), 8_711_387_915_224_621_476, "bytes");
}

#[test]
fn a_picture_has_whole_cells() {
    for scale in SCALES {
        let pixels = Pixels::of(&screen(7, 3, ""), scale);
        let (width, height) = cell(scale);
        assert_eq!((pixels.width, pixels.height), (7 * width, 3 * height));
        assert!(pixels.rows.iter().flatten().all(|pixel| *pixel == BLACK));
    }
}

#[test]
fn letters_stay_in_their_cells_and_stand_on_one_line() {
    for scale in SCALES {
        let pixels = Pixels::of(&screen(5, 3, "\r\n H E"), scale);
        for (column, row, drawn) in
            [(0, 1, false), (1, 1, true), (2, 1, false), (3, 1, true), (1, 0, false), (3, 2, false)]
        {
            assert_eq!(pixels.drawn(column, row, scale, BLACK) > 0, drawn, "{column} {row}");
        }
        let (_, height) = cell(scale);
        let baseline = height + height * 14 / 18;
        assert!(pixels.rows[baseline - 1].contains(&LIGHT));
        assert!(pixels.rows[baseline].iter().all(|pixel| *pixel == BLACK));
    }
}

#[test]
fn lines_meet_between_cells() {
    for scale in SCALES {
        let (width, height) = cell(scale);
        for text in ["──", "━━", "══", "├┤", "╭╮", "╰╯", "┌┐", "╔╗", "╾─", "█▌", "▄▄", "▁▁", "┏┓"]
        {
            let pixels = Pixels::of(&screen(2, 1, text), scale);
            let meet = pixels.rows.iter().filter(|row| row[width - 1] != BLACK);
            assert!(meet.clone().count() > 0, "{text}");
            assert!(meet.clone().all(|row| row[width - 1] == row[width]), "{text}");
        }
        for text in ["│\r\n│", "┃\r\n┃", "║\r\n║", "╭\r\n╰", "╮\r\n╯", "┬\r\n┴", "╦\r\n╩", "█\r\n▀", "▌\r\n▌"]
        {
            let pixels = Pixels::of(&screen(2, 2, text), scale);
            let (above, below) = (&pixels.rows[height - 1], &pixels.rows[height]);
            assert!(above.contains(&LIGHT), "{text}");
            assert_eq!(above, below, "{text}");
        }
    }
}

#[test]
fn every_line_of_a_weight_reaches_its_edge_in_the_same_place() {
    // The shape of each arm at the edge of the cell, from characters with only that arm.
    for scale in SCALES {
        let (width, height) = cell(scale);
        let pixels = |character: char| Pixels::of(&screen(2, 1, &character.to_string()), scale);
        let left = |pixels: &Pixels| pixels.rows.iter().map(|row| row[0]).collect::<Vec<_>>();
        let right = |pixels: &Pixels| pixels.rows.iter().map(|row| row[width - 1]).collect::<Vec<_>>();
        let top = |pixels: &Pixels| pixels.rows[0][..width].to_vec();
        let bottom = |pixels: &Pixels| pixels.rows[height - 1][..width].to_vec();
        let across: Vec<_> = [' ', '─', '━', '═'].map(|line| left(&pixels(line))).into();
        let down: Vec<_> = [' ', '│', '┃', '║'].map(|line| top(&pixels(line))).into();
        let dashes = "┄┅┆┇┈┉┊┋╌╍╎╏╱╲╳";
        for character in ('\u{2500}'..='\u{257f}').filter(|character| !dashes.contains(*character)) {
            let pixels = pixels(character);
            assert!(across.contains(&left(&pixels)) && across.contains(&right(&pixels)), "{character}");
            assert!(down.contains(&top(&pixels)) && down.contains(&bottom(&pixels)), "{character}");
        }
    }
}

#[test]
fn every_line_and_block_is_a_shape() {
    let all = ('\u{2500}'..='\u{259f}').chain('\u{2800}'..='\u{28ff}').chain('\u{1fb00}'..='\u{1fb3b}');
    for character in all {
        for scale in SCALES {
            let shapes = shapes(character, CellMetrics::new(scale)).unwrap_or_else(|| panic!("{character}"));
            assert_eq!(shapes.is_empty(), character == '\u{2800}', "{character}");
        }
    }
    assert!(shapes('a', CellMetrics::new(Scale::One)).is_none());
}

#[test]
fn blocks_fill_exactly_their_part() {
    for scale in SCALES {
        let (width, height) = cell(scale);
        let filled = |text: &str| Pixels::of(&screen(2, 1, text), scale).drawn(0, 0, scale, BLACK);
        assert_eq!(filled("█"), width * height);
        assert_eq!(filled("▀") + filled("▄"), width * height);
        assert_eq!(filled("▌") + filled("▐"), width * height);
        assert_eq!(filled("▚") + filled("▞"), width * height);
        assert_eq!(filled("⣿"), 8 * filled("⠁"));
        let shade = |text: &str| Pixels::of(&screen(2, 1, text), scale).rows[3][3][0];
        assert_eq!((shade("░"), shade("▒"), shade("▓")), (57, 114, 172));
    }
}

#[test]
fn a_wide_character_takes_two_cells_and_the_next_its_own() {
    for scale in SCALES {
        for text in ["漢|", "😀|", "한|", "⚡|"] {
            let pixels = Pixels::of(&screen(5, 1, text), scale);
            let drawn: Vec<_> = (0..5).map(|column| pixels.drawn(column, 0, scale, BLACK) > 0).collect();
            assert_eq!(drawn, [true, true, true, false, false], "{text}");
        }
        let coloured = Pixels::of(&screen(4, 1, "\x1b[41m漢"), scale);
        assert_eq!(coloured.drawn(1, 0, scale, BLACK), cell(scale).0 * cell(scale).1);
        assert_eq!(coloured.drawn(2, 0, scale, BLACK), 0);
    }
}

#[test]
fn combining_marks_are_laid_over_their_base() {
    for scale in SCALES {
        let drawn = |text: &str| {
            let pixels = Pixels::of(&screen(3, 1, text), scale);
            pixels.drawn(0, 0, scale, BLACK) + pixels.drawn(1, 0, scale, BLACK)
        };
        for text in ["e\u{301}", "E\u{301}", "e\u{323}", "E\u{323}", "漢\u{301}"] {
            assert!(drawn(text) > drawn(text.trim_end_matches(['\u{301}', '\u{323}'])), "{text}");
        }
        assert_eq!(drawn("e\u{fe0f}"), drawn("e"));
        let pixels = Pixels::of(&screen(3, 2, "\r\nE\u{301}\u{302}\u{303}\u{304}"), scale);
        assert_eq!(pixels.drawn(0, 0, scale, BLACK), 0, "marks stay below the line above");
    }
}

#[test]
fn styles_change_the_drawing() {
    let plain = png(&screen(8, 1, "wheel"), PictureOptions::default()).unwrap();
    for style in ["1", "2", "3", "4", "4:2", "4:3", "4:4", "4:5", "7", "8", "9", "31", "41", "38;2;1;2;3", "1;3"] {
        let styled = png(&screen(8, 1, &format!("\x1b[{style}mwheel")), PictureOptions::default()).unwrap();
        assert_ne!(plain, styled, "{style}");
    }
    let hidden = png(&screen(8, 1, "\x1b[8;9;4mwheel"), PictureOptions::default()).unwrap();
    assert_eq!(hidden, png(&screen(8, 1, ""), PictureOptions::default()).unwrap());
    // DejaVu's bold and oblique fonts lack these characters, so the styles are synthesised.
    for text in ["𝙰", "漢", "ก"] {
        let drawn =
            |style: &str| png(&screen(4, 1, &format!("\x1b[{style}m{text}")), PictureOptions::default()).unwrap();
        assert!(drawn("0") != drawn("1") && drawn("0") != drawn("3") && drawn("1") != drawn("1;3"), "{text}");
    }
}

#[test]
fn a_character_that_no_font_has_is_a_box() {
    let pixels = Pixels::of(&screen(3, 1, "\u{e700}"), Scale::One);
    assert_eq!(pixels.rows[3][1], LIGHT);
    assert_eq!(pixels.rows[8][4], BLACK);
}

#[test]
fn the_cursor_is_drawn_in_its_shape() {
    let with = |form: &str, text: &str| {
        let mut vt = Vt::new(Size { columns: 4, rows: 1 }, 0);
        vt.feed(format!("{text}\x1b[1G\x1b[{form} q").as_bytes());
        Pixels::of(&vt.frame(), Scale::One)
    };
    assert_eq!(with("2", "").drawn(0, 0, Scale::One, LIGHT), 0);
    assert_eq!(with("2", "漢").rows[0][17], LIGHT);
    assert_eq!(with("4", "").drawn(0, 0, Scale::One, BLACK), 9 * 2);
    assert_eq!(with("6", "").drawn(0, 0, Scale::One, BLACK), 2 * 18);
}

#[test]
fn an_invalid_frame_is_drawn_or_refused() {
    for frame in impossible_frames() {
        for scale in SCALES {
            let empty = frame.size.columns == 0 || frame.size.rows == 0;
            assert_eq!(
                png(&frame, PictureOptions { scale, ..PictureOptions::default() }).err(),
                empty.then_some(PictureError::Empty)
            );
        }
    }
}

#[test]
fn a_huge_frame_is_refused_before_memory_is_taken() {
    let mut frame = screen(4, 2, "");
    frame.size = Size { columns: u16::MAX, rows: u16::MAX };
    assert_eq!(
        png(&frame, PictureOptions::default()),
        Err(PictureError::TooLarge { width: 18 * u64::from(u16::MAX), height: 36 * u64::from(u16::MAX) })
    );
}

proptest! {
    #[test]
    fn any_output_makes_a_picture(bytes in proptest::collection::vec(any::<u8>(), 0..600), text in "\\PC{0,80}") {
        let mut vt = Vt::new(Size { columns: 24, rows: 6 }, 10);
        vt.feed(&bytes);
        vt.feed(text.as_bytes());
        for scale in SCALES {
            let pixels = Pixels::of(&vt.frame(), scale);
            let (width, height) = cell(scale);
            prop_assert_eq!((pixels.width, pixels.height), (24 * width, 6 * height));
        }
    }

    #[test]
    fn any_character_in_any_style_makes_a_picture(character: char, mark: char, style in 0..64_u8) {
        let looks: Vec<_> = (0..6).filter(|bit| style >> bit & 1 == 1).map(|bit| ["1", "2", "3", "4:3", "7", "9"][bit]).collect();
        let frame = screen(4, 2, &format!("\x1b[{}m{character}{mark}", looks.join(";")));
        for scale in SCALES {
            let picture = png(&frame, PictureOptions { scale, ..PictureOptions::default() });
            prop_assert!(picture.is_ok());
        }
    }
}
