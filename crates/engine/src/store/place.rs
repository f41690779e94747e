//! Where the store is: a directory that is nobody else's business, and the lock that one engine holds on it.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg, OFlag};
use nix::unistd::geteuid;

use super::error::StoreError;

/// The file of the store.
pub const FILE: &str = "wheelhouse.db";
const LOCK: &str = "wheelhouse.lock";
/// The name of a damaged file up to the date.
const DAMAGED: &str = "wheelhouse.db.damaged-";

/// The directory, held against other engines for as long as this lives.
#[derive(Debug)]
pub(super) struct Place {
    pub directory: PathBuf,
    _lock: Flock<File>,
}

impl Place {
    /// Makes the directory if there is none, and takes its lock.
    pub fn take(directory: &Path) -> Result<Self, StoreError> {
        prepare(directory)?;
        let file = private(&directory.join(LOCK))?;
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(mut lock) => {
                // Who has the lock is for people to read; the lock itself does not depend on it.
                let _ = lock.set_len(0).and_then(|()| writeln!(lock, "{}", std::process::id()));
                Ok(Self { directory: directory.to_owned(), _lock: lock })
            }
            Err((mut file, nix::errno::Errno::EWOULDBLOCK)) => {
                let mut said = String::new();
                let _ = (&mut file).take(32).read_to_string(&mut said);
                Err(StoreError::Taken { directory: directory.to_owned(), pid: said.trim().parse().ok() })
            }
            Err((_, errno)) => Err(unusable(directory, &errno.into())),
        }
    }

    /// The file of the database, for nobody but its owner; `None` if there is no store here yet.
    pub fn file(&self) -> Result<Option<PathBuf>, StoreError> {
        let path = self.directory.join(FILE);
        let file = match options().open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unusable(&path, &error)),
        };
        file.set_permissions(Permissions::from_mode(0o600)).map_err(|error| unusable(&path, &error))?;
        Ok(Some(path))
    }

    /// The write-ahead log of the database; empty if there is none.
    pub fn log(&self) -> Result<Vec<u8>, StoreError> {
        let path = suffixed(&self.directory.join(FILE), "-wal");
        match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            other => other.map_err(|error| unusable(&path, &error)),
        }
    }

    /// Empties the write-ahead log.
    pub fn empty_log(&self) -> Result<(), StoreError> {
        let path = suffixed(&self.directory.join(FILE), "-wal");
        let emptied = OpenOptions::new().write(true).open(&path).and_then(|log| log.set_len(0));
        emptied.map_err(|error| unusable(&path, &error))
    }

    /// An empty file for a database that is being made. What an earlier attempt left is removed.
    pub fn unfinished(&self) -> Result<PathBuf, StoreError> {
        let path = self.directory.join(format!("{FILE}.new"));
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

    /// Gives a database that was made its name.
    pub fn finish(&self, unfinished: &Path) -> Result<PathBuf, StoreError> {
        let path = self.directory.join(FILE);
        fs::rename(unfinished, &path).map_err(|error| unusable(&path, &error))?;
        self.sync()?;
        Ok(path)
    }

    /// Puts a damaged database and what belongs to it out of the way, under a name that has the date. Where it is then.
    pub fn set_aside(&self) -> Result<PathBuf, StoreError> {
        const SUFFIXES: [&str; 3] = ["", "-shm", "-wal"];
        let path = self.directory.join(FILE);
        let date = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
        let aside = (0..1000)
            .map(|number| if number == 0 { date.clone() } else { format!("{date}-{number}") })
            .map(|date| self.directory.join(format!("{DAMAGED}{date}")))
            .find(|aside| !SUFFIXES.iter().any(|suffix| suffixed(aside, suffix).exists()))
            .ok_or_else(|| StoreError::Unusable { path: path.clone(), why: "too many were set aside".to_owned() })?;
        // The log goes last: after a crash in between, the next start finds it alone and sets it aside, too.
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

    /// Makes the names in the directory survive a loss of power.
    pub fn sync(&self) -> Result<(), StoreError> {
        File::open(&self.directory)
            .and_then(|directory| directory.sync_all())
            .map_err(|error| unusable(&self.directory, &error))
    }
}

fn prepare(directory: &Path) -> Result<(), StoreError> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(|error| unusable(directory, &error))?;
    let metadata = fs::metadata(directory).map_err(|error| unusable(directory, &error))?;
    let refuse = |why: String| Err(StoreError::Unusable { path: directory.to_owned(), why });
    if metadata.uid() != geteuid().as_raw() {
        return refuse(format!("it belongs to user {}; choose a directory of your own", metadata.uid()));
    }
    if metadata.mode() & 0o077 != 0 {
        let mode = metadata.mode() & 0o777;
        return refuse(format!("others can look into it (mode {mode:o}); make it yours alone with chmod 700"));
    }
    Ok(())
}

/// The damaged databases that were set aside in this directory, oldest first.
pub fn damaged(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = entries
        .filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_prefix(DAMAGED));
            name.is_some_and(|date| match date.strip_suffix("-wal") {
                Some(date) => !directory.join(format!("{DAMAGED}{date}")).exists(),
                None => !date.ends_with("-shm"),
            })
        })
        .collect();
    found.sort_unstable();
    found
}

/// The name of a file that belongs to a database, as SQLite forms it.
pub(super) fn suffixed(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Options for opening files of the store, which never follow a link.
fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags((OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC).bits());
    options
}

/// Opens or makes a file that only its owner can read.
fn private(path: &Path) -> Result<File, StoreError> {
    options().create(true).truncate(false).mode(0o600).open(path).map_err(|error| unusable(path, &error))
}

/// The error of a file of the store that cannot be used.
pub(super) fn unusable(path: &Path, error: &io::Error) -> StoreError {
    StoreError::Unusable { path: path.to_owned(), why: error.to_string() }
}
