//! Runs programs behind pipes. [`process`] starts and ends a program, [`lines`] and [`writer`] frame its output and
//! input as lines, and [`pending`] matches replies with requests; [`link`] combines these for line-based protocols. A
//! [`supervisor`] ends a program when the program's owner exits, [`reaper`] kills process trees that do not exit in
//! time, [`children`] registers all child processes, and [`proc`] reads `/proc`.
//!
//! ```
//! use std::time::Duration;
//! use wh_pipe::{Exit, LaunchSpec, Line, LineReader, LineWriter, lines};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut child = LaunchSpec::new("cat").start().await?;
//! let writer = child.stdin.take().map(LineWriter::new).ok_or("taken")?;
//! let mut lines = child.stdout.take().map(|stdout| LineReader::new(stdout, lines::MAX_LINE_BYTES)).ok_or("taken")?;
//!
//! writer.line("{\"hello\":1}").await?;
//! assert_eq!(lines.next().await?, Some(Line::Complete(b"{\"hello\":1}")));
//!
//! writer.close();
//! assert_eq!(child.end(Duration::from_secs(5)).await, Exit::Code(0));
//! # Ok(())
//! # }
//! ```
#![warn(missing_docs)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests end the programs that they start"))]

pub mod children;
mod executable;
mod io_loop;
mod kill_switch;
pub mod lines;
pub mod link;
mod peer;
pub mod pending;
pub mod pidfd;
pub mod proc;
pub mod process;
pub mod protocol;
mod read_budget;
pub mod reaper;
pub mod signals;
pub mod supervisor;
pub mod tail;
pub mod tree;
pub mod writer;

pub use executable::find_executable;
pub use io_loop::ProgramExit;
pub use kill_switch::KillSwitch;
pub use lines::{Line, LineReader};
pub use link::Link;
pub use nix::sys::signal::Signal;
pub use peer::TaskPipes;
pub use pending::{NoReply, PendingReplies, ReplyFuture};
pub use process::{Child, Exit, LaunchError, LaunchSpec, Stdin, Stdout, describe_exit};
pub use reaper::Survivors;
pub use supervisor::Supervisor;
pub use tail::StderrTail;
pub use writer::LineWriter;

#[cfg(not(target_os = "linux"))]
compile_error!("wh-pipe requires Linux: supervisors rely on child subreapers and /proc");
