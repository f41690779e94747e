//! Listens for hook processes on a Unix socket, and holds a message until its receiver decides on it. A receiver that
//! only wants to know drops the responder at once.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};
use tracing::{debug, warn};
use wh_wire::hook::{
    EVENT_REPLY_TIMEOUT, HookAgent, HookExit, HookMessage, HookReply, HookRequest, MAX_HOOK_REQUEST_BYTES,
    PERMISSION_REPLY_TIMEOUT,
};

use super::origin;

/// Maximum number of hook processes that are served at once. Further ones wait in the backlog of the socket.
const MAX_HOOK_CONNECTIONS: usize = 32;

/// Maximum number of messages that wait for [`HookListener::next`]. Further ones wait in their connections, up to the
/// time limit of the hook, and are then dropped.
const MAX_WAITING_HOOKS: usize = 64;

/// Timeout for receiving a request.
const HOOK_REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Timeout for sending a response.
const HOOK_RESPONSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Delay after a failed accept, for example because no file descriptor is free.
const HOOK_ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);

/// Listener for the hook processes of one session. Its socket is removed when it is dropped.
#[derive(Debug)]
pub struct HookListener {
    incoming: mpsc::Receiver<IncomingHook>,
    accepting: JoinHandle<()>,
    directory: TempDir,
}

/// Message of a hook process that waits for the reply.
#[derive(Debug)]
pub struct IncomingHook {
    /// Message of the agent.
    pub message: HookMessage,
    /// Pid of the agent that called the hook; `None` if the hook process has exited already. An agent inside of the
    /// session's agent has another pid.
    pub agent_process: Option<i32>,
    /// Reply to the hook process.
    pub reply: HookResponder,
}

/// Replies to a hook process. If it is dropped, the agent gets the reply that is safe without a decision. The same
/// happens shortly before the agent's own time limit.
#[derive(Debug)]
pub struct HookResponder(oneshot::Sender<HookReply>);

impl HookResponder {
    /// Sends the decision. Returns false if the hook process is gone or its time is over.
    pub fn reply(self, reply: HookReply) -> bool {
        self.0.send(reply).is_ok()
    }

    /// Returns true if nobody waits for the reply.
    pub fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    /// Waits until nobody waits for the reply: the agent has ended the hook process, for example because the user
    /// answered in the agent's own dialog, or the time is over. Cancel-safe.
    pub async fn closed(&mut self) {
        self.0.closed().await;
    }
}

impl HookListener {
    /// Opens a socket in a new private directory below `directory`. Returns the path of the socket, for the variable
    /// [`HOOK_SOCKET_VARIABLE`](wh_wire::hook::HOOK_SOCKET_VARIABLE). Must be called in a runtime.
    pub fn open(directory: &Path) -> io::Result<(Self, PathBuf)> {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        let private = tempfile::Builder::new()
            .prefix("hooks-")
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(directory)?;
        let path = private.path().join("socket");
        let listener = UnixListener::bind(&path)?;
        // The directory is private to this user, so no other user could connect before the mode was set.
        fs::set_permissions(&path, Permissions::from_mode(0o600))?;
        let owner = fs::symlink_metadata(&path)?.uid();
        let (sender, incoming) = mpsc::channel(MAX_WAITING_HOOKS);
        let accepting = tokio::spawn(accept(listener, owner, sender));
        Ok((Self { incoming, accepting, directory: private }, path))
    }

    /// Returns the private directory of the listener, for the files of a [`HookInstallation`](super::HookInstallation).
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Waits for the next message. Cancel-safe.
    pub async fn next(&mut self) -> IncomingHook {
        match self.incoming.recv().await {
            Some(hook) => hook,
            // The accept loop does not end before the listener is dropped.
            None => std::future::pending().await,
        }
    }
}

