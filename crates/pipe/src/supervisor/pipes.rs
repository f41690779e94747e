//! Front end of a supervisor whose program is connected by pipes.
//!
//! Arguments: the descriptor of the socket to the owner, then the program and its arguments. The supervisor passes its
//! standard streams to the program and closes its own copies. Therefore the owner sees the end of a stream when the
//! program closes the stream.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, ExitCode};
use std::time::Duration;

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sys::wait::WaitPidFlag;
use nix::unistd::{dup2_stderr, dup2_stdin, dup2_stdout, setsid};

use super::process::{self, FrontEnd};
use crate::tree::{KILL, ShutdownStep, TERMINATE};

/// Runs as the supervisor of a program behind pipes until the program and all its descendants have exited. Returns the
/// program's exit code, or 128 plus the number of the signal that killed the program.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> io::Result<ExitCode> {
    process::run::<PipesFrontEnd>(arguments.into_iter())
}

struct PipesFrontEnd {
    /// `/dev/null`, which replaces this process's own copies of the pipes. Opened before the program starts, so that a
    /// failure prevents the start.
    null: File,
}

impl FrontEnd for PipesFrontEnd {
    const STEPS: &'static [ShutdownStep] = &[TERMINATE, KILL];

    /// Grace period for the program to exit by itself. When the owner exits, its end of the pipes is closed, so the
    /// program sees the end of its input.
    const OWNER_GONE_GRACE: Duration = Duration::from_millis(500);

    const CHANGES: WaitPidFlag = WaitPidFlag::empty();

    fn open(mut arguments: impl Iterator<Item = OsString>) -> io::Result<(UnixStream, Command)> {
        let (Some(number), Some(program)) = (arguments.next(), arguments.next()) else {
            let why = "a supervisor takes a file descriptor and a program as arguments";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        };
        let mut command = Command::new(program);
        command.args(arguments);
        Ok((owner_socket(&number)?, command))
    }

    fn lead_session() -> io::Result<Self> {
        // Fails if this process already leads a session.
        let _ = setsid();
        Ok(Self { null: File::options().read(true).write(true).open("/dev/null")? })
    }

    fn started(&mut self) -> io::Result<()> {
        dup2_stdin(&self.null)?;
        dup2_stdout(&self.null)?;
        dup2_stderr(&self.null)?;
        Ok(())
    }
}

/// Opens the socket to the owner. It is not inherited by the program.
fn owner_socket(number: &OsStr) -> io::Result<UnixStream> {
    let invalid = || {
        let why =
            format!("file descriptor {number:?} is not a socket to the owner; only the owner can start a supervisor");
        io::Error::new(io::ErrorKind::InvalidInput, why)
    };
    let number = number.to_str().and_then(|number| number.parse::<i32>().ok()).filter(|number| *number > 2);
    let number = number.ok_or_else(invalid)?;
    // Nothing else has been opened yet, so an open socket must be the owner's.
    let open = std::fs::read_link(format!("/proc/self/fd/{number}")).map_err(|_| invalid())?;
    if !open.to_string_lossy().starts_with("socket:") {
        return Err(invalid());
    }
    // SAFETY: the descriptor is open and was opened for this process by its owner; nothing else here uses it.
    let line = unsafe { OwnedFd::from_raw_fd(number) };
    fcntl(&line, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
    Ok(UnixStream::from(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_supervisor_that_is_started_by_hand_says_so() {
        for arguments in [&["x", "true"][..], &["-1", "true"], &["0", "true"], &["99999", "true"], &["3"], &[]] {
            let error = run(arguments.iter().map(OsString::from)).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{arguments:?}");
        }
    }
}
