//! Requests, and typed calls made of them.

use std::fmt::Display;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::Method;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::address::percent_encoded;
use crate::answer::Answer;
use crate::error::Error;

/// Largest body of a request: the server closes the connection on a larger one while it is still being sent.
pub const MAX_REQUEST_BYTES: usize = 256 << 10;

/// One HTTP request. Paths are those of the API, without the prefix of a session.
#[derive(Debug, Clone)]
pub struct Request {
    pub(crate) method: Method,
    target: String,
    headers: Vec<(HeaderName, HeaderValue)>,
    body: Bytes,
    /// Time that the request itself may take, beside the timeout of the client.
    pub(crate) duration: Duration,
    /// First mistake that was made in building it.
    mistake: Option<String>,
}

impl Request {
    /// A request without a body.
    pub fn new(method: &str, path: &str) -> Self {
        let (method, mistake) = match Method::from_bytes(method.as_bytes()) {
            Ok(method) => (method, None),
            Err(_) => (Method::GET, Some(format!("{method:?} is no method"))),
        };
        let duration = Duration::ZERO;
        Self { method, target: path.to_owned(), headers: Vec::new(), body: Bytes::new(), duration, mistake }
    }

    /// A GET.
    pub fn get(path: &str) -> Self {
        Self::new("GET", path)
    }

    /// A POST with a JSON body.
    pub fn post(path: &str, body: &impl Serialize) -> Self {
        Self::new("POST", path).json(body)
    }

    /// Gives it a JSON body.
    #[must_use]
    pub fn json(self, body: &impl Serialize) -> Self {
        match serde_json::to_vec(body) {
            Ok(bytes) => self.body(bytes).header(CONTENT_TYPE.as_str(), "application/json"),
            Err(error) => self.mistaken(format!("its body is not JSON: {error}")),
        }
    }

    /// Gives it a body without a `Content-Type`.
    #[must_use]
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    /// Adds a parameter to its query.
    #[must_use]
    pub fn query(mut self, name: &str, value: impl Display) -> Self {
        let separator = if self.target.contains('?') { '&' } else { '?' };
        self.target.push_str(&format!("{separator}{name}={}", percent_encoded(&value.to_string())));
        self
    }

    /// Adds a parameter to its query, if there is a value.
    #[must_use]
    pub fn query_if(self, name: &str, value: Option<impl Display>) -> Self {
        match value {
            Some(value) => self.query(name, value),
            None => self,
        }
    }

    /// Adds a header. `Host` and `Authorization` take the place of the client's own.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        match (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value)) {
            (Ok(name), Ok(value)) => {
                self.headers.push((name, value));
                self
            }
            _ => self.mistaken(format!("the header {name:?} cannot be sent")),
        }
    }

    /// Allows for the time that the request itself may take, beside the client's timeout.
    #[must_use]
    pub fn lasting(mut self, duration: Duration) -> Self {
        self.duration = duration;
        self
    }

    fn mistaken(mut self, mistake: String) -> Self {
        self.mistake.get_or_insert(mistake);
        self
    }

    /// The path with its query.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// The body.
    pub fn bytes(&self) -> &Bytes {
        &self.body
    }

    /// The request for hyper: `prefix` before its path, `usual` for each header that it does not name itself.
    pub(crate) fn build(
        &self,
        prefix: &str,
        usual: &[(HeaderName, HeaderValue)],
    ) -> Result<hyper::Request<Full<Bytes>>, Error> {
        if let Some(mistake) = &self.mistake {
            return Err(Error::Invalid(mistake.clone()));
        }
        if self.body.len() > MAX_REQUEST_BYTES {
            return Err(Error::RequestTooLarge { bytes: self.body.len(), limit: MAX_REQUEST_BYTES });
        }
        let target = if prefix.is_empty() { self.target.clone() } else { format!("{prefix}{}", self.target) };
        let mut request = hyper::Request::builder().method(self.method.clone()).uri(target);
        for (name, value) in usual {
            if !self.headers.iter().any(|(own, _)| own == name) {
                request = request.header(name, value);
            }
        }
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        request.body(Full::new(self.body.clone())).map_err(|error| Error::Invalid(error.to_string()))
    }
}

/// A request with the type of its answer.
#[derive(Debug, Clone)]
pub struct Call<T> {
    pub(crate) request: Request,
    read: fn(Answer) -> Result<T, Error>,
}

impl<T: DeserializeOwned> Call<T> {
    /// A request that is answered with JSON.
    pub fn json(request: Request) -> Self {
        Self { request: request.header(ACCEPT.as_str(), "application/json"), read: |answer| answer.json() }
    }

    /// A GET that is answered with JSON.
    pub fn get(path: &str) -> Self {
        Self::json(Request::get(path))
    }

    /// A POST of JSON that is answered with JSON.
    pub fn post(path: &str, body: &impl Serialize) -> Self {
        Self::json(Request::post(path, body))
    }

    /// A request whose answer is of this type with any status, as a wait that has timed out.
    pub(crate) fn any_status(request: Request) -> Self {
        Self { request, read: |answer| answer.read().map_err(|error| answer.refused().unwrap_or(error)) }
    }
}

impl<T> Call<T> {
    pub(crate) fn read(&self, answer: Answer) -> Result<T, Error> {
        (self.read)(answer)
    }
}

impl Call<String> {
    /// A request that is answered with text.
    pub fn text(request: Request) -> Self {
        Self { request, read: |answer| answer.good().map(|answer| answer.text()) }
    }
}

impl Call<Bytes> {
    /// A request that is answered with bytes, as a picture.
    pub fn bytes(request: Request) -> Self {
        Self { request, read: |answer| answer.good().map(|answer| answer.body) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_encoded_and_what_is_absent_is_left_out() {
        let request = Request::get("/x").query("a", "b c").query_if("d", None::<u8>).query_if("e", Some(1));
        assert_eq!(request.target(), "/x?a=b%20c&e=1");
    }

    #[test]
    fn a_request_that_cannot_be_sent_says_why() {
        let usual = [];
        let invalid = Request::new("GE T", "/").build("", &usual);
        assert!(matches!(&invalid, Err(Error::Invalid(why)) if why.contains("GE T")), "{invalid:?}");
        let invalid = Request::get("/").header("a", "\n").build("", &usual);
        assert!(matches!(&invalid, Err(Error::Invalid(_))), "{invalid:?}");
        let large = Request::get("/").body(vec![0; MAX_REQUEST_BYTES + 1]).build("", &usual);
        assert!(matches!(&large, Err(Error::RequestTooLarge { .. })), "{large:?}");
    }

    #[test]
    fn a_header_of_the_request_takes_the_place_of_the_usual_one() {
        let usual = [(hyper::header::HOST, HeaderValue::from_static("usual"))];
        let request = Request::get("/").header("host", "forged").build("/sessions/a", &usual).unwrap();
        assert_eq!(request.uri(), "/sessions/a/");
        assert_eq!(request.headers().get_all("host").iter().collect::<Vec<_>>(), ["forged"]);
    }
}
