//! Builds the catalogue of agents: the built-in agents, the agents of the user's `agents.toml`, and those of the
//! project's `agents.toml` if the user trusts the file.

use std::ffi::OsString;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use wh_agents::catalog::{AgentsFile, AgentsFileError};
use wh_agents::interface::QueryContext;
use wh_agents::{Agent, Catalog};
use wh_core::space::roster::conversation_id;
use wh_demo::Demo;

use crate::failure::{CliFailure, code, print_to_stderr};
use crate::print::clean_line;
use crate::project::{ProjectFile, ProjectFileName};
use crate::trust::{TrustStatus, TrustStore};
use crate::{directories, project};

/// Environment variable with the path of `agents.toml`.
const AGENTS_FILE_VARIABLE: &str = "WH_AGENTS_FILE";

/// Returns the catalogue for a working directory. An untrusted project file adds no agents, only a warning.
pub fn catalog(directory: &Path) -> Result<Catalog, CliFailure> {
    let mut files: Vec<AgentsFile> = own_file()?.into_iter().collect();
    let (project, warning) = match project_file(directory) {
        Ok(project) => (project, None),
        Err(warning) => (None, Some(warning)),
    };
    if let Some(project) = project {
        files.push(parse(&project.path, &project.text)?);
    }
    let mut catalog = with(&files)?;
    warning.into_iter().for_each(|warning| catalog.warn(warning));
    Ok(catalog)
}

/// Returns a catalogue of the built-in agents and the agents that `files` define.
pub fn with(files: &[AgentsFile]) -> Result<Catalog, CliFailure> {
    // wh runs each agent under its own binary as a supervisor, so that no process of the agent outlives wh.
    let supervisor = wh_pipe::supervisor::own_command();
    let supervisor =
        supervisor.map_err(|error| CliFailure::new(code::FAILED, format!("cannot find the wh executable: {error}")))?;
    let internal: Vec<Arc<dyn Agent>> = vec![Arc::new(Demo::default())];
    Catalog::with(internal, Some(supervisor), files, &|name| std::env::var_os(name)).map_err(|error| wrong(&error))
}

/// Prints the catalogue's warnings to standard error.
pub fn print_notices(catalog: &Catalog) {
    for warning in catalog.warnings() {
        print_to_stderr(&format!("wh: {}", clean_line(warning)));
    }
}

/// Finds an agent by id. The error lists the known ids.
pub fn named(catalog: &Catalog, id: &str) -> Result<Arc<dyn Agent>, CliFailure> {
    catalog.by_id(id).ok_or_else(|| {
        // The hint includes the warnings of the catalogue, because the agent may be defined in a file that is not used.
        let known = catalog.ids().join(", ");
        let known = format!("choose one of {known}; run any other program with `wh run -- PROGRAM`");
        let hints: Vec<&str> =
            [known.as_str()].into_iter().chain(catalog.warnings().iter().map(String::as_str)).collect();
        CliFailure::new(code::USAGE, format!("there is no agent {id:?}")).hint(hints.join("\n"))
    })
}

/// Resolves a wh conversation id to the agent's own session id. Any other text is returned unchanged.
pub async fn conversation(agent: &dyn Agent, directory: &Path, given: &str) -> String {
    let is_wh_id =
        given.len() == 13 && given.starts_with('c') && given[1..].bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_wh_id {
        return given.to_owned();
    }
    let id = agent.facts().id;
    let saved = agent.conversations(&QueryContext::new(directory)).await.unwrap_or_default();
    let found = saved.into_iter().find(|one| conversation_id(&id, &one.name) == given);
    found.map_or_else(|| given.to_owned(), |one| one.name)
}

/// Reads the user's `agents.toml`. `None` if the file does not exist; an error if `WH_AGENTS_FILE` names a file that
/// does not exist.
pub fn own_file() -> Result<Option<AgentsFile>, CliFailure> {
    let named = std::env::var_os(AGENTS_FILE_VARIABLE).filter(|path: &OsString| !path.is_empty()).map(PathBuf::from);
    let Some(path) = named.clone().or_else(|| directories::config().map(|config| config.join("agents.toml"))) else {
        return Ok(None);
    };
    match project::read(&path, false) {
        Ok(text) => parse(&path, &text).map(Some),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && named.is_none() => Ok(None),
        Err(error) => {
            let hint = match named {
                Some(_) => format!("make the file readable, or set {AGENTS_FILE_VARIABLE} to another file"),
                None => "make the file readable, or move it away".to_owned(),
            };
            Err(CliFailure::new(code::FAILED, format!("cannot read {}: {error}", path.display())).hint(hint))
        }
    }
}

pub fn parse(path: &Path, text: &str) -> Result<AgentsFile, CliFailure> {
    AgentsFile::read(path, text).map_err(|error| wrong(&error))
}

fn wrong(error: &AgentsFileError) -> CliFailure {
    CliFailure::new(code::USAGE, error).hint(&error.hint)
}

/// Reads the project's `agents.toml`. `None` if there is no such file. If the file is untrusted or cannot be read, the
/// error is a warning for the user: such a file must not stop wh.
fn project_file(directory: &Path) -> Result<Option<ProjectFile>, String> {
    let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    let Some(directory) = project::find(&directory, directories::home().as_deref(), ProjectFileName::Agents) else {
        return Ok(None);
    };
    let place = project::file_path(&directory, ProjectFileName::Agents);
    let not_used = |why: &dyn Display| format!("{} is not used: {why}", place.display());
    let file = ProjectFile::read(&directory, ProjectFileName::Agents)
        .map_err(|error| not_used(&format!("cannot read the file: {error}")))?;
    let trust = TrustStore::read().map_err(|error| not_used(&error))?;
    let run = format!("`wh trust {}`", quoted(&directory));
    match trust.of(&file) {
        TrustStatus::Trusted => Ok(Some(file)),
        TrustStatus::Changed => {
            Err(not_used(&format!("the file has changed since you trusted it; review it with {run}")))
        }
        TrustStatus::Unknown => Err(not_used(&format!("you have not trusted this file; review it with {run}"))),
    }
}

/// Quotes a path for a shell.
pub fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    let plain = |letter: char| letter.is_alphanumeric() || "/._-+@%,:".contains(letter);
    if path.chars().all(plain) { path } else { format!("'{}'", path.replace('\'', r"'\''")) }
}
