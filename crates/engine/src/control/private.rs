//! Files and folders that are ours alone.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use nix::libc;
use nix::unistd::geteuid;

/// Makes a folder that only we can enter, with those above it. One that is there must be ours, and nobody else may write to it.
pub(super) fn folder(path: &Path) -> io::Result<()> {
    match DirBuilder::new().recursive(true).mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(about(path, &error)),
        _ => {}
    }
    let metadata = fs::symlink_metadata(path).map_err(|error| about(path, &error))?;
    if !metadata.is_dir() {
        return Err(told(path, "it is no folder"));
    }
    guarded(path, &metadata, 0o022)
}

/// The text of a file that only we can write, and, where `secret`, only we can read. It is no link, and not longer than `longest`.
pub(super) fn read(path: &Path, secret: bool, longest: u64) -> io::Result<String> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(|error| about(path, &error))?;
    let metadata = file.metadata().map_err(|error| about(path, &error))?;
    if !metadata.is_file() {
        return Err(told(path, "it is no file"));
    }
    guarded(path, &metadata, if secret { 0o077 } else { 0o022 })?;
    let mut text = String::new();
    let read = file.take(longest + 1).read_to_string(&mut text).map_err(|error| about(path, &error))?;
    if read as u64 > longest {
        return Err(told(path, &format!("it has more than {longest} bytes")));
    }
    Ok(text)
}

/// Puts a file in the place of another in one step, and on the disk before it returns. Only we can read it.
pub(super) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().ok_or_else(|| told(path, "it has no folder"))?;
    let write = || {
        let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(folder)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)?;
        File::open(folder)?.sync_all()
    };
    write().map_err(|error| about(path, &error))
}

fn guarded(path: &Path, metadata: &fs::Metadata, forbidden: u32) -> io::Result<()> {
    if metadata.uid() != geteuid().as_raw() {
        return Err(told(path, "it belongs to another user"));
    }
    if metadata.mode() & forbidden != 0 {
        let wanted = if metadata.is_dir() { "700" } else { "600" };
        return Err(told(path, &format!("others may use it; run: chmod {wanted} {}", path.display())));
    }
    Ok(())
}

fn about(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

fn told(path: &Path, problem: &str) -> io::Error {
    io::Error::other(format!("{}: {problem}", path.display()))
}
