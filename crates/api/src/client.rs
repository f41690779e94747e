//! The client: settings, connections, and one call from its request to its answer.

use std::fmt;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::Method;
use hyper::header::{AUTHORIZATION, CONNECTION, HOST, HeaderName, HeaderValue, USER_AGENT};
use serde::de::DeserializeOwned;

use crate::address::Address;
use crate::answer::{Answer, MAX_ANSWER_BYTES};
use crate::blocking;
use crate::connection::{Connection, Duplex, Pool};
use crate::deadline::{ANSWER_TIMEOUT, Deadline, Elapsed};
use crate::ended;
use crate::error::Error;
use crate::events::{Events, Follow};
use crate::request::{Call, Request};
use crate::routes::Routes;

/// Called once while a call waits for an answer.
type Notice = Arc<dyn Fn() + Send + Sync>;

/// Settings of a client.
#[derive(Clone)]
pub struct Builder {
    address: Address,
    token: Option<String>,
    timeout: Duration,
    notice: Option<(Duration, Notice)>,
    user_agent: String,
    keep_alive: bool,
    records: Option<PathBuf>,
    #[cfg(feature = "tls")]
    certificates: Vec<Vec<u8>>,
}

impl Builder {
    /// Sends this token with every request.
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Limits the time for a connection and for an answer; 10 s unless set. A wait, or another request that itself takes time, has
    /// that time in addition.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Calls this once if a server has not answered after a time that is shorter than the timeout.
    #[must_use]
    pub fn notice(mut self, after: Duration, notice: impl Fn() + Send + Sync + 'static) -> Self {
        self.notice = Some((after, Arc::new(notice)));
        self
    }

    /// Sets the `User-Agent`.
    #[must_use]
    pub fn user_agent(mut self, name: impl Into<String>) -> Self {
        self.user_agent = name.into();
        self
    }

    /// Makes a connection for each request, and closes it after the answer.
    #[must_use]
    pub fn without_keep_alive(mut self) -> Self {
        self.keep_alive = false;
        self
    }

    /// Looks for the records of ended runs in this runtime directory, in the place of this user's; `None` does not look.
    #[must_use]
    pub fn records(mut self, directory: Option<PathBuf>) -> Self {
        self.records = directory;
        self
    }

    /// Trusts these certificates, in PEM, beside those of the system.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn certificate(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.certificates.push(pem.into());
        self
    }

    /// The client.
    pub fn build(self) -> Result<Client, Error> {
        let address = self.address;
        if !address.is_local() && self.token.is_none() {
            return Err(Error::TokenNeeded { url: address.url() });
        }
        let value = |text: &str, what: &str| {
            HeaderValue::from_str(text).map_err(|_| Error::Invalid(format!("{text:?} cannot be sent as {what}")))
        };
        let mut headers =
            vec![(HOST, value(&address.authority(), "Host")?), (USER_AGENT, value(&self.user_agent, "User-Agent")?)];
        if let Some(token) = &self.token {
            let mut bearer = HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| Error::Token)?;
            bearer.set_sensitive(true);
            headers.push((AUTHORIZATION, bearer));
        }
        if !self.keep_alive {
            headers.push((CONNECTION, HeaderValue::from_static("close")));
        }
        #[cfg(feature = "tls")]
        let tls = if address.is_tls() { Some(crate::tls::Tls::new(&self.certificates)?) } else { None };
        #[cfg(not(feature = "tls"))]
        if address.is_tls() {
            return Err(Error::Tls("this client was built without the feature `tls`".to_owned()));
        }
        let shared = Shared {
            url: address.url().into(),
            headers,
            timeout: self.timeout,
            notice: self.notice,
            keep_alive: self.keep_alive,
            records: self.records,
            pool: Pool::default(),
            #[cfg(feature = "tls")]
            tls,
        };
        Ok(Client { address, shared: Arc::new(shared) })
    }

    /// The client for code that is not asynchronous.
    pub fn blocking(self) -> Result<blocking::Client, Error> {
        blocking::Client::of(self.build()?)
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Builder").field("address", &self.address).finish_non_exhaustive()
    }
}

/// A client of one run, one daemon, or one session of a daemon. Clones share their connections.
#[derive(Clone)]
pub struct Client {
    address: Address,
    shared: Arc<Shared>,
}

struct Shared {
    url: Arc<str>,
    headers: Vec<(HeaderName, HeaderValue)>,
    timeout: Duration,
    notice: Option<(Duration, Notice)>,
    keep_alive: bool,
    records: Option<PathBuf>,
    pool: Pool,
    #[cfg(feature = "tls")]
    tls: Option<crate::tls::Tls>,
}

impl fmt::Debug for Client {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Client").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Client {
    /// A client with the usual settings.
    pub fn new(address: Address) -> Result<Self, Error> {
        Self::builder(address).build()
    }

    /// A client with settings.
    pub fn builder(address: Address) -> Builder {
        Builder {
            address,
            token: None,
            timeout: ANSWER_TIMEOUT,
            notice: None,
            user_agent: concat!("wh-api/", env!("CARGO_PKG_VERSION")).to_owned(),
            keep_alive: true,
            records: Some(ended::runtime_directory()),
            #[cfg(feature = "tls")]
            certificates: Vec::new(),
        }
    }

    /// The address of its calls.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The same client for one session of the daemon, by its name or id.
    #[must_use]
    pub fn in_session(&self, session: &str) -> Self {
        Self { address: self.address.session(session), shared: Arc::clone(&self.shared) }
    }

