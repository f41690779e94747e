//! What is true: the input vocabulary, wait conditions and the session machine. No IO and no clock of its own.

pub mod condition;
pub mod event;
pub mod histogram;
pub mod input;
pub mod request;
pub mod session;
pub mod slash;
pub mod space;
pub mod terminal;
