//! Response to a request. Decodes the body as text, JSON or an error.

use std::sync::Arc;

use bytes::Bytes;
use hyper::HeaderMap;
use hyper::header::CONTENT_TYPE;
use serde::de::DeserializeOwned;

use crate::error::{Error, ErrorResponse};

/// Maximum size of a response body in bytes. A screen with all cells has several megabytes.
pub const MAX_RESPONSE_BYTES: usize = 64 << 20;

/// Complete response to a request, with any status.
#[derive(Debug, Clone)]
pub struct HttpResponse {
    /// HTTP status code.
    pub status: u16,
    /// Body of the response.
    pub body: Bytes,
    pub(crate) headers: HeaderMap,
    pub(crate) url: Arc<str>,
}

impl HttpResponse {
    /// Returns true for the statuses 200 to 299.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Returns the value of the first header with this lower-case name, if the value is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Returns the headers with lower-case names. Values that are not text are skipped.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)))
    }

    /// Returns true if the body is an image.
    pub fn is_image(&self) -> bool {
        self.headers.get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"image/"))
    }

    /// Returns the body as text. Invalid UTF-8 is replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Decodes the body as JSON, regardless of the status.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Error> {
        serde_json::from_slice(&self.body).map_err(|error| {
            let problem = match error.classify() {
                serde_json::error::Category::Data => format!("sent JSON with unexpected fields: {error}"),
                _ => format!("did not send JSON (status {})", self.status),
            };
            Error::UnexpectedServer { url: self.url.to_string(), problem }
        })
    }

    /// Returns the response if its status is successful. Otherwise returns the error that the response contains.
    pub fn error_for_status(self) -> Result<Self, Error> {
        if self.is_success() { Ok(self) } else { Err(self.to_error()?) }
    }

    /// Decodes the JSON body of a successful response.
    pub fn json<T: DeserializeOwned>(self) -> Result<T, Error> {
        self.error_for_status()?.read()
    }

    /// Converts an error response to an [`Error`]. Fails with another error if the body is not JSON.
    pub fn to_error(&self) -> Result<Error, Error> {
        let _: serde::de::IgnoredAny = self.read()?;
        Ok(Error::Refused(Box::new(ErrorResponse::read(self.status, &self.body))))
    }
}

#[cfg(test)]
mod tests {
    use wh_wire::control::ErrorBody;

    use super::*;

    fn answer(status: u16, body: &'static str) -> HttpResponse {
        HttpResponse {
            status,
            body: Bytes::from_static(body.as_bytes()),
            headers: HeaderMap::new(),
            url: "http://x".into(),
        }
    }

    #[test]
    fn an_error_response_has_a_code_a_message_and_a_screen() {
        let body =
            r#"{"error":"Key unknown","code":"invalid_key","detail":"\"entre\"; did you mean enter?","screen":["$"]}"#;
        let error = answer(400, body).json::<serde_json::Value>().unwrap_err();
        let refusal = error.error_response().unwrap();
        assert_eq!(
            (refusal.status, refusal.code(), refusal.screen.as_slice()),
            (400, Some("invalid_key"), &["$".to_owned()][..])
        );
        assert_eq!(error.to_string(), "key unknown: \"entre\"; did you mean enter?");
    }

    #[test]
    fn a_response_without_json_is_from_another_server() {
        for (status, body) in [(200, "<html>"), (502, "<html>"), (200, r#"{"other":1}"#)] {
            let error = answer(status, body).json::<ErrorBody>().unwrap_err();
            assert!(matches!(error, Error::UnexpectedServer { .. }), "{error}");
        }
    }

    #[test]
    fn a_hint_is_given_for_a_missing_path_only() {
        let hint = |status, body| answer(status, body).to_error().unwrap().error_response().unwrap().hint().is_some();
        assert!(hint(404, r#"{"error":"Not found","code":"not_found"}"#) && hint(404, "[]"));
        assert!(!hint(404, r#"{"error":"No such receipt","code":"no_such_receipt"}"#));
    }
}
