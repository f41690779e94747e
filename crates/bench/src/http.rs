//! The thinnest client that keeps a connection alive: what it costs must not hide what the server costs.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use memchr::memmem;

use crate::Outcome;

/// A server that does not answer within this has failed.
const PATIENCE: Duration = Duration::from_secs(30);

/// A request, written out once and sent many times.
pub struct Question(Vec<u8>);

impl Question {
    pub fn get(path: &str) -> Self {
        Self(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").into_bytes())
    }

    pub fn post(path: &str, json: &str) -> Self {
        let length = json.len();
        Self(format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n{json}").into_bytes())
    }
}

/// An open connection.
pub struct Line {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Line {
    pub fn open(port: u16) -> Outcome<Self> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { stream, buffer: vec![0; 256 * 1024] })
    }

    /// Asks, and gives the body of the answer, which must be a good one.
    pub fn ask(&mut self, question: &Question) -> Outcome<&[u8]> {
        self.stream.write_all(&question.0)?;
        let mut filled = 0;
        let (start, length) = loop {
            filled += self.more(filled)?;
            if let Some(end) = memmem::find(&self.buffer[..filled], b"\r\n\r\n") {
                let head = std::str::from_utf8(&self.buffer[..end])?;
                break (end + 4, body_length(head)?);
            }
        };
        let end = start + length;
        if end > self.buffer.len() {
            self.buffer.resize(end, 0);
        }
        while filled < end {
            filled += self.more(filled)?;
        }
        Ok(&self.buffer[start..end])
    }

    fn more(&mut self, filled: usize) -> Outcome<usize> {
        match self.stream.read(&mut self.buffer[filled..])? {
            0 => Err("the server has hung up, or its header is longer than the buffer".into()),
            count => Ok(count),
        }
    }
}

fn body_length(head: &str) -> Outcome<usize> {
    let mut lines = head.lines();
    let status = lines.next().unwrap_or_default();
    if status.split(' ').nth(1) != Some("200") {
        return Err(format!("the server answered {status}").into());
    }
    let length =
        lines.filter_map(|line| line.split_once(':')).find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let (_, length) = length.ok_or("an answer without Content-Length")?;
    Ok(length.trim().parse()?)
}
