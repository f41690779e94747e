//! The tricks themselves, by what they show.

mod asking;
mod crowd;
mod signals;
mod tour;
mod working;
mod writing;
