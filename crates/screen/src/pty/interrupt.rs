//! Interrupts a program through its terminal, bypassing all unread input.
//!
//! On Linux a master cannot discard the input queue of the line discipline: `TCFLSH` with `TCOFLUSH` on the master
//! drops only data that has not reached the line discipline yet. So the slave is opened temporarily with `TIOCGPTPEER`,
//! which needs no path and does not make the terminal a controlling terminal.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::thread;

use nix::errno::Errno;
use nix::libc;
use nix::sys::signal::Signal;
use nix::sys::termios::{FlushArg, LocalFlags, Termios, tcflush, tcgetattr};
use nix::unistd::{read, tcgetpgrp};
use wh_pipe::proc::ProcessStat;

use super::PtyMaster;

/// Echo of Ctrl-C by a terminal that echoes control characters.
const CTRL_C_ECHO: &[u8] = b"^C";

/// Maximum attempts to read a byte while the program itself is reading.
const MAX_READ_ATTEMPTS: usize = 1000;

/// Unread input in the terminal's queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnreadQueue {
    /// Number of bytes that the program could read now.
    pub bytes: usize,
    /// True if the terminal's current mode converts Ctrl-C to a signal (ISIG).
    pub signals: bool,
    /// True if the leader of the foreground group runs, or waits for a CPU or a disk.
    pub runs: bool,
}

impl PtyMaster {
    /// Discards all unread input, and returns the previous state of the queue. If `keep_next` is true and the program
    /// edits lines itself (not in canonical mode, with Ctrl-C as a signal), the next byte is retained, because the line
    /// editor may be about to read it: a program that uses readline does not notice a signal while it is blocked in
    /// that read.
    pub fn discard_input(&self, keep_next: bool) -> io::Result<UnreadQueue> {
        let unread = self.unread()?;
        let slave = self.slave()?;
        let edits_lines = unread.signals && !self.modes()?.local_flags.contains(LocalFlags::ICANON);
        let mut next = [0; 1];
        let kept = if keep_next && edits_lines { read_next_byte(&slave, &mut next) } else { 0 };
        tcflush(&slave, FlushArg::TCIFLUSH)?;
        if kept > 0 {
            self.try_write(&next)?;
        }
        Ok(UnreadQueue { bytes: unread.bytes.max(kept), ..unread })
    }

    /// Sends SIGINT to the terminal's foreground process group. The signal bypasses the input queue. Returns the echo
    /// that a typed Ctrl-C would have produced.
    pub fn interrupt(&self) -> io::Result<&'static [u8]> {
        let modes = self.modes()?;
        // SAFETY: the descriptor is open for the call, and the argument is a plain number.
        unsafe { tiocsig(self.0.get_ref().as_raw_fd(), Signal::SIGINT as libc::c_int) }?;
        let echoes = modes.local_flags.contains(LocalFlags::ECHO | LocalFlags::ECHOCTL);
        Ok(if echoes { CTRL_C_ECHO } else { b"" })
    }

    /// Returns the unread input. In canonical mode only complete lines count.
    pub fn unread(&self) -> io::Result<UnreadQueue> {
        let bytes = unread_bytes(&self.slave()?)?;
        let signals = self.modes()?.local_flags.contains(LocalFlags::ISIG);
        Ok(UnreadQueue { bytes, signals, runs: self.foreground_runs() })
    }

    fn foreground_runs(&self) -> bool {
        tcgetpgrp(self.0.get_ref()).is_ok_and(|group| ProcessStat::any_thread_runs(group.as_raw()))
    }

    /// Returns the slave's modes, which Linux shares with the master.
    fn modes(&self) -> io::Result<Termios> {
        Ok(tcgetattr(self.0.get_ref())?)
    }

    /// Opens the slave side. The caller must close the slave soon, since an open slave prevents a hangup of the
    /// terminal.
    fn slave(&self) -> io::Result<OwnedFd> {
        let flags = libc::O_RDWR | libc::O_NOCTTY | libc::O_NONBLOCK | libc::O_CLOEXEC;
        // SAFETY: the descriptor is open for the call, and the argument is a plain number.
        let slave = unsafe { tiocgptpeer(self.0.get_ref().as_raw_fd(), flags) }?;
        // SAFETY: the call has just opened this descriptor, and it has no other owner.
        Ok(unsafe { OwnedFd::from_raw_fd(slave) })
    }
}

/// Reads the next byte before the program does, and returns the number of bytes read: 1, or 0 if no byte is available.
/// Retries while the program is reading, since the line discipline is locked then.
fn read_next_byte(slave: &OwnedFd, next: &mut [u8; 1]) -> usize {
    for _ in 0..MAX_READ_ATTEMPTS {
        match read(slave, next) {
            Ok(count) => return count,
            Err(Errno::EAGAIN) if unread_bytes(slave).is_ok_and(|bytes| bytes > 0) => thread::yield_now(),
            Err(_) => return 0,
        }
    }
    0
}

