//! Receiving half of a socket connection.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::unix::OwnedReadHalf;

/// Read half that reads until the kernel reports no more data. Tokio's read half waits for a new readiness event after
/// a short read. If the peer passes file descriptors, a read ends at that message although more bytes are available,
/// and no event follows. The kernel closes the passed descriptors, because this reader does not request them.
#[derive(Debug)]
pub(super) struct SocketReadHalf(pub OwnedReadHalf);

impl AsyncRead for SocketReadHalf {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            ready!(self.0.as_ref().poll_read_ready(context))?;
            match self.0.try_read(buffer.initialize_unfilled()) {
                Ok(read) => {
                    buffer.advance(read);
                    return Poll::Ready(Ok(()));
                }
                // Clears the readiness, so that the next iteration waits.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}
