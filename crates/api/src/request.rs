//! HTTP requests, and typed requests: requests with the type of their response.

use std::fmt::Display;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::Method;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::address::percent_encoded;
use crate::error::Error;
use crate::response::HttpResponse;

/// Maximum size of a request body in bytes. The server rejects a larger body and closes the connection.
pub const MAX_REQUEST_BYTES: usize = 256 << 10;

/// HTTP request. The path does not include the prefix of a session; the client adds it.
#[derive(Debug, Clone)]
pub struct HttpRequest {
    pub(crate) method: Method,
    target: String,
    headers: Vec<(HeaderName, HeaderValue)>,
    body: Bytes,
    /// Time that the server needs to execute the request. Added to the client's timeout for the response.
    pub(crate) duration: Duration,
    /// First error that occurred while building the request.
    build_error: Option<String>,
}

impl HttpRequest {
    /// Creates a request without a body.
    pub fn new(method: &str, path: &str) -> Self {
        let (method, mistake) = match Method::from_bytes(method.as_bytes()) {
            Ok(method) => (method, None),
            Err(_) => (Method::GET, Some(format!("{method:?} is not an HTTP method"))),
        };
        let duration = Duration::ZERO;
        Self {
            method,
            target: path.to_owned(),
            headers: Vec::new(),
            body: Bytes::new(),
            duration,
            build_error: mistake,
        }
    }

    /// Creates a GET request.
    pub fn get(path: &str) -> Self {
        Self::new("GET", path)
    }

    /// Creates a POST request with a JSON body.
    pub fn post(path: &str, body: &impl Serialize) -> Self {
        Self::new("POST", path).json(body)
    }

    /// Sets a JSON body.
    #[must_use]
    pub fn json(self, body: &impl Serialize) -> Self {
        match serde_json::to_vec(body) {
            Ok(bytes) => self.body(bytes).header(CONTENT_TYPE.as_str(), "application/json"),
            Err(error) => self.with_mistake(format!("the body cannot be serialized: {error}")),
        }
    }

    /// Sets a body without a `Content-Type` header.
    #[must_use]
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    /// Adds a query parameter. The value is percent-encoded.
    #[must_use]
    pub fn query(mut self, name: &str, value: impl Display) -> Self {
        let separator = if self.target.contains('?') { '&' } else { '?' };
        self.target.push_str(&format!("{separator}{name}={}", percent_encoded(&value.to_string())));
        self
    }

    /// Adds a query parameter if there is a value.
    #[must_use]
    pub fn query_if(self, name: &str, value: Option<impl Display>) -> Self {
        match value {
            Some(value) => self.query(name, value),
            None => self,
        }
    }

    /// Adds a header. Overrides a header that the client would send itself, for example `Host` or `Authorization`.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        match (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value)) {
            (Ok(name), Ok(value)) => {
                self.headers.push((name, value));
                self
            }
            _ => self.with_mistake(format!("the header {name:?} is not valid")),
        }
    }

    /// Sets the time that the server needs to execute the request, for example the timeout of a wait. This time is
    /// added to the client's timeout.
    #[must_use]
    pub fn with_duration(mut self, duration: Duration) -> Self {
        self.duration = duration;
        self
    }

    fn with_mistake(mut self, mistake: String) -> Self {
        self.build_error.get_or_insert(mistake);
        self
    }

    /// Returns the path with its query.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// Returns the body.
    pub fn bytes(&self) -> &Bytes {
        &self.body
    }

    /// Builds the hyper request. `prefix` precedes the path. Headers in `usual` are added unless the request already
    /// sets them.
    pub(crate) fn build(
        &self,
        prefix: &str,
        usual: &[(HeaderName, HeaderValue)],
    ) -> Result<hyper::Request<Full<Bytes>>, Error> {
        if let Some(mistake) = &self.build_error {
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

/// Request together with the type of its response.
#[derive(Debug, Clone)]
pub struct TypedRequest<T> {
    pub(crate) request: HttpRequest,
    read: fn(HttpResponse) -> Result<T, Error>,
}

impl<T: DeserializeOwned> TypedRequest<T> {
    /// Creates a typed request with a JSON response.
    pub fn json(request: HttpRequest) -> Self {
        Self { request: request.header(ACCEPT.as_str(), "application/json"), read: |answer| answer.json() }
    }

    /// Creates a typed GET request with a JSON response.
    pub fn get(path: &str) -> Self {
        Self::json(HttpRequest::get(path))
    }

    /// Creates a typed POST request with a JSON body and a JSON response.
    pub fn post(path: &str, body: &impl Serialize) -> Self {
        Self::json(HttpRequest::post(path, body))
    }

    /// Creates a typed request whose response has the same type for every status, such as a wait.
    pub(crate) fn any_status(request: HttpRequest) -> Self {
        Self { request, read: |answer| answer.read().map_err(|error| answer.to_error().unwrap_or(error)) }
    }
}

impl<T> TypedRequest<T> {
    pub(crate) fn read(&self, answer: HttpResponse) -> Result<T, Error> {
        (self.read)(answer)
    }
}

impl TypedRequest<String> {
    /// Creates a typed request with a text response.
    pub fn text(request: HttpRequest) -> Self {
        Self { request, read: |answer| answer.error_for_status().map(|answer| answer.text()) }
    }
}

impl TypedRequest<Bytes> {
    /// Creates a typed request with a binary response, such as an image.
    pub fn bytes(request: HttpRequest) -> Self {
        Self { request, read: |answer| answer.error_for_status().map(|answer| answer.body) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_encoded_and_absent_values_are_omitted() {
        let request = HttpRequest::get("/x").query("a", "b c").query_if("d", None::<u8>).query_if("e", Some(1));
        assert_eq!(request.target(), "/x?a=b%20c&e=1");
    }

    #[test]
    fn an_invalid_request_reports_the_reason() {
        let usual = [];
        let invalid = HttpRequest::new("GE T", "/").build("", &usual);
        assert!(matches!(&invalid, Err(Error::Invalid(why)) if why.contains("GE T")), "{invalid:?}");
        let invalid = HttpRequest::get("/").header("a", "\n").build("", &usual);
        assert!(matches!(&invalid, Err(Error::Invalid(_))), "{invalid:?}");
        let large = HttpRequest::get("/").body(vec![0; MAX_REQUEST_BYTES + 1]).build("", &usual);
        assert!(matches!(&large, Err(Error::RequestTooLarge { .. })), "{large:?}");
    }

    #[test]
    fn a_header_of_the_request_overrides_the_usual_one() {
        let usual = [(hyper::header::HOST, HeaderValue::from_static("usual"))];
        let request = HttpRequest::get("/").header("host", "forged").build("/sessions/a", &usual).unwrap();
        assert_eq!(request.uri(), "/sessions/a/");
        assert_eq!(request.headers().get_all("host").iter().collect::<Vec<_>>(), ["forged"]);
    }
}