fn unread_bytes(slave: &OwnedFd) -> io::Result<usize> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the descriptor is open for the call and the pointer is to a whole number that outlives it.
    unsafe { fionread(slave.as_raw_fd(), &raw mut bytes) }?;
    Ok(usize::try_from(bytes).unwrap_or(0))
}

nix::ioctl_write_int_bad!(
    /// Sends a signal to the foreground process group of the slave.
    tiocsig,
    libc::TIOCSIG
);
nix::ioctl_write_int_bad!(
    /// Opens the slave of a master with these flags.
    tiocgptpeer,
    libc::TIOCGPTPEER
);
nix::ioctl_read_bad!(
    /// Reads the number of readable bytes.
    fionread,
    libc::FIONREAD,
    libc::c_int
);

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a test ends what it starts")]
mod tests {
    use std::process::{Command, Stdio};

    use nix::pty::{OpenptyResult, openpty};
    use nix::sys::termios::{SetArg, cfmakeraw, tcsetattr};

    use super::*;

    /// Creates a terminal. The runtime must live as long as the terminal is registered with it.
    fn terminal() -> (tokio::runtime::Runtime, PtyMaster, OwnedFd) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let OpenptyResult { master, slave } = openpty(None, None).unwrap();
        let terminal = {
            let _entered = runtime.enter();
            PtyMaster::new(master).unwrap()
        };
        (runtime, terminal, slave)
    }

    #[test]
    fn input_written_after_discarding_is_read_first() {
        let (_runtime, terminal, slave) = terminal();
        let mut raw = tcgetattr(&slave).unwrap();
        cfmakeraw(&mut raw);
        tcsetattr(&slave, SetArg::TCSANOW, &raw).unwrap();
        while terminal.try_write(&[b'x'; 4096]).unwrap() > 0 {}
        assert!(!terminal.discard_input(false).unwrap().signals);
        assert_eq!(terminal.try_write(b"\x03").unwrap(), 1);
        let mut buffer = [0; 16];
        assert_eq!(read(&slave, &mut buffer), Ok(1));
        assert_eq!(buffer[0], 3);
        assert_eq!(terminal.unread().unwrap(), UnreadQueue { bytes: 0, signals: false, runs: false });
    }

    #[test]
    fn a_line_editor_keeps_the_byte_that_it_may_be_about_to_read() {
        let (_runtime, terminal, slave) = terminal();
        let mut modes = tcgetattr(&slave).unwrap();
        modes.local_flags.remove(LocalFlags::ICANON);
        tcsetattr(&slave, SetArg::TCSANOW, &modes).unwrap();
        terminal.try_write(b"typed").unwrap();
        while terminal.unread().unwrap().bytes < 5 {}
        assert_eq!(terminal.discard_input(true).unwrap(), UnreadQueue { bytes: 5, signals: true, runs: false });
        let mut buffer = [0; 16];
        assert_eq!((read(&slave, &mut buffer), buffer[0]), (Ok(1), b't'));
    }

    #[test]
    fn a_full_queue_does_not_delay_a_signal() {
        let (_runtime, terminal, slave) = terminal();
        // A program that does not read. It must not inherit an ignored SIGINT, which a shell cannot trap. setsid makes
        // the terminal its controlling one.
        let mut command = Command::new("env");
        command.args([
            "--default-signal=INT",
            "setsid",
            "--ctty",
            "--wait",
            "sh",
            "-c",
            "trap 'exit 7' INT; echo ready; while :; do sleep 60 & wait; done",
        ]);
        let slave_copy = || Stdio::from(slave.try_clone().unwrap());
        let mut child = command.stdin(slave_copy()).stdout(slave_copy()).stderr(Stdio::null()).spawn().unwrap();
        let mut shown = Vec::new();
        while !shown.ends_with(b"ready\r\n") {
            let mut buffer = [0; 64];
            if let Some(count) = terminal.try_read(&mut buffer).unwrap() {
                shown.extend(&buffer[..count]);
            }
        }
        while terminal.try_write(&b"typed ahead\n".repeat(400)).unwrap() > 0 {}
        assert_eq!(terminal.interrupt().unwrap(), CTRL_C_ECHO);
        assert_eq!(child.wait().unwrap().code(), Some(7));
        assert!(terminal.discard_input(false).unwrap().signals);
        assert_eq!(terminal.unread().unwrap().bytes, 0);
    }
}
