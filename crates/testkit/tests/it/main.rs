//! Tests of the test support.
#![allow(clippy::disallowed_methods, reason = "it is no child subreaper, and ends what it starts")]
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a panic is a verdict in a test")]

mod driver;
mod http;
mod lab;
mod model;
mod tmux;
mod wh;
