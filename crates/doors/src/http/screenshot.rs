//! `GET /control/screenshot.svg` and `GET /control/screenshot.png`.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use wh_client::{Gone, Look};
use wh_screen::frame::Frame;
use wh_screen::picture::{self, Background, Options, PictureError, Scale};

use super::Door;
use super::fault::Fault;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PngQuery {
    scale: Option<u8>,
    background: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SvgQuery {
    background: Option<String>,
}

fn background(name: Option<&str>) -> Result<Option<Background>, Fault> {
    let wrong = || Fault::Invalid("background is dark or light".to_owned());
    name.map(|name| Background::named(name).ok_or_else(wrong)).transpose()
}

pub(super) async fn svg(
    State(door): State<Door>,
    query: Result<Query<SvgQuery>, QueryRejection>,
) -> Result<Response, Fault> {
    let Query(query) = query.map_err(|error| Fault::Invalid(error.body_text()))?;
    let background = background(query.background.as_deref())?;
    let drawn = draw(&door, move |frame| Ok(picture::svg(frame, background))).await?;
    // A link in it may lead anywhere; a script in it may not run.
    let policy = "default-src 'none'; style-src 'unsafe-inline'";
    Ok(([(header::CONTENT_TYPE, "image/svg+xml"), (header::CONTENT_SECURITY_POLICY, policy)], drawn).into_response())
}

pub(super) async fn png(
    State(door): State<Door>,
    query: Result<Query<PngQuery>, QueryRejection>,
) -> Result<Response, Fault> {
    let Query(query) = query.map_err(|error| Fault::Invalid(error.body_text()))?;
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
