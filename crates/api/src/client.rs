//! The asynchronous client: settings, connections, and the exchange of a request and its response.

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
use crate::blocking;
use crate::connection::{ByteStream, Connection, ConnectionPool};
use crate::deadline::{ANSWER_TIMEOUT, Deadline, DeadlineElapsed};
use crate::ended;
use crate::error::Error;
use crate::events::{EventOptions, Events};
use crate::request::{HttpRequest, TypedRequest};
use crate::response::{HttpResponse, MAX_RESPONSE_BYTES};
use crate::routes::Routes;

/// Callback for a slow response. Called at most once per request.
type SlowResponseNotice = Arc<dyn Fn() + Send + Sync>;

/// Builder of a [`Client`]: its address and settings. Created by [`Client::builder`].
#[derive(Clone)]
pub struct ClientBuilder {
    address: Address,
    token: Option<String>,
    timeout: Duration,
    notice: Option<(Duration, SlowResponseNotice)>,
    user_agent: String,
    keep_alive: bool,
    records: Option<PathBuf>,
    #[cfg(feature = "tls")]
    certificates: Vec<Vec<u8>>,
}

impl ClientBuilder {
    /// Sets a token that is sent with every request. Required for remote addresses.
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Sets the timeout for connecting and for a response. Default: 10 s. For a request such as a wait, the time that
    /// the server needs to execute the request is added to the timeout for the response.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets a callback for slow responses. The callback is called at most once per request: if the server has not
    /// responded within `after`, plus the time that the server needs to execute the request. `after` should be shorter
    /// than the timeout.
    #[must_use]
    pub fn notice(mut self, after: Duration, notice: impl Fn() + Send + Sync + 'static) -> Self {
        self.notice = Some((after, Arc::new(notice)));
        self
    }

    /// Sets the `User-Agent` header.
    #[must_use]
    pub fn user_agent(mut self, name: impl Into<String>) -> Self {
        self.user_agent = name.into();
        self
    }

    /// Opens a new connection for each request and closes it after the response.
    #[must_use]
    pub fn without_keep_alive(mut self) -> Self {
        self.keep_alive = false;
        self
    }

    /// Sets the runtime directory that is searched for records of ended runs. Default: the current user's directory.
    /// `None` disables the search; [`Error::Ended`] is then never returned.
    #[must_use]
    pub fn records(mut self, directory: Option<PathBuf>) -> Self {
        self.records = directory;
        self
    }

    /// Trusts these PEM certificates in addition to the certificates of the system.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn certificate(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.certificates.push(pem.into());
        self
    }

    /// Builds the client. No connection is opened yet.
    ///
    /// # Errors
    ///
    /// Fails for a remote address without a token, for an invalid token or `User-Agent`, and if TLS cannot be set up.
    pub fn build(self) -> Result<Client, Error> {
        let address = self.address;
        if !address.is_local() && self.token.is_none() {
            return Err(Error::TokenNeeded { url: address.url() });
        }
        let value = |text: &str, what: &str| {
            HeaderValue::from_str(text).map_err(|_| Error::Invalid(format!("{text:?} is not a valid {what} header")))
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
            return Err(Error::Tls("wh-api was built without the feature `tls`".to_owned()));
        }
        let shared = Shared {
            url: address.url().into(),
            headers,
            timeout: self.timeout,
            notice: self.notice,
            keep_alive: self.keep_alive,
            records: self.records,
            pool: ConnectionPool::default(),
            #[cfg(feature = "tls")]
            tls,
        };
        Ok(Client { address, shared: Arc::new(shared) })
    }

    /// Builds a client for synchronous code.
    pub fn blocking(self) -> Result<blocking::Client, Error> {
        blocking::Client::of(self.build()?)
    }
}

impl fmt::Debug for ClientBuilder {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ClientBuilder").field("address", &self.address).finish_non_exhaustive()
    }
}

/// Asynchronous client of a run, of a daemon, or of one session of a daemon. Clones share their connections. The routes
/// of the API are methods of the trait [`Routes`].
#[derive(Clone)]
pub struct Client {
    address: Address,
    shared: Arc<Shared>,
}

struct Shared {
    url: Arc<str>,
    headers: Vec<(HeaderName, HeaderValue)>,
    timeout: Duration,
    notice: Option<(Duration, SlowResponseNotice)>,
    keep_alive: bool,
    records: Option<PathBuf>,
    pool: ConnectionPool,
    #[cfg(feature = "tls")]
    tls: Option<crate::tls::Tls>,
}

impl fmt::Debug for Client {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Client").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Client {
    /// Creates a client with default settings.
    pub fn new(address: Address) -> Result<Self, Error> {
        Self::builder(address).build()
    }

