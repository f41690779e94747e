//! Files and folders that only the current user may use.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use nix::libc;
use nix::unistd::geteuid;

/// Creates a folder and its missing parents with mode 0700. An existing folder must belong to the current user and must
/// not be writable by others.
pub(super) fn folder(path: &Path) -> io::Result<()> {
    match DirBuilder::new().recursive(true).mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(with_path(path, &error)),
        _ => {}
    }
    let metadata = fs::symlink_metadata(path).map_err(|error| with_path(path, &error))?;
    if !metadata.is_dir() {
        return Err(problem_with(path, "not a folder"));
    }
    check_permissions(path, &metadata, 0o022)
}

/// Reads a text file that belongs to the current user. Other users must not have write access, nor read access if
/// `secret` is set. Links, and files larger than `max_bytes`, are refused.
pub(super) fn read(path: &Path, secret: bool, max_bytes: u64) -> io::Result<String> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(|error| with_path(path, &error))?;
    let metadata = file.metadata().map_err(|error| with_path(path, &error))?;
    if !metadata.is_file() {
        return Err(problem_with(path, "not a regular file"));
    }
    check_permissions(path, &metadata, if secret { 0o077 } else { 0o022 })?;
    let mut text = String::new();
    let read = file.take(max_bytes + 1).read_to_string(&mut text).map_err(|error| with_path(path, &error))?;
    if read as u64 > max_bytes {
        return Err(problem_with(path, &format!("larger than {max_bytes} bytes")));
    }
    Ok(text)
}

/// Replaces a file atomically with a file of mode 0600, and syncs the new file to disk.
pub(super) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().ok_or_else(|| problem_with(path, "the path has no parent folder"))?;
    let write = || {
        let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(folder)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)?;
        File::open(folder)?.sync_all()
    };
    write().map_err(|error| with_path(path, &error))
}

fn check_permissions(path: &Path, metadata: &fs::Metadata, forbidden: u32) -> io::Result<()> {
    if metadata.uid() != geteuid().as_raw() {
        return Err(problem_with(path, "the file or folder belongs to another user"));
    }
    if metadata.mode() & forbidden != 0 {
        let wanted = if metadata.is_dir() { "700" } else { "600" };
        return Err(problem_with(path, &format!("other users have access; run: chmod {wanted} {}", path.display())));
    }
    Ok(())
}

fn with_path(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

fn problem_with(path: &Path, problem: &str) -> io::Error {
    io::Error::other(format!("{}: {problem}", path.display()))
}
