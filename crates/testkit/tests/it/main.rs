//! The proving ground, proven.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a panic is a verdict in a test")]

mod http;
mod lab;
mod model;
mod tmux;
mod wh;