    /// Sends a request, and returns the whole answer, whatever its status.
    pub async fn send(&self, request: &Request) -> Result<Answer, Error> {
        let deadline = Deadline::of(self.shared.timeout).after(request.duration);
        let (after, notice) = match &self.shared.notice {
            Some((after, notice)) => (*after, Some(notice)),
            None => (self.shared.timeout, None),
        };
        let notice = || notice.iter().for_each(|notice| notice());
        match deadline.answered(after, notice, self.exchange(request)).await {
            Ok(answer) => answer,
            Err(Elapsed(after)) => Err(self.ended_or(Error::Timeout { url: self.url(), after })),
        }
    }

    /// Sends a GET that is answered with JSON.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        self.send(&Request::get(path)).await?.json()
    }

    /// Sends a POST of JSON that is answered with JSON.
    pub async fn post<T: DeserializeOwned>(&self, path: &str, body: &impl serde::Serialize) -> Result<T, Error> {
        self.send(&Request::post(path, body)).await?.json()
    }

    /// Follows the events of a run or a session. Nothing is asked before [`Events::next`].
    pub fn events(&self, follow: Follow) -> Events {
        Events::new(self.clone(), follow)
    }

    async fn exchange(&self, request: &Request) -> Result<Answer, Error> {
        let (mut connection, response) = self.begin(request).await?;
        let (head, body) = response.into_parts();
        let collected = connection.driving(Limited::new(body, MAX_ANSWER_BYTES).collect()).await;
        let body = match collected {
            Ok(collected) => collected.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => {
                return Err(Error::AnswerTooLarge { url: self.url(), limit: MAX_ANSWER_BYTES });
            }
            Err(_) => return Err(self.unreachable("hung up in the middle of its answer")),
        };
        if self.shared.keep_alive {
            self.shared.pool.put(connection);
        }
        Ok(Answer { status: head.status.as_u16(), body, headers: head.headers, url: Arc::clone(&self.shared.url) })
    }

    /// Sends a request, and returns with the head of its answer. A request that an idle connection has lost is sent again, if it
    /// certainly did not arrive, or if it changes nothing.
    pub(crate) async fn begin(
        &self,
        request: &Request,
    ) -> Result<(Connection, hyper::Response<hyper::body::Incoming>), Error> {
        let mut built = request.build(self.address.prefix(), &self.shared.headers)?;
        if let Some(mut connection) = self.shared.pool.take().await {
            match connection.send(built).await {
                Ok(response) => return Ok((connection, response)),
                Err((_, Some(unsent))) => built = unsent,
                Err((_, None)) if request.method == Method::GET => {
                    built = request.build(self.address.prefix(), &self.shared.headers)?;
                }
                Err((error, None)) => return Err(self.broken(&error)),
            }
        }
        let mut connection = self.connect().await?;
        match connection.send(built).await {
            Ok(response) => Ok((connection, response)),
            Err((error, _)) => Err(self.broken(&error)),
        }
    }

    /// Sends a request whose answer has no end, on a connection of its own. Its head must come within the timeout.
    pub(crate) async fn begin_stream(
        &self,
        request: &Request,
    ) -> Result<(Connection, hyper::Response<hyper::body::Incoming>), Error> {
        let timeout = self.shared.timeout;
        let begun = tokio::time::timeout(timeout, async {
            let built = request.build(self.address.prefix(), &self.shared.headers)?;
            let mut connection = self.connect().await?;
            match connection.send(built).await {
                Ok(response) => Ok((connection, response)),
                Err((error, _)) => Err(self.broken(&error)),
            }
        });
        begun.await.unwrap_or_else(|_| Err(self.ended_or(Error::Timeout { url: self.url(), after: timeout })))
    }

    async fn connect(&self) -> Result<Connection, Error> {
        let timeout = self.shared.timeout;
        // A request may take longer; a connection may not.
        let stream = tokio::time::timeout(timeout, self.open()).await;
        let stream = stream.map_err(|_| self.ended_or(Error::Timeout { url: self.url(), after: timeout }))?;
        let stream = stream.map_err(|error| self.unreachable(&format!("does not answer: {error}")))?;
        Connection::over(stream).await.map_err(|error| self.broken(&error))
    }

    async fn open(&self) -> std::io::Result<Box<dyn Duplex>> {
        let stream = Connection::plain(&self.address).await?;
        #[cfg(feature = "tls")]
        if let Some(tls) = &self.shared.tls {
            return tls.over(self.address.host(), stream).await;
        }
        Ok(stream)
    }

    fn url(&self) -> String {
        self.shared.url.to_string()
    }

    fn broken(&self, error: &hyper::Error) -> Error {
        if error.is_parse() {
            return Error::NotOurs { url: self.url(), problem: format!("does not speak HTTP: {error}") };
        }
        self.unreachable("hung up before it had answered")
    }

    pub(crate) fn unreachable(&self, problem: &str) -> Error {
        self.ended_or(Error::Unreachable { url: self.url(), problem: problem.to_owned() })
    }

    /// [`Error::Ended`] if the run has left a record, or else this error.
    fn ended_or(&self, error: Error) -> Error {
        let run = self.address.local_run().zip(self.shared.records.as_ref());
        match run.and_then(|(port, directory)| ended::on_port(directory, port)) {
            Some(record) => Error::Ended(Box::new(record)),
            None => error,
        }
    }
}

/// The answer to a call, once it is awaited.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

impl Routes for Client {
    type Answer<'a, T: 'a> = Pending<'a, T>;

    fn call<T: Send + 'static>(&self, call: Call<T>) -> Pending<'_, T> {
        Box::pin(async move { call.read(self.send(&call.request).await?) })
    }
}
