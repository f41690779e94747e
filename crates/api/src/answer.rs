//! The answer to a request, and its body as text, JSON or an error.

use std::sync::Arc;

use bytes::Bytes;
use hyper::HeaderMap;
use hyper::header::CONTENT_TYPE;
use serde::de::DeserializeOwned;

use crate::error::{Error, Refusal};

/// Largest body of an answer. A screen with every cell has some megabytes.
pub const MAX_ANSWER_BYTES: usize = 64 << 20;

/// The answer to a request, with any status.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub body: Bytes,
    pub(crate) headers: HeaderMap,
    pub(crate) url: Arc<str>,
}

impl Answer {
    /// True for the statuses 200 to 299.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// First header of this name, in lower case, as text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The headers, names in lower case. A value that is no text is left out.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)))
    }

    /// True if the body is a picture.
    pub fn is_picture(&self) -> bool {
        self.headers.get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"image/"))
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON, whatever the status.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Error> {
        serde_json::from_slice(&self.body).map_err(|error| {
            let problem = match error.classify() {
                serde_json::error::Category::Data => format!("is of another version: {error}"),
                _ => format!("does not say JSON (status {})", self.status),
            };
            Error::NotOurs { url: self.url.to_string(), problem }
        })
    }

    /// The same answer, or the error that it is.
    pub fn good(self) -> Result<Self, Error> {
        if self.is_success() { Ok(self) } else { Err(self.refused()?) }
    }

    /// The body of a successful answer as JSON.
    pub fn json<T: DeserializeOwned>(self) -> Result<T, Error> {
        self.good()?.read()
    }

    /// The answer as an error. Fails with another error if it is not JSON.
    pub fn refused(&self) -> Result<Error, Error> {
        let _: serde::de::IgnoredAny = self.read()?;
        Ok(Error::Refused(Box::new(Refusal::read(self.status, &self.body))))
    }
}

#[cfg(test)]
mod tests {
    use wh_wire::control::ErrorBody;

    use super::*;

    fn answer(status: u16, body: &'static str) -> Answer {
        Answer { status, body: Bytes::from_static(body.as_bytes()), headers: HeaderMap::new(), url: "http://x".into() }
    }

    #[test]
    fn an_error_answer_has_its_code_its_words_and_its_screen() {
        let body =
            r#"{"error":"Key unknown","code":"invalid_key","detail":"\"entre\"; did you mean enter?","screen":["$"]}"#;
        let error = answer(400, body).json::<serde_json::Value>().unwrap_err();
        let refusal = error.refusal().unwrap();
        assert_eq!(
            (refusal.status, refusal.code(), refusal.screen.as_slice()),
            (400, Some("invalid_key"), &["$".to_owned()][..])
        );
        assert_eq!(error.to_string(), "key unknown: \"entre\"; did you mean enter?");
    }

    #[test]
    fn an_answer_that_is_no_json_is_not_ours() {
        for (status, body) in [(200, "<html>"), (502, "<html>"), (200, r#"{"other":1}"#)] {
            let error = answer(status, body).json::<ErrorBody>().unwrap_err();
            assert!(matches!(error, Error::NotOurs { .. }), "{error}");
        }
    }

    #[test]
    fn a_hint_tells_a_missing_thing_from_a_missing_path() {
        let hint = |status, body| answer(status, body).refused().unwrap().refusal().unwrap().hint().is_some();
        assert!(hint(404, r#"{"error":"Not found","code":"not_found"}"#) && hint(404, "[]"));
        assert!(!hint(404, r#"{"error":"No such receipt","code":"no_such_receipt"}"#));
    }
}
