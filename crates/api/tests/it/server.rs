//! Server on loopback whose connections are scripted by a test.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use wh_api::{Address, Client, blocking};

/// Server that runs until the end of the test process.
pub struct Server {
    pub port: u16,
    /// Received requests with head and body.
    pub requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Handles each connection with `script`, which receives the number of the connection, from 0.
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

    /// Responds to every request with the same status and body.
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

/// Connection of a client.
pub struct Peer {
    stream: BufReader<TcpStream>,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Peer {
    /// Reads a request; false if the client closed the connection.
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

    /// Sends a JSON response and leaves the connection open.
    pub fn answer(&mut self, status: u16, body: &str) -> bool {
        self.raw(&format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n{body}", body.len()))
    }

    /// Starts a stream of server-sent events that ends with the connection.
    pub fn begin_events(&mut self) -> bool {
        self.raw("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
    }

    /// Sends raw text; false if the client closed the connection.
    pub fn raw(&mut self, text: &str) -> bool {
        self.stream.get_mut().write_all(text.as_bytes()).is_ok()
    }

    /// Waits until the client closes the connection.
    pub fn until_closed(&mut self) {
        let _ = self.stream.read_to_end(&mut Vec::new());
    }
}
