//! Domain model of `wh`: terminal input, wait conditions, session and space state machines, and access control. The
//! crate is pure: it performs no IO and reads no clock.

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
