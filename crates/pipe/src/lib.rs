//! How a program is spoken to over pipes: [`process`] starts and ends it, [`lines`] and [`writer`] carry what is said,
//! and [`pending`] knows who waits for a reply; [`link`] puts these together for a protocol whose messages are lines. A
//! [`supervisor`] is a small process in between, for owners whose programs must not outlive them however they end;
//! [`children`] registers what we started, [`reaper`] ends what does not end, and [`proc`] reads what the system knows of a
//! process.
//!
//! ```
//! use std::time::Duration;
//! use wh_pipe::{Exit, Launch, Line, Lines, Writer, lines};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut child = Launch::new("cat").start().await?;
//! let writer = child.stdin.take().map(Writer::new).ok_or("taken")?;
//! let mut lines = child.stdout.take().map(|stdout| Lines::new(stdout, lines::MAX)).ok_or("taken")?;
//!
//! writer.line("{\"hello\":1}").await?;
//! assert_eq!(lines.next().await?, Some(Line::Whole(b"{\"hello\":1}")));
//!
//! writer.close();
//! assert_eq!(child.end(Duration::from_secs(5)).await, Exit::Code(0));
//! # Ok(())
//! # }
//! ```
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "a test ends what it starts"))]

pub mod children;
mod find;
mod leash;
pub mod lines;
pub mod link;
pub mod pending;
pub mod pidfd;
pub mod proc;
pub mod process;
pub mod protocol;
pub mod reaper;
mod room;
pub mod signals;
pub mod supervisor;
pub mod tail;
mod talk;
pub mod tree;
pub mod writer;

pub use find::find;
pub use leash::Leash;
pub use lines::{Line, Lines};
pub use link::Link;
pub use nix::sys::signal::Signal;
pub use pending::{NoReply, Pending, Waiting};
pub use process::{Child, Exit, Launch, StartError, Stdin, Stdout, describe_exit};
pub use reaper::Left;
pub use supervisor::Supervisor;
pub use tail::Tail;
pub use talk::Closed;
pub use writer::Writer;

#[cfg(not(target_os = "linux"))]
compile_error!(
    "wh-pipe needs Linux: what keeps programs from outliving their owner rests on child subreapers and /proc"
);
