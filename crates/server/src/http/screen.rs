//! `GET /control/screen`: the current screen as JSON.

use std::time::Instant;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::json;
use wh_client::ScreenReadOptions;
use wh_core::session::ScreenTiming;
use wh_screen::frame::ScreenFrame;
use wh_screen::render;
use wh_wire::control::ScreenBody;

use super::ApiState;
use super::fault::Fault;
use super::query::QueryParams;
use super::render_cache::RenderedScreen;
use super::route::{Route, RouteMethod};
use crate::bodies::{frame_hash, screen_body};

pub(super) fn routes() -> Vec<Route<ApiState>> {
    vec![Route::new(RouteMethod::Get, "/control/screen", screen, "screen", "Get the current screen.", |it| {
        let switch = || json!({"enum": ["0", "1", "false", "true", "no", "yes", "full"]});
        it.query(
            "format",
            json!({"enum": ["text", "cells"]}),
            "`cells` adds every cell with its colours and attributes.",
        )
        .query("history", switch(), "`1` adds the buffered raw output.")
        .query(
            "now",
            switch(),
            "`1` returns immediately, without waiting for a complete frame or for the effect of typed input.",
        )
        .returns::<ScreenBody>(200, "The screen. Its ETag changes when the visible content changes.")
        .returns_empty(304, "The screen has not changed: If-None-Match contains its ETag.")
        .fails(400, "The query is invalid.")
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
    State(api): State<ApiState>,
    QueryParams(query): QueryParams<ScreenQuery>,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    let history = switch("history", query.history.as_deref())?;
    let sight = if switch("now", query.now.as_deref())? { ScreenTiming::Now } else { ScreenTiming::Settled };
    let cells = match query.format.as_deref() {
        None | Some("text") => false,
        Some("cells") => true,
        Some(_) => return Err(Fault::Invalid("format must be text or cells".to_owned())),
    };
    let shown = api.surface.read_screen(ScreenReadOptions { history, timing: sight }).await?;
    // Responses with history or cells are large and rarely requested, so they are not cached.
    let kept = (!history && !cells).then(|| api.render_cache.find(&shown)).flatten();
    let drawing = match kept {
        Some(drawing) => drawing,
        None => {
            let hash = frame_hash(&shown.frame);
            let tag = tag(&hash, &shown.frame, cells)?;
            if !history && matches_etag(&headers, &tag) {
                return Ok(not_modified(&tag));
            }
            let start = Instant::now();
            let body = serde_json::to_vec(&screen_body(&shown, hash, cells));
            let body = body.map_err(|error| Fault::Undrawable(error.to_string()))?.into();
            api.meters.render(start.elapsed());
            let drawing = RenderedScreen { tag, body };
            if !history && !cells {
                api.render_cache.store(&shown, drawing.clone());
            }
            drawing
        }
    };
    if !history && matches_etag(&headers, &drawing.tag) {
        return Ok(not_modified(&drawing.tag));
    }
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (header::ETAG, drawing.tag),
        // Clients may store the response but must revalidate it.
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    Ok((headers, drawing.body).into_response())
}

/// Returns the ETag of a screen. The ETag is weak, because the counters in the body may differ for the same screen.
fn tag(hash: &str, frame: &ScreenFrame, cells: bool) -> Result<HeaderValue, Fault> {
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
        Some(_) => Err(Fault::Invalid(format!("{name} must be 1 or 0"))),
    }
}

pub(super) fn matches_etag(headers: &HeaderMap, tag: &HeaderValue) -> bool {
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
            matches_etag(&headers, &tag)
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
