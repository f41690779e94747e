//! Conversation files of Gemini CLI. Loading a conversation makes Gemini write an empty one under the same id: in the same
//! minute into the same file, otherwise into a second one, and its next start deletes every file of an id that has an empty
//! one. So before a load wh copies the file into its own state directory and gives it a name that Gemini neither writes
//! nor deletes; it still finds the file by the id inside. See docs/decisions/035-comparing-conversations.md.

mod content;

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::NamedTempFile;

use crate::manage::gemini;
use crate::port::Surroundings;
use content::Content;

/// Characters of an id in the name that Gemini gives to a file.
const ID_PREFIX: usize = 8;

/// Files of each kind that are kept of a conversation in wh's state directory: the newest and older ones.
const MAX_COPIES: usize = 3;

/// Time after the last write to a copy after which it is removed, at the next load of another conversation.
const MAX_COPY_AGE: Duration = Duration::from_secs(60 * 24 * 60 * 60);

/// The files of one conversation.
#[derive(Debug, Clone)]
pub(super) struct ConversationFiles {
    /// The folder with a folder for each project.
    projects: PathBuf,
    /// The folder with the conversations of this project, where Gemini has one for it.
    chats: Option<PathBuf>,
    /// The folder in wh's state directory.
    state: PathBuf,
    id: String,
}

/// The state of a conversation's file before it is loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Prepared {
    /// It is there, under a name that is safe.
    Safe,
    /// The same, but it could not be copied, for this reason.
    Uncopied(String),
    /// It was gone, and is restored from wh's copy.
    Restored,
    /// There is neither a file nor a copy.
    Missing,
}

impl ConversationFiles {
    /// `None` if the id is not one of Gemini's, or there is no home directory.
    pub fn new(here: &Surroundings, id: &str) -> Option<Self> {
        let is_plain = id.len() >= 2 * ID_PREFIX && id.chars().all(|one| one.is_ascii_alphanumeric() || one == '-');
        if !is_plain {
            return None;
        }
        let projects = gemini::folder(here)?.join("tmp");
        let state = here.variable("XDG_STATE_HOME").map(PathBuf::from).filter(|state| state.is_absolute());
        let state = state.or_else(|| here.home(".local/state"))?;
        let state = state.join("wheelhouse/conversations/gemini");
        Some(Self { projects, chats: gemini::chats(here), state, id: id.to_owned() })
    }

    /// Copies the file and gives it a safe name. No process may have the conversation open. `restore`: a copy with messages
    /// that the file does not have takes its place, and the file moves into the state directory.
    pub fn prepare(&self, restore: bool) -> io::Result<Prepared> {
        let found = self.found();
        let prepared = match best(&found) {
            Some((file, content)) => match self.copy_with_more(content).filter(|_| restore) {
                Some(copy) => self.replace(file, &copy).map(|()| Prepared::Restored),
                None => {
                    let kept = self.keep(file, content);
                    let uncopied = |error: io::Error| Prepared::Uncopied(error.to_string());
                    self.rename(file).map(|()| kept.map_or_else(uncopied, |()| Prepared::Safe))
                }
            },
            None => self.restore(&found),
        };
        self.remove_empty();
        prepared
    }

    /// Copies a file. A copy with messages that the file does not have is kept beside it.
    fn keep(&self, file: &Path, content: &Content) -> io::Result<()> {
        make_folder(&self.state)?;
        self.remove_old_copies();
        if let Ok(newest) = Content::read(&self.copy(0))
            && !content.contains(&newest)
        {
            if newest.contains(content) {
                return Ok(());
            }
            shift(|age| self.copy(age));
        }
        write(&self.copy(0), &content::bytes(file)?)
    }

    /// Gives a file its safe name.
    fn rename(&self, file: &Path) -> io::Result<()> {
        let safe = file.with_file_name(self.safe_name(file));
        if safe != file && safe.exists() {
            self.set_aside(&safe)?;
        }
        fs::rename(file, safe)
    }

    /// Puts a copy in the place of a file.
    fn replace(&self, file: &Path, copy: &Path) -> io::Result<()> {
        let (copied, safe) = (content::bytes(copy)?, file.with_file_name(self.safe_name(file)));
        if safe != file && safe.exists() {
            self.set_aside(&safe)?;
        }
        self.save_replaced(file)?;
        write(&safe, &copied)?;
        if safe == file { Ok(()) } else { fs::remove_file(file) }
    }

    /// Writes the newest copy where no file is left.
    fn restore(&self, found: &[(PathBuf, Content)]) -> io::Result<Prepared> {
        let copy = self.copies().find(|(_, content)| !content.is_empty());
        let (Some((copy, _)), Some(folder)) = (copy, self.folder(found)) else { return Ok(Prepared::Missing) };
        fs::create_dir_all(&folder)?;
        if !is_own_folder(&folder) {
            return Ok(Prepared::Missing);
        }
        write(&folder.join(self.safe_name(&copy)), &content::bytes(&copy)?)?;
        Ok(Prepared::Restored)
    }

    /// Removes the empty files that a load has left: the next start of Gemini would delete the conversation with them. A
    /// file in which something was ever said is moved into the state directory.
    pub fn remove_empty(&self) {
        for (file, content) in self.found().iter().filter(|(_, content)| content.is_empty()) {
            let removed = if content.is_unused() { fs::remove_file(file) } else { self.set_aside(file) };
            if let Err(error) = removed {
                tracing::debug!(%error, "an empty conversation stays");
            }
        }
    }

