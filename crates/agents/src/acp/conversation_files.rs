//! Protects Gemini CLI's conversation files: after Gemini loads a conversation, its next start may delete the file.
//! Before such a load, wh copies the file into wh's state directory and gives the original a name that Gemini neither
//! writes nor deletes. See docs/decisions/035-comparing-conversations.md for the cause.

mod content;

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::NamedTempFile;

use crate::interface::QueryContext;
use crate::manage::gemini;
use content::ConversationContent;

/// Number of characters of the conversation id that a file name assigned by Gemini contains.
const ID_PREFIX_CHARS: usize = 8;

/// Maximum number of copies per conversation in wh's state directory, and maximum number of replaced files. The newest
/// are retained.
const MAX_COPIES: usize = 3;

/// Age after which wh removes a copy. Checked whenever a copy of another conversation is saved.
const MAX_COPY_AGE: Duration = Duration::from_secs(60 * 24 * 60 * 60);

/// Gemini's files and wh's copies of one conversation.
#[derive(Debug, Clone)]
pub(super) struct ConversationFiles {
    /// Gemini's directory with one subdirectory per project.
    projects: PathBuf,
    /// Gemini's directory with the conversations of this project; `None` if the project is unknown to Gemini.
    chats: Option<PathBuf>,
    /// Directory in wh's state directory that contains the copies.
    state: PathBuf,
    id: String,
}

/// Result of preparing a conversation's file for loading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PreparedFile {
    /// The file was copied and has its safe name, see [`ConversationFiles::safe_name`].
    Safe,
    /// The file has its safe name, but could not be copied. Contains the error.
    Uncopied(String),
    /// The file was missing, empty or incomplete, and was restored from wh's copy.
    Restored,
    /// There is no file with messages, and no copy that can be restored.
    Missing,
}

impl ConversationFiles {
    /// Determines the directories for the files of a conversation. Returns `None` if the id does not have the form of a
    /// Gemini id or if there is no home directory.
    pub fn new(here: &QueryContext, id: &str) -> Option<Self> {
        let is_plain =
            id.len() >= 2 * ID_PREFIX_CHARS && id.chars().all(|one| one.is_ascii_alphanumeric() || one == '-');
        if !is_plain {
            return None;
        }
        let projects = gemini::folder(here)?.join("tmp");
        let state = here.variable("XDG_STATE_HOME").map(PathBuf::from).filter(|state| state.is_absolute());
        let state = state.or_else(|| here.home(".local/state"))?;
        let state = state.join("wheelhouse/conversations/gemini");
        Some(Self { projects, chats: gemini::chats(here), state, id: id.to_owned() })
    }

    /// Copies the conversation's file and gives the file a safe name. If `restore` is true and a copy has messages that
    /// are missing from the file, the file moves into the state directory and the copy replaces it. If Gemini has no
    /// file with messages, restores the newest copy with messages. Must be called while no process has the conversation
    /// open.
    pub fn prepare(&self, restore: bool) -> io::Result<PreparedFile> {
        let found = self.found();
        let prepared = match best(&found) {
            Some((file, content)) => match self.copy_with_more(content).filter(|_| restore) {
                Some(copy) => self.replace(file, &copy).map(|()| PreparedFile::Restored),
                None => {
                    let kept = self.save_copy(file, content);
                    let uncopied = |error: io::Error| PreparedFile::Uncopied(error.to_string());
                    self.rename(file).map(|()| kept.map_or_else(uncopied, |()| PreparedFile::Safe))
                }
            },
            None => self.restore(),
        };
        self.remove_empty();
        prepared
    }

    /// Copies the file into wh's state directory, over the newest copy. A copy that has messages missing from the file
    /// is never overwritten: if this copy also has all messages of the file, the file is not copied; otherwise the copy
    /// is renamed first.
    fn save_copy(&self, file: &Path, content: &ConversationContent) -> io::Result<()> {
        make_folder(&self.state)?;
        self.remove_old_copies();
        if let Ok(newest) = ConversationContent::read(&self.copy(0))
            && !content.contains(&newest)
        {
            if newest.contains(content) {
                return Ok(());
            }
            shift(|age| self.copy(age));
        }
        write(&self.copy(0), &content::bytes(file)?)
    }

