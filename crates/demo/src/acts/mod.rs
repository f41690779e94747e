//! Implementations of the tricks, one file for each kind of trick.

mod asking;
mod crowd;
mod signals;
mod tour;
mod working;
mod writing;
