//! Signals to a process that cannot reach another one: through a pidfd, which names one process for as long as it is open.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

use nix::errno::Errno;
use nix::libc;
use nix::sys::signal::{Signal, kill};

use crate::proc::ProcessId;

/// Sends a signal to this very process. Fails with `ESRCH` when it is gone, also if another process has its pid by now.
pub fn signal(id: ProcessId, signal: Signal) -> io::Result<()> {
    match open(id.pid) {
        Ok(descriptor) => {
            // Checked after opening: from then on the descriptor names the process that was checked.
            check(id)?;
            send(&descriptor, signal)
        }
        // A kernel before 5.3, or a sandbox without the call.
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM)) => {
            check(id)?;
            Ok(kill(id.raw(), signal)?)
        }
        Err(error) => Err(error),
    }
}

fn check(id: ProcessId) -> io::Result<()> {
    if id.exists() { Ok(()) } else { Err(Errno::ESRCH.into()) }
}

fn open(pid: i32) -> io::Result<OwnedFd> {
    // SAFETY: the call takes two numbers and touches no memory of ours.
    let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    match RawFd::try_from(descriptor) {
        // SAFETY: the descriptor has just been opened, and nobody else knows of it.
        Ok(descriptor @ 0..) => Ok(unsafe { OwnedFd::from_raw_fd(descriptor) }),
        _ => Err(io::Error::last_os_error()),
    }
}

fn send(descriptor: &OwnedFd, signal: Signal) -> io::Result<()> {
    let nothing = ptr::null::<libc::siginfo_t>();
    // SAFETY: the descriptor is open for the call, and without a siginfo no memory is read.
    let sent = unsafe { libc::syscall(libc::SYS_pidfd_send_signal, descriptor.as_raw_fd(), signal as i32, nothing, 0) };
    if sent == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    use super::*;

    #[test]
    fn a_signal_reaches_only_the_process_that_was_meant() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let id = ProcessId::of(child.id().cast_signed()).unwrap();
        let another = ProcessId { started: id.started + 1, ..id };
        assert_eq!(signal(another, Signal::SIGKILL).unwrap_err().raw_os_error(), Some(libc::ESRCH));
        assert!(child.try_wait().unwrap().is_none());
        signal(id, Signal::SIGKILL).unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(9));
        assert_eq!(signal(id, Signal::SIGKILL).unwrap_err().raw_os_error(), Some(libc::ESRCH));
    }
}
