//! Typed client for the HTTP API of Wheelhouse (`wh`), which runs terminal programs and coding agents.
//!
//! Start a shell with `wh run --control-port 9090 -- bash`. This example runs `ls` in the shell and prints the screen:
//!
//! ```no_run
//! use std::time::Duration;
//! use wh_api::{Address, Routes, blocking};
//!
//! # fn main() -> Result<(), wh_api::Error> {
//! let client = blocking::Client::new(Address::local(9090))?;
//! client.send_text("ls")?;
//! client.send_key("enter")?;
//! client.wait("screen_stable 300", Some(Duration::from_secs(5)))?;
//! println!("{}", client.screen(Default::default())?.plain);
//! # Ok(())
//! # }
//! ```
//!
//! A client controls one of the following, depending on its [`Address`]:
//!
//! - a terminal program: `wh run --control-port PORT -- PROGRAM`
//! - a chat with agents: `wh --control-port PORT`
//! - a daemon: `wh daemon start --control-port PORT`
//! - one session of a daemon: [`Client::in_session`]
//!
//! [`Client`] is asynchronous and requires a tokio runtime; [`blocking::Client`] is synchronous. Both implement
//! [`Routes`], which has one method for each route of the API. Request and response bodies are the types of `wh-wire`,
//! re-exported as [`wire`].
//!
//! [`Client::events`] subscribes to events. A broken stream resumes after the last event. This example prints the
//! outcome of each turn in the session `a` of a daemon:
//!
//! ```no_run
//! use wh_api::wire::control::{EventBody, StreamBody};
//! use wh_api::{Address, Client, EventOptions};
//!
//! # async fn example() -> Result<(), wh_api::Error> {
//! let client = Client::new(Address::parse("http://127.0.0.1:9090")?)?.in_session("a");
//! let mut events = client.events(EventOptions::new());
//! while let Some(message) = events.next().await {
//!     if let StreamBody::Event { event: EventBody::TurnEnded(turn), .. } = message? {
//!         println!("turn {} is {}", turn.turn, turn.outcome);
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Every call has a deadline, 10 s unless set otherwise with [`ClientBuilder::timeout`]. [`Error`] distinguishes a
//! server that cannot be reached, a rejected request, and a program that has ended. In the last case, [`Error::exit`]
//! returns the exit code.
//!
//! The directory `examples/` contains two programs: `terminal` drives a terminal program, `prompt` sends a prompt to an
//! agent.
#![warn(missing_docs)]

mod address;
pub mod blocking;
mod client;
mod connection;
pub mod deadline;
pub mod ended;
mod error;
mod events;
mod request;
mod response;
mod routes;
#[cfg(feature = "tls")]
mod tls;

pub use address::{Address, percent_encoded};
pub use client::{Client, ClientBuilder, ResponseFuture};
pub use ended::EndedRun;
pub use error::{Error, ErrorResponse};
pub use events::{EventOptions, Events, Frames};
pub use request::{HttpRequest, MAX_REQUEST_BYTES, TypedRequest};
pub use response::{HttpResponse, MAX_RESPONSE_BYTES};
pub use routes::{EndQuery, MessagesQuery, Routes, ScreenQuery};
pub use wh_wire as wire;