    /// Renames a file to its safe name.
    fn rename(&self, file: &Path) -> io::Result<()> {
        let safe = file.with_file_name(self.safe_name(file));
        if safe != file && safe.exists() {
            self.set_aside(&safe)?;
        }
        fs::rename(file, safe)
    }

    /// Replaces a file by a copy, after saving the file in the state directory.
    fn replace(&self, file: &Path, copy: &Path) -> io::Result<()> {
        let (copied, safe) = (content::bytes(copy)?, file.with_file_name(self.safe_name(file)));
        if safe != file && safe.exists() {
            self.set_aside(&safe)?;
        }
        self.save_replaced(file)?;
        write(&safe, &copied)?;
        if safe == file { Ok(()) } else { fs::remove_file(file) }
    }

    /// Restores the file from the newest copy that contains messages. Called if Gemini has no file of the conversation,
    /// or only empty files. Returns [`PreparedFile::Missing`] if there is no such copy or if Gemini does not know the
    /// project.
    fn restore(&self) -> io::Result<PreparedFile> {
        let copy = self.copies().find(|(_, content)| !content.is_empty());
        let (Some((copy, _)), Some(folder)) = (copy, &self.chats) else { return Ok(PreparedFile::Missing) };
        fs::create_dir_all(folder)?;
        if !is_own_folder(folder) {
            return Ok(PreparedFile::Missing);
        }
        write(&folder.join(self.safe_name(&copy)), &content::bytes(&copy)?)?;
        Ok(PreparedFile::Restored)
    }

    /// Removes the empty files that Gemini created when it loaded the conversation. At its next start, Gemini deletes
    /// all files with the same id prefix as an empty file. A file that has ever contained messages is moved into the
    /// state directory instead.
    pub fn remove_empty(&self) {
        for (file, content) in self.found().iter().filter(|(_, content)| content.is_empty()) {
            let removed = if content.is_unused() { fs::remove_file(file) } else { self.set_aside(file) };
            if let Err(error) = removed {
                tracing::debug!(%error, "cannot remove an empty conversation file");
            }
        }
    }

    /// Moves a file into the state directory.
    fn set_aside(&self, file: &Path) -> io::Result<()> {
        self.save_replaced(file)?;
        fs::remove_file(file)
    }

    /// Saves a file in the state directory before the file is replaced.
    fn save_replaced(&self, file: &Path) -> io::Result<()> {
        let replaced = content::bytes(file)?;
        make_folder(&self.state)?;
        shift(|age| self.replaced(age));
        write(&self.replaced(0), &replaced)
    }

    /// Removes files of other conversations from the state directory if they are older than [`MAX_COPY_AGE`].
    fn remove_old_copies(&self) {
        let copies = fs::read_dir(&self.state).into_iter().flatten().flatten();
        let is_other = |name: &OsStr| !name.to_str().is_some_and(|name| name.starts_with(&self.id));
        for copy in copies.filter(|copy| is_other(&copy.file_name())) {
            let written = copy.metadata().and_then(|facts| facts.modified()).ok();
            if written.and_then(|written| written.elapsed().ok()).is_some_and(|age| age > MAX_COPY_AGE) {
                let _ = fs::remove_file(copy.path());
            }
        }
    }

    /// Returns true if a copy has messages that are missing from the file.
    pub fn can_restore(&self) -> bool {
        match best(&self.found()) {
            Some((_, content)) => self.copy_with_more(content).is_some(),
            None => self.copies().any(|(_, content)| !content.is_empty()),
        }
    }

    /// Returns the newest copy with messages that are missing from `content`.
    fn copy_with_more(&self, content: &ConversationContent) -> Option<PathBuf> {
        self.copies().find(|(_, copied)| !content.contains(copied)).map(|(copy, _)| copy)
    }

    /// Returns the readable copies, newest first.
    fn copies(&self) -> impl Iterator<Item = (PathBuf, ConversationContent)> {
        (0..MAX_COPIES)
            .map(|age| self.copy(age))
            .filter_map(|copy| ConversationContent::read(&copy).ok().map(|content| (copy, content)))
    }

