//! Client for synchronous code. Each call blocks the calling thread and runs on the client's own runtime. No thread is
//! started. The client must not be used inside an asynchronous task.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::runtime::{Builder, Runtime};
use wh_wire::control::StreamBody;

use crate::address::Address;
use crate::client;
use crate::error::Error;
use crate::events::{self, EventOptions};
use crate::request::{HttpRequest, TypedRequest};
use crate::response::HttpResponse;
use crate::routes::Routes;

/// Runs futures on the thread of the caller.
#[derive(Debug)]
struct BlockingExecutor(Option<Runtime>);

impl BlockingExecutor {
    fn run<T>(&self, future: impl Future<Output = T>) -> Result<T, Error> {
        match &self.0 {
            Some(runtime) => Ok(runtime.block_on(future)),
            None => Err(Error::Runtime(io::ErrorKind::NotConnected.into())),
        }
    }
}

impl Drop for BlockingExecutor {
    fn drop(&mut self) {
        // Does not wait for a name lookup that may still be in progress.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// Synchronous client of a run, of a daemon, or of one session of a daemon. Clones share their connections. The routes
/// of the API are methods of the trait [`Routes`].
#[derive(Debug, Clone)]
pub struct Client {
    client: client::Client,
    executor: Arc<BlockingExecutor>,
}

impl Client {
    /// Creates a client with default settings. Use [`client::Client::builder`] and [`client::ClientBuilder::blocking`]
    /// for other settings.
    pub fn new(address: Address) -> Result<Self, Error> {
        Self::of(client::Client::new(address)?)
    }

    pub(crate) fn of(client: client::Client) -> Result<Self, Error> {
        let runtime = Builder::new_current_thread().enable_all().build().map_err(Error::Runtime)?;
        Ok(Self { client, executor: Arc::new(BlockingExecutor(Some(runtime))) })
    }

    /// Returns the address that requests are sent to.
    pub fn address(&self) -> &Address {
        self.client.address()
    }

    /// Returns a client for one session of this daemon, given the name or id of the session. Both clients share their
    /// connections.
    #[must_use]
    pub fn in_session(&self, session: &str) -> Self {
        Self { client: self.client.in_session(session), executor: Arc::clone(&self.executor) }
    }

    /// Sends a request and returns the complete response, regardless of the status.
    pub fn send(&self, request: &HttpRequest) -> Result<HttpResponse, Error> {
        self.executor.run(self.client.send(request))?
    }

    /// Sends a GET request and decodes the JSON response.
    pub fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        self.send(&HttpRequest::get(path))?.json()
    }

    /// Sends a POST request with a JSON body and decodes the JSON response.
    pub fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, Error> {
        self.send(&HttpRequest::post(path, body))?.json()
    }

    /// Subscribes to the events of a run or a session. The request is sent when the first message is read.
    pub fn events(&self, follow: EventOptions) -> EventIterator {
        EventIterator { events: self.client.events(follow), executor: Arc::clone(&self.executor) }
    }
}

impl Routes for Client {
    type Response<'a, T: 'a> = Result<T, Error>;

    fn call<T: Send + 'static>(&self, call: TypedRequest<T>) -> Result<T, Error> {
        call.read(self.send(&call.request)?)
    }
}

/// Event stream of a run or a session, as an iterator that blocks until the next message.
#[derive(Debug)]
pub struct EventIterator {
    events: events::Events,
    executor: Arc<BlockingExecutor>,
}

impl EventIterator {
    /// Returns the next message; `None` if no message arrived within `time`, or after the end of the stream.
    pub fn next_within(&mut self, time: Duration) -> Option<Result<StreamBody, Error>> {
        let next = self.executor.run(async { tokio::time::timeout(time, self.events.next()).await });
        match next {
            Ok(next) => next.ok().flatten(),
            Err(error) => Some(Err(error)),
        }
    }

    /// Returns the cursor of the last snapshot or event. Pass the cursor to [`EventOptions::after`] to resume the
    /// stream later.
    pub fn cursor(&self) -> Option<&str> {
        self.events.cursor()
    }
}

impl Iterator for EventIterator {
    type Item = Result<StreamBody, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.executor.run(self.events.next()) {
            Ok(next) => next,
            Err(error) => Some(Err(error)),
        }
    }
}
