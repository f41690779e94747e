//! Appends to the audit log file, rotates it, and locks it against other processes.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use nix::fcntl::{Flock, FlockArg};
use nix::libc;
use wh_wire::socket::AuditRecord;

use super::{super::private, AuditOptions, line};

/// Log file with its rotation settings.
#[derive(Debug)]
pub(super) struct AuditLogFile {
    path: PathBuf,
    options: AuditOptions,
    file: Option<File>,
}

impl AuditLogFile {
    pub(super) fn open(path: PathBuf, options: AuditOptions) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            private::folder(folder)?;
        }
        let mut log = Self { path, options, file: None };
        let _lock = log.lock()?;
        log.current()?;
        Ok(log)
    }

    /// Appends records to the log, and rotates it when needed.
    pub(super) fn append<'a>(&mut self, records: impl Iterator<Item = &'a AuditRecord>) -> io::Result<()> {
        let _lock = self.lock()?;
        let (mut written, mut buffer) = (self.current()?, Vec::new());
        for record in records {
            let line = line::entry(record, &self.options.source);
            let grown = written + (buffer.len() + line.len()) as u64;
            if grown > self.options.rotate_at && written + buffer.len() as u64 > 0 {
                self.write(&buffer)?;
                buffer.clear();
                self.rotate()?;
                written = self.current()?;
            }
            buffer.extend(line);
        }
        self.write(&buffer)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.file {
            Some(file) => file.write_all(bytes),
            None => Err(io::Error::other("the log is not open")),
        }
    }

    /// Ensures that the open file is the current log and ends with a complete line. Appends a header if the file is
    /// empty or was just opened. Returns the length of the file.
    fn current(&mut self) -> io::Result<u64> {
        let named = fs::symlink_metadata(&self.path).ok().map(|named| (named.dev(), named.ino()));
        let same = match &self.file {
            Some(file) => {
                let open = file.metadata()?;
                named == Some((open.dev(), open.ino()))
            }
            None => false,
        };
        if !same {
            self.file = Some(open(&self.path)?);
        }
        let Some(file) = &mut self.file else { return Err(io::Error::other("the log is not open")) };
        let length = file.metadata()?.len();
        let mut missing = Vec::new();
        if length > 0 {
            let mut last = [0];
            file.read_exact_at(&mut last, length - 1)?;
            // The last line is incomplete if its writer was killed. The new line break keeps later entries readable.
            if last != [b'\n'] {
                missing.push(b'\n');
            }
        }
        if !same || length == 0 {
            missing.extend(line::header(SystemTime::now()));
        }
        file.write_all(&missing)?;
        Ok(length + missing.len() as u64)
    }

    /// Rotates the files: `log` becomes `log.1`, `log.1` becomes `log.2`, and the oldest is removed.
    fn rotate(&mut self) -> io::Result<()> {
        self.file = None;
        if self.options.keep == 0 {
            return fs::remove_file(&self.path);
        }
        for number in (1..self.options.keep).rev() {
            match fs::rename(rotated_path(&self.path, number), rotated_path(&self.path, number + 1)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        fs::rename(&self.path, rotated_path(&self.path, 1))
    }

    /// Locks the log against writing and rotation by other processes.
    fn lock(&self) -> io::Result<Flock<File>> {
        let file = options().create(true).open(lock_path(&self.path))?;
        Flock::lock(file, FlockArg::LockExclusive).map_err(|(_, error)| error.into())
    }
}

/// Returns the path of the rotated file with this number.
pub(super) fn rotated_path(path: &Path, number: usize) -> PathBuf {
    with_suffix(path, &number.to_string())
}

/// Returns the path of the file that a process locks while it writes to the log.
pub(super) fn lock_path(path: &Path) -> PathBuf {
    with_suffix(path, "lock")
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    name.into()
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).append(true).mode(0o600).custom_flags(libc::O_NOFOLLOW);
    options
}

fn open(path: &Path) -> io::Result<File> {
    let file = options().create(true).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.uid() != nix::unistd::geteuid().as_raw() {
        return Err(io::Error::other(format!(
            "{}: the audit log must be a file owned by the current user",
            path.display()
        )));
    }
    if metadata.mode() & 0o077 != 0 {
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
    }
    Ok(file)
}
