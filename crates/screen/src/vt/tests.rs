use super::*;
use crate::frame::{Color, CursorShape, Underline};
use crate::modes::{MouseEncoding, MouseTracking};
use crate::render;

fn vt(columns: u16, rows: u16) -> Vt {
    Vt::new(Size { columns, rows }, 100)
}

fn fed(bytes: &[u8]) -> Vt {
    let mut vt = vt(20, 4);
    vt.feed(bytes);
    vt
}

fn replies(query: &[u8]) -> String {
    String::from_utf8(fed(query).take_replies()).unwrap()
}

#[test]
fn text_and_cursor_are_where_the_program_put_them() {
    let frame = fed(b"one\r\ntwo\x1b[4;10Hfour").frame();
    assert_eq!(render::plain(&frame), "one\ntwo\n\n         four");
    assert_eq!((frame.cursor.x, frame.cursor.y, frame.cursor.visible), (13, 3, true));
}

#[test]
fn a_wide_character_takes_two_columns_and_one_character() {
    let frame = fed("日本e\u{301}x".as_bytes()).frame();
    assert_eq!(frame.rows[0][..6].iter().map(|cell| cell.width).collect::<Vec<_>>(), [2, 0, 2, 0, 1, 1]);
    assert_eq!(render::lines(&frame)[0], format!("日本e\u{301}x{}", " ".repeat(14)));
    assert_eq!(frame.cursor.x, 6);
}

#[test]
fn styles_are_stored_per_cell() {
    let frame =
        fed(b"\x1b[1;3;4:3;38;2;1;2;3;48;5;200;58:5:9mA\x1b]8;;https://x.test\x1b\\L\x1b]8;;\x1b\\\x1b[0mB").frame();
    let style = frame.rows[0][0].style;
    assert!(style.bold && style.italic && !style.dim);
    assert_eq!((style.foreground, style.background), (Color::Rgb(1, 2, 3), Color::Indexed(200)));
    assert_eq!((style.underline, style.underline_color), (Underline::Curly, Some(Color::Indexed(9))));
    assert_eq!(frame.rows[0][1].hyperlink().map(|uri| &**uri), Some("https://x.test"));
    assert_eq!(frame.rows[0][2].style, crate::frame::Style::PLAIN);
}

#[test]
fn queries_that_programs_wait_for_are_answered() {
    assert_eq!(replies(b"\x1b[c"), "\x1b[?6c");
    assert!(replies(b"\x1b[>c").starts_with("\x1b[>0;"));
    assert_eq!(replies(b"\x1b[5n"), "\x1b[0n");
    assert_eq!(replies(b"ab\x1b[6n"), "\x1b[1;3R");
    assert_eq!(replies(b"\x1b]11;?\x1b\\"), "\x1b]11;rgb:0000/0000/0000\x1b\\");
    assert_eq!(replies(b"\x1b]10;?\x07"), "\x1b]10;rgb:e5e5/e5e5/e5e5\x07");
    assert_eq!(replies(b"\x1b]4;1;?\x07"), "\x1b]4;1;rgb:cdcd/0000/0000\x07");
    assert!(replies(b"\x1b[>q").starts_with("\x1bP>|wheelhouse("));
    assert_eq!(replies(b"\x1b[?2004$p"), "\x1b[?2004;2$y");
    assert_eq!(replies(b"\x1b[?2004h\x1b[?2004$p"), "\x1b[?2004;1$y");
    assert_eq!(replies(b"\x1b[?2026$p"), "\x1b[?2026;2$y");
    assert_eq!(replies(b"\x1bP$qm\x1b\\"), "\x1bP1$r0m\x1b\\");
    assert_eq!(replies(b"\x1bP+q436f\x1b\\"), "\x1bP1+r436F=323536\x1b\\");
    assert_eq!(replies(b"\x1b[?u"), "\x1b[?0u");
    assert_eq!(replies(b"\x1b[>1u\x1b[?u"), "\x1b[?1u");
    assert_eq!(replies(b"\x1b[>4;2m\x1b[?4m"), "\x1b[>4;2m");
    assert_eq!(replies(b"\x1b[14t"), "\x1b[4;64;160t");
    assert_eq!(replies(b"\x1b[16t"), "\x1b[6;16;8t");
    assert_eq!(replies(b"\x1b[18t"), "\x1b[8;4;20t");
}

#[test]
fn replies_are_in_the_order_of_the_queries() {
    let answer = replies(b"\x1b[>0q\x1b]11;?\x07\x1b[c");
    assert!(answer.ends_with("\x1b[?6c") && answer.starts_with("\x1bP>|"), "{answer:?}");
}

