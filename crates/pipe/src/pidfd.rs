//! Sends signals through a pidfd. An open pidfd always refers to the same process, so a signal cannot reach another
//! process that reuses the pid.

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;
use std::time::Duration;

use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};

use crate::proc::ProcessIdentity;

/// Sends a signal to this process. Fails with `ESRCH` if the process has exited, even if another process has reused
/// the pid.
pub fn signal(id: ProcessIdentity, signal: Signal) -> io::Result<()> {
    match open(id.pid) {
        Ok(descriptor) => {
            // Checked after opening: if the process exists now, the descriptor refers to it.
            check(id)?;
            send(&descriptor, signal)
        }
        // A kernel before 5.3 has no pidfds, and a sandbox may deny them.
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM)) => {
            check(id)?;
            Ok(kill(id.raw(), signal)?)
        }
        Err(error) => Err(error),
    }
}

fn check(id: ProcessIdentity) -> io::Result<()> {
    if id.exists() { Ok(()) } else { Err(Errno::ESRCH.into()) }
}

/// Opens a descriptor that refers to the process that has this pid now.
pub fn open(pid: i32) -> io::Result<OwnedFd> {
    // SAFETY: the call takes two numbers and no pointers.
    let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    match RawFd::try_from(descriptor) {
        // SAFETY: the descriptor was just opened and has no other owner.
        Ok(descriptor @ 0..) => Ok(unsafe { OwnedFd::from_raw_fd(descriptor) }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// True once the process that a pidfd refers to has exited.
pub fn has_exited(pidfd: &OwnedFd) -> bool {
    exits_within(pidfd, Duration::ZERO)
}

/// Waits for this process to exit. Returns false if the process still runs after `limit`.
pub fn wait(id: ProcessIdentity, limit: Duration) -> bool {
    match open(id.pid) {
        Ok(pidfd) => check(id).is_err() || exits_within(&pidfd, limit),
        Err(_) => !id.exists(),
    }
}

fn exits_within(pidfd: &OwnedFd, limit: Duration) -> bool {
    let mut waits = [PollFd::new(pidfd.as_fd(), PollFlags::POLLIN)];
    poll(&mut waits, PollTimeout::try_from(limit).unwrap_or(PollTimeout::MAX)).is_ok_and(|ready| ready > 0)
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
        let id = ProcessIdentity::of(child.id().cast_signed()).unwrap();
        let another = ProcessIdentity { started: id.started + 1, ..id };
        assert_eq!(signal(another, Signal::SIGKILL).unwrap_err().raw_os_error(), Some(libc::ESRCH));
        assert!(child.try_wait().unwrap().is_none());
        assert!(!wait(id, Duration::ZERO));
        signal(id, Signal::SIGKILL).unwrap();
        assert!(wait(id, Duration::from_secs(60)), "a zombie has ended");
        assert_eq!(child.wait().unwrap().signal(), Some(9));
        assert_eq!(signal(id, Signal::SIGKILL).unwrap_err().raw_os_error(), Some(libc::ESRCH));
    }
}
