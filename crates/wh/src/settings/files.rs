//! Settings files on disk: finds them, checks trust in a project's file, and writes changes.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};

use super::document::{ConfigFile, SettingsFileError, SettingsFileOwner};
use super::merge::{Settings, SettingsFiles};
use super::table::SettingRow;
use crate::agents::quoted;
use crate::failure::{CliFailure, code};
use crate::project::{self, ProjectFile, ProjectFileName};
use crate::trust::{TrustStatus, TrustStore};
use crate::{directories, print};

/// Settings files of a directory, with notices for the user.
#[derive(Debug)]
pub struct FoundSettingsFiles {
    pub files: SettingsFiles,
    /// Notice that the project's file is not used, with the reason.
    pub unused: Option<String>,
    /// Reason why the project's file is untrusted, with a hint; empty if the file is trusted. The notice shows this
    /// text after the keys of the ignored settings.
    pub untrusted: String,
}

impl FoundSettingsFiles {
    /// Lists the paths of the files that were read.
    pub fn paths(&self) -> Vec<PathBuf> {
        let files = [&self.files.project, &self.files.user];
        files.into_iter().flatten().map(|file| file.path.clone()).collect()
    }

    /// Returns at most two notices for the user. The first reports that the project's file cannot be used at all. The
    /// second lists the settings that wh ignores because the user has not trusted the file. `is_used` selects the
    /// settings to list, for example those that the current command uses.
    pub fn notices(&self, is_used: impl Fn(&SettingRow) -> bool) -> Vec<String> {
        let untrusted = self.files.untrusted().into_iter().filter(|setting| is_used(setting));
        let keys: Vec<String> = untrusted.map(SettingRow::key).collect();
        let verb = if keys.len() == 1 { "is" } else { "are" };
        let untrusted = (!keys.is_empty()).then(|| format!("{} {verb} not used: {}", keys.join(", "), self.untrusted));
        self.unused.iter().cloned().chain(untrusted).collect()
    }
}

/// Returns the path of the user's settings file, which may not exist.
pub fn user_path() -> Result<PathBuf, CliFailure> {
    let directory = directories::config();
    let directory =
        directory.ok_or_else(|| CliFailure::new(code::FAILED, "there is no home directory").hint("set HOME"))?;
    Ok(directory.join("config.toml"))
}

/// Returns the path of the settings file of the project that `directory` is in. The file may not exist.
pub fn project_path(directory: &Path) -> PathBuf {
    let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    let home = directories::home();
    let found = project::find(&directory, home.as_deref(), ProjectFileName::Config);
    let root = found.unwrap_or_else(|| project::root(&directory));
    project::file_path(&root, ProjectFileName::Config)
}

/// Converts an error in a settings file to a failure.
pub fn wrong(mistake: &SettingsFileError) -> CliFailure {
    CliFailure::new(code::USAGE, mistake)
}

/// Reads the user's settings file. `None` if the file does not exist.
pub fn user_file() -> Result<Option<ConfigFile>, CliFailure> {
    let Ok(path) = user_path() else { return Ok(None) };
    match project::read(&path, false) {
        Ok(text) => {
            ConfigFile::read(&path, &text, SettingsFileOwner::User).map(Some).map_err(|mistake| wrong(&mistake))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(CliFailure::new(code::FAILED, format!("cannot read {}: {error}", path.display()))
            .hint("make the file readable, or move it away")),
    }
}

/// Finds the settings files for a directory, or only the user's file if `directory` is `None`. An error in a project's
/// file is a failure only if the user trusts the file, because an untrusted file must not stop wh.
pub fn find(directory: Option<&Path>) -> Result<FoundSettingsFiles, CliFailure> {
    let user = user_file()?;
    let mut found = FoundSettingsFiles {
        files: SettingsFiles { user, ..SettingsFiles::default() },
        unused: None,
        untrusted: String::new(),
    };
    let directory = directory.map(|directory| directory.canonicalize().unwrap_or_else(|_| directory.to_owned()));
    let project = directory
        .and_then(|directory| project::find(&directory, directories::home().as_deref(), ProjectFileName::Config));
    let Some(project) = project else { return Ok(found) };
    let place = project::file_path(&project, ProjectFileName::Config);
    let not_used = |why: &dyn std::fmt::Display| Some(format!("{} is not used: {why}", place.display()));
    let file = match ProjectFile::read(&project, ProjectFileName::Config) {
        Ok(file) => file,
        Err(error) => {
            found.unused = not_used(&format!("cannot read the file: {error}"));
            return Ok(found);
        }
    };
    let run = format!("`wh trust {}`", quoted(&project));
    let standing = TrustStore::read().map(|trust| trust.of(&file));
    found.untrusted = match &standing {
        Ok(TrustStatus::Trusted) => String::new(),
        Ok(TrustStatus::Changed) => {
            format!("{} has changed since you trusted it; review it with {run}", place.display())
        }
        Ok(TrustStatus::Unknown) => format!("you have not trusted {}; review it with {run}", place.display()),
        Err(error) => error.to_string(),
    };
    found.files.trusted = matches!(standing, Ok(TrustStatus::Trusted));
    match ConfigFile::read(&place, &file.text, SettingsFileOwner::Project) {
        Ok(config) => found.files.project = Some(config),
        Err(mistake) if found.files.trusted => return Err(wrong(&mistake)),
        Err(mistake) => found.unused = not_used(&mistake),
    }
    Ok(found)
}

/// Merges the settings files with the environment variables.
pub fn merge(files: &SettingsFiles) -> Result<Settings, CliFailure> {
    let variable = |name: &str| std::env::var_os(name).map(|text| text.to_string_lossy().into_owned());
    Settings::new(files, variable).map_err(|mistake| wrong(&mistake))
}

/// Changes a settings file atomically, locked against concurrent changes. `change` receives the text, empty if there is
/// no file, and returns the new text, or `None` to leave the file unchanged.
pub fn change<T>(
    path: &Path,
    change: impl FnOnce(&str) -> Result<(Option<String>, T), SettingsFileError>,
) -> Result<T, CliFailure> {
    let cannot = |error: io::Error| {
        CliFailure::new(code::FAILED, format!("cannot write {}: {error}", path.display()))
            .hint("make the file and its directory writable")
    };
    // Writes to the target of a symbolic link, so that the link itself is preserved.
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
        wrong(&mistake)
            .hint(format!("fix the error first; edit {}", print::clean_line(&mistake.path.display().to_string())))
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
