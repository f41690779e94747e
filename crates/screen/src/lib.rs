//! What a terminal shows. [`vt`] turns a program's bytes into a grid, [`frame`] is that grid resolved, [`render`] draws
//! it, [`keys`], [`mouse`] and [`paste`] turn gestures into the bytes that the program expects, and [`decode`] turns such
//! bytes back. [`visible`] escapes text of others. All pure; only [`pty`] does IO.

pub mod cast;
pub mod decode;
pub mod frame;
pub mod keys;
pub mod log;
pub mod modes;
pub mod mouse;
pub mod paste;
pub mod picture;
pub mod pty;
pub mod render;
mod replies;
mod scan;
pub mod visible;
pub mod vt;
