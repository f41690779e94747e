//! The codecs, beside what the programs really say.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "in a test a panic is a verdict")]

mod acp;
mod claude;
mod codex;
mod socket;
