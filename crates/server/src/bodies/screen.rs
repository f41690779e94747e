//! Builds response bodies of screens, and the frames of event streams.

use wh_client::ScreenSnapshot;
use wh_core::terminal::Size;
use wh_core::time::iso;
use wh_screen::frame::{Cell, Color, CursorShape, ScreenCursor, ScreenFrame, Underline};
use wh_screen::modes::{MouseEncoding, MouseTracking, TerminalModes};
use wh_screen::render;
use wh_wire::control::{CellBody, CursorBody, FrameBody, ModesBody, ScreenBody, ScrollbackBody};

/// Format of the frames that a subscriber receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum FrameFormat {
    #[default]
    None,
    Plain,
    Raw,
}

/// Converts the screen to a frame of an event stream.
pub(crate) fn frame_body(shown: &ScreenSnapshot, frames: FrameFormat) -> FrameBody {
    let frame = &shown.frame;
    FrameBody {
        frames_rendered: shown.frames_rendered,
        width: frame.size.columns,
        height: frame.size.rows,
        cursor: cursor_body(&frame.cursor),
        hash: frame_hash(frame),
        plain: (frames == FrameFormat::Plain).then(|| render::plain(frame)),
        raw: (frames == FrameFormat::Raw).then(|| render::ansi(frame)),
    }
}

/// Converts the screen to a response body without cells.
pub(crate) fn plain_body(shown: &ScreenSnapshot) -> ScreenBody {
    screen_body(shown, frame_hash(&shown.frame), false)
}

/// Returns a fingerprint of the visible content, in hexadecimal.
pub(crate) fn frame_hash(frame: &ScreenFrame) -> String {
    format!("{:016x}", render::fingerprint(frame))
}

/// Converts the screen to a response body. `hash` is the result of [`frame_hash`] for the same screen.
pub(crate) fn screen_body(shown: &ScreenSnapshot, hash: String, cells: bool) -> ScreenBody {
    let frame: &ScreenFrame = &shown.frame;
    let Size { columns, rows } = frame.size;
    ScreenBody {
        raw: render::ansi(frame),
        plain: render::plain(frame),
        lines: render::lines(frame),
        width: columns,
        height: rows,
        cursor: cursor_body(&frame.cursor),
        last_frame: iso(shown.last_frame),
        frames_rendered: shown.frames_rendered,
        scrollback: ScrollbackBody {
            buffer_size: shown.log_characters,
            truncated: shown.log_truncated,
            raw: shown.history.as_ref().map(|bytes| String::from_utf8_lossy(bytes).into_owned()),
        },
        title: frame.title.clone(),
        alternate_screen: frame.modes.alternate_screen,
        modes: modes_body(&frame.modes),
        hash,
        cells: cells.then(|| frame.rows.iter().map(|row| row.iter().map(cell_body).collect()).collect()),
    }
}

fn cursor_body(cursor: &ScreenCursor) -> CursorBody {
    let style = match cursor.shape {
        CursorShape::Block => "block",
        CursorShape::Underline => "underline",
        CursorShape::Beam => "beam",
    };
    CursorBody { x: cursor.x, y: cursor.y, visible: cursor.visible, style: style.to_owned(), blinking: cursor.blinking }
}

fn modes_body(modes: &TerminalModes) -> ModesBody {
    let mouse = match modes.mouse {
        MouseTracking::Off => "off",
        MouseTracking::Click => "click",
        MouseTracking::Drag => "drag",
        MouseTracking::Motion => "motion",
    };
    let mouse_encoding = match modes.mouse_encoding {
        MouseEncoding::Legacy => "legacy",
        MouseEncoding::Utf8 => "utf8",
        MouseEncoding::Sgr => "sgr",
    };
    ModesBody {
        application_cursor: modes.application_cursor,
        application_keypad: modes.application_keypad,
        bracketed_paste: modes.bracketed_paste,
        focus_events: modes.focus_events,
        mouse: mouse.to_owned(),
        mouse_encoding: mouse_encoding.to_owned(),
        kitty_keyboard: modes.kitty_keyboard,
        modify_other_keys: modes.modify_other_keys,
    }
}

fn cell_body(cell: &Cell) -> CellBody {
    let mut text = String::new();
    cell.push_text(&mut text);
    let style = &cell.style;
    let attributes = [
        (style.bold, "bold"),
        (style.dim, "dim"),
        (style.italic, "italic"),
        (style.inverse, "inverse"),
        (style.hidden, "hidden"),
        (style.strikethrough, "strikethrough"),
    ];
    let underline = match style.underline {
        Underline::None => None,
        Underline::Single => Some("single"),
        Underline::Double => Some("double"),
        Underline::Curly => Some("curly"),
        Underline::Dotted => Some("dotted"),
        Underline::Dashed => Some("dashed"),
    };
    CellBody {
        text,
        width: cell.width,
        fg: color_name(style.foreground),
        bg: color_name(style.background),
        attributes: attributes.iter().filter(|(set, _)| *set).map(|(_, name)| (*name).to_owned()).collect(),
        underline: underline.map(str::to_owned),
        underline_color: style.underline_color.and_then(color_name),
        hyperlink: cell.hyperlink().map(|uri| uri.to_string()),
    }
}

fn color_name(color: Color) -> Option<String> {
    match color {
        Color::Default => None,
        Color::Indexed(index) => Some(index.to_string()),
        Color::Rgb(red, green, blue) => Some(format!("#{red:02x}{green:02x}{blue:02x}")),
    }
}
