//! `GET /control/screen`.

use std::time::Instant;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::json;
use wh_client::Look;
use wh_core::session::Sight;
use wh_screen::frame::Frame;
use wh_screen::render;
use wh_wire::control::ScreenBody;

use super::Door;
use super::drawn::Drawing;
use super::fault::Fault;
use super::query::Params;
use super::route::{Method, Route};
use crate::bodies::{frame_hash, screen_body};

pub(super) fn routes() -> Vec<Route<Door>> {
    vec![Route::new(Method::Get, "/control/screen", screen, "screen", "What a person would see now.", |it| {
        let switch = || json!({"enum": ["0", "1", "false", "true", "no", "yes", "full"]});
        it.query("format", json!({"enum": ["text", "cells"]}), "`cells` adds every cell with its looks.")
            .query("history", switch(), "`1` adds the retained raw output.")
            .query("now", switch(), "`1` does not wait for a frame to be complete or for the effect of what was typed.")
            .gives::<ScreenBody>(200, "The screen. Its ETag changes when what is shown does.")
            .nothing(304, "It shows the same as the one named by If-None-Match.")
            .fails(400, "The query is not what it should be.")
            .gone()
    })]
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScreenQuery {
    history: Option<String>,
    format: Option<String>,
    now: Option<String>,
}

async fn screen(
    State(door): State<Door>,
    Params(query): Params<ScreenQuery>,
    headers: HeaderMap,
) -> Result<Response, Fault> {
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
            let hash = frame_hash(&shown.frame);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_known_by_itself_in_a_list_or_without_its_weakness() {
        let tag = HeaderValue::from_static("W/\"abc\"");
        let unchanged = |known: &[&str]| {
            let mut headers = HeaderMap::new();
            for known in known {
                headers.append(header::IF_NONE_MATCH, HeaderValue::from_str(known).unwrap());
            }
            asks_for_another(&headers, &tag)
        };
        for known in ["W/\"abc\"", "\"abc\"", "*", "\"x\", W/\"abc\"", "\"x\" ,\"abc\""] {
            assert!(unchanged(&[known]), "{known}");
        }
        assert!(unchanged(&["\"x\"", "W/\"abc\""]), "in the second header");
        for other in ["", "\"ab\"", "abc", "W/\"abcd\""] {
            assert!(!unchanged(&[other]), "{other}");
        }
        assert!(!unchanged(&[]));
    }

    #[test]
    fn a_switch_is_on_or_off_and_nothing_else() {
        for (value, expected) in
            [(None, false), (Some("0"), false), (Some("no"), false), (Some("1"), true), (Some("full"), true)]
        {
            assert_eq!(switch("now", value).ok(), Some(expected), "{value:?}");
        }
        for wrong in ["", "2", "YES", "on"] {
            assert!(
                matches!(switch("now", Some(wrong)), Err(Fault::Invalid(words)) if words.starts_with("now")),
                "{wrong}"
            );
        }
    }
}
