//! Which agents there are: one value, made once for each run, that everybody asks who lists agents or looks for one.

use std::ffi::OsString;
use std::fmt;
use std::sync::Arc;

use crate::acp::{self, Acp};
use crate::claude::Claude;
use crate::codex::Codex;
use crate::demo::Demo;
use crate::port::Agent;

/// The agents that there are, installed or not, in the order in which to offer them.
#[derive(Clone, Default)]
pub struct Catalog {
    agents: Vec<Arc<dyn Agent>>,
    warnings: Vec<String>,
}

impl Catalog {
    /// Those that wh knows by itself. `keeper` is the command that stands in front of those that are processes, so that
    /// nothing of them outlives wh (see `wh_pipe::keeper`).
    pub fn built_in(keeper: Option<Vec<OsString>>) -> Self {
        let acp = acp::table::built_in()
            .into_iter()
            .map(|entry| Arc::new(Acp { entry: Arc::new(entry), keeper: keeper.clone() }) as Arc<dyn Agent>)
            .collect::<Vec<_>>();
        let mut agents: Vec<Arc<dyn Agent>> =
            vec![Arc::new(Demo::default()), Arc::new(Claude::new(keeper.clone())), Arc::new(Codex::new(keeper))];
        agents.extend(acp);
        Self { agents, warnings: Vec::new() }
    }

    /// These, and no others.
    pub fn of(agents: Vec<Arc<dyn Agent>>) -> Self {
        Self { agents, warnings: Vec::new() }
    }

    /// All of them.
    pub fn agents(&self) -> &[Arc<dyn Agent>] {
        &self.agents
    }

    /// What they are chosen by, in the same order.
    pub fn ids(&self) -> Vec<String> {
        self.agents.iter().map(|agent| agent.facts().id).collect()
    }

    /// The agent of this id.
    pub fn by_id(&self, id: &str) -> Option<Arc<dyn Agent>> {
        self.agents.iter().find(|agent| agent.facts().id == id).cloned()
    }

    /// What a person should be told once, a sentence each: a file that is there and not used.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

impl fmt::Debug for Catalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Catalog").field("agents", &self.ids()).field("warnings", &self.warnings).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_agents_are_found_by_their_ids_and_the_demo_comes_first() {
        let catalog = Catalog::built_in(None);
        assert_eq!(catalog.ids()[..4], ["demo", "claude", "codex", "gemini"]);
        for id in catalog.ids() {
            assert_eq!(catalog.by_id(&id).unwrap().facts().id, id);
        }
        assert!(catalog.by_id("nobody").is_none());
        assert!(catalog.warnings().is_empty());
    }
}
