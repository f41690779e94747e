//! Follows receipts by the event stream of wh, so that a round ends as soon as they are final.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::PATIENCE;

/// Longest time of one read. The deadline is checked after each.
const READ_TIMEOUT: Duration = Duration::from_millis(500);

/// A connection to `GET /control/events`.
pub(super) struct ReceiptWatch {
    events: BufReader<TcpStream>,
    line: Vec<u8>,
    /// The newest receipt of each command.
    receipts: HashMap<String, Value>,
}

impl ReceiptWatch {
    /// Connects, and returns after the first event: all later receipts are seen.
    pub fn open(port: u16) -> Self {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("wh listens");
        stream.set_read_timeout(Some(READ_TIMEOUT)).expect("a socket takes a timeout");
        let request = b"GET /control/events?frames=none HTTP/1.1\r\nHost: localhost\r\n\r\n";
        stream.write_all(request).expect("wh reads");
        let mut watch = Self { events: BufReader::new(stream), line: Vec::new(), receipts: HashMap::new() };
        let start = Instant::now();
        while watch.next_data().is_none() {
            assert!(start.elapsed() < PATIENCE, "wh sends no events");
        }
        watch
    }

    /// The receipt of a command once it is final; after [`PATIENCE`] as it is. `None` if none was seen.
    pub fn last(&mut self, id: &str) -> Option<Value> {
        let start = Instant::now();
        while !self.receipts.get(id).is_some_and(is_final) && start.elapsed() < PATIENCE {
            let Some(event) = self.next_data().filter(|event| event["event"] == "receipt") else { continue };
            let id = event["request_id"].as_str().unwrap_or_default().to_owned();
            self.receipts.insert(id, event);
        }
        self.receipts.remove(id)
    }

    /// The JSON of the next `data:` line; `None` for other lines, and when nothing came in time.
    fn next_data(&mut self) -> Option<Value> {
        match self.events.read_until(b'\n', &mut self.line) {
            Ok(0) => panic!("wh closed the event stream"),
            Ok(_) => {
                let line = std::mem::take(&mut self.line);
                serde_json::from_slice(line.strip_prefix(b"data: ")?).ok()
            }
            // What was read of the line stays in the buffer.
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => None,
            Err(error) => panic!("the event stream broke: {error}"),
        }
    }
}

/// True for a receipt that does not change any more.
fn is_final(receipt: &Value) -> bool {
    matches!(receipt["stage"].as_str(), Some("finished" | "failed"))
}
