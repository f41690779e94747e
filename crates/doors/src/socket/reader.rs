//! The receiving half of a connection.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::unix::OwnedReadHalf;

/// Reads until the system has nothing more. tokio's own half waits for a new event after a read that did not fill the buffer; but where a
/// peer passes descriptors, a read ends at that message although more bytes are there, and no event follows. Descriptors that are passed
/// are closed by the system, because none are asked for.
#[derive(Debug)]
pub(super) struct Receiver(pub OwnedReadHalf);

impl AsyncRead for Receiver {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            ready!(self.0.as_ref().poll_read_ready(context))?;
            match self.0.try_read(buffer.initialize_unfilled()) {
                Ok(read) => {
                    buffer.advance(read);
                    return Poll::Ready(Ok(()));
                }
                // Clears the readiness, so that the next turn waits.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}
