//! Screenshots: `GET /control/screenshot.svg` and `GET /control/screenshot.png`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::json;
use wh_client::{ScreenReadOptions, SessionGone};
use wh_screen::frame::ScreenFrame;
use wh_screen::picture::{self, Background, PictureError, PictureOptions, Scale};

use super::ApiState;
use super::fault::Fault;
use super::query::QueryParams;
use super::route::{Route, RouteMethod};

pub(super) fn routes() -> Vec<Route<ApiState>> {
    vec![
        Route::new(
            RouteMethod::Get,
            "/control/screenshot.svg",
            svg,
            "screenshotSvg",
            "Take a screenshot as SVG.",
            |it| {
                it.query(
                    "background",
                    json!({"type": "string", "enum": ["dark", "light"]}),
                    "Default text and background colours, for cells where the program has not set a colour.",
                )
                .text(200, "image/svg+xml", "The image.")
                .fails(400, "The query is invalid, or the screen cannot be rendered.")
                .gone()
            },
        ),
        Route::new(
            RouteMethod::Get,
            "/control/screenshot.png",
            png,
            "screenshotPng",
            "Take a screenshot as PNG.",
            |it| {
                it.query("scale", json!({"type": "integer", "minimum": 1, "maximum": 2}), "Scale factor. Default: 2.")
                    .query(
                        "background",
                        json!({"type": "string", "enum": ["dark", "light"]}),
                        "Default text and background colours, for cells where the program has not set a colour.",
                    )
                    .text(200, "image/png", "The image.")
                    .fails(400, "The query is invalid, or the screen is too large for an image.")
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
    let wrong = || Fault::Invalid("background must be dark or light".to_owned());
    name.map(|name| Background::named(name).ok_or_else(wrong)).transpose()
}

async fn svg(State(api): State<ApiState>, QueryParams(query): QueryParams<SvgQuery>) -> Result<Response, Fault> {
    let background = background(query.background.as_deref())?;
    let drawn = draw(&api, move |frame| Ok(picture::svg(frame, background))).await?;
    // Links are allowed, scripts are not.
    let policy = "default-src 'none'; style-src 'unsafe-inline'";
    Ok(([(header::CONTENT_TYPE, "image/svg+xml"), (header::CONTENT_SECURITY_POLICY, policy)], drawn).into_response())
}

async fn png(State(api): State<ApiState>, QueryParams(query): QueryParams<PngQuery>) -> Result<Response, Fault> {
    let scale = match query.scale {
        None => Scale::default(),
        Some(number) => Scale::new(number).ok_or_else(|| Fault::Invalid("scale must be 1 or 2".to_owned()))?,
    };
    let background = background(query.background.as_deref())?;
    let drawn = draw(&api, move |frame| picture::png(frame, PictureOptions { scale, background })).await?;
    Ok(([(header::CONTENT_TYPE, "image/png")], drawn).into_response())
}

/// Runs a renderer on a blocking thread once a permit is free.
async fn draw<T: Send + 'static>(
    api: &ApiState,
    draw: impl FnOnce(&ScreenFrame) -> Result<T, PictureError> + Send + 'static,
) -> Result<T, Fault> {
    let place = Arc::clone(&api.screenshot_permits).acquire_owned().await.map_err(|_| SessionGone)?;
    let shown = api.surface.read_screen(ScreenReadOptions::default()).await?;
    let drawn = tokio::task::spawn_blocking(move || {
        let _place = place;
        draw(&shown.frame)
    });
    drawn.await.map_err(|_| SessionGone)?.map_err(|error| Fault::Refused("No picture", error.to_string()))
}
