//! `GET /control/items/{id}/output`.

use axum::Json;
use axum::extract::{Path, RawQuery, State};
use serde_json::json;
use wh_core::space::ItemId;
use wh_core::space::extent::Piece;
use wh_wire::control::OutputBody;

use super::NO_CONVERSATION;
use crate::http::Door;
use crate::http::fault::Fault;
use crate::http::route::{Method, Route};

pub(super) fn routes() -> Vec<Route<Door>> {
    vec![Route::new(
        Method::Get,
        "/control/items/{id}/output",
        output,
        "output",
        "A part of what was said, what a tool gave or what is asked, also of what is beyond what the item shows.",
        |it| {
            it.path_parameter("id", json!({"type": "string", "minLength": 1}))
                .query(
                    "offset",
                    json!({"type": "integer", "minimum": 0}),
                    "From this byte on; 0 unless said otherwise.",
                )
                .gives::<OutputBody>(200, "The part, and where the next begins.")
                .fails(400, "The query is not what it should be, or the offset is beyond the end.")
                .fails(404, "There is no such item, or it has no output.")
                .fails(410, "That part is not kept any more.")
                .fails(503, NO_CONVERSATION)
        },
    )]
}

async fn output(
    State(door): State<Door>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Json<OutputBody>, Fault> {
    let mut offset = 0;
    for pair in query.as_deref().unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
        offset = match pair.split_once('=').unwrap_or((pair, "")) {
            ("offset", value) => {
                value.parse().map_err(|_| Fault::Invalid(format!("offset is {value:?}; give a number of bytes")))?
            }
            (name, _) => return Err(Fault::Invalid(format!("{name:?} is not known here; there is offset"))),
        };
    }
    let piece = door.conversation()?.space.piece(ItemId::from(id.as_str()), offset).await?;
    let Piece { offset, text, next, extent } = piece?;
    Ok(Json(OutputBody { item: id, offset, text, next, shown: extent.shown, whole: extent.whole }))
}
