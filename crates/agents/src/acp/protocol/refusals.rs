//! Refusals of requests that an agent sends before there is a conversation. They are written by a task of their own: an agent
//! that does not read holds up nothing else.

use tokio::sync::mpsc;
use wh_pipe::link::Gone;

use crate::port::BoxFuture;
use crate::rpc::{Frame, RpcLink};

/// Refusals that may wait to be written. Requests beyond that stay unanswered: the agent does not read.
const MAX_REFUSALS: usize = 4096;

/// Writes refusals in their order, until all are written or the agent is gone.
pub(super) struct Refusals {
    link: RpcLink,
    // A future that writes does not hold the link, so the agent can end.
    queue: mpsc::Sender<BoxFuture<'static, Result<bool, Gone>>>,
}

impl Refusals {
    pub fn new(link: RpcLink) -> Self {
        let (queue, mut waiting) = mpsc::channel::<BoxFuture<'static, Result<bool, Gone>>>(MAX_REFUSALS);
        tokio::spawn(async move {
            while let Some(writing) = waiting.recv().await {
                // A failure to write is told by the agent's end, which follows.
                if writing.await.is_err() {
                    return;
                }
            }
        });
        Self { link, queue }
    }

    pub fn push(&self, refusal: Frame) {
        let refused =
            self.link.encode(refusal).map(|outbound| self.queue.try_send(Box::pin(self.link.write(outbound))));
        if !matches!(refused, Ok(Ok(()))) {
            tracing::debug!("a request stays unanswered");
        }
    }
}
