//! A server on loopback whose connections a test scripts.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use wh_api::{Address, Client, blocking};

/// A server that runs until the end of the tests.
pub struct Server {
    pub port: u16,
    /// Each request, as it came: head and body.
    pub requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Handles each connection by `script`, which is given its number, from 0.
    pub fn start(script: impl Fn(usize, Peer) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (script, requests) = (Arc::new(script), Arc::new(Mutex::new(Vec::new())));
        let seen = Arc::clone(&requests);
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().flatten().enumerate() {
                let (script, seen) = (Arc::clone(&script), Arc::clone(&seen));
                std::thread::spawn(move || script(number, Peer { stream: BufReader::new(stream), seen }));
            }
        });
        Self { port, requests }
    }

    /// Answers every request with this status and body.
    pub fn answering(status: u16, body: &'static str) -> Self {
        Self::start(move |_, mut peer| while peer.request() && peer.answer(status, body) {})
    }

    pub fn client(&self) -> blocking::Client {
        Client::builder(Address::local(self.port)).records(None).blocking().unwrap()
    }

    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

/// One connection of a client.
pub struct Peer {
    stream: BufReader<TcpStream>,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Peer {
    /// Reads a request; false if the client has closed.
    pub fn request(&mut self) -> bool {
        let (mut text, mut length) = (String::new(), 0);
        loop {
            let from = text.len();
            if self.stream.read_line(&mut text).unwrap_or(0) == 0 {
                return false;
            }
            let line = text[from..].to_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if line.trim().is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        let whole = self.stream.read_exact(&mut body).is_ok();
        self.seen.lock().unwrap().push(text + &String::from_utf8_lossy(&body));
        whole
    }

    /// Answers with JSON, and leaves the connection open.
    pub fn answer(&mut self, status: u16, body: &str) -> bool {
        self.raw(&format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n{body}", body.len()))
    }

    /// Begins a stream of server-sent events that ends with the connection.
    pub fn begin_events(&mut self) -> bool {
        self.raw("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
    }

    /// Writes bytes; false if the client is gone.
    pub fn raw(&mut self, text: &str) -> bool {
        self.stream.get_mut().write_all(text.as_bytes()).is_ok()
    }

    /// Waits until the client has closed.
    pub fn until_closed(&mut self) {
        let _ = self.stream.read_to_end(&mut Vec::new());
    }
}
