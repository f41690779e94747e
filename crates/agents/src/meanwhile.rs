//! Waiting in a harness without being deaf to orders.

use std::collections::VecDeque;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use wh_core::space::harness::Order;

/// Orders that may be kept while something is done. Beyond that they wait where they are, until whoever gives them takes the
/// agent to be gone.
const MOST_KEPT: usize = 64;

/// Does something; orders that come meanwhile are kept. `None`: it was told to end before that was done.
pub(crate) async fn meanwhile<T>(
    work: impl Future<Output = T>,
    orders: &mut mpsc::Receiver<Order>,
    kept: &mut VecDeque<Order>,
) -> Option<T> {
    tokio::pin!(work);
    loop {
        tokio::select! {
            // What takes no time is done before anything else is heard.
            biased;
            done = &mut work => return Some(done),
            order = orders.recv(), if kept.len() < MOST_KEPT => match order {
                None | Some(Order::End) => return None,
                Some(order) => kept.push_back(order),
            },
        }
    }
}

/// Waits until then; without a moment, for ever.
pub(crate) async fn moment(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}
