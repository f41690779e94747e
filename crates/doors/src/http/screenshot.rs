//! `GET /control/screenshot.svg` and `GET /control/screenshot.png`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::json;
use wh_client::{Gone, Look};
use wh_screen::frame::Frame;
use wh_screen::picture::{self, Background, Options, PictureError, Scale};

use super::Door;
use super::fault::Fault;
use super::query::Params;
use super::route::{Method, Route};

pub(super) fn routes() -> Vec<Route<Door>> {
    vec![
        Route::new(
            Method::Get,
            "/control/screenshot.svg",
            svg,
            "screenshotSvg",
            "The screen as an SVG picture.",
            |it| {
                it.query("background", json!({"type": "string", "enum": ["dark", "light"]}), "The default colours.")
                    .text(200, "image/svg+xml", "The picture.")
                    .fails(400, "The query is not what it should be, or the screen has no picture.")
                    .gone()
            },
        ),
        Route::new(
            Method::Get,
            "/control/screenshot.png",
            png,
            "screenshotPng",
            "The screen as a PNG picture.",
            |it| {
                it.query("scale", json!({"type": "integer", "minimum": 1, "maximum": 2}), "2 unless said otherwise.")
                    .query("background", json!({"type": "string", "enum": ["dark", "light"]}), "The default colours.")
                    .text(200, "image/png", "The picture.")
                    .fails(400, "The query is not what it should be, or the screen is too large for a picture.")
                    .gone()
            },
        ),
    ]
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct PngQuery {
    scale: Option<u8>,
    background: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct SvgQuery {
    background: Option<String>,
}

fn background(name: Option<&str>) -> Result<Option<Background>, Fault> {
    let wrong = || Fault::Invalid("background is dark or light".to_owned());
    name.map(|name| Background::named(name).ok_or_else(wrong)).transpose()
}

async fn svg(State(door): State<Door>, Params(query): Params<SvgQuery>) -> Result<Response, Fault> {
    let background = background(query.background.as_deref())?;
    let drawn = draw(&door, move |frame| Ok(picture::svg(frame, background))).await?;
    // A link in it may lead anywhere; a script in it may not run.
    let policy = "default-src 'none'; style-src 'unsafe-inline'";
    Ok(([(header::CONTENT_TYPE, "image/svg+xml"), (header::CONTENT_SECURITY_POLICY, policy)], drawn).into_response())
}

async fn png(State(door): State<Door>, Params(query): Params<PngQuery>) -> Result<Response, Fault> {
    let scale = match query.scale {
        None => Scale::default(),
        Some(number) => Scale::new(number).ok_or_else(|| Fault::Invalid("scale is 1 or 2".to_owned()))?,
    };
    let background = background(query.background.as_deref())?;
    let drawn = draw(&door, move |frame| picture::png(frame, Options { scale, background })).await?;
    Ok(([(header::CONTENT_TYPE, "image/png")], drawn).into_response())
}

/// Draws in a thread of its own, when a place is free: others are served meanwhile.
async fn draw<T: Send + 'static>(
    door: &Door,
    draw: impl FnOnce(&Frame) -> Result<T, PictureError> + Send + 'static,
) -> Result<T, Fault> {
    let place = Arc::clone(&door.painters).acquire_owned().await.map_err(|_| Gone)?;
    let shown = door.surface.look(Look::default()).await?;
    let drawn = tokio::task::spawn_blocking(move || {
        let _place = place;
        draw(&shown.frame)
    });
    drawn.await.map_err(|_| Gone)?.map_err(|error| Fault::Refused("No picture", error.to_string()))
}
