//! The client against a scripted server.
#![allow(clippy::unwrap_used, reason = "in a test a panic is a verdict")]

mod calls;
mod ended;
mod events;
mod server;
mod tls;
