//! Implementations of the tricks.

mod asking;
mod crowd;
mod signals;
mod tour;
mod working;
mod writing;
