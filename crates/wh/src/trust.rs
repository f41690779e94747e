//! Which projects' files may be used: `trusted.json` in the person's own state, by the place and the content
//! of each file. What has changed since is not trusted any more.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};
use nix::unistd::geteuid;
use serde::{Deserialize, Serialize};

use crate::places;
use crate::project::ProjectFile;

const NAME: &str = "trusted.json";

/// What was trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trusted {
    /// The SHA-256 of the content.
    pub sha256: String,
    /// Since when.
    pub since: String,
}

/// How a file stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It may be used.
    Trusted,
    /// It was trusted, and is not the same any more.
    Changed,
    /// Nobody has said anything about it.
    Unknown,
}

/// What is trusted, by the places of the files.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Book {
    files: BTreeMap<String, Trusted>,
}

/// The book of what is trusted.
#[derive(Debug)]
pub struct Trust {
    directory: PathBuf,
    book: Book,
}

impl Trust {
    /// What is trusted now.
    pub fn read() -> io::Result<Self> {
        let directory = places::state().ok_or_else(|| io::Error::other("there is no home directory; set HOME"))?;
        Self::read_in(directory)
    }

    fn read_in(directory: PathBuf) -> io::Result<Self> {
        let path = directory.join(NAME);
        let explain = |problem: &dyn std::fmt::Display| io::Error::other(format!("{}: {problem}", path.display()));
        let text = match File::open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self { directory, book: Book::default() }),
            Err(error) => return Err(explain(&error)),
            Ok(file) => {
                let metadata = file.metadata().map_err(|error| explain(&error))?;
                // Whoever can write it can have any program started.
                if metadata.uid() != geteuid().as_raw() || metadata.permissions().mode() & 0o022 != 0 {
                    return Err(explain(&"others can write it; make sure of what is in it, and chmod 600 it"));
                }
                io::read_to_string(file).map_err(|error| explain(&error))?
            }
        };
        let book = serde_json::from_str(&text)
            .map_err(|error| explain(&format!("{error}; move it away, and trust again what you trust")))?;
        Ok(Self { directory, book })
    }

    /// How this file stands.
    pub fn of(&self, file: &ProjectFile) -> Standing {
        match file.path.to_str().and_then(|path| self.book.files.get(path)) {
            Some(trusted) if trusted.sha256 == file.digest => Standing::Trusted,
            Some(_) => Standing::Changed,
            None => Standing::Unknown,
        }
    }

    /// All that is trusted, by place.
    pub fn list(&self) -> impl Iterator<Item = (&str, &Trusted)> {
        self.book.files.iter().map(|(path, trusted)| (path.as_str(), trusted))
    }

    /// Trusts a file as it was read.
    pub fn add(&mut self, file: &ProjectFile) -> io::Result<()> {
        let path = file.path.to_str().ok_or_else(|| io::Error::other("its path is not text in UTF-8"))?.to_owned();
        let since = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let trusted = Trusted { sha256: file.digest.clone(), since };
        self.change(|book| drop(book.files.insert(path, trusted)))
    }

    /// Trusts these places no more. Which of them were trusted comes back.
    pub fn revoke(&mut self, places: &[PathBuf]) -> io::Result<Vec<String>> {
        let mut gone = Vec::new();
        self.change(|book| {
            book.files.retain(|path, _| {
                let named = places.iter().any(|place| place == Path::new(path));
                if named {
                    gone.push(path.clone());
                }
                !named
            });
        })?;
        Ok(gone)
    }

    /// Changes the book as it is by now, whoever else changes it meanwhile.
    fn change(&mut self, change: impl FnOnce(&mut Book)) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.directory)?;
        let lock = private().truncate(false).open(self.directory.join("trusted.lock"))?;
        let _lock = Flock::lock(lock, FlockArg::LockExclusive).map_err(|(_, error)| error)?;
        self.book = Self::read_in(self.directory.clone())?.book;
        change(&mut self.book);
        let unfinished = self.directory.join(format!("{NAME}.new"));
        match fs::remove_file(&unfinished) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = private().create_new(true).open(&unfinished)?;
        serde_json::to_writer_pretty(&mut file, &self.book)?;
        file.write_all(b"\n")?;
        file.sync_all()?;
        fs::rename(&unfinished, self.directory.join(NAME))
    }
}

/// For a file that is nobody else's.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create(true).mode(0o600);
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, digest: &str) -> ProjectFile {
        ProjectFile { directory: "/p".into(), path: path.into(), text: String::new(), digest: digest.to_owned() }
    }

    #[test]
    fn a_file_is_trusted_as_it_was_and_where_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let read = || Trust::read_in(folder.path().join("deep/down")).unwrap();
        assert_eq!(read().of(&file("/a", "1")), Standing::Unknown);
        let (mut one, mut other) = (read(), read());
        one.add(&file("/a", "1")).unwrap();
        other.add(&file("/b", "1")).unwrap();
        assert_eq!(read().list().count(), 2, "neither has lost what the other has said");
        assert_eq!(read().of(&file("/a", "1")), Standing::Trusted);
        assert_eq!(read().of(&file("/a", "2")), Standing::Changed);
        assert_eq!(read().of(&file("/c", "1")), Standing::Unknown);
        let mode = fs::metadata(folder.path().join("deep/down/trusted.json")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(read().revoke(&["/a".into(), "/c".into()]).unwrap(), ["/a"]);
        assert_eq!(read().of(&file("/a", "1")), Standing::Unknown);
        assert_eq!(read().of(&file("/b", "1")), Standing::Trusted);
    }

    #[test]
    fn a_book_that_others_can_write_or_that_is_none_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NAME);
        Trust::read_in(folder.path().into()).unwrap().add(&file("/a", "1")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        let error = Trust::read_in(folder.path().into()).unwrap_err().to_string();
        assert!(error.contains("others can write it") && error.contains("trusted.json"), "{error}");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&path, "{").unwrap();
        let error = Trust::read_in(folder.path().into()).unwrap_err().to_string();
        assert!(error.contains("move it away"), "{error}");
    }
}