#[test]
fn the_clipboard_is_never_read_out() {
    assert_eq!(replies(b"\x1b]52;c;?\x07"), "");
    assert_eq!(replies(b"\x1b]52;c;c2VjcmV0\x07\x1b]52;c;?\x07"), "");
}

#[test]
fn a_synchronized_update_is_shown_whole_and_counted_once() {
    let mut vt = vt(20, 4);
    assert_eq!(vt.feed(b"\x1b[?2026hhalf"), FeedOutcome { updates: 0, outside_updates: false });
    assert!(vt.updating());
    assert_eq!(render::plain(&vt.frame()).trim(), "");
    assert_eq!(vt.feed(b" whole\x1b[?2026l"), FeedOutcome { updates: 1, outside_updates: false });
    assert_eq!(render::plain(&vt.frame()).trim(), "half whole");
    assert_eq!(
        vt.feed(b"\x1b[?2026hx\x1b[?2026l\x1b[?2026hy\x1b[?2026l"),
        FeedOutcome { updates: 2, outside_updates: false }
    );
    assert_eq!(vt.feed(b"loose\x1b[?2026hz\x1b[?2026l"), FeedOutcome { updates: 1, outside_updates: true });
}

#[test]
fn an_update_that_never_ends_is_shown_after_its_timeout() {
    let mut vt = vt(20, 4);
    vt.feed(b"\x1b[?2026hhalf");
    vt.end_update();
    assert!(!vt.updating());
    assert_eq!(render::plain(&vt.frame()).trim(), "half");
}

#[test]
fn modes_follow_the_program() {
    let modes = fed(b"\x1b[?1049h\x1b[?1h\x1b[?2004h\x1b[?1003h\x1b[?1006h\x1b[>5u").modes();
    assert!(modes.application_cursor && modes.bracketed_paste && modes.alternate_screen);
    assert_eq!((modes.mouse, modes.mouse_encoding), (MouseTracking::Motion, MouseEncoding::Sgr));
    assert_eq!(modes.kitty_keyboard, 5);
}

#[test]
fn title_and_reports_are_remembered() {
    let vt =
        fed(b"\x1b]0;my title\x07\x1b]7;file:///srv\x07\x1b]9;4;1;50\x07\x1b]777;notify;a;b\x07\x1b]133;D;0\x07\x07");
    assert_eq!(vt.title(), Some("my title"));
    let reports = vt.reports();
    assert_eq!(reports.directory.as_deref(), Some("file:///srv"));
    assert_eq!(reports.progress.as_deref(), Some("1;50"));
    assert_eq!(reports.notification.as_deref(), Some("a;b"));
    assert_eq!((reports.shell_mark.as_deref(), reports.bells), (Some("D;0"), 1));
}

#[test]
fn the_cursor_has_the_requested_shape() {
    let cursor = fed(b"\x1b[5 q\x1b[?25l").frame().cursor;
    assert_eq!((cursor.shape, cursor.blinking, cursor.visible), (CursorShape::Beam, true, false));
}

#[test]
fn redrawing_a_frame_gives_the_same_frame() {
    let stream = "\x1b[1;31mred\x1b[0m \x1b[7mcaret\x1b[0m\r\n日本 e\u{301}e\u{301} \x1b[48;5;22mgreen to the end\x1b[K\x1b[0m\r\n\
        \x1b]8;;https://x.test\x1b\\link\x1b]8;;\x1b\\ \x1b[4:3;58:2::9:8:7mcurly\x1b[0m\x1b[4;20H!\x1b[2;3H\x1b[4 q";
    let mut first = vt(30, 5);
    first.feed(stream.as_bytes());
    let frame = first.frame();
    let mut second = vt(30, 5);
    second.feed(b"what was there before\r\n\x1b[41m\x1b[?25l");
    second.feed(render::ansi(&frame).as_bytes());
    assert_eq!(render::lines(&second.frame()), render::lines(&frame));
    assert_eq!(second.frame().rows, frame.rows);
    assert_eq!(second.frame().cursor, frame.cursor);
    assert_eq!(render::fingerprint(&second.frame()), render::fingerprint(&frame));
}

#[test]
fn a_frame_shares_unchanged_rows() {
    let mut vt = vt(10, 3);
    vt.feed(b"one\r\ntwo\r\nthree");
    let before = vt.frame();
    vt.feed(b"\x1b[2;2HW");
    let after = vt.frame_after(Some(&before));
    assert_eq!(after, vt.frame());
    let shared: Vec<bool> = before.rows.iter().zip(&after.rows).map(|(one, other)| Arc::ptr_eq(one, other)).collect();
    assert_eq!(shared, [true, false, true]);
    assert_eq!(render::plain(&after), "one\ntWo\nthree");
    vt.resize(Size { columns: 12, rows: 4 });
    assert_eq!(vt.frame_after(Some(&after)), vt.frame());
}

