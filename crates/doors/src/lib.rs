//! The ways in. A door translates between a protocol and [`wh_client`] calls; it decides nothing.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "a test ends what it starts"))]

pub mod http;

mod admission;
mod receipts;
mod sessions;
mod slots;
pub mod socket;
mod time;
