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

    /// The file of the database, made if there is none, for nobody but its owner.
    pub fn file(&self) -> Result<PathBuf, StoreError> {
        let path = self.directory.join(FILE);
        let file = private(&path)?;
        file.set_permissions(Permissions::from_mode(0o600)).map_err(|error| unusable(&path, &error))?;
        Ok(path)
    }

    /// Puts a damaged database and what belongs to it out of the way, under a name that has the date. Where it is then.
    pub fn set_aside(&self) -> Result<PathBuf, StoreError> {
        let path = self.directory.join(FILE);
        let date = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
        let aside = (0..1000)
            .map(|number| if number == 0 { date.clone() } else { format!("{date}-{number}") })
            .map(|date| self.directory.join(format!("{FILE}.damaged-{date}")))
            .find(|aside| !aside.exists())
            .ok_or_else(|| StoreError::Unusable { path: path.clone(), why: "too many were set aside".to_owned() })?;
        // What it has in its log goes first: a fresh database must never find it.
        for suffix in ["-wal", "-shm", ""] {
            let [from, to] = [&path, &aside].map(|path| {
                let mut name = path.clone().into_os_string();
                name.push(suffix);
                PathBuf::from(name)
            });
            match fs::rename(&from, &to) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(unusable(&from, &error)),
                _ => {}
            }
        }
        self.sync()?;
        Ok(aside)
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

/// Opens or makes a file that only its owner can read, and that is no link to elsewhere.
fn private(path: &Path) -> Result<File, StoreError> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags((OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC).bits())
        .open(path)
        .map_err(|error| unusable(path, &error))
}

fn unusable(path: &Path, error: &io::Error) -> StoreError {
    if error.raw_os_error() == Some(nix::errno::Errno::ENOSPC as i32) {
        return StoreError::DiskFull;
    }
    StoreError::Unusable { path: path.to_owned(), why: error.to_string() }
}
