//! Reads receipts from the event stream of wh, so that a round ends as soon as its receipts are final.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use wh_api::blocking::{Client, EventIterator};
use wh_api::wire::control::{EventBody, ReceiptBody, StreamBody};
use wh_api::{Address, EventOptions};

use crate::CONDITION_TIMEOUT;

/// Maximum time to wait for one event before the overall timeout is checked again.
const EVENT_TIMEOUT: Duration = Duration::from_millis(500);

/// Event stream of `GET /control/events`, and the receipts received from it.
pub(super) struct ReceiptWatch {
    events: EventIterator,
    /// Latest receipt of each command.
    receipts: HashMap<String, ReceiptBody>,
}

impl ReceiptWatch {
    /// Connects, and waits for the first event, so that all receipts of later commands are received.
    pub fn open(port: u16) -> Self {
        let client = Client::new(Address::local(port)).expect("the client can be created");
        let mut events = client.events(EventOptions::new().reconnect_for(Duration::ZERO));
        let first = events.next_within(CONDITION_TIMEOUT).expect("wh sends a first event");
        first.unwrap_or_else(|error| panic!("the event stream broke: {error}"));
        Self { events, receipts: HashMap::new() }
    }

    /// Returns the receipt of a command once it is final, or its last state after [`CONDITION_TIMEOUT`]. `None` if no
    /// receipt was received.
    pub fn last(&mut self, id: &str) -> Option<ReceiptBody> {
        let start = Instant::now();
        while !self.receipts.get(id).is_some_and(is_final) && start.elapsed() < CONDITION_TIMEOUT {
            let Some(message) = self.events.next_within(EVENT_TIMEOUT) else { continue };
            let message = message.unwrap_or_else(|error| panic!("the event stream broke: {error}"));
            if let StreamBody::Event { event: EventBody::Receipt(receipt), .. } = message {
                self.receipts.insert(receipt.request_id.clone(), receipt);
            }
        }
        self.receipts.remove(id)
    }
}

/// Returns true if the receipt cannot change any more.
fn is_final(receipt: &ReceiptBody) -> bool {
    matches!(receipt.stage.as_str(), "finished" | "failed")
}
