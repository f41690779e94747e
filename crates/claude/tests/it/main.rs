//! Integration tests of the Claude Code library, against a scripted fake and the real program in the lab.
#![allow(clippy::disallowed_methods, reason = "not a child subreaper; it ends the processes that it starts")]
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
