//! What is true: the input vocabulary, wait conditions, the session machine, and who may control what. No IO and no clock of its own.

pub mod caller;
pub mod condition;
pub mod event;
pub mod gate;
pub mod hidden;
pub mod histogram;
pub mod input;
pub mod line;
pub mod posted;
pub mod reason;
pub mod receipt;
pub mod request;
pub mod session;
pub mod slash;
pub mod space;
pub mod terminal;
pub mod time;
