//! Drives agents that run in their own terminal UI: reads their screens, types for them, and follows their transcripts.

pub mod activity;
pub mod codec;
pub mod dialogs;
pub mod port;
pub mod profile;
pub mod profiles;
pub mod protocol;
pub mod reading;
mod rows;
pub mod send;
pub mod task;
pub mod transcript;

use crate::driver;
use crate::interface::Harness;
use protocol::TerminalProtocol;
use task::TerminalTaskParts;
use transcript::TranscriptFormat;

/// Agent whose UI runs in a terminal.
pub struct TerminalAgent {
    /// Display name of the agent.
    pub title: String,
    pub format: TranscriptFormat,
    /// True if the agent calls a hook for each prompt.
    pub has_prompt_hook: bool,
    pub parts: TerminalTaskParts,
}

/// Starts the harness of an agent whose UI already runs. The harness ends when the agent's program has exited. Must be
/// called within a Tokio runtime.
pub fn start(agent: TerminalAgent) -> Harness {
    let TerminalAgent { title, format, has_prompt_hook, parts } = agent;
    let protocol = TerminalProtocol::new(title, format, has_prompt_hook, parts);
    Harness::run(|task| driver::run(protocol, true, task))
}
