//! How a program is spoken to over pipes: [`lines`] and [`writer`] carry what is said, and [`pending`] knows who waits for a
//! reply.

pub mod lines;
pub mod pending;
pub mod protocol;
pub mod signals;
pub mod tree;
pub mod writer;

pub use lines::{Line, Lines};
pub use pending::{NoReply, Pending, Waiting};
pub use writer::Writer;

#[cfg(not(target_os = "linux"))]
compile_error!(
    "wh-pipe needs Linux: what keeps programs from outliving their owner rests on child subreapers and /proc"
);
