//! Follows receipts by the event stream of wh, so that a round ends as soon as they are final.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use wh_api::blocking::{Client, Events};
use wh_api::wire::control::{EventBody, ReceiptBody, StreamBody};
use wh_api::{Address, Follow};

use crate::PATIENCE;

/// Longest wait for one event. The deadline is checked after each.
const EVENT_TIMEOUT: Duration = Duration::from_millis(500);

/// A stream of `GET /control/events`.
pub(super) struct ReceiptWatch {
    events: Events,
    /// The newest receipt of each command.
    receipts: HashMap<String, ReceiptBody>,
}

impl ReceiptWatch {
    /// Connects, and returns after the first event: all later receipts are seen.
    pub fn open(port: u16) -> Self {
        let client = Client::new(Address::local(port)).expect("a client");
        let mut events = client.events(Follow::new().reconnect_for(Duration::ZERO));
        let first = events.next_within(PATIENCE).expect("wh sends no events");
        first.unwrap_or_else(|error| panic!("the event stream broke: {error}"));
        Self { events, receipts: HashMap::new() }
    }

    /// The receipt of a command once it is final; after [`PATIENCE`] as it is. `None` if none was seen.
    pub fn last(&mut self, id: &str) -> Option<ReceiptBody> {
        let start = Instant::now();
        while !self.receipts.get(id).is_some_and(is_final) && start.elapsed() < PATIENCE {
            let Some(message) = self.events.next_within(EVENT_TIMEOUT) else { continue };
            let message = message.unwrap_or_else(|error| panic!("the event stream broke: {error}"));
            if let StreamBody::Event { event: EventBody::Receipt(receipt), .. } = message {
                self.receipts.insert(receipt.request_id.clone(), receipt);
            }
        }
        self.receipts.remove(id)
    }
}

/// True for a receipt that does not change any more.
fn is_final(receipt: &ReceiptBody) -> bool {
    matches!(receipt.stage.as_str(), "finished" | "failed")
}
