//! Claude Code as a library: against a fake that speaks the protocol by a script, and against the real one in the lab.
#![allow(clippy::disallowed_methods, reason = "it is no child subreaper, and ends what it starts")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "in a test a panic is a verdict")]

mod answers;
mod ending;
mod fake;
mod flow;
mod handshake;
mod lab;
mod requests;
mod routing;
mod turns;
