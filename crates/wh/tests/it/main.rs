//! The whole of wh, run as its users run it: real programs, real terminals, a real socket.
#![allow(clippy::disallowed_methods, reason = "it is no child subreaper, and ends what it starts")]
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
mod input;
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
mod typescript;
mod waits;

/// The binary under test: the one that cargo has just built, or with `WH_BIN` another, an older one say.
const WH: &str = match option_env!("WH_BIN") {
    Some(bin) => bin,
    None => env!("CARGO_BIN_EXE_wh"),
};
