//! The same client for code that is not asynchronous. Each call runs on a runtime of the client's own, on the thread of the caller:
//! no thread is started and none is woken. Not for use inside an asynchronous task.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::runtime::{Builder, Runtime};
use wh_wire::control::StreamBody;

use crate::address::Address;
use crate::answer::Answer;
use crate::client;
use crate::error::Error;
use crate::events::{self, Follow};
use crate::request::{Call, Request};
use crate::routes::Routes;

/// Runs futures on the thread of the caller.
#[derive(Debug)]
struct Executor(Option<Runtime>);

impl Executor {
    fn run<T>(&self, future: impl Future<Output = T>) -> Result<T, Error> {
        match &self.0 {
            Some(runtime) => Ok(runtime.block_on(future)),
            None => Err(Error::Runtime(io::ErrorKind::NotConnected.into())),
        }
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        // The look-up of a name may still be under way; nobody waits for it.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// A client of one run, one daemon, or one session of a daemon. Clones share their connections.
#[derive(Debug, Clone)]
pub struct Client {
    client: client::Client,
    executor: Arc<Executor>,
}

impl Client {
    /// A client with the usual settings; [`client::Client::builder`] and [`client::Builder::blocking`] make one with others.
    pub fn new(address: Address) -> Result<Self, Error> {
        Self::of(client::Client::new(address)?)
    }

    pub(crate) fn of(client: client::Client) -> Result<Self, Error> {
        let runtime = Builder::new_current_thread().enable_all().build().map_err(Error::Runtime)?;
        Ok(Self { client, executor: Arc::new(Executor(Some(runtime))) })
    }

    /// The address of its calls.
    pub fn address(&self) -> &Address {
        self.client.address()
    }

    /// The same client for one session of the daemon, by its name or id.
    #[must_use]
    pub fn in_session(&self, session: &str) -> Self {
        Self { client: self.client.in_session(session), executor: Arc::clone(&self.executor) }
    }

    /// Sends a request, and returns the whole answer, whatever its status.
    pub fn send(&self, request: &Request) -> Result<Answer, Error> {
        self.executor.run(self.client.send(request))?
    }

    /// Sends a GET that is answered with JSON.
    pub fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        self.send(&Request::get(path))?.json()
    }

    /// Sends a POST of JSON that is answered with JSON.
    pub fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, Error> {
        self.send(&Request::post(path, body))?.json()
    }

    /// Follows the events of a run or a session. Nothing is asked before the first is taken.
    pub fn events(&self, follow: Follow) -> Events {
        Events { events: self.client.events(follow), executor: Arc::clone(&self.executor) }
    }
}

impl Routes for Client {
    type Answer<'a, T: 'a> = Result<T, Error>;

    fn call<T: Send + 'static>(&self, call: Call<T>) -> Result<T, Error> {
        call.read(self.send(&call.request)?)
    }
}

/// The events of a run or a session, as an iterator that waits for the next one.
#[derive(Debug)]
pub struct Events {
    events: events::Events,
    executor: Arc<Executor>,
}

impl Events {
    /// The next message; `None` if none came within this time, or after the end.
    pub fn next_within(&mut self, time: Duration) -> Option<Result<StreamBody, Error>> {
        let next = self.executor.run(async { tokio::time::timeout(time, self.events.next()).await });
        match next {
            Ok(next) => next.ok().flatten(),
            Err(error) => Some(Err(error)),
        }
    }

    /// Where the stream can be resumed: the id of the last snapshot or event.
    pub fn cursor(&self) -> Option<&str> {
        self.events.cursor()
    }
}

impl Iterator for Events {
    type Item = Result<StreamBody, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.executor.run(self.events.next()) {
            Ok(next) => next,
            Err(error) => Some(Err(error)),
        }
    }
}
