//! Refuses requests that an agent sends before a conversation is open. A separate task writes the refusals, so that the
//! handshake continues even if the agent does not read its input.

use tokio::sync::mpsc;
use wh_pipe::link::LinkError;

use crate::interface::BoxFuture;
use crate::rpc::{RpcFrame, RpcLink};

/// Maximum number of queued refusals. An agent that reaches the limit does not read its input; its further requests
/// stay unanswered.
const MAX_REFUSALS: usize = 4096;

/// Queue of refusals. A task writes them in order until the queue is closed or the agent exits.
pub(super) struct Refusals {
    link: RpcLink,
    // A queued future does not keep the link open, so that the agent can exit while refusals are queued.
    queue: mpsc::Sender<BoxFuture<'static, Result<bool, LinkError>>>,
}

impl Refusals {
    pub fn new(link: RpcLink) -> Self {
        let (queue, mut waiting) = mpsc::channel::<BoxFuture<'static, Result<bool, LinkError>>>(MAX_REFUSALS);
        tokio::spawn(async move {
            while let Some(writing) = waiting.recv().await {
                // The agent's exit is reported separately.
                if writing.await.is_err() {
                    return;
                }
            }
        });
        Self { link, queue }
    }

    pub fn push(&self, refusal: RpcFrame) {
        let refused =
            self.link.encode(refusal).map(|outbound| self.queue.try_send(Box::pin(self.link.write(outbound))));
        if !matches!(refused, Ok(Ok(()))) {
            tracing::debug!("cannot refuse a request: the queue is full");
        }
    }
}
