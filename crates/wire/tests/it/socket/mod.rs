//! The daemon's socket: the envelope, the control message in all its shapes, the acknowledgement.

mod control;
mod envelope;
mod properties;
