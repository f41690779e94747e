//! Texts that are too long to be sent inline. The sender writes the text to a file in a shared folder; the receiver
//! reads the text only if the file matches the reference.
//!
//! The path below the folder is opened component by component without following links. The file is checked and read
//! through the same handle, so that replacing the file in between has no effect.

mod problem;
#[cfg(test)]
mod tests;

pub use problem::ReferenceProblem;

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use nix::errno::Errno;
use nix::fcntl::{OFlag, open, openat};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat};
use nix::unistd::geteuid;
use sha2::{Digest, Sha256};
use wh_wire::socket::ContentRef;

use super::private;

/// Media type of the references that wh creates.
const MIME: &str = "text/plain; charset=utf-8";

/// Media types that are accepted in a reference.
const MIME_TYPES: [&str; 3] = ["text/plain", "text/markdown", "application/json"];

/// Age above which a file is removed. By then, every message that refers to the file has expired.
const MAX_TEXT_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// Shared folder for texts, with one subfolder per team.
#[derive(Debug, Clone)]
pub struct ContentRefFolder {
    /// Path as configured, which senders may use in references.
    base: PathBuf,
    /// Canonical path, without symbolic links.
    resolved: PathBuf,
    max_bytes: u64,
}

impl ContentRefFolder {
    /// Opens the shared folder `base`, which is created if needed. A text may have at most `max_bytes` bytes.
    pub fn new(base: impl Into<PathBuf>, max_bytes: u64) -> io::Result<Self> {
        let base = base.into();
        if !base.is_absolute() {
            return Err(io::Error::other(format!("{}: the folder for texts must be an absolute path", base.display())));
        }
        private::folder(&base)?;
        let resolved = base.canonicalize()?;
        Ok(Self { base, resolved, max_bytes })
    }

    /// Returns the path of the shared folder, as configured.
    pub fn base(&self) -> &Path {
        &self.base
    }

    /// Checks a reference from a member of this team, and reads its text.
    pub fn read(&self, team: &str, reference: &ContentRef, now: SystemTime) -> Result<String, ReferenceProblem> {
        let components = self.components(team, &reference.path)?;
        if !is_known_mime(&reference.mime) {
            return Err(ReferenceProblem::Mime(reference.mime.clone()));
        }
        if let Some(expires_at) = &reference.expires_at {
            let until: Timestamp = expires_at.parse().map_err(|_| ReferenceProblem::NoTime(expires_at.clone()))?;
            if now >= SystemTime::from(until) {
                return Err(ReferenceProblem::Expired(expires_at.clone()));
            }
        }
        if reference.size_bytes > self.max_bytes {
            return Err(ReferenceProblem::TooLong { bytes: reference.size_bytes, allowed: self.max_bytes });
        }
        let base = open(&self.resolved, OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC, Mode::empty())
            .map_err(ReferenceProblem::unreadable)?;
        let mut file = open_beneath(base, &components, reference.size_bytes)?;
        let mut bytes = Vec::with_capacity(usize::try_from(reference.size_bytes).unwrap_or(0));
        // Reads one byte more than expected, to detect a file that grows while it is read.
        let read = Read::by_ref(&mut file).take(reference.size_bytes.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|error| ReferenceProblem::Unreadable(error.to_string()))?;
        if bytes.len() as u64 != reference.size_bytes {
            return Err(ReferenceProblem::Size { stated: reference.size_bytes, actual: bytes.len() as u64 });
        }
        if !digest(&bytes).eq_ignore_ascii_case(&reference.sha256) {
            return Err(ReferenceProblem::Digest);
        }
        let text =
            String::from_utf8(bytes).map_err(|error| ReferenceProblem::NotUtf8(error.utf8_error().valid_up_to()))?;
        if text.trim().is_empty() { Err(ReferenceProblem::Blank) } else { Ok(text) }
    }

    /// Splits a path into its components below the shared folder. The first component must be the team.
    fn components(&self, team: &str, path: &str) -> Result<Vec<PathBuf>, ReferenceProblem> {
        let path = Path::new(path);
        if !path.is_absolute() {
            return Err(ReferenceProblem::NotAbsolute);
        }
        // `..` is refused, because its meaning would depend on symbolic links.
        if path.components().any(|part| part == Component::ParentDir) {
            return Err(ReferenceProblem::Upwards);
        }
        let beneath = path.strip_prefix(&self.base).or_else(|_| path.strip_prefix(&self.resolved));
        let outside = || ReferenceProblem::Outside(self.base.join(team));
        let components: Vec<PathBuf> = beneath.map_err(|_| outside())?.iter().map(PathBuf::from).collect();
        if components.len() < 2 || components[0] != Path::new(team) {
            return Err(outside());
        }
        Ok(components)
    }

