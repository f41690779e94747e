//! A typed client of Wheelhouse's HTTP API, for any Rust program: a run (`wh run --control-port PORT`), a conversation
//! (`wh --control-port PORT`), a daemon, and the sessions of a daemon.
//!
//! [`Client`] is asynchronous, [`blocking::Client`] is not; both have the routes of the API as methods of [`Routes`], with the types of
//! `wh-wire`. Every call has a deadline. [`Error`] tells a peer that cannot be reached from one that refused, from a program that
//! has ended, and when: [`Error::Ended`] has the exit code.
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
//! Events are followed with [`Client::events`]; a stream that is cut resumes after the last event:
//!
//! ```no_run
//! use wh_api::wire::control::{EventBody, StreamBody};
//! use wh_api::{Address, Client, Follow};
//!
//! # async fn example() -> Result<(), wh_api::Error> {
//! let client = Client::new(Address::parse("http://127.0.0.1:9090")?)?.in_session("a");
//! let mut events = client.events(Follow::new());
//! while let Some(message) = events.next().await {
//!     if let StreamBody::Event { event: EventBody::TurnEnded(turn), .. } = message? {
//!         println!("turn {} is {}", turn.turn, turn.outcome);
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! `examples/` has two programs: `terminal` drives a terminal program, `prompt` prompts an agent.

mod address;
mod answer;
pub mod blocking;
mod client;
mod connection;
pub mod deadline;
pub mod ended;
mod error;
mod events;
mod request;
mod routes;
#[cfg(feature = "tls")]
mod tls;

pub use address::{Address, percent_encoded};
pub use answer::{Answer, MAX_ANSWER_BYTES};
pub use client::{Builder, Client, Pending};
pub use ended::EndedRun;
pub use error::{Error, Refusal};
pub use events::{Events, Follow, Frames};
pub use request::{Call, MAX_REQUEST_BYTES, Request};
pub use routes::{EndQuery, MessagesQuery, Routes, ScreenQuery};
pub use wh_wire as wire;
