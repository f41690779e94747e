//! Our screen beside that of another terminal.

mod streams;
