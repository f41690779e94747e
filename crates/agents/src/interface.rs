//! Interface to agents. An [`Agent`] describes one kind of agent: its installation, its login, its models, and the way
//! to start it. A [`Harness`] is a running agent: it receives orders and sends reports, independent of the agent's
//! protocol.

mod agent;
mod harness;
mod query_context;
mod start;

use std::pin::Pin;

pub use agent::{Agent, AgentFacts, Installation, ManageError, Readiness, SavedConversation};
pub use harness::{ForceStop, Harness, HarnessTaskChannels, ReportSender, ReportsClosed};
pub use query_context::QueryContext;
pub use start::{ALLOW_SKIPPING, AgentStartError, ResumeSelector, StartOptions};
pub use wh_core::space::roster::LoginState;

/// Boxed future for trait objects.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
