//! The ways in. A door translates between a protocol and [`wh_client`] calls; it decides nothing.

pub mod http;

mod sessions;
pub mod socket;
mod time;
