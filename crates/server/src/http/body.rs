//! Reads JSON request bodies, limited in size and time. The Content-Type header is ignored.

use std::time::Duration;

use axum::body::{Body, Bytes};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::DeserializeOwned;

use super::fault::Fault;

const MAX_BODY_BYTES: usize = 256 * 1024;
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

pub(super) async fn json<T: DeserializeOwned>(body: Body) -> Result<T, Fault> {
    parse(&read(body).await?)
}

/// Reads and parses a body. A missing body counts as an empty object.
pub(super) async fn json_or_nothing<T: DeserializeOwned>(body: Body) -> Result<T, Fault> {
    let bytes = read(body).await?;
    parse(if bytes.is_empty() { b"{}" } else { &bytes })
}

async fn read(body: Body) -> Result<Bytes, Fault> {
    let collected = tokio::time::timeout(BODY_TIMEOUT, Limited::new(body, MAX_BODY_BYTES).collect())
        .await
        .map_err(|_| Fault::TooSlow)?;
    match collected {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(Fault::TooLarge { limit: MAX_BODY_BYTES }),
        Err(_) => Err(Fault::Invalid("the body is incomplete".to_owned())),
    }
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Fault> {
    // Serde would also accept a JSON array with the values of the fields in order.
    if bytes.trim_ascii_start().first() != Some(&b'{') {
        return Err(Fault::Invalid("the body must be a JSON object".to_owned()));
    }
    serde_json::from_slice(bytes).map_err(|error| Fault::Invalid(format!("the body must be a JSON object: {error}")))
}

#[cfg(test)]
mod tests {
    use std::io;

    use axum::response::IntoResponse;
    use futures_util::stream;
    use serde_json::{Map, Value};

    use super::*;

    async fn read(body: impl Into<Body>) -> Result<Map<String, Value>, (u16, String)> {
        json(body.into()).await.map_err(status_and_detail)
    }

    fn status_and_detail(fault: Fault) -> (u16, String) {
        let words = fault.to_string();
        (fault.into_response().status().as_u16(), words)
    }

    #[tokio::test]
    async fn the_longest_body_is_read_and_one_byte_more_is_too_large() {
        let body = |length: usize| format!("{{\"text\":\"{}\"}}", "x".repeat(length - 11));
        assert_eq!(body(100).len(), 100);
        assert_eq!(read(body(MAX_BODY_BYTES)).await.unwrap()["text"].as_str().unwrap().len(), MAX_BODY_BYTES - 11);
        assert_eq!(read(body(MAX_BODY_BYTES + 1)).await.unwrap_err().0, 413);
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_does_not_end_in_time_is_too_slow() {
        let begun = stream::iter([Ok::<_, io::Error>("{")]);
        let slow = Body::from_stream(stream::StreamExt::chain(begun, stream::pending()));
        assert_eq!(read(slow).await.unwrap_err().0, 408);
    }

    #[tokio::test]
    async fn a_body_that_was_cut_off_is_not_parsed() {
        let cut = Body::from_stream(stream::iter([Ok("{}"), Err(io::Error::other("reset"))]));
        assert_eq!(read(cut).await.unwrap_err(), (400, "the body is incomplete".to_owned()));
    }

    #[tokio::test]
    async fn only_an_object_is_a_body() {
        for wrong in ["", " ", "[]", "[\"a\"]", "null", "3", "\"{}\"", "{", "{}}", "{\"a\":}"] {
            let (status, words) = read(wrong).await.unwrap_err();
            assert_eq!(status, 400, "{wrong}");
            assert!(words.starts_with("the body must be a JSON object"), "{wrong}: {words}");
        }
        assert_eq!(read(" \n{\"a\": 1} ").await.unwrap().len(), 1);
    }

    #[tokio::test]
    async fn no_body_at_all_is_an_empty_object_where_nothing_is_required() {
        let read = async |text: &'static str| {
            json_or_nothing::<Map<String, Value>>(Body::from(text)).await.map_err(status_and_detail)
        };
        assert_eq!(read("").await, Ok(Map::new()));
        assert_eq!(read("[]").await.unwrap_err().0, 400);
    }
}
