//! Bodies: JSON whatever the Content-Type says, bounded in size and in time.

use std::time::Duration;

use axum::body::{Body, Bytes};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::DeserializeOwned;

use super::fault::Fault;

/// The longest body.
const LONGEST_BODY: usize = 256 * 1024;
/// How long it may take to arrive.
const PATIENCE: Duration = Duration::from_secs(30);

/// Reads and parses a body.
pub(super) async fn json<T: DeserializeOwned>(body: Body) -> Result<T, Fault> {
    parse(&read(body).await?)
}

/// The same, where no body at all is an empty object.
pub(super) async fn json_or_nothing<T: DeserializeOwned>(body: Body) -> Result<T, Fault> {
    let bytes = read(body).await?;
    parse(if bytes.is_empty() { b"{}" } else { &bytes })
}

async fn read(body: Body) -> Result<Bytes, Fault> {
    let collected =
        tokio::time::timeout(PATIENCE, Limited::new(body, LONGEST_BODY).collect()).await.map_err(|_| Fault::TooSlow)?;
    match collected {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(Fault::TooLarge { limit: LONGEST_BODY }),
        Err(_) => Err(Fault::Invalid("the body was cut off".to_owned())),
    }
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Fault> {
    // A list would be taken for the fields in their order.
    if bytes.trim_ascii_start().first() != Some(&b'{') {
        return Err(Fault::Invalid("the body must be a JSON object".to_owned()));
    }
    serde_json::from_slice(bytes).map_err(|error| Fault::Invalid(format!("the body must be a JSON object: {error}")))
}
