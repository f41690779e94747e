//! Compares the screen with that of another terminal.

mod streams;
