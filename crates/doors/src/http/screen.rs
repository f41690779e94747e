//! `GET /control/screen`.

use std::time::Instant;

use axum::Json;
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
use super::fault::Fault;
use super::time::iso;

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
    let hash = format!("{:016x}", render::fingerprint(&shown.frame));
    // Weak: the same screen may have been painted again, so the counters in the body may differ.
    let beside = render::fingerprint_of(&(&shown.frame.title, &shown.frame.modes));
    let tag = format!("W/\"{hash}-{beside:016x}{}\"", if cells { "-cells" } else { "" });
    if !history && asks_for_another(&headers, &tag) {
        return Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, tag.as_str()), (header::CACHE_CONTROL, "no-cache")])
            .into_response());
    }
    let start = Instant::now();
    let mut response = Json(screen_body(&shown, hash, cells)).into_response();
    door.meters.render(start.elapsed());
    if let Ok(value) = HeaderValue::from_str(&tag) {
        response.headers_mut().insert(header::ETAG, value);
    }
    // Revalidation is the point of the tag; storing without it is not.
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Ok(response)
}

fn switch(name: &str, value: Option<&str>) -> Result<bool, Fault> {
    match value {
        None | Some("0" | "false" | "no") => Ok(false),
        Some("1" | "true" | "yes" | "full") => Ok(true),
        Some(_) => Err(Fault::Invalid(format!("{name} is 1 or 0"))),
    }
}

fn asks_for_another(headers: &HeaderMap, tag: &str) -> bool {
    let known = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let mut known = known.flat_map(|list| list.split(',').map(str::trim));
    known.any(|known| known == "*" || known == tag || known == tag.trim_start_matches("W/"))
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
        last_frame: shown.last_frame.map(iso),
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
        cells: cells.then(|| frame.rows().map(|row| row.iter().map(cell_body).collect()).collect()),
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
