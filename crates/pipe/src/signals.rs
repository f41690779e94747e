//! Signal masks and dispositions of a supervisor and of the program that it starts.

use std::io;

use nix::sys::prctl;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, SigmaskHow, Signal, sigaction, sigprocmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::{Pid, getppid};

/// Blocks all signals except SIGKILL, SIGSTOP, SIGSEGV and SIGBUS. The returned descriptor is readable after a child
/// has changed status. Also makes the kernel send SIGCONT when the parent dies, so that this process continues if it is
/// stopped.
pub fn block_signals() -> io::Result<SignalFd> {
    prctl::set_pdeathsig(Signal::SIGCONT)?;
    let mut blocked = SigSet::all();
    blocked.remove(Signal::SIGSEGV);
    blocked.remove(Signal::SIGBUS);
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(&blocked), None)?;
    let mut deaths = SigSet::empty();
    deaths.add(Signal::SIGCHLD);
    Ok(SignalFd::with_flags(&deaths, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?)
}

/// Kills the calling process when its parent dies. For use between fork and exec.
pub fn die_with_parent(parent: Pid) -> io::Result<()> {
    prctl::set_pdeathsig(Signal::SIGKILL)?;
    // If the parent died earlier, no signal will be sent.
    if getppid() == parent { Ok(()) } else { Err(io::Error::from_raw_os_error(nix::libc::ESRCH)) }
}

/// Unblocks every signal and restores its default action. The parent may have ignored some signals, as a shell does
/// when it starts a background job. For use between fork and exec.
pub fn reset_signals() -> io::Result<()> {
    let default = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
    for signal in Signal::iterator().filter(|signal| !matches!(signal, Signal::SIGKILL | Signal::SIGSTOP)) {
        // SAFETY: the default action runs no code of this process.
        unsafe { sigaction(signal, &default) }?;
    }
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None)?;
    Ok(())
}
