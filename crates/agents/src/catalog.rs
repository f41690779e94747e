//! Which agents there are: one value, made once for each run, that everybody asks who lists agents or looks for one. wh
//! knows some by itself; a person's files (`agents.toml`) change them and add others.

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

use crate::port::Agent;
use crate::program::{Environment, Program};
use crate::program_agent::ProgramAgent;

pub use expand::Variables;
pub use file::{AgentsFile, FileError};
pub use outline::Outline;

/// The agents that there are, installed or not, in the order in which to offer them.
#[derive(Clone, Default)]
pub struct Catalog {
    agents: Vec<Arc<dyn Agent>>,
    /// Of each, in the same order.
    origins: Vec<Origin>,
    warnings: Vec<String>,
}

/// Where an agent comes from.
#[derive(Clone, Default)]
struct Origin {
    /// What it is started by; none for one that is a part of wh.
    program: Option<Program>,
    /// The files that had a say in it.
    files: Vec<PathBuf>,
}

impl Catalog {
    /// The `internal` agents, which are a part of wh and which no file changes; then those of the table and of these
    /// files, of which a later one has the last word. `supervisor` is the command of the supervisor that their processes
    /// run under, so that nothing of them outlives wh (see `wh_pipe::supervisor`). `variables` are those that the files
    /// name.
    pub fn with(
        internal: Vec<Arc<dyn Agent>>,
        supervisor: Option<Vec<OsString>>,
        files: &[AgentsFile],
        variables: Variables,
    ) -> Result<Self, FileError> {
        let mut catalog = Self::of(internal);
        catalog.origins.resize_with(catalog.agents.len(), Origin::default);
        let (reserved, mut drafts) = (catalog.ids(), draft::built_in());
        for file in files {
            draft::apply(&mut drafts, &reserved, file, variables)?;
        }
        for draft::Draft { agent, files } in drafts {
            catalog.origins.push(Origin { program: Some(agent.program.clone()), files });
            catalog.agents.push(Arc::new(ProgramAgent::new(agent, supervisor.clone())));
        }
        Ok(catalog)
    }

    /// These, and no others.
    pub fn of(agents: Vec<Arc<dyn Agent>>) -> Self {
        Self { agents, origins: Vec::new(), warnings: Vec::new() }
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

    /// Where the program of this agent is, if it is there.
    pub fn program(&self, id: &str) -> Option<PathBuf> {
        self.origin(id)?.program.as_ref()?.find(&Environment::new())
    }

    /// The files that had a say in this agent, the one with the last word last.
    pub fn files(&self, id: &str) -> impl Iterator<Item = &Path> {
        self.origin(id).into_iter().flat_map(|origin| &origin.files).map(PathBuf::as_path)
    }

    fn origin(&self, id: &str) -> Option<&Origin> {
        self.origins.get(self.agents.iter().position(|agent| agent.facts().id == id)?)
    }

    /// Adds something that a person should be told.
    pub fn warn(&mut self, warning: String) {
        self.warnings.push(warning);
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
