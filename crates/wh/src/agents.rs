//! Which agents this run knows: those that wh knows by itself, what the person's own `agents.toml` says, and what the
//! project's says if the person trusts it.

use std::ffi::OsString;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use wh_agents::catalog::{AgentsFile, FileError};
use wh_agents::port::Surroundings;
use wh_agents::{Agent, Catalog};
use wh_core::space::roster::conversation_id;
use wh_demo::Demo;

use crate::failure::{Failure, code, say};
use crate::print::clean_line;
use crate::project::{ProjectFile, ProjectFileName};
use crate::trust::{Standing, Trust};
use crate::{places, project};

/// Names another file than the person's own.
const FILE: &str = "WH_AGENTS_FILE";

/// The agents that are known to a run that works in this directory. Made once for each run.
pub fn catalog(directory: &Path) -> Result<Catalog, Failure> {
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

/// The catalogue with what these files say.
pub fn with(files: &[AgentsFile]) -> Result<Catalog, Failure> {
    // Our own binary stands between wh and an agent's process, so that nothing of it outlives wh.
    let supervisor = wh_pipe::supervisor::own_command();
    let supervisor =
        supervisor.map_err(|error| Failure::new(code::FAILED, format!("wh cannot find itself: {error}")))?;
    let internal: Vec<Arc<dyn Agent>> = vec![Arc::new(Demo::default())];
    Catalog::with(internal, Some(supervisor), files, &|name| std::env::var_os(name)).map_err(|error| wrong(&error))
}

/// Says on standard error what a person should know of the catalogue.
pub fn tell(catalog: &Catalog) {
    for warning in catalog.warnings() {
        say(&format!("wh: {}", clean_line(warning)));
    }
}

/// The agent of this name, or which there are.
pub fn named(catalog: &Catalog, id: &str) -> Result<Arc<dyn Agent>, Failure> {
    catalog.by_id(id).ok_or_else(|| {
        // What is not used may be what was meant.
        let known = catalog.ids().join(", ");
        let known = format!("choose one of {known}; any other program runs with `wh run -- PROGRAM`");
        let hints: Vec<&str> =
            [known.as_str()].into_iter().chain(catalog.warnings().iter().map(String::as_str)).collect();
        Failure::new(code::USAGE, format!("there is no agent {id:?}")).hint(hints.join("\n"))
    })
}

/// What the agent itself calls a conversation: of ours by its id, of its own as it was given.
pub async fn conversation(agent: &dyn Agent, directory: &Path, given: &str) -> String {
    let ours = given.len() == 13 && given.starts_with('c') && given[1..].bytes().all(|byte| byte.is_ascii_hexdigit());
    if !ours {
        return given.to_owned();
    }
    let id = agent.facts().id;
    let kept = agent.conversations(&Surroundings::new(directory)).await.unwrap_or_default();
    let found = kept.into_iter().find(|one| conversation_id(&id, &one.name) == given);
    found.map_or_else(|| given.to_owned(), |one| one.name)
}

/// What the person's own file says; none if there is none.
pub fn own_file() -> Result<Option<AgentsFile>, Failure> {
    let named = std::env::var_os(FILE).filter(|path: &OsString| !path.is_empty()).map(PathBuf::from);
    let Some(path) = named.clone().or_else(|| places::config().map(|config| config.join("agents.toml"))) else {
        return Ok(None);
    };
    match project::read(&path, false) {
        Ok(text) => parse(&path, &text).map(Some),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && named.is_none() => Ok(None),
        Err(error) => {
            let hint = match named {
                Some(_) => format!("make it readable, or have {FILE} name another"),
                None => "make it readable, or move it away".to_owned(),
            };
            Err(Failure::new(code::FAILED, format!("cannot read {}: {error}", path.display())).hint(hint))
        }
    }
}

/// Reads what a file says.
pub fn parse(path: &Path, text: &str) -> Result<AgentsFile, Failure> {
    AgentsFile::read(path, text).map_err(|error| wrong(&error))
}

fn wrong(error: &FileError) -> Failure {
    Failure::new(code::USAGE, error).hint(&error.hint)
}

/// The project's file if the person trusts it. The error says why one that is there is not used: a stranger's file is no
/// reason to fail.
fn project_file(directory: &Path) -> Result<Option<ProjectFile>, String> {
    let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    let Some(directory) = project::find(&directory, places::home().as_deref(), ProjectFileName::Agents) else {
        return Ok(None);
    };
    let place = project::place(&directory, ProjectFileName::Agents);
    let not_used = |why: &dyn Display| format!("{} is not used: {why}", place.display());
    let file = ProjectFile::read(&directory, ProjectFileName::Agents)
        .map_err(|error| not_used(&format!("it cannot be read: {error}")))?;
    let trust = Trust::read().map_err(|error| not_used(&error))?;
    let run = format!("`wh trust {}`", quoted(&directory));
    match trust.of(&file) {
        Standing::Trusted => Ok(Some(file)),
        Standing::Changed => Err(not_used(&format!("it has changed since you trusted it; look at it with {run}"))),
        Standing::Unknown => Err(not_used(&format!("you have not trusted it; look at it with {run}"))),
    }
}

/// A path as a shell takes it.
pub fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    let plain = |letter: char| letter.is_alphanumeric() || "/._-+@%,:".contains(letter);
    if path.chars().all(plain) { path } else { format!("'{}'", path.replace('\'', r"'\''")) }
}