    /// Returns the path of a copy. `age` is 0 for the newest copy.
    fn copy(&self, age: usize) -> PathBuf {
        self.state.join(aged(&self.id, age))
    }

    /// Returns the path of a replaced file. `age` is 0 for the newest file.
    fn replaced(&self, age: usize) -> PathBuf {
        self.state.join(aged(&format!("{}.replaced", self.id), age))
    }

    /// Finds and reads the files with this conversation id in all projects.
    fn found(&self) -> Vec<(PathBuf, ConversationContent)> {
        let prefix = format!("-{}", &self.id[..ID_PREFIX_CHARS]);
        let projects = fs::read_dir(&self.projects).into_iter().flatten().flatten();
        let folders = projects.map(|project| project.path().join("chats")).filter(|chats| is_own_folder(chats));
        let files = folders.flat_map(|chats| fs::read_dir(chats).into_iter().flatten().flatten());
        files
            .map(|file| file.path())
            .filter(|file| {
                let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
                name.starts_with("session-") && name.ends_with(".jsonl") && name.contains(&prefix)
            })
            .filter_map(|file| ConversationContent::read(&file).ok().map(|content| (file, content)))
            .filter(|(_, content)| content.id.as_ref() == Some(&self.id))
            .collect()
    }

    /// Returns a file name that Gemini neither writes nor deletes. The name contains the first and the last characters
    /// of the id. Names that Gemini assigns contain only the creation minute and the first characters. Gemini finds the
    /// file under any name, because it reads the id inside.
    fn safe_name(&self, file: &Path) -> String {
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let minute = name.strip_prefix("session-").and_then(|rest| rest.get(..16));
        let minute = minute.filter(|minute| minute.starts_with("20")).unwrap_or("2000-01-01T00-00");
        format!(
            "session-{minute}-{}-{}.jsonl",
            &self.id[..ID_PREFIX_CHARS],
            &self.id[self.id.len() - ID_PREFIX_CHARS..]
        )
    }
}

/// Selects the non-empty file with the most messages.
fn best(found: &[(PathBuf, ConversationContent)]) -> Option<(&PathBuf, &ConversationContent)> {
    let used = found.iter().filter(|(_, content)| !content.is_empty());
    used.max_by_key(|(_, content)| content.size()).map(|(file, content)| (file, content))
}

/// Returns the file name for an age: without a number for the newest file (age 0), with the age as a number for older
/// files.
fn aged(stem: &str, age: usize) -> String {
    if age == 0 { format!("{stem}.jsonl") } else { format!("{stem}.{age}.jsonl") }
}

/// Renames each file to the name for the next age, to make room for a new file. The oldest file is overwritten.
fn shift(path: impl Fn(usize) -> PathBuf) {
    for age in (1..MAX_COPIES).rev() {
        // Some of the files may not exist.
        let _ = fs::rename(path(age - 1), path(age));
    }
}

/// Returns true if `chats` and its parent, the directory of a project, are both directories and not symbolic links.
fn is_own_folder(chats: &Path) -> bool {
    let is_folder = |path: &Path| fs::symlink_metadata(path).is_ok_and(|facts| facts.is_dir());
    chats.parent().is_some_and(is_folder) && is_folder(chats)
}

/// Creates a directory with mode 0700.
fn make_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    if !fs::symlink_metadata(folder)?.is_dir() {
        return Err(io::Error::other(format!("{} is a symbolic link, not a directory", folder.display())));
    }
    fs::set_permissions(folder, Permissions::from_mode(0o700))
}

/// Replaces a file atomically. The new file has mode 0600.
fn write(file: &Path, content: &[u8]) -> io::Result<()> {
    let folder =
        file.parent().ok_or_else(|| io::Error::other(format!("{} has no parent directory", file.display())))?;
    // `NamedTempFile` creates files with mode 0600.
    let mut new = NamedTempFile::new_in(folder)?;
    new.write_all(content)?;
    new.as_file().sync_all()?;
    new.persist(file)?;
    Ok(())
}

#[cfg(test)]
mod tests;
