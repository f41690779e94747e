//! Trusted project files, stored in `trusted.json` in the state directory by path and SHA-256. A changed file is no
//! longer trusted.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};
use nix::unistd::geteuid;
use serde::{Deserialize, Serialize};

use crate::directories;
use crate::project::ProjectFile;

const TRUST_FILE_NAME: &str = "trusted.json";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustRecord {
    /// SHA-256 of the content, in hexadecimal.
    pub sha256: String,
    /// Time when the file was trusted, in RFC 3339.
    pub since: String,
}

/// Trust status of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustStatus {
    /// The file is trusted.
    Trusted,
    /// The file has changed since it was trusted.
    Changed,
    /// The file was never trusted, or the trust was revoked.
    Unknown,
}

/// Contents of `trusted.json`: trusted files by path.
#[derive(Debug, Default, Serialize, Deserialize)]
struct TrustedFiles {
    files: BTreeMap<String, TrustRecord>,
}

/// Trusted files, as read from `trusted.json`.
#[derive(Debug)]
pub struct TrustStore {
    directory: PathBuf,
    trusted_files: TrustedFiles,
}

impl TrustStore {
    /// Reads `trusted.json` from the state directory.
    pub fn read() -> io::Result<Self> {
        let directory = directories::state().ok_or_else(|| io::Error::other("there is no home directory; set HOME"))?;
        Self::read_in(directory)
    }

    fn read_in(directory: PathBuf) -> io::Result<Self> {
        let path = directory.join(TRUST_FILE_NAME);
        let explain = |problem: &dyn std::fmt::Display| io::Error::other(format!("{}: {problem}", path.display()));
        let text = match File::open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Ok(Self { directory, trusted_files: TrustedFiles::default() });
            }
            Err(error) => return Err(explain(&error)),
            Ok(file) => {
                let metadata = file.metadata().map_err(|error| explain(&error))?;
                // A user who can write to this file can make wh start any program.
                if metadata.uid() != geteuid().as_raw() || metadata.permissions().mode() & 0o022 != 0 {
                    return Err(explain(
                        &"the file belongs to another user, or other users can write to it; check the contents and the \
                          owner of the file, then run chmod 600 on it",
                    ));
                }
                io::read_to_string(file).map_err(|error| explain(&error))?
            }
        };
        let trusted_files = serde_json::from_str(&text)
            .map_err(|error| explain(&format!("{error}; move the file away and trust your projects again")))?;
        Ok(Self { directory, trusted_files })
    }

    /// Returns the trust status of a file.
    pub fn of(&self, file: &ProjectFile) -> TrustStatus {
        match file.path.to_str().and_then(|path| self.trusted_files.files.get(path)) {
            Some(trusted) if trusted.sha256 == file.digest => TrustStatus::Trusted,
            Some(_) => TrustStatus::Changed,
            None => TrustStatus::Unknown,
        }
    }

    /// Lists trusted files by path.
    pub fn list(&self) -> impl Iterator<Item = (&str, &TrustRecord)> {
        self.trusted_files.files.iter().map(|(path, trusted)| (path.as_str(), trusted))
    }

    /// Trusts a file with its current content.
    pub fn add(&mut self, file: &ProjectFile) -> io::Result<()> {
        let path = file
            .path
            .to_str()
            .ok_or_else(|| io::Error::other("the path of the project file is not valid UTF-8"))?
            .to_owned();
        let since = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let trusted = TrustRecord { sha256: file.digest.clone(), since };
        self.change(|trusted_files| drop(trusted_files.files.insert(path, trusted)))
    }

    /// Revokes trust in these paths. Returns the paths that were trusted.
    pub fn revoke(&mut self, places: &[PathBuf]) -> io::Result<Vec<String>> {
        let mut gone = Vec::new();
        self.change(|trusted_files| {
            trusted_files.files.retain(|path, _| {
                let named = places.iter().any(|place| place == Path::new(path));
                if named {
                    gone.push(path.clone());
                }
                !named
            });
        })?;
        Ok(gone)
    }

    /// Locks, re-reads and changes the list of trusted files.
    fn change(&mut self, change: impl FnOnce(&mut TrustedFiles)) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.directory)?;
        let lock = private().truncate(false).open(self.directory.join("trusted.lock"))?;
        let _lock = Flock::lock(lock, FlockArg::LockExclusive).map_err(|(_, error)| error)?;
        self.trusted_files = Self::read_in(self.directory.clone())?.trusted_files;
        change(&mut self.trusted_files);
        let unfinished = self.directory.join(format!("{TRUST_FILE_NAME}.new"));
        match fs::remove_file(&unfinished) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = private().create_new(true).open(&unfinished)?;
        serde_json::to_writer_pretty(&mut file, &self.trusted_files)?;
        file.write_all(b"\n")?;
        file.sync_all()?;
        fs::rename(&unfinished, self.directory.join(TRUST_FILE_NAME))
    }
}

/// Returns the options that create a file with mode 0600.
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
        let read = || TrustStore::read_in(folder.path().join("deep/down")).unwrap();
        assert_eq!(read().of(&file("/a", "1")), TrustStatus::Unknown);
        let (mut one, mut other) = (read(), read());
        one.add(&file("/a", "1")).unwrap();
        other.add(&file("/b", "1")).unwrap();
        assert_eq!(read().list().count(), 2, "neither has lost what the other has said");
        assert_eq!(read().of(&file("/a", "1")), TrustStatus::Trusted);
        assert_eq!(read().of(&file("/a", "2")), TrustStatus::Changed);
        assert_eq!(read().of(&file("/c", "1")), TrustStatus::Unknown);
        let mode = fs::metadata(folder.path().join("deep/down/trusted.json")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(read().revoke(&["/a".into(), "/c".into()]).unwrap(), ["/a"]);
        assert_eq!(read().of(&file("/a", "1")), TrustStatus::Unknown);
        assert_eq!(read().of(&file("/b", "1")), TrustStatus::Trusted);
    }

    #[test]
    fn an_insecure_or_invalid_trust_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(TRUST_FILE_NAME);
        TrustStore::read_in(folder.path().into()).unwrap().add(&file("/a", "1")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        let error = TrustStore::read_in(folder.path().into()).unwrap_err().to_string();
        assert!(error.contains("other users can write to it") && error.contains("trusted.json"), "{error}");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&path, "{").unwrap();
        let error = TrustStore::read_in(folder.path().into()).unwrap_err().to_string();
        assert!(error.contains("move the file away"), "{error}");
    }
}
