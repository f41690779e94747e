//! The client against a server that is scripted byte by byte.
#![allow(clippy::unwrap_used, reason = "in a test a panic is a verdict")]

mod calls;
mod ended;
mod events;
mod server;
mod tls;
