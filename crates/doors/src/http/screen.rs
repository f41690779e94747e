//! `GET /control/screen`.

use std::time::Instant;

use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use wh_client::{Look, Shown};
use wh_core::session::Sight;
use wh_core::terminal::Size;
use wh_screen::frame::{Cell, Color, Cursor, CursorShape, Frame, Underline};
use wh_screen::modes::{Modes, MouseEncoding, MouseTracking};
use wh_screen::render;
use wh_wire::control::{CellBody, CursorBody, ModesBody, ScreenBody, ScrollbackBody};

use super::Door;
use super::drawn::Drawing;
use super::fault::Fault;
use crate::time::iso;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScreenQuery {
    history: Option<String>,
    format: Option<String>,
    now: Option<String>,
}

pub(super) async fn screen(
    State(door): State<Door>,
    query: Result<Query<ScreenQuery>, axum::extract::rejection::QueryRejection>,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    let Query(query) = query.map_err(|error| Fault::Invalid(error.body_text()))?;
    let history = switch("history", query.history.as_deref())?;
    let sight = if switch("now", query.now.as_deref())? { Sight::Now } else { Sight::Settled };
    let cells = match query.format.as_deref() {
        None | Some("text") => false,
        Some("cells") => true,
        Some(_) => return Err(Fault::Invalid("format is text or cells".to_owned())),
    };
    let shown = door.surface.look(Look { history, sight }).await?;
    // Large and rarely asked for, history and cells are drawn anew for everybody.
    let kept = (!history && !cells).then(|| door.drawn.find(&shown)).flatten();
    let drawing = match kept {
        Some(drawing) => drawing,
        None => {
            let hash = hash(&shown.frame);
            let tag = tag(&hash, &shown.frame, cells)?;
            if !history && asks_for_another(&headers, &tag) {
                return Ok(not_modified(&tag));
            }
            let start = Instant::now();
            let body = serde_json::to_vec(&screen_body(&shown, hash, cells));
            let body = body.map_err(|error| Fault::Undrawable(error.to_string()))?.into();
            door.meters.render(start.elapsed());
            let drawing = Drawing { tag, body };
            if !history && !cells {
                door.drawn.keep(&shown, drawing.clone());
            }
            drawing
        }
    };
    if !history && asks_for_another(&headers, &drawing.tag) {
        return Ok(not_modified(&drawing.tag));
    }
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (header::ETAG, drawing.tag),
        // Revalidation is the point of the tag; storing without it is not.
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    Ok((headers, drawing.body).into_response())
}

/// Weak: the same screen may have been painted again, so the counters in the body may differ.
fn tag(hash: &str, frame: &Frame, cells: bool) -> Result<HeaderValue, Fault> {
    let beside = render::fingerprint_of(&(&frame.title, &frame.modes));
    let tag = format!("W/\"{hash}-{beside:016x}{}\"", if cells { "-cells" } else { "" });
    HeaderValue::from_str(&tag).map_err(|error| Fault::Undrawable(error.to_string()))
}

pub(super) fn not_modified(tag: &HeaderValue) -> Response {
    let headers = [(header::ETAG, tag.clone()), (header::CACHE_CONTROL, HeaderValue::from_static("no-cache"))];
    (StatusCode::NOT_MODIFIED, headers).into_response()
}

fn switch(name: &str, value: Option<&str>) -> Result<bool, Fault> {
    match value {
        None | Some("0" | "false" | "no") => Ok(false),
        Some("1" | "true" | "yes" | "full") => Ok(true),
        Some(_) => Err(Fault::Invalid(format!("{name} is 1 or 0"))),
    }
}

pub(super) fn asks_for_another(headers: &HeaderMap, tag: &HeaderValue) -> bool {
    let Ok(tag) = tag.to_str() else { return false };
    let known = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let mut known = known.flat_map(|list| list.split(',').map(str::trim));
    known.any(|known| known == "*" || known == tag || known == tag.trim_start_matches("W/"))
}

/// The screen as a body, without cells.
pub(super) fn plain_body(shown: &Shown) -> ScreenBody {
    screen_body(shown, hash(&shown.frame), false)
}

fn hash(frame: &Frame) -> String {
    format!("{:016x}", render::fingerprint(frame))
}

fn screen_body(shown: &Shown, hash: String, cells: bool) -> ScreenBody {
    let frame: &Frame = &shown.frame;
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

pub(super) fn cursor_body(cursor: &Cursor) -> CursorBody {
    let style = match cursor.shape {
        CursorShape::Block => "block",
        CursorShape::Underline => "underline",
        CursorShape::Beam => "beam",
    };
    CursorBody { x: cursor.x, y: cursor.y, visible: cursor.visible, style: style.to_owned(), blinking: cursor.blinking }
}

fn modes_body(modes: &Modes) -> ModesBody {
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
