//! `GET /control/items/{id}/output`: full text of an item, in parts.

use axum::Json;
use axum::extract::{Path, RawQuery, State};
use serde_json::json;
use wh_core::space::ItemId;
use wh_core::space::extent::TextPiece;
use wh_wire::control::OutputBody;

use super::NO_CONVERSATION;
use crate::http::ApiState;
use crate::http::fault::Fault;
use crate::http::route::{Route, RouteMethod};

pub(super) fn routes() -> Vec<Route<ApiState>> {
    vec![Route::new(
        RouteMethod::Get,
        "/control/items/{id}/output",
        output,
        "output",
        "Get a part of the full output of a message, tool call or question, including text that is truncated in the item.",
        |it| {
            it.path_parameter("id", json!({"type": "string", "minLength": 1}))
                .query("offset", json!({"type": "integer", "minimum": 0}), "Start at this byte. Default: 0.")
                .returns::<OutputBody>(200, "The requested part, and the offset of the next part.")
                .fails(400, "The query is invalid, or the offset is beyond the end.")
                .fails(404, "No such item, or the item has no output.")
                .fails(410, "This part is no longer stored.")
                .fails(503, NO_CONVERSATION)
        },
    )]
}

async fn output(
    State(api): State<ApiState>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Json<OutputBody>, Fault> {
    let mut offset = 0;
    for pair in query.as_deref().unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
        offset = match pair.split_once('=').unwrap_or((pair, "")) {
            ("offset", value) => {
                value.parse().map_err(|_| Fault::Invalid(format!("offset must be a number of bytes: {value:?}")))?
            }
            (name, _) => {
                return Err(Fault::Invalid(format!("unknown parameter {name:?}; the only parameter is offset")));
            }
        };
    }
    let piece = api.conversation()?.space.piece(ItemId::from(id.as_str()), offset).await?;
    let TextPiece { offset, text, next, extent } = piece?;
    Ok(Json(OutputBody { item: id, offset, text, next, shown: extent.shown, whole: extent.whole }))
}
