//! End-to-end tests of the binary with real programs, terminals and sockets.
#![allow(clippy::disallowed_methods, reason = "it is not a child subreaper and ends its own children")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "in a test a panic is a verdict")]

mod agents;
mod agents_file;
mod api;
mod asciinema;
mod attached;
mod commands;
mod config;
mod control;
mod daemon;
mod documentation;
mod edges;
mod finished;
mod hook;
mod input;
mod language;
mod lifecycle;
mod openapi;
mod picture;
mod recording;
mod resize;
mod safety;
mod snapshot;
mod space;
mod spec;
mod stream;
mod terminal_agents;
mod truth;
mod typescript;
mod waits;

/// Binary under test: the one that cargo has built, or the one of `WH_BIN`, for example an older version.
const WH: &str = match option_env!("WH_BIN") {
    Some(bin) => bin,
    None => env!("CARGO_BIN_EXE_wh"),
};
