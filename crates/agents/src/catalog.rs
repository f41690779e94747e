//! Catalog of the available agents, built at startup from the built-in table and the user's `agents.toml` files.

mod draft;
mod expand;
mod file;
mod outline;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::interface::Agent;
use crate::program::{Environment, Program};
use crate::program_agent::ProgramAgent;

pub use expand::VariableLookup;
pub use file::{AgentsFile, AgentsFileError};
pub use outline::AgentOutline;

/// Known agents, installed or not, in display order.
#[derive(Clone, Default)]
pub struct Catalog {
    agents: Vec<Arc<dyn Agent>>,
    /// Origin of each agent, in the order of `agents`.
    origins: Vec<AgentOrigin>,
    warnings: Vec<String>,
}

/// Program and `agents.toml` files that define an agent.
#[derive(Clone, Default)]
struct AgentOrigin {
    /// Program that starts the agent; `None` for agents without an external program.
    program: Option<Program>,
    /// Files that changed or added the agent, in the order in which they were applied.
    files: Vec<PathBuf>,
}

impl Catalog {
    /// Builds the catalog from the `internal` agents, the built-in table and `files`, in this order. Files cannot
    /// change internal agents. A later file overrides an earlier file. `supervisor` is the command line of the
    /// supervisor process for all agents (see `wh_pipe::supervisor`). `variables` returns the values of the variables
    /// that the files use.
    pub fn with(
        internal: Vec<Arc<dyn Agent>>,
        supervisor: Option<Vec<OsString>>,
        files: &[AgentsFile],
        variables: VariableLookup,
    ) -> Result<Self, AgentsFileError> {
        let mut catalog = Self::of(internal);
        catalog.origins.resize_with(catalog.agents.len(), AgentOrigin::default);
        let (reserved, mut drafts) = (catalog.ids(), draft::built_in());
        for file in files {
            catalog.warnings.extend(file.warnings().iter().cloned());
            draft::apply(&mut drafts, &reserved, file, variables)?;
        }
        for draft::AgentDraft { agent, files } in drafts {
            catalog.origins.push(AgentOrigin { program: Some(agent.program.clone()), files });
            catalog.agents.push(Arc::new(ProgramAgent::new(agent, supervisor.clone())));
        }
        Ok(catalog)
    }

    /// Creates a catalog that contains only `agents`.
    pub fn of(agents: Vec<Arc<dyn Agent>>) -> Self {
        Self { agents, origins: Vec::new(), warnings: Vec::new() }
    }

    /// Returns all agents, in display order.
    pub fn agents(&self) -> &[Arc<dyn Agent>] {
        &self.agents
    }

    /// Returns the ids of all agents, in display order.
    pub fn ids(&self) -> Vec<String> {
        self.agents.iter().map(|agent| agent.facts().id).collect()
    }

    /// Returns the agent with this id.
    pub fn by_id(&self, id: &str) -> Option<Arc<dyn Agent>> {
        self.agents.iter().find(|agent| agent.facts().id == id).cloned()
    }

    /// Returns the path of the agent's program, if the program is installed.
    pub fn program(&self, id: &str) -> Option<PathBuf> {
        self.origin(id)?.program.as_ref()?.find(&Environment::new())
    }

    /// Returns the files that changed or added the agent. Later files take precedence.
    pub fn files(&self, id: &str) -> impl Iterator<Item = &Path> {
        self.origin(id).into_iter().flat_map(|origin| &origin.files).map(PathBuf::as_path)
    }

    fn origin(&self, id: &str) -> Option<&AgentOrigin> {
        self.origins.get(self.agents.iter().position(|agent| agent.facts().id == id)?)
    }

    /// Adds a warning for the user to [`warnings`](Self::warnings).
    pub fn warn(&mut self, warning: String) {
        self.warnings.push(warning);
    }

    /// Returns warnings to show to the user once, for example about an `agents.toml` file that is not used.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

impl fmt::Debug for Catalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Catalog").field("agents", &self.ids()).field("warnings", &self.warnings).finish()
    }
}
