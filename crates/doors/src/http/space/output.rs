//! `GET /control/items/{id}/output`.

use axum::Json;
use axum::extract::{Path, RawQuery, State};
use wh_core::space::ItemId;
use wh_core::space::extent::Piece;
use wh_wire::control::OutputBody;

use crate::http::Door;
use crate::http::fault::Fault;

pub(in crate::http) async fn output(
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
