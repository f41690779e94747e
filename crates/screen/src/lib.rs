//! Terminal emulation. [`vt`] turns program output into a grid, [`frame`] is a snapshot of the grid, and [`render`]
//! draws a frame. [`keys`], [`mouse`] and [`paste`] encode input events for the program, [`decode`] decodes them, and
//! [`visible`] escapes untrusted text. Everything is pure except [`pty`], which does IO.

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
