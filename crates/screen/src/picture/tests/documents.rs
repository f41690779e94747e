//! Tests of SVG documents.

use std::sync::Arc;

use proptest::prelude::*;

use super::{impossible_frames, screen};
use crate::frame::{Cell, CellExtra, ScreenFrame, ScreenRow, Size};
use crate::picture::Background;
use crate::vt::Vt;

fn svg(frame: &ScreenFrame) -> String {
    crate::picture::svg(frame, None)
}

#[test]
fn the_background_is_the_requested_or_the_set_one() {
    let ground = |frame: &ScreenFrame, background| {
        let document = crate::picture::svg(frame, background);
        let after = document.split_once("fill=\"").unwrap().1;
        after.split('"').next().unwrap().to_owned()
    };
    let plain = screen(4, 1, "ab");
    assert_eq!(ground(&plain, None), "#000000");
    assert_eq!(ground(&plain, Some(Background::Light)), "#ffffff");
    let set = screen(4, 1, "\x1b]11;#faf0e6\x1b\\ab");
    assert_eq!(ground(&set, None), "#faf0e6");
    assert_eq!(ground(&set, Some(Background::Dark)), "#000000");
    assert_eq!(ground(&screen(4, 1, "\x1b]11;#faf0e6\x1b\\\x1b]111\x1b\\ab"), None), "#000000");
}

/// Returns the text elements, without their common attributes.
fn texts(document: &str) -> Vec<&str> {
    document.lines().filter(|line| line.contains("<text ")).collect()
}

/// Asserts that a document is well-formed, as far as can be checked without a parser.
fn assert_sound(document: &str) {
    assert!(document.starts_with("<svg ") && document.ends_with("</svg>\n"));
    assert!(!document.chars().any(|character| character.is_control() && character != '\n'), "{document:?}");
    let mut open = Vec::new();
    for tag in document.split('<').skip(1) {
        let (tag, text) = tag.split_once('>').unwrap();
        assert!(!text.contains('>'));
        let name = tag.split([' ', '/']).next().unwrap();
        if let Some(closed) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(closed));
        } else if !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty());
    for entity in document.split('&').skip(1) {
        let name = entity.split_once(';').unwrap().0;
        assert!(["amp", "lt", "gt", "quot", "#39"].contains(&name), "{name}");
    }
}

#[test]
fn text_is_escaped() {
    let document = svg(&screen(40, 1, "</text><script>&\"'"));
    assert!(document.contains(">&lt;/text&gt;&lt;script&gt;&amp;&quot;&#39;</text>"), "{document}");
    assert_sound(&document);
}

#[test]
fn control_characters_are_never_written() {
    let mut frame = screen(12, 1, "abcdef");
    let hostile = ['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}', '\u{ffff}', '\0'];
    let mut cells = frame.rows[0].to_vec();
    for (cell, character) in cells.iter_mut().zip(hostile) {
        cell.character = character;
    }
    let extra = CellExtra { combining: hostile.to_vec(), hyperlink: None };
    cells[6] = Cell { character: 'g', extra: Some(Box::new(extra)), ..Cell::BLANK };
    frame.rows[0] = Arc::new(ScreenRow::new(cells));
    let document = svg(&frame);
    assert_sound(&document);
    assert!(!hostile.iter().any(|character| document.contains(*character)));
    assert!(document.contains(">g</text>"));
}

#[test]
fn only_harmless_links_are_active() {
    let link = |uri: &str| svg(&screen(20, 1, &format!("\x1b]8;;{uri}\x1b\\there\x1b]8;;\x1b\\")));
    for uri in ["https://example.org/?a=1&b=<2>", "http://example.org", "MAILTO:ada@wheel.test"] {
        let escaped = uri.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let document = link(uri);
        assert!(document.contains(&format!("<a xlink:href=\"{escaped}\"><text ")), "{document}");
        assert_sound(&document);
    }
    for uri in ["javascript:alert(1)", "JavaScript:alert(1)", "data:text/html,x", "file:///etc/passwd", "https", "//x"]
    {
        let document = link(uri);
        assert!(!document.contains("<a ") && !document.contains(uri) && document.contains(">there<"), "{document}");
    }
    let mut frame = screen(4, 1, "x");
    for uri in ["java\nscript:alert(1)", " javascript:alert(1)", "https://a\"onclick=\"b c", "http:\u{1}x"] {
        let extra = CellExtra { combining: Vec::new(), hyperlink: Some(Arc::from(uri)) };
        let cell = Cell { character: 'x', extra: Some(Box::new(extra)), ..Cell::BLANK };
        frame.rows[0] = Arc::new(ScreenRow::new(vec![cell; 4]));
        assert!(!svg(&frame).contains("<a "), "{uri}");
    }
}

