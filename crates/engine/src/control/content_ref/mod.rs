//! Texts that are too long to be sent inline: written by the sender to a file under a folder that both sides know, and read by the receiver
//! only if the file is what the reference says.
//!
//! The way from the folder to the file is walked name by name on open folders, and no link is followed; the file is looked at before it is
//! opened for reading, and read through that one handle. So whatever is swapped meanwhile, what is checked is what is used.

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

/// What a text is said to be.
const MIME: &str = "text/plain; charset=utf-8";

/// Media types of texts that are taken.
const MIME_TYPES: [&str; 3] = ["text/plain", "text/markdown", "application/json"];

/// How long a text may lie there: no message that refers to it can still come after that.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// The folder under which texts lie, one folder a team.
#[derive(Debug, Clone)]
pub struct References {
    /// As it was given; senders may name their files by it.
    base: PathBuf,
    /// Without links.
    resolved: PathBuf,
    longest: u64,
}

impl References {
    /// The folder, made if need be. Texts may have so many bytes.
    pub fn new(base: impl Into<PathBuf>, longest: u64) -> io::Result<Self> {
        let base = base.into();
        if !base.is_absolute() {
            return Err(io::Error::other(format!("{}: the folder for texts must be absolute", base.display())));
        }
        private::folder(&base)?;
        let resolved = base.canonicalize()?;
        Ok(Self { base, resolved, longest })
    }

    /// The folder.
    pub fn base(&self) -> &Path {
        &self.base
    }

    /// Reads the text that a member of this team refers to.
    pub fn read(&self, team: &str, reference: &ContentRef, now: SystemTime) -> Result<String, ReferenceProblem> {
        let way = self.way(team, &reference.path)?;
        if !is_known_mime(&reference.mime) {
            return Err(ReferenceProblem::Mime(reference.mime.clone()));
        }
        if let Some(expires_at) = &reference.expires_at {
            let until: Timestamp = expires_at.parse().map_err(|_| ReferenceProblem::NoTime(expires_at.clone()))?;
            if now >= SystemTime::from(until) {
                return Err(ReferenceProblem::Expired(expires_at.clone()));
            }
        }
        if reference.size_bytes > self.longest {
            return Err(ReferenceProblem::TooLong { bytes: reference.size_bytes, allowed: self.longest });
        }
        let base = open(&self.resolved, OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC, Mode::empty())
            .map_err(ReferenceProblem::unreadable)?;
        let mut file = open_beneath(base, &way, reference.size_bytes)?;
        let mut bytes = Vec::with_capacity(usize::try_from(reference.size_bytes).unwrap_or(0));
        // One byte more than there should be: a file that grows while it is read is noticed.
        let read = Read::by_ref(&mut file).take(reference.size_bytes.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|error| ReferenceProblem::Unreadable(error.to_string()))?;
        if bytes.len() as u64 != reference.size_bytes {
            return Err(ReferenceProblem::Size { said: reference.size_bytes, actual: bytes.len() as u64 });
        }
        if !digest(&bytes).eq_ignore_ascii_case(&reference.sha256) {
            return Err(ReferenceProblem::Digest);
        }
        let text =
            String::from_utf8(bytes).map_err(|error| ReferenceProblem::NotUtf8(error.utf8_error().valid_up_to()))?;
        if text.trim().is_empty() { Err(ReferenceProblem::Blank) } else { Ok(text) }
    }

    /// The names from the folder to the file. The first is the team.
    fn way(&self, team: &str, path: &str) -> Result<Vec<PathBuf>, ReferenceProblem> {
        let path = Path::new(path);
        if !path.is_absolute() {
            return Err(ReferenceProblem::NotAbsolute);
        }
        // A path is taken as it is written: what `..` would come to depends on links.
        if path.components().any(|part| part == Component::ParentDir) {
            return Err(ReferenceProblem::Upwards);
        }
        let beneath = path.strip_prefix(&self.base).or_else(|_| path.strip_prefix(&self.resolved));
        let outside = || ReferenceProblem::Outside(self.base.join(team));
        let way: Vec<PathBuf> = beneath.map_err(|_| outside())?.iter().map(PathBuf::from).collect();
        if way.len() < 2 || way[0] != Path::new(team) {
            return Err(outside());
        }
        Ok(way)
    }

