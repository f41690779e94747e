//! Which signals reach a small process between us and a program, and which reach the program.

use std::io;

use nix::sys::prctl;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, SigmaskHow, Signal, sigaction, sigprocmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::{Pid, getppid};

/// From here on nothing but KILL and its own faults end this process. The descriptor is readable when a child has died. Should
/// this process be stopped when its parent dies, the kernel continues it, so that it notices.
pub fn hold() -> io::Result<SignalFd> {
    prctl::set_pdeathsig(Signal::SIGCONT)?;
    let mut blocked = SigSet::all();
    blocked.remove(Signal::SIGSEGV);
    blocked.remove(Signal::SIGBUS);
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(&blocked), None)?;
    let mut deaths = SigSet::empty();
    deaths.add(Signal::SIGCHLD);
    Ok(SignalFd::with_flags(&deaths, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?)
}

/// Ties the calling process to its parent's life. For use between fork and exec.
pub fn die_with(parent: Pid) -> io::Result<()> {
    prctl::set_pdeathsig(Signal::SIGKILL)?;
    // Had the parent died before, nobody would ever send the signal.
    if getppid() == parent { Ok(()) } else { Err(io::Error::from_raw_os_error(nix::libc::ESRCH)) }
}

/// Hears every signal, and does with each what a new process does. Whoever started us may have ignored some, a shell for
/// a background job say. For use between fork and exec.
pub fn start_afresh() -> io::Result<()> {
    let default = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
    for signal in Signal::iterator().filter(|signal| !matches!(signal, Signal::SIGKILL | Signal::SIGSTOP)) {
        // SAFETY: the default action runs no code of ours.
        unsafe { sigaction(signal, &default) }?;
    }
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None)?;
    Ok(())
}
