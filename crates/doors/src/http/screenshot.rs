//! `GET /control/screenshot.svg` and `GET /control/screenshot.png`.

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use wh_client::Look;
use wh_screen::picture::{self, Options, Scale};

use super::Door;
use super::fault::Fault;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PngQuery {
    scale: Option<u8>,
}

pub(super) async fn svg(State(door): State<Door>) -> Result<Response, Fault> {
    let shown = door.surface.look(Look::default()).await?;
    let drawn = picture::svg(&shown.frame);
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
    let shown = door.surface.look(Look::default()).await?;
    // Drawing takes milliseconds of work, and a large screen many: others are served meanwhile.
    let drawn = tokio::task::spawn_blocking(move || picture::png(&shown.frame, Options { scale })).await;
    match drawn {
        Ok(Ok(bytes)) => Ok(([(header::CONTENT_TYPE, "image/png")], bytes).into_response()),
        Ok(Err(error)) => Err(Fault::Refused("No picture", error.to_string())),
        Err(_) => Err(Fault::Gone(wh_client::Gone)),
    }
}
