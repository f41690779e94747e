//! Requests for a new session, as every door reads them.

use std::ffi::OsString;
use std::path::PathBuf;

use wh_client::What;
use wh_core::terminal::Size;

/// The size of a session's screen unless the caller wants another.
pub(crate) const USUAL_SIZE: Size = Size { columns: 120, rows: 40 };

/// The working directory of a new session, canonical: the caller's own when none is given. Or what is wrong with it.
pub(crate) async fn directory(
    wanted: Option<String>,
    callers: impl Future<Output = Option<PathBuf>>,
) -> Result<PathBuf, String> {
    let path = match wanted {
        Some(wanted) => PathBuf::from(wanted),
        None => callers.await.ok_or("the working directory of the caller is not known; give cwd, an absolute path")?,
    };
    if !path.is_absolute() {
        return Err(format!("cwd must be an absolute path, and {path:?} is not"));
    }
    let entered = path.canonicalize().ok().filter(|path| path.is_dir());
    entered.ok_or_else(|| format!("{} is not a directory", path.display()))
}

/// What is to run: an agent or a program, and not both. Or what is wrong with that.
pub(crate) fn what(agent: Option<What>, command: Option<Vec<String>>) -> Result<What, String> {
    match (agent, command) {
        (Some(_), Some(_)) => Err("give an agent or a command, not both".to_owned()),
        (None, None) => Err("give an agent or a command to start".to_owned()),
        (Some(agent), None) => Ok(agent),
        (None, Some(command)) if command.first().is_none_or(String::is_empty) => {
            Err("the command has no program".to_owned())
        }
        (None, Some(command)) => Ok(What::Program(command.into_iter().map(OsString::from).collect())),
    }
}
