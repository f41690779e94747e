//! Directory of the store, which only its owner can access and only one engine can lock.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg, OFlag};
use nix::unistd::geteuid;

use super::error::StoreError;

/// File name of the store's database.
pub const DATABASE_FILE: &str = "wheelhouse.db";
const LOCK_FILE: &str = "wheelhouse.lock";
/// Prefix of the new name of a damaged database, followed by the date.
const DAMAGED_PREFIX: &str = "wheelhouse.db.damaged-";

/// Directory of the store, locked until this value is dropped.
#[derive(Debug)]
pub(super) struct StoreDirectory {
    pub path: PathBuf,
    _lock: Flock<File>,
}

impl StoreDirectory {
    /// Creates the directory if needed, and locks it for this process.
    pub fn lock(directory: &Path) -> Result<Self, StoreError> {
        prepare(directory)?;
        let file = private(&directory.join(LOCK_FILE))?;
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(mut lock) => {
                // The process id is only written for error messages; the lock does not depend on it.
                let _ = lock.set_len(0).and_then(|()| writeln!(lock, "{}", std::process::id()));
                Ok(Self { path: directory.to_owned(), _lock: lock })
            }
            Err((mut file, nix::errno::Errno::EWOULDBLOCK)) => {
                let mut said = String::new();
                let _ = (&mut file).take(32).read_to_string(&mut said);
                Err(StoreError::Taken { directory: directory.to_owned(), pid: said.trim().parse().ok() })
            }
            Err((_, errno)) => Err(unusable(directory, &errno.into())),
        }
    }

    /// Returns the path of the database, after restricting its permissions to the owner; `None` if it does not exist
    /// yet.
    pub fn file(&self) -> Result<Option<PathBuf>, StoreError> {
        let path = self.path.join(DATABASE_FILE);
        let file = match options().open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unusable(&path, &error)),
        };
        file.set_permissions(Permissions::from_mode(0o600)).map_err(|error| unusable(&path, &error))?;
        Ok(Some(path))
    }

    /// Reads the database's write-ahead log; empty if there is none.
    pub fn log(&self) -> Result<Vec<u8>, StoreError> {
        let path = suffixed(&self.path.join(DATABASE_FILE), "-wal");
        match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            other => other.map_err(|error| unusable(&path, &error)),
        }
    }

    pub fn empty_log(&self) -> Result<(), StoreError> {
        let path = suffixed(&self.path.join(DATABASE_FILE), "-wal");
        let emptied = OpenOptions::new().write(true).open(&path).and_then(|log| log.set_len(0));
        emptied.map_err(|error| unusable(&path, &error))
    }

    /// Creates an empty file for a new database, after removing the files of an interrupted attempt.
    pub fn create_unfinished(&self) -> Result<PathBuf, StoreError> {
        let path = self.path.join(format!("{DATABASE_FILE}.new"));
        for suffix in ["", "-wal", "-shm", "-journal"] {
            let left = suffixed(&path, suffix);
            match fs::remove_file(&left) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(unusable(&left, &error)),
                _ => {}
            }
        }
        private(&path)?;
        Ok(path)
    }

    /// Renames a complete new database to [`DATABASE_FILE`].
    pub fn finish(&self, unfinished: &Path) -> Result<PathBuf, StoreError> {
        let path = self.path.join(DATABASE_FILE);
        fs::rename(unfinished, &path).map_err(|error| unusable(&path, &error))?;
        self.sync()?;
        Ok(path)
    }

    /// Renames a damaged database and its companion files to names with the current date. Returns the new path of the
    /// database, or of its log if the database is missing.
    pub fn set_aside(&self) -> Result<PathBuf, StoreError> {
        const SUFFIXES: [&str; 3] = ["", "-shm", "-wal"];
        let path = self.path.join(DATABASE_FILE);
        let date = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
        let aside = (0..1000)
            .map(|number| if number == 0 { date.clone() } else { format!("{date}-{number}") })
            .map(|date| self.path.join(format!("{DAMAGED_PREFIX}{date}")))
            .find(|aside| !SUFFIXES.iter().any(|suffix| suffixed(aside, suffix).exists()))
            .ok_or_else(|| StoreError::Unusable {
                path: path.clone(),
                why: "the directory contains too many damaged databases; remove some of them".to_owned(),
            })?;
        // The log is renamed last: after a crash in between, the next start finds only the log and renames it too.
        for suffix in SUFFIXES {
            let [from, to] = [&path, &aside].map(|path| suffixed(path, suffix));
            match fs::rename(&from, &to) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(unusable(&from, &error)),
                _ => {}
            }
        }
        self.sync()?;
        let log = suffixed(&aside, "-wal");
        Ok(if aside.exists() { aside } else { log })
    }

    /// Syncs the directory, so that a renamed file survives a power loss.
    pub fn sync(&self) -> Result<(), StoreError> {
        File::open(&self.path).and_then(|directory| directory.sync_all()).map_err(|error| unusable(&self.path, &error))
    }
}

fn prepare(directory: &Path) -> Result<(), StoreError> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(|error| unusable(directory, &error))?;
    let metadata = fs::metadata(directory).map_err(|error| unusable(directory, &error))?;
    let refuse = |why: String| Err(StoreError::Unusable { path: directory.to_owned(), why });
    if metadata.uid() != geteuid().as_raw() {
        return refuse(format!("the directory belongs to user {}; choose a directory that you own", metadata.uid()));
    }
    if metadata.mode() & 0o077 != 0 {
        let mode = metadata.mode() & 0o777;
        return refuse(format!("other users have access (mode {mode:o}); run: chmod 700 {}", directory.display()));
    }
    Ok(())
}

/// Returns the damaged databases that were renamed in a directory, oldest first.
pub fn damaged_files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = entries
        .filter(|path| {
            let name =
                path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_prefix(DAMAGED_PREFIX));
            name.is_some_and(|date| match date.strip_suffix("-wal") {
                Some(date) => !directory.join(format!("{DAMAGED_PREFIX}{date}")).exists(),
                None => !date.ends_with("-shm"),
            })
        })
        .collect();
    found.sort_unstable();
    found
}

/// Returns the path of a database's companion file with this suffix, such as `-wal`.
pub(super) fn suffixed(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Returns options that open a file for reading and writing without following links.
fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags((OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC).bits());
    options
}

/// Opens or creates a file that only its owner can access.
fn private(path: &Path) -> Result<File, StoreError> {
    options().create(true).truncate(false).mode(0o600).open(path).map_err(|error| unusable(path, &error))
}

/// Creates a [`StoreError`] for an I/O error of one of the store's files.
pub(super) fn unusable(path: &Path, error: &io::Error) -> StoreError {
    StoreError::Unusable { path: path.to_owned(), why: error.to_string() }
}
