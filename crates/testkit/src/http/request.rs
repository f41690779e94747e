//! HTTP request with full control over its headers and its framing.

use std::io;

use super::{TestClient, TestResponse};

/// Request to send. A header set by the test replaces the default header with the same name.
#[derive(Debug, Clone)]
pub struct TestRequest {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Option<Vec<u8>>,
    host: bool,
    keep_alive: bool,
    chunked: bool,
}

impl TestRequest {
    /// Creates a request with any method and without a body. `path` is sent unchanged and may include a query.
    pub fn new(method: &str, path: &str) -> Self {
        Self {
            method: method.to_owned(),
            path: path.to_owned(),
            headers: Vec::new(),
            body: None,
            host: true,
            keep_alive: false,
            chunked: false,
        }
    }

    pub fn get(path: &str) -> Self {
        Self::new("GET", path)
    }

    /// Creates a POST request with a body and without `Content-Type`.
    pub fn post(path: &str, body: impl Into<Vec<u8>>) -> Self {
        Self::new("POST", path).body(body)
    }

    /// Creates a POST request with a JSON body and its `Content-Type`.
    pub fn post_json(path: &str, body: &serde_json::Value) -> Self {
        Self::post(path, body.to_string()).header("Content-Type", "application/json")
    }

    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }

    /// Adds a header. A name that is added twice is sent twice.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Adds a prefix to the path.
    #[must_use]
    pub fn with_prefix(mut self, prefix: &str) -> Self {
        self.path.insert_str(0, prefix);
        self
    }

    /// Omits the `Host` header, which HTTP/1.1 requires.
    #[must_use]
    pub fn without_host(mut self) -> Self {
        self.host = false;
        self
    }

    /// Asks the server to keep the connection open.
    #[must_use]
    pub fn keep_alive(mut self) -> Self {
        self.keep_alive = true;
        self
    }

    /// Sends the body with chunked encoding instead of a `Content-Length`.
    #[must_use]
    pub fn chunked(mut self) -> Self {
        self.chunked = true;
        self
    }

    /// Sends the request on a new connection.
    pub fn send(&self, port: u16) -> io::Result<TestResponse> {
        TestClient::new(port, None)?.send(self)
    }

    /// Converts the request to a request of `wh-api`. Returns `None` if the request is invalid HTTP or sets its own
    /// framing.
    pub(super) fn well_formed(&self) -> Option<wh_api::HttpRequest> {
        if !self.host || self.chunked || self.keep_alive || self.names("content-length") || self.names("connection") {
            return None;
        }
        let mut request = wh_api::HttpRequest::new(&self.method, &self.path);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        Some(request.body(self.body.clone().unwrap_or_default()))
    }

    pub(super) fn method(&self) -> &str {
        &self.method
    }

    pub(super) fn encode(&self, port: u16) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.path);
        let mut put = |name: &str, value: &str| {
            head.push_str(name);
            head.push_str(": ");
            head.push_str(value);
            head.push_str("\r\n");
        };
        for (name, value) in &self.headers {
            put(name, value);
        }
        if self.host && !self.names("host") {
            put("Host", &format!("127.0.0.1:{port}"));
        }
        if !self.keep_alive && !self.names("connection") {
            put("Connection", "close");
        }
        match &self.body {
            Some(_) if self.chunked => put("Transfer-Encoding", "chunked"),
            Some(body) if !self.names("content-length") => put("Content-Length", &body.len().to_string()),
            _ => {}
        }
        head.push_str("\r\n");

        let mut bytes = head.into_bytes();
        match &self.body {
            Some(body) if self.chunked => {
                for chunk in body.chunks(16 * 1024) {
                    bytes.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
                    bytes.extend_from_slice(chunk);
                    bytes.extend_from_slice(b"\r\n");
                }
                bytes.extend_from_slice(b"0\r\n\r\n");
            }
            Some(body) => bytes.extend_from_slice(body),
            None => {}
        }
        bytes
    }

    fn names(&self, header: &str) -> bool {
        self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(header))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(request: &TestRequest) -> String {
        String::from_utf8(request.encode(80)).unwrap()
    }

    #[test]
    fn a_post_declares_its_length_and_no_type() {
        assert_eq!(
            encoded(&TestRequest::post("/a?b", "{}")),
            "POST /a?b HTTP/1.1\r\nHost: 127.0.0.1:80\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}"
        );
    }

    #[test]
    fn a_header_of_the_test_overrides_the_default() {
        assert_eq!(
            encoded(&TestRequest::get("/").header("host", "evil.example").keep_alive()),
            "GET / HTTP/1.1\r\nhost: evil.example\r\n\r\n"
        );
    }

    #[test]
    fn host_can_be_left_out() {
        assert_eq!(encoded(&TestRequest::get("/").without_host()), "GET / HTTP/1.1\r\nConnection: close\r\n\r\n");
    }

    #[test]
    fn a_chunked_body_has_no_length() {
        assert_eq!(
            encoded(&TestRequest::post("/", "hey").chunked().without_host().keep_alive()),
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhey\r\n0\r\n\r\n"
        );
    }
}
