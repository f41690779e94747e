//! Profiles of the agents whose terminal UI is known.

mod claude;
mod codex;
mod gemini;
#[cfg(test)]
mod tests;

pub use claude::CLAUDE;
pub use codex::CODEX;
pub use gemini::GEMINI;

use super::profile::AgentProfile;

/// Returns the profile of an agent by its id.
pub fn profile(id: &str) -> Option<&'static AgentProfile> {
    [&CLAUDE, &CODEX, &GEMINI].into_iter().find(|profile| profile.id == id)
}