    /// Writes a text that is too long to be sent inline, and makes the reference to it. Only we can read the file; a text of the same name
    /// is replaced in one step. Whoever sent it may take the file away once the message is acknowledged.
    pub fn write(
        &self,
        team: &str,
        request_id: &str,
        text: &str,
        expires_at: Option<SystemTime>,
    ) -> io::Result<ContentRef> {
        if text.len() as u64 > self.longest {
            let (bytes, allowed) = (text.len(), self.longest);
            return Err(io::Error::other(format!("the text has {bytes} bytes; at most {allowed} can be sent")));
        }
        if !is_plain(team) {
            return Err(io::Error::other(format!("team {team:?} cannot be the name of a folder")));
        }
        for folder in [self.base.join(team), self.base.join(team).join("input")] {
            private::folder(&folder)?;
        }
        // A request id may have characters that no file name should have; then its digest names the file.
        let name = if is_plain(request_id) { request_id.to_owned() } else { digest(request_id.as_bytes()) };
        let path = self.base.join(team).join("input").join(format!("{name}.txt"));
        private::write(&path, text.as_bytes())?;
        let path = path.into_os_string().into_string().map_err(|path| {
            io::Error::other(format!("{}: a path that is not UTF-8 cannot be sent", Path::new(&path).display()))
        })?;
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

impl References {
    /// Takes away what senders have left behind, a day after it was written. How many files that were.
    pub fn sweep(&self, now: SystemTime) -> io::Result<usize> {
        let mut swept = 0;
        for team in fs::read_dir(&self.resolved)?.flatten() {
            // What somebody put in the place of a folder is not followed anywhere.
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
                if found.is_file() && age.is_some_and(|age| age > KEPT) && fs::remove_file(text.path()).is_ok() {
                    swept += 1;
                }
            }
        }
        Ok(swept)
    }
}

/// Opens a file of ours for reading, through these names and no link, if it has so many bytes. Nothing is opened for reading that is not a
/// file: a pipe would hang, a device might do something.
fn open_beneath(base: OwnedFd, way: &[PathBuf], bytes: u64) -> Result<File, ReferenceProblem> {
    let look = OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let mut at = base;
    for (number, name) in way.iter().enumerate() {
        at = openat(&at, name, look, Mode::empty()).map_err(|error| match error {
            Errno::ENOENT => ReferenceProblem::Missing,
            error => ReferenceProblem::unreadable(error),
        })?;
        let stat = fstat(&at).map_err(ReferenceProblem::unreadable)?;
        let kind = kind_of(&stat);
        if kind == SFlag::S_IFLNK {
            return Err(ReferenceProblem::Link(name.clone()));
        }
        if number + 1 < way.len() {
            if kind != SFlag::S_IFDIR {
                return Err(ReferenceProblem::NoFolder(name.clone()));
            }
            continue;
        }
        if kind != SFlag::S_IFREG {
            return Err(ReferenceProblem::NoFile(problem::called(kind)));
        }
        if stat.st_uid != geteuid().as_raw() {
            return Err(ReferenceProblem::Foreign);
        }
        // Another name may be anywhere: this one would be a way to a file outside of the folder.
        if stat.st_nlink > 1 {
            return Err(ReferenceProblem::HardLink);
        }
        let actual = u64::try_from(stat.st_size).unwrap_or(0);
        if actual != bytes {
            return Err(ReferenceProblem::Size { said: bytes, actual });
        }
    }
    // The same file again, now to be read: the handle is what it was looked at through.
    let handle = format!("/proc/self/fd/{}", at.as_raw_fd());
    let flags = OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
    open(handle.as_str(), flags, Mode::empty()).map(File::from).map_err(ReferenceProblem::unreadable)
}

/// True if a text of this media type is taken as it is: one of [`MIME_TYPES`], in UTF-8 if it names a charset. US-ASCII is a part of UTF-8.
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

/// Whether a name is harmless as a file's.
fn is_plain(name: &str) -> bool {
    (1..=128).contains(&name.len())
        && !name.starts_with('.')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