#[test]
fn one_changed_cell_changes_the_fingerprint() {
    let one = render::fingerprint(&fed(b"abc").frame());
    assert_eq!(one, render::fingerprint(&fed(b"abc").frame()));
    assert_ne!(one, render::fingerprint(&fed(b"abd").frame()));
    assert_ne!(one, render::fingerprint(&fed(b"ab\x1b[1mc").frame()));
}

#[test]
fn fingerprints_are_stable() {
    assert_eq!(format!("{:016x}", render::fingerprint(&fed(b"abc").frame())), "f6eb96985d8fedf2");
}

#[test]
fn a_screen_that_became_much_smaller_shows_the_same_lines_and_history() {
    let mut vt = Vt::new(Size { columns: 400, rows: 50 }, 100);
    for line in 0..90 {
        vt.feed(format!("\x1b[3{}mline {line}\r\n", line % 8).as_bytes());
    }
    vt.resize(Size { columns: 20, rows: 4 });
    assert_eq!(render::plain(&vt.frame()), "line 87\nline 88\nline 89\n");
    assert_eq!(vt.frame().rows[0][0].style.foreground, Color::Indexed(7));
    // Lines that had scrolled off the screen return, and there is space for more.
    vt.resize(Size { columns: 20, rows: 95 });
    assert!(render::plain(&vt.frame()).starts_with("line 0\nline 1\n"));
    vt.feed(b"more");
    assert!(render::plain(&vt.frame()).contains("line 89\nmore"));
}

#[test]
fn a_resize_rewraps_lines() {
    let mut vt = vt(8, 4);
    vt.feed(b"0123456789abcdef");
    assert_eq!(render::plain(&vt.frame()), "01234567\n89abcdef\n\n");
    vt.resize(Size { columns: 20, rows: 4 });
    assert_eq!(render::plain(&vt.frame()), "0123456789abcdef\n\n\n");
}

proptest::proptest! {
    #[test]
    fn any_output_leaves_a_screen_of_the_right_size(
        chunks in proptest::collection::vec(proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200), 0..6),
        columns in 2u16..40, rows in 1u16..12,
    ) {
        let mut vt = vt(columns, rows);
        for chunk in &chunks {
            vt.feed(chunk);
        }
        let frame = vt.frame();
        proptest::prop_assert_eq!(frame.rows.len(), usize::from(rows));
        proptest::prop_assert!(frame.rows.iter().all(|row| row.len() == usize::from(columns)));
        proptest::prop_assert!(frame.cursor.x < columns && frame.cursor.y < rows);
        vt.resize(Size { columns: rows.max(2), rows: columns });
        proptest::prop_assert_eq!(render::lines(&vt.frame()).len(), usize::from(columns));
    }

    #[test]
    fn the_screen_does_not_depend_on_how_output_is_cut(
        pieces in proptest::collection::vec(piece(), 0..40), cuts in proptest::collection::vec(1usize..9, 1..20),
    ) {
        let stream = pieces.concat();
        let (mut whole, mut cut) = (vt(20, 6), vt(20, 6));
        whole.feed(&stream);
        let mut rest = &stream[..];
        for length in cuts.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (chunk, tail) = rest.split_at(rest.len().min(*length));
            cut.feed(chunk);
            rest = tail;
        }
        proptest::prop_assert_eq!(whole.frame(), cut.frame());
        proptest::prop_assert_eq!(whole.take_replies(), cut.take_replies());
    }
}

/// Generates text, complete and truncated sequences, and arbitrary bytes.
fn piece() -> impl proptest::strategy::Strategy<Value = Vec<u8>> {
    use proptest::prelude::*;
    prop_oneof![
        "[a-zé漢😀ก\u{301}]{1,6}".prop_map(String::into_bytes),
        "[\r\n\t\u{8}\u{e}\u{f}]{1,2}".prop_map(String::into_bytes),
        "\u{1b}\\[[0-9;?]{0,5}[@A-Za-z`]".prop_map(String::into_bytes),
        "\u{1b}[78DEHM()0B=>c]".prop_map(String::into_bytes),
        "\u{1b}(\\]|P)[0-9;a-z?+$é]{0,8}(\u{7}|\u{1b}\\\\|\u{18})?".prop_map(String::into_bytes),
        Just(b"\x1b[?2026h".to_vec()),
        Just(b"\x1b[?2026l".to_vec()),
        proptest::collection::vec(any::<u8>(), 1..4),
    ]
}
