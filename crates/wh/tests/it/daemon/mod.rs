//! The daemon, as its clients meet it.

mod once;
