//! The port to agents. An [`Agent`] is a kind of program: is it there, who is logged in, which models, start one.
//! A [`Harness`] is one that runs: orders go in, reports come out, and its protocol stays behind them. A protocol with replies,
//! one with notifications only, and a bare terminal all fit.

mod agent;
mod harness;
mod start;
mod surroundings;

use std::pin::Pin;

pub use agent::{Agent, AgentFacts, Installation, Kept, ManageError, Readiness};
pub use harness::{Force, Harness, Inside, Reports, Unheard};
pub use start::{ALLOW_SKIPPING, Resume, Start, StartError};
pub use surroundings::Surroundings;
pub use wh_core::space::roster::LoginState;

/// A future that can be asked for through a `dyn` port.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
