//! The daemon's socket: envelope, control messages and acknowledgements.

mod control;
mod envelope;
mod properties;
