//! Where it happens. [`terminal::start`] runs a program in a terminal and serves it as a [`wh_client::Surface`]: one task
//! owns the terminal, the screen and the session machine, and everybody else asks it. [`control`] has what control of sessions needs from
//! the system.

pub mod control;
pub mod ledger;
pub mod sessions;
pub mod space;
pub mod store;
pub mod terminal;
