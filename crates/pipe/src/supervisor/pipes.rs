//! Front end of a supervisor whose program is connected by pipes.
//!
//! Its arguments are a number and a command: the number is that of the descriptor which is its line to the owner, the command
//! is the program with its arguments. It passes its standard input, output and error on to the program and closes its own
//! copies, so that the other end sees when the program closes one of them.

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
use crate::tree::{KILL, Step, TERMINATE};

/// Runs as a supervisor of a program behind pipes until nothing of it is left. Exits with the program's code, or 128 and the
/// number of the signal that ended it.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> io::Result<ExitCode> {
    process::run::<PipesFrontEnd>(arguments.into_iter())
}

struct PipesFrontEnd {
    /// `/dev/null`, which takes the place of our own copies of the pipes. Opened before the program is started: from then on
    /// nothing may fail.
    null: File,
}

impl FrontEnd for PipesFrontEnd {
    const STEPS: &'static [Step] = &[TERMINATE, KILL];

    /// The program's input has ended too: it may end by itself.
    const OWNER_GONE_GRACE: Duration = Duration::from_millis(500);

    const CHANGES: WaitPidFlag = WaitPidFlag::empty();

    fn open(mut arguments: impl Iterator<Item = OsString>) -> io::Result<(UnixStream, Command)> {
        let (Some(number), Some(program)) = (arguments.next(), arguments.next()) else {
            let why = "the arguments of a supervisor are a descriptor and a program";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        };
        let mut command = Command::new(program);
        command.args(arguments);
        Ok((line(&number)?, command))
    }

    fn lead_session() -> io::Result<Self> {
        // Fails if whoever started us has done so already.
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

/// The line to our owner. The program does not get it.
fn line(number: &OsStr) -> io::Result<UnixStream> {
    let invalid = || {
        let why = format!(
            "descriptor {number:?} is not a line to an owner; a supervisor is started by a program, not by hand"
        );
        io::Error::new(io::ErrorKind::InvalidInput, why)
    };
    let number = number.to_str().and_then(|number| number.parse::<i32>().ok()).filter(|number| *number > 2);
    let number = number.ok_or_else(invalid)?;
    // Nobody but the owner, whose socket it is, has opened anything yet.
    let open = std::fs::read_link(format!("/proc/self/fd/{number}")).map_err(|_| invalid())?;
    if !open.to_string_lossy().starts_with("socket:") {
        return Err(invalid());
    }
    // SAFETY: the descriptor is open, and was opened for this process by whoever started it; nothing else here uses it.
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