    /// Moves a file into the state directory.
    fn set_aside(&self, file: &Path) -> io::Result<()> {
        self.save_replaced(file)?;
        fs::remove_file(file)
    }

    /// Writes a file that is to be replaced into the state directory.
    fn save_replaced(&self, file: &Path) -> io::Result<()> {
        let replaced = content::bytes(file)?;
        make_folder(&self.state)?;
        shift(|age| self.replaced(age));
        write(&self.replaced(0), &replaced)
    }

    /// Removes copies of other conversations that are too old.
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

    /// True if wh has a copy with something that the file does not have.
    pub fn can_restore(&self) -> bool {
        match best(&self.found()) {
            Some((_, content)) => self.copy_with_more(content).is_some(),
            None => self.copies().any(|(_, content)| !content.is_empty()),
        }
    }

    /// The newest copy with something that is not in `content`.
    fn copy_with_more(&self, content: &Content) -> Option<PathBuf> {
        self.copies().find(|(_, copied)| !content.contains(copied)).map(|(copy, _)| copy)
    }

    /// The copies that can be read, the newest first.
    fn copies(&self) -> impl Iterator<Item = (PathBuf, Content)> {
        (0..MAX_COPIES)
            .map(|age| self.copy(age))
            .filter_map(|copy| Content::read(&copy).ok().map(|content| (copy, content)))
    }

    /// The copy of the file; `age` is 0 for the newest.
    fn copy(&self, age: usize) -> PathBuf {
        self.state.join(aged(&self.id, age))
    }

    /// A file that was moved out of Gemini's folder.
    fn replaced(&self, age: usize) -> PathBuf {
        self.state.join(aged(&format!("{}.replaced", self.id), age))
    }

    /// The files of this id in all projects, with their content.
    fn found(&self) -> Vec<(PathBuf, Content)> {
        let prefix = format!("-{}", &self.id[..ID_PREFIX]);
        let projects = fs::read_dir(&self.projects).into_iter().flatten().flatten();
        let folders = projects.map(|project| project.path().join("chats")).filter(|chats| is_own_folder(chats));
        let files = folders.flat_map(|chats| fs::read_dir(chats).into_iter().flatten().flatten());
        files
            .map(|file| file.path())
            .filter(|file| {
                let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
                name.starts_with("session-") && name.ends_with(".jsonl") && name.contains(&prefix)
            })
            .filter_map(|file| Content::read(&file).ok().map(|content| (file, content)))
            .filter(|(_, content)| content.id.as_ref() == Some(&self.id))
            .collect()
    }

    /// The folder that the conversation belongs in. A conversation is never written into another project.
    fn folder(&self, found: &[(PathBuf, Content)]) -> Option<PathBuf> {
        let left = || found.first().and_then(|(file, _)| file.parent()).map(Path::to_owned);
        self.chats.clone().or_else(left)
    }

    /// A name with both ends of the id. Gemini itself uses only the first, after the minute in which the file was begun.
    fn safe_name(&self, file: &Path) -> String {
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let minute = name.strip_prefix("session-").and_then(|rest| rest.get(..16));
        let minute = minute.filter(|minute| minute.starts_with("20")).unwrap_or("2000-01-01T00-00");
        format!("session-{minute}-{}-{}.jsonl", &self.id[..ID_PREFIX], &self.id[self.id.len() - ID_PREFIX..])
    }
}

/// The file that has the conversation.
fn best(found: &[(PathBuf, Content)]) -> Option<(&PathBuf, &Content)> {
    let used = found.iter().filter(|(_, content)| !content.is_empty());
    used.max_by_key(|(_, content)| content.size()).map(|(file, content)| (file, content))
}

/// The name of the newest file, or with a number that of an older one.
fn aged(stem: &str, age: usize) -> String {
    if age == 0 { format!("{stem}.jsonl") } else { format!("{stem}.{age}.jsonl") }
}

/// Makes room for a new file by counting the others up. The oldest is dropped.
fn shift(path: impl Fn(usize) -> PathBuf) {
    for age in (1..MAX_COPIES).rev() {
        // Not all of them are there.
        let _ = fs::rename(path(age - 1), path(age));
    }
}

/// True for the folder of a project's conversations, unless it or the project is a link.
fn is_own_folder(chats: &Path) -> bool {
    let is_folder = |path: &Path| fs::symlink_metadata(path).is_ok_and(|facts| facts.is_dir());
    chats.parent().is_some_and(is_folder) && is_folder(chats)
}

/// Makes a folder that only this user can read.
fn make_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    if !fs::symlink_metadata(folder)?.is_dir() {
        return Err(io::Error::other(format!("{} is a link", folder.display())));
    }
    fs::set_permissions(folder, Permissions::from_mode(0o700))
}

/// Replaces a file in one step. Only this user can read it.
fn write(file: &Path, content: &[u8]) -> io::Result<()> {
    let folder = file.parent().ok_or_else(|| io::Error::other("a file has a folder"))?;
    // Created anew, with mode 0600.
    let mut new = NamedTempFile::new_in(folder)?;
    new.write_all(content)?;
    new.as_file().sync_all()?;
    new.persist(file)?;
    Ok(())
}

#[cfg(test)]
mod tests;
