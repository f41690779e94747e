//! Who could take part: the agents that there are, whether they can be used now, and the conversations that each of them
//! keeps.

use std::path::PathBuf;
use std::time::SystemTime;

/// An agent that could take part, or does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentCard {
    /// What it is chosen by, and its name as a participant.
    pub id: String,
    /// Its name for people.
    pub title: String,
    /// Whether it is there.
    pub installed: bool,
    /// Which version, if it says.
    pub version: Option<String>,
    /// Whether somebody is logged in with it.
    pub login: LoginState,
    /// What to do in order to use it; `None` when nothing is missing, as far as is known.
    pub hint: Option<String>,
    /// Whether it takes part in this space now.
    pub taking_part: bool,
}

/// Whether somebody is logged in with an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoginState {
    /// It needs no login.
    NotNeeded,
    /// Yes.
    Yes {
        /// As whom or by what, where that is known.
        account: Option<String>,
    },
    /// No.
    No,
    /// Nothing says.
    Unknown,
}

/// A conversation that an agent keeps, and that can be gone on with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationCard {
    /// Its id: ours. What the agent calls it stays with whoever asked the agent.
    pub id: String,
    /// What it is about, in a line.
    pub title: String,
    /// When something was last said in it, where that is known.
    pub at: Option<SystemTime>,
    /// Where it was held, where that is known.
    pub directory: Option<PathBuf>,
}

/// Our id for what this agent calls so: short, and the same each time.
pub fn conversation_id(agent: &str, own: &str) -> String {
    // FNV-1a, written out because a hash of the library may be another one in its next version.
    let bytes = agent.bytes().chain([0]).chain(own.bytes());
    let hash = bytes
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    format!("c{:012x}", hash & 0xffff_ffff_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_short_and_the_same_each_time() {
        let id = conversation_id("claude", "0f5b");
        assert_eq!(id, conversation_id("claude", "0f5b"));
        assert_eq!(id.len(), 13);
        assert_eq!(conversation_id("a", "b"), "c9919042666b2", "it stays what it is in the next version too");
        assert_ne!(id, conversation_id("codex", "0f5b"), "two agents may have the same id");
        assert_ne!(conversation_id("ab", "c"), conversation_id("a", "bc"));
    }
}