    /// Returns a builder for a client with other settings.
    pub fn builder(address: Address) -> ClientBuilder {
        ClientBuilder {
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

    /// Returns the address that requests are sent to.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Returns a client for one session of this daemon, given the name or id of the session. Both clients share their
    /// connections.
    #[must_use]
    pub fn in_session(&self, session: &str) -> Self {
        Self { address: self.address.session(session), shared: Arc::clone(&self.shared) }
    }

    /// Sends a request and returns the complete response, regardless of the status.
    pub async fn send(&self, request: &HttpRequest) -> Result<HttpResponse, Error> {
        let deadline = Deadline::of(self.shared.timeout).with_duration(request.duration);
        let (after, notice) = match &self.shared.notice {
            Some((after, notice)) => (*after, Some(notice)),
            None => (self.shared.timeout, None),
        };
        let notice = || notice.iter().for_each(|notice| notice());
        match deadline.await_response(after, notice, self.exchange(request)).await {
            Ok(answer) => answer,
            Err(DeadlineElapsed(after)) => Err(self.ended_or(Error::Timeout { url: self.url(), after })),
        }
    }

    /// Sends a GET request and decodes the JSON response.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        self.send(&HttpRequest::get(path)).await?.json()
    }

    /// Sends a POST request with a JSON body and decodes the JSON response.
    pub async fn post<T: DeserializeOwned>(&self, path: &str, body: &impl serde::Serialize) -> Result<T, Error> {
        self.send(&HttpRequest::post(path, body)).await?.json()
    }

    /// Subscribes to the events of a run or a session. The request is sent by the first call of [`Events::next`].
    pub fn events(&self, follow: EventOptions) -> Events {
        Events::new(self.clone(), follow)
    }

    async fn exchange(&self, request: &HttpRequest) -> Result<HttpResponse, Error> {
        let (mut connection, response) = self.begin(request).await?;
        let (head, body) = response.into_parts();
        let collected = connection.drive_until(Limited::new(body, MAX_RESPONSE_BYTES).collect()).await;
        let body = match collected {
            Ok(collected) => collected.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => {
                return Err(Error::ResponseTooLarge { url: self.url(), limit: MAX_RESPONSE_BYTES });
            }
            Err(_) => return Err(self.unreachable("closed the connection in the middle of its response")),
        };
        if self.shared.keep_alive {
            self.shared.pool.put(connection);
        }
        Ok(HttpResponse {
            status: head.status.as_u16(),
            body,
            headers: head.headers,
            url: Arc::clone(&self.shared.url),
        })
    }

    /// Sends a request and returns the head of the response. A request that fails on a reused connection is sent again
    /// on a new connection if its method is GET, or if no part of the request was sent.
    pub(crate) async fn begin(
        &self,
        request: &HttpRequest,
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

    /// Sends a request whose response is an endless stream, on a separate connection. The head of the response must
    /// arrive within the timeout.
    pub(crate) async fn begin_stream(
        &self,
        request: &HttpRequest,
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
        // The duration of the request extends only the timeout for the response, not the timeout for connecting.
        let stream = tokio::time::timeout(timeout, self.open()).await;
        let stream = stream.map_err(|_| self.ended_or(Error::Timeout { url: self.url(), after: timeout }))?;
        let stream = stream.map_err(|error| self.unreachable(&format!("is not reachable: {error}")))?;
        Connection::handshake(stream).await.map_err(|error| self.broken(&error))
    }

    async fn open(&self) -> std::io::Result<Box<dyn ByteStream>> {
        let stream = Connection::connect_tcp(&self.address).await?;
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
            return Error::UnexpectedServer { url: self.url(), problem: format!("did not send HTTP: {error}") };
        }
        self.unreachable("closed the connection without a response")
    }

    pub(crate) fn unreachable(&self, problem: &str) -> Error {
        self.ended_or(Error::Unreachable { url: self.url(), problem: problem.to_owned() })
    }

    /// Returns [`Error::Ended`] if there is a record of the ended run, otherwise `error`.
    fn ended_or(&self, error: Error) -> Error {
        let run = self.address.local_run().zip(self.shared.records.as_ref());
        match run.and_then(|(port, directory)| ended::find_record(directory, port)) {
            Some(record) => Error::Ended(Box::new(record)),
            None => error,
        }
    }
}

/// Future that resolves to the response of an asynchronous call.
pub type ResponseFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

impl Routes for Client {
    type Response<'a, T: 'a> = ResponseFuture<'a, T>;

    fn call<T: Send + 'static>(&self, call: TypedRequest<T>) -> ResponseFuture<'_, T> {
        Box::pin(async move { call.read(self.send(&call.request).await?) })
    }
}
