//! The settings files on disk: where they are, whether a project's is trusted, and how one is written.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};

use super::document::{ConfigFile, Mistake, Owner};
use super::merge::{Files, Settings};
use super::table::Setting;
use crate::agents::quoted;
use crate::failure::{Failure, code};
use crate::project::{self, ProjectFile, ProjectFileName};
use crate::trust::{Standing, Trust};
use crate::{places, print};

/// The settings of a directory, and what a person should know of them.
#[derive(Debug)]
pub struct Found {
    pub files: Files,
    /// A project's file that is not used, with the reason.
    pub unused: Option<String>,
    /// Why the project's file may not set everything, and what to do; to follow the keys.
    pub untrusted: String,
}

impl Found {
    /// The files that were read.
    pub fn paths(&self) -> Vec<PathBuf> {
        let files = [&self.files.project, &self.files.user];
        files.into_iter().flatten().map(|file| file.path.clone()).collect()
    }

    /// Lines about values of the project's file that are not used; of its settings only those that `is_used` names.
    pub fn notices(&self, is_used: impl Fn(&Setting) -> bool) -> Vec<String> {
        let untrusted = self.files.untrusted().into_iter().filter(|setting| is_used(setting));
        let keys: Vec<String> = untrusted.map(Setting::key).collect();
        let verb = if keys.len() == 1 { "is" } else { "are" };
        let untrusted = (!keys.is_empty()).then(|| format!("{} {verb} not used: {}", keys.join(", "), self.untrusted));
        self.unused.iter().cloned().chain(untrusted).collect()
    }
}

/// The user's file, whether it is there or not.
pub fn user_path() -> Result<PathBuf, Failure> {
    let directory = places::config();
    let directory =
        directory.ok_or_else(|| Failure::new(code::FAILED, "there is no home directory").hint("set HOME"))?;
    Ok(directory.join("config.toml"))
}

/// The project's file for a directory, whether it is there or not.
pub fn project_path(directory: &Path) -> PathBuf {
    let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    let home = places::home();
    let found = project::find(&directory, home.as_deref(), ProjectFileName::Config);
    let root = found.unwrap_or_else(|| project::root(&directory));
    project::place(&root, ProjectFileName::Config)
}

/// Says what is wrong in a file.
pub fn wrong(mistake: &Mistake) -> Failure {
    Failure::new(code::USAGE, mistake)
}

/// What the user's file says; none if there is none.
pub fn user_file() -> Result<Option<ConfigFile>, Failure> {
    let Ok(path) = user_path() else { return Ok(None) };
    match project::read(&path, false) {
        Ok(text) => ConfigFile::read(&path, &text, Owner::User).map(Some).map_err(|mistake| wrong(&mistake)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::new(code::FAILED, format!("cannot read {}: {error}", path.display()))
            .hint("make it readable, or move it away")),
    }
}

/// The files that count in a directory; without one, the user's alone. A mistake in a project's file is an error only if
/// the person has trusted the file: a stranger's file is no reason to fail.
pub fn find(directory: Option<&Path>) -> Result<Found, Failure> {
    let user = user_file()?;
    let mut found = Found { files: Files { user, ..Files::default() }, unused: None, untrusted: String::new() };
    let directory = directory.map(|directory| directory.canonicalize().unwrap_or_else(|_| directory.to_owned()));
    let project =
        directory.and_then(|directory| project::find(&directory, places::home().as_deref(), ProjectFileName::Config));
    let Some(project) = project else { return Ok(found) };
    let place = project::place(&project, ProjectFileName::Config);
    let not_used = |why: &dyn std::fmt::Display| Some(format!("{} is not used: {why}", place.display()));
    let file = match ProjectFile::read(&project, ProjectFileName::Config) {
        Ok(file) => file,
        Err(error) => {
            found.unused = not_used(&format!("it cannot be read: {error}"));
            return Ok(found);
        }
    };
    let run = format!("`wh trust {}`", quoted(&project));
    let standing = Trust::read().map(|trust| trust.of(&file));
    found.untrusted = match &standing {
        Ok(Standing::Trusted) => String::new(),
        Ok(Standing::Changed) => format!("{} has changed since you trusted it; look at it with {run}", place.display()),
        Ok(Standing::Unknown) => format!("you have not trusted {}; look at it with {run}", place.display()),
        Err(error) => error.to_string(),
    };
    found.files.trusted = matches!(standing, Ok(Standing::Trusted));
    match ConfigFile::read(&place, &file.text, Owner::Project) {
        Ok(config) => found.files.project = Some(config),
        Err(mistake) if found.files.trusted => return Err(wrong(&mistake)),
        Err(mistake) => found.unused = not_used(&mistake),
    }
    Ok(found)
}

/// Merges the files with the environment.
pub fn merge(files: &Files) -> Result<Settings, Failure> {
    let variable = |name: &str| std::env::var_os(name).map(|text| text.to_string_lossy().into_owned());
    Settings::new(files, variable).map_err(|mistake| wrong(&mistake))
}

/// Changes a settings file: all of it or nothing, whoever else changes it meanwhile. `change` has the text, empty if there
/// is no file, and returns the new one, or nothing to leave it as it is.
pub fn change<T>(path: &Path, change: impl FnOnce(&str) -> Result<(Option<String>, T), Mistake>) -> Result<T, Failure> {
    let cannot = |error: io::Error| {
        Failure::new(code::FAILED, format!("cannot write {}: {error}", path.display())).hint("make it writable")
    };
    // Where a link leads, so that the link stays.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let directory = path.parent().unwrap_or(Path::new("/"));
    DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(cannot)?;
    let lock = File::open(directory).map_err(cannot)?;
    let _lock = Flock::lock(lock, FlockArg::LockExclusive).map_err(|(_, error)| cannot(error.into()))?;
    let text = match project::read(&path, true) {
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        read => read.map_err(cannot)?,
    };
    let (changed, outcome) = change(&text).map_err(|mistake| {
        wrong(&mistake).hint(format!(
            "it cannot be changed before that is correct; edit {}",
            print::clean_line(&mistake.path.display().to_string())
        ))
    })?;
    if let Some(changed) = changed.filter(|changed| *changed != text) {
        let mode = fs::metadata(&path).map_or(0o600, |metadata| metadata.permissions().mode() & 0o777);
        replace(&path, changed.as_bytes(), mode).map_err(cannot)?;
    }
    Ok(outcome)
}

fn replace(path: &Path, text: &[u8], mode: u32) -> io::Result<()> {
    let unfinished = path.with_extension("toml.new");
    match fs::remove_file(&unfinished) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
    file.write_all(text)?;
    file.set_permissions(fs::Permissions::from_mode(mode))?;
    file.sync_all()?;
    fs::rename(&unfinished, path)
}
