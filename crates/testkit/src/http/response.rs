//! HTTP response with its decoded body.

use std::io::{self, BufRead, Read};

use serde_json::Value;

/// Response of the server, with the transfer encoding removed.
#[derive(Debug, Clone)]
pub struct TestResponse {
    pub status: u16,
    /// Headers in order of arrival, with names as sent by the server.
    pub headers: Vec<(String, String)>,
    /// Body without its transfer encoding.
    pub body: Vec<u8>,
}

impl TestResponse {
    /// Returns the first header with this name, ignoring case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// Returns the body as UTF-8 text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Decodes the body as JSON. On failure, panics with the status and the body.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| {
            panic!("the response with status {} is not JSON ({error}): {:?}", self.status, self.text())
        })
    }

    pub(super) fn read(reader: &mut impl BufRead, method: &str) -> io::Result<Self> {
        loop {
            let mut response = Self::read_head(reader)?;
            if response.status < 200 && response.status != 101 {
                continue;
            }
            if method != "HEAD" && !matches!(response.status, 101 | 204 | 304) {
                response.body = response.read_body(reader)?;
            }
            return Ok(response);
        }
    }

    fn read_head(reader: &mut impl BufRead) -> io::Result<Self> {
        let first = read_line(reader)?;
        let status = first
            .strip_prefix("HTTP/1.")
            .and_then(|rest| rest.split(' ').nth(1)?.parse().ok())
            .ok_or_else(|| malformed(&first))?;
        let mut headers = Vec::new();
        loop {
            let line = read_line(reader)?;
            if line.is_empty() {
                return Ok(Self { status, headers, body: Vec::new() });
            }
            let (name, value) = line.split_once(':').ok_or_else(|| malformed(&line))?;
            headers.push((name.to_owned(), value.trim().to_owned()));
        }
    }

    fn read_body(&self, reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        if self.header("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked")) {
            while let Some(chunk) = read_chunk(reader)? {
                body.extend(chunk);
            }
        } else if let Some(length) = self.header("content-length") {
            body = read_exactly(reader, length.parse().map_err(|_| malformed(length))?)?;
        } else {
            reader.read_to_end(&mut body)?;
        }
        Ok(body)
    }
}

/// Reads the next chunk. Returns `None` after the last chunk and its trailers.
fn read_chunk(reader: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let line = read_line(reader)?;
    let size = line.split(';').next().unwrap_or_default().trim();
    let size = u64::from_str_radix(size, 16).map_err(|_| malformed(&line))?;
    if size == 0 {
        while !read_line(reader)?.is_empty() {}
        return Ok(None);
    }
    let chunk = read_exactly(reader, size)?;
    read_line(reader)?;
    Ok(Some(chunk))
}

fn read_exactly(reader: &mut impl BufRead, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if reader.take(length).read_to_end(&mut bytes)? as u64 == length {
        Ok(bytes)
    } else {
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}

fn read_line(reader: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    line.truncate(line.trim_end_matches(['\r', '\n']).len());
    Ok(line)
}

fn malformed(line: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("not HTTP/1.1: {line:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &str) -> io::Result<TestResponse> {
        TestResponse::read(&mut bytes.as_bytes(), "GET")
    }

    #[test]
    fn a_body_ends_by_its_length() {
        let response = read("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}rest").unwrap();
        assert_eq!((response.status, response.text().as_str()), (200, "{}"));
    }

    #[test]
    fn a_body_ends_by_its_last_chunk() {
        let response = read(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n3;x=y\r\nhey\r\n1\r\n!\r\n0\r\nt: v\r\n\r\nrest",
        )
        .unwrap();
        assert_eq!(response.text(), "hey!");
    }

    #[test]
    fn a_body_ends_with_the_connection() {
        assert_eq!(read("HTTP/1.0 413 No\r\n\r\ntoo big").unwrap().text(), "too big");
    }

    #[test]
    fn an_interim_response_is_skipped() {
        let response = read("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n").unwrap();
        assert_eq!(response.status, 204);
    }

    #[test]
    fn a_body_cut_short_is_an_error() {
        let error = read("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{}").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }
}
