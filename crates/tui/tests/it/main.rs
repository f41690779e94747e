//! Tests of the terminal UI from the outside: keys in, a screen out.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "in a test a panic is a verdict")]

mod asking;
mod choosing;
mod frames;
mod leaving;
mod looks;
mod reading;
mod screens;
mod settings;
mod sidebar;
mod stage;
mod writing;