impl Drop for HookListener {
    /// Ends the accept loop. Messages that were received still get their replies.
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: UnixListener, owner: u32, sender: mpsc::Sender<IncomingHook>) {
    let places = Arc::new(Semaphore::new(MAX_HOOK_CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                debug!(%error, "cannot accept a hook process");
                sleep(HOOK_ACCEPT_RETRY_DELAY).await;
                continue;
            }
        };
        let peer = match stream.peer_cred() {
            Ok(peer) if peer.uid() == owner => peer,
            Ok(peer) => {
                warn!(uid = peer.uid(), "refused a hook process of another user");
                continue;
            }
            Err(error) => {
                debug!(%error, "cannot read the peer of a hook connection");
                continue;
            }
        };
        let sender = sender.clone();
        tokio::spawn(async move {
            serve(stream, peer.pid(), sender).await;
            drop(place);
        });
    }
}

/// Serves one hook process: one request and one response.
async fn serve(stream: UnixStream, peer: Option<i32>, sender: mpsc::Sender<IncomingHook>) {
    let connected = Instant::now();
    let (read, mut write) = stream.into_split();
    let mut read = BufReader::new(read);
    let request = match timeout(HOOK_REQUEST_TIMEOUT, request(&mut read)).await {
        Ok(Ok(request)) => request,
        Ok(Err(error)) => return debug!(%error, "invalid request of a hook process"),
        Err(_) => return debug!("a hook process sent no request in time"),
    };
    let agent = request.agent;
    let exit = match HookMessage::decode(agent, request.payload.get().as_bytes()) {
        Some(message) => {
            drop(request);
            decide(message, peer, connected, &mut read, &sender).await
        }
        None => {
            debug!(%agent, "unknown payload of a hook");
            Some(HookExit::undecided())
        }
    };
    if let Some(exit) = exit
        && let Err(error) = respond(&mut write, &exit).await
    {
        debug!(%error, "a hook process did not take its reply");
    }
}

async fn request(read: &mut BufReader<OwnedReadHalf>) -> io::Result<HookRequest> {
    let limit = u64::try_from(MAX_HOOK_REQUEST_BYTES).unwrap_or(u64::MAX);
    let mut line = Vec::new();
    read.take(limit).read_until(b'\n', &mut line).await?;
    HookRequest::decode(&line).map_err(io::Error::other)
}

async fn respond(write: &mut OwnedWriteHalf, exit: &HookExit) -> io::Result<()> {
    let line = exit.encode().map_err(io::Error::other)?;
    timeout(HOOK_RESPONSE_TIMEOUT, write.write_all(&line)).await.map_err(io::Error::from)?
}

/// Passes the message on and waits for the decision. `None` if the hook process is gone.
async fn decide(
    message: HookMessage,
    peer: Option<i32>,
    connected: Instant,
    read: &mut BufReader<OwnedReadHalf>,
    sender: &mpsc::Sender<IncomingHook>,
) -> Option<HookExit> {
    let (agent, point) = (message.agent, message.event.decision_point());
    let limit = if message.event.is_permission() { PERMISSION_REPLY_TIMEOUT } else { EVENT_REPLY_TIMEOUT };
    let deadline = connected + limit;
    let agent_process = match peer {
        Some(pid) => spawn_blocking(move || origin::agent_process(pid)).await.ok().flatten(),
        None => None,
    };
    let (decision, decided) = oneshot::channel();
    let hook = IncomingHook { message, agent_process, reply: HookResponder(decision) };
    let reply = tokio::select! {
        reply = pass_on(hook, decided, deadline, agent, sender) => reply,
        // A hook process sends nothing after its request, so this is its end.
        () = ended(read) => return None,
    };
    Some(reply.encode(agent, point))
}

async fn pass_on(
    hook: IncomingHook,
    decided: oneshot::Receiver<HookReply>,
    deadline: Instant,
    agent: HookAgent,
    sender: &mpsc::Sender<IncomingHook>,
) -> HookReply {
    if timeout_at(deadline, sender.send(hook)).await.is_err() {
        warn!(%agent, "dropped the message of a hook, because nobody took it in time");
    }
    tokio::select! {
        reply = decided => reply.unwrap_or_else(|_| HookReply::undecided(agent)),
        () = sleep_until(deadline) => HookReply::undecided(agent),
    }
}

/// Waits for the end of the input. Bytes before it are skipped.
async fn ended(read: &mut BufReader<OwnedReadHalf>) {
    let mut bytes = [0; 64];
    while read.read(&mut bytes).await.is_ok_and(|length| length > 0) {}
}