    /// Writes a text to a file, and returns a reference to it. Only the current user can read the file. A file with the
    /// same name is replaced atomically. The sender may remove the file after the acknowledgement of the message.
    pub fn write(
        &self,
        team: &str,
        request_id: &str,
        text: &str,
        expires_at: Option<SystemTime>,
    ) -> io::Result<ContentRef> {
        if text.len() as u64 > self.max_bytes {
            let (bytes, allowed) = (text.len(), self.max_bytes);
            return Err(io::Error::other(format!("the text has {bytes} bytes; at most {allowed} can be sent")));
        }
        if !is_plain(team) {
            return Err(io::Error::other(format!("the team name {team:?} cannot be used as a folder name")));
        }
        for folder in [self.base.join(team), self.base.join(team).join("input")] {
            private::folder(&folder)?;
        }
        // Request ids that are not safe as file names are replaced by their digest.
        let name = if is_plain(request_id) { request_id.to_owned() } else { digest(request_id.as_bytes()) };
        let path = self.base.join(team).join("input").join(format!("{name}.txt"));
        private::write(&path, text.as_bytes())?;
        let path = path
            .into_os_string()
            .into_string()
            .map_err(|path| io::Error::other(format!("{}: the path is not valid UTF-8", Path::new(&path).display())))?;
        let expires_at = expires_at.map(Timestamp::try_from).transpose().map_err(io::Error::other)?;
        Ok(ContentRef {
            path,
            size_bytes: text.len() as u64,
            sha256: digest(text.as_bytes()),
            mime: MIME.to_owned(),
            expires_at: expires_at.map(|at| at.to_string()),
        })
    }
}

impl ContentRefFolder {
    /// Removes files older than a day. Returns the number of removed files.
    pub fn sweep(&self, now: SystemTime) -> io::Result<usize> {
        let mut swept = 0;
        for team in fs::read_dir(&self.resolved)?.flatten() {
            // Links in place of folders are not followed.
            if !team.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            let input = team.path().join("input");
            if !fs::symlink_metadata(&input).is_ok_and(|found| found.is_dir()) {
                continue;
            }
            for text in fs::read_dir(&input)?.flatten() {
                let Ok(found) = text.metadata() else { continue };
                let age = found.modified().ok().and_then(|written| now.duration_since(written).ok());
                if found.is_file() && age.is_some_and(|age| age > MAX_TEXT_AGE) && fs::remove_file(text.path()).is_ok()
                {
                    swept += 1;
                }
            }
        }
        Ok(swept)
    }
}

/// Opens a file for reading without following links. The file must belong to the current user and have `bytes` bytes.
/// Only regular files are opened: opening a pipe would block, and opening a device may have side effects.
fn open_beneath(base: OwnedFd, components: &[PathBuf], bytes: u64) -> Result<File, ReferenceProblem> {
    let inspect = OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let mut at = base;
    for (number, name) in components.iter().enumerate() {
        at = openat(&at, name, inspect, Mode::empty()).map_err(|error| match error {
            Errno::ENOENT => ReferenceProblem::Missing,
            error => ReferenceProblem::unreadable(error),
        })?;
        let stat = fstat(&at).map_err(ReferenceProblem::unreadable)?;
        let kind = kind_of(&stat);
        if kind == SFlag::S_IFLNK {
            return Err(ReferenceProblem::Link(name.clone()));
        }
        if number + 1 < components.len() {
            if kind != SFlag::S_IFDIR {
                return Err(ReferenceProblem::NoFolder(name.clone()));
            }
            continue;
        }
        if kind != SFlag::S_IFREG {
            return Err(ReferenceProblem::NoFile(problem::kind_name(kind)));
        }
        if stat.st_uid != geteuid().as_raw() {
            return Err(ReferenceProblem::Foreign);
        }
        // A hard link could give access to a file outside of the shared folder.
        if stat.st_nlink > 1 {
            return Err(ReferenceProblem::HardLink);
        }
        let actual = u64::try_from(stat.st_size).unwrap_or(0);
        if actual != bytes {
            return Err(ReferenceProblem::Size { stated: bytes, actual });
        }
    }
    // Reopens the checked file for reading, through its handle.
    let handle = format!("/proc/self/fd/{}", at.as_raw_fd());
    let flags = OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
    open(handle.as_str(), flags, Mode::empty()).map(File::from).map_err(ReferenceProblem::unreadable)
}

/// True if the media type is one of [`MIME_TYPES`]. If it has a charset, the charset must be UTF-8 or US-ASCII.
fn is_known_mime(mime: &str) -> bool {
    let mut parts = mime.split(';').map(str::trim);
    let known = parts.next().is_some_and(|kind| MIME_TYPES.iter().any(|known| kind.eq_ignore_ascii_case(known)));
    known
        && parts.all(|parameter| {
            let Some((name, value)) = parameter.split_once('=') else { return false };
            let value = value.trim().trim_matches('"');
            name.trim().eq_ignore_ascii_case("charset")
                && ["utf-8", "utf8", "us-ascii"].iter().any(|charset| value.eq_ignore_ascii_case(charset))
        })
}

fn kind_of(stat: &FileStat) -> SFlag {
    SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT
}

/// True if the text is safe as a file name.
fn is_plain(name: &str) -> bool {
    (1..=128).contains(&name.len())
        && !name.starts_with('.')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
