//! Opens files given by the user.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use nix::fcntl::{FcntlArg, OFlag, fcntl};

/// Opens a file for reading without blocking. Refuses named pipes, devices and directories. Accepts an anonymous pipe
/// of the shell, e.g. `<(zcat run.cast.gz)`.
pub fn open(path: &Path) -> io::Result<File> {
    let file = File::options().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path)?;
    let kind = file.metadata()?.file_type();
    // An anonymous pipe has no path. A read from it cannot block forever, because the shell has started a program that
    // writes to the pipe.
    let anonymous = kind.is_fifo() && fs::canonicalize(path).is_err();
    if !kind.is_file() && !anonymous {
        let what = match () {
            () if kind.is_fifo() => "a named pipe",
            () if kind.is_dir() => "a directory",
            () => "a device",
        };
        return Err(io::Error::other(format!("the path is {what}, not a regular file")));
    }
    let flags = OFlag::from_bits_retain(fcntl(&file, FcntlArg::F_GETFL)?);
    fcntl(&file, FcntlArg::F_SETFL(flags & !OFlag::O_NONBLOCK))?;
    Ok(file)
}