#[test]
fn hidden_text_is_not_in_the_document() {
    let document = svg(&screen(20, 1, "shown \x1b[8;4;9msecret\x1b[m"));
    assert_eq!(texts(&document).len(), 1);
    assert!(!document.contains("secret") && !document.contains("<path"));
}

#[test]
fn neighbours_of_one_style_share_an_element_and_each_has_its_position() {
    let document = svg(&screen(30, 1, "ab c\x1b[1mde\x1b[3mf\x1b[m          g"));
    assert_eq!(
        texts(&document),
        [
            "<text x=\"0 18 36 54\" y=\"28\" fill=\"#e5e5e5\">ab c</text>",
            "<text x=\"72 90\" y=\"28\" fill=\"#e5e5e5\" font-weight=\"bold\">de</text>",
            "<text x=\"108\" y=\"28\" fill=\"#e5e5e5\" font-weight=\"bold\" font-style=\"italic\">f</text>",
            "<text x=\"306\" y=\"28\" fill=\"#e5e5e5\">g</text>",
        ]
    );
}

#[test]
fn backgrounds_and_lines_of_one_colour_are_one_path() {
    let document = svg(&screen(10, 2, "\x1b[41mab\x1b[32mcd\x1b[m e\r\n\x1b[41m \x1b[31m───\x1b[m"));
    assert!(document.contains("<path fill=\"#cd0000\" d=\"M0 0h72v36h-72zM0 36h72v36h-72z\"/>"), "{document}");
    assert!(document.contains("<path fill=\"#cd0000\" d=\"M18 53h54v2h-54z\"/>"), "{document}");
}

#[test]
fn lines_and_blocks_are_shapes_and_not_text() {
    let document = svg(&screen(20, 1, "┌╭╱░█▖⣿"));
    assert!(texts(&document).is_empty());
    assert!(document.contains("fill-opacity=\"0.25\"") && document.contains('C') && document.contains('L'));
    assert_sound(&document);
}

#[test]
fn wide_and_composed_characters_stand_alone_in_their_cells() {
    let document = svg(&screen(20, 1, "a漢b x\u{302}\u{301}y 😀"));
    assert_eq!(
        texts(&document),
        [
            "<text x=\"0\" y=\"28\" fill=\"#e5e5e5\">a</text>",
            "<text x=\"36\" text-anchor=\"middle\" y=\"28\" fill=\"#e5e5e5\">漢</text>",
            "<text x=\"54\" y=\"28\" fill=\"#e5e5e5\">b</text>",
            "<text x=\"90\" textLength=\"18\" lengthAdjust=\"spacingAndGlyphs\" y=\"28\" fill=\"#e5e5e5\">x\u{302}\u{301}\
             </text>",
            "<text x=\"108\" y=\"28\" fill=\"#e5e5e5\">y</text>",
            "<text x=\"162\" text-anchor=\"middle\" y=\"28\" fill=\"#e5e5e5\">😀</text>",
        ]
    );
}

#[test]
fn underlines_have_their_style_and_colour() {
    let path = |style: &str| {
        let document = svg(&screen(4, 1, &format!("\x1b[{style};58:2::1:2:3m \x1b[m")));
        assert_sound(&document);
        let line = document.lines().find(|line| line.contains("#010203")).unwrap().to_owned();
        line.split_once(" d=\"").unwrap().1.trim_end_matches("\"/>").to_owned()
    };
    assert_eq!(path("4"), "M0 32h18v2h-18z");
    assert_eq!(path("4:2"), "M0 30h18v2h-18zM0 34h18v2h-18z");
    assert_eq!(path("4:4").matches('z').count(), 3);
    assert_eq!(path("4:5"), "M4 32h10v2h-10z");
    assert_eq!(path("4:3").matches('C').count(), 4);
}

#[test]
fn the_cursor_is_drawn_in_its_shape() {
    let with = |form: &str| {
        let mut vt = Vt::new(Size { columns: 4, rows: 1 }, 0);
        vt.feed(format!("ab\x1b[1D\x1b[{form} q").as_bytes());
        svg(&vt.frame())
    };
    let block = with("2");
    assert!(block.contains("M18 0h18v36h-18z") && block.contains("fill=\"#000000\">b</text>"), "{block}");
    assert!(with("4").contains("M18 32h18v4h-18z"));
    assert!(with("6").contains("M18 0h4v36h-4z"));
    assert!(!svg(&screen(4, 1, "ab")).contains("<path"));
}

#[test]
fn an_invalid_frame_is_drawn_as_far_as_possible() {
    for frame in impossible_frames() {
        assert_sound(&svg(&frame));
    }
}

proptest! {
    #[test]
    fn any_output_makes_a_sound_document(bytes in proptest::collection::vec(any::<u8>(), 0..600), text in "\\PC{0,80}") {
        let mut vt = Vt::new(Size { columns: 24, rows: 6 }, 10);
        vt.feed(&bytes);
        vt.feed(text.as_bytes());
        assert_sound(&svg(&vt.frame()));
    }
}
