//! Front end of a supervisor whose program runs in a terminal.
//!
//! Arguments: the program and its arguments. Standard input is the socket to wh, standard output the program's
//! terminal, and standard error the user's terminal, if there is one. The supervisor is the session leader and the
//! program's parent. Therefore the program's process group is not orphaned, and the program can be suspended as under a
//! shell.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use nix::sys::signal::Signal;
use nix::sys::termios::{SetArg, Termios, cfmakeraw, tcgetattr, tcsetattr};
use nix::sys::wait::WaitPidFlag;
use nix::unistd::{Pid, dup2_stderr, dup2_stdout, getpid, setsid, tcgetpgrp, tcsetpgrp};
use wh_pipe::supervisor::process::{self, FrontEnd};
use wh_pipe::tree::{KILL, ShutdownStep, TERMINATE};

/// Disables every mode that a program may have enabled in the user's terminal. Saves the cursor first, because leaving
/// the alternate screen restores the saved cursor, even if the alternate screen was never entered.
pub const RESET_SEQUENCES: &[u8] = b"\x1b7\x1b[?1049l\x1b[?2026l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1005l\x1b[?1006l\x1b[?1004l\x1b[?2004l\x1b[?1l\x1b>\x1b[<9u\x1b[>4;0m\x1b[?25h\x1b[0 q\x1b[0m";

/// Maximum wait for the user's terminal to accept [`RESET_SEQUENCES`] once the program has exited. A terminal whose
/// output is stopped, for example by Ctrl-S, accepts nothing.
const RESTORE_TIMEOUT: Duration = Duration::from_secs(2);

/// Runs as the supervisor of a program in a terminal until all processes of the program have exited. Succeeds
/// regardless of the program's exit status, which is reported to the owner.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> io::Result<ExitCode> {
    process::run::<TerminalFrontEnd>(arguments.into_iter()).map(|_| ExitCode::SUCCESS)
}

struct TerminalFrontEnd {
    /// Slave side of the program's terminal. Open until the program has exited, since closing the last slave would hang
    /// up the terminal.
    slave: Option<OwnedFd>,
    /// User's terminal, with its original settings.
    terminal: Option<(File, Termios)>,
    /// Channel that is disconnected once the user's terminal has been restored.
    restoring: Option<Receiver<()>>,
}

impl FrontEnd for TerminalFrontEnd {
    /// The first step is SIGHUP: programs in a terminal expect this signal when the terminal is closed.
    const STEPS: &'static [ShutdownStep] =
        &[ShutdownStep { signal: Signal::SIGHUP, grace: Duration::from_millis(500) }, TERMINATE, KILL];

    const OWNER_GONE_GRACE: Duration = Duration::ZERO;

    const CHANGES: WaitPidFlag = WaitPidFlag::WUNTRACED.union(WaitPidFlag::WCONTINUED);

    fn open(mut arguments: impl Iterator<Item = OsString>) -> io::Result<(UnixStream, Command)> {
        let Some(program) = arguments.next() else { return Err(io::Error::other("no program given")) };
        let mut command = Command::new(program);
        command.args(arguments);
        Ok((UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?), command))
    }

    fn lead_session() -> io::Result<Self> {
        let slave = io::stdout().as_fd().try_clone_to_owned()?;
        let terminal = File::from(io::stderr().as_fd().try_clone_to_owned()?);
        let terminal = tcgetattr(&terminal).ok().map(|settings| (terminal, settings));
        let null = File::options().write(true).open("/dev/null")?;
        dup2_stdout(&null)?;
        dup2_stderr(&null)?;

        setsid()?;
        acquire_controlling_terminal(&slave)?;
        Ok(Self { slave: Some(slave), terminal, restoring: None })
    }

    fn connect(&self, command: &mut Command) -> io::Result<()> {
        let Some(slave) = &self.slave else { return Err(io::Error::other("the terminal is closed")) };
        command
            .stdin(Stdio::from(slave.try_clone()?))
            .stdout(Stdio::from(slave.try_clone()?))
            .stderr(Stdio::from(slave.try_clone()?));
        Ok(())
    }

    /// Moves the program to the foreground of its terminal.
    fn enter() -> io::Result<()> {
        // SIGTTOU would stop a background process that calls `tcsetpgrp`. The supervisor has blocked this signal.
        Ok(tcsetpgrp(io::stdin(), getpid())?)
    }

    fn foreground(&self) -> Option<Pid> {
        self.slave.as_ref().and_then(|slave| tcgetpgrp(slave).ok())
    }

    fn ended(&mut self) {
        self.slave = None;
    }

    /// Restores the user's terminal in a separate thread, since a write to a terminal blocks while its output is
    /// stopped.
    fn owner_gone(&mut self) {
        let Some((terminal, settings)) = self.terminal.take() else { return };
        let (restored, restoring) = mpsc::channel();
        let restore = move || {
            restore(terminal, settings);
            drop::<mpsc::Sender<()>>(restored);
        };
        // If no thread can be started, the terminal is not restored: ending the program has priority.
        if thread::Builder::new().name("wh-restore".to_owned()).spawn(restore).is_ok() {
            self.restoring = Some(restoring);
        }
    }

    fn finish(&mut self) {
        if let Some(restoring) = self.restoring.take() {
            let _ = restoring.recv_timeout(RESTORE_TIMEOUT);
        }
    }
}

/// Undoes the changes of wh and the program to the user's terminal. The settings are restored only if the terminal is
/// still in raw mode, since the shell may have changed them already.
fn restore(mut terminal: File, settings: Termios) {
    let mut raw = settings.clone();
    cfmakeraw(&mut raw);
    if tcgetattr(&terminal).is_ok_and(|current| current == raw) {
        let _ = tcsetattr(&terminal, SetArg::TCSANOW, &settings);
    }
    let _ = terminal.write_all(RESET_SEQUENCES);
}

nix::ioctl_write_int_bad!(
    /// Makes a terminal the controlling terminal of this session.
    tiocsctty,
    nix::libc::TIOCSCTTY
);

fn acquire_controlling_terminal(slave: &OwnedFd) -> io::Result<()> {
    // SAFETY: the descriptor is open for the call, and the argument is a plain number.
    unsafe { tiocsctty(slave.as_raw_fd(), 0) }?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use nix::pty::{OpenptyResult, openpty};
    use nix::sys::termios::{FlowArg, tcflow};

    use super::*;

    /// Longer than any operation here takes.
    const TERMINAL_TEST_TIMEOUT: Duration = Duration::from_secs(20);

    #[test]
    fn a_stopped_terminal_does_not_block_and_is_restored_once_it_continues() {
        let OpenptyResult { master, slave } = openpty(None, None).unwrap();
        let settings = tcgetattr(&slave).unwrap();
        let mut raw = settings.clone();
        cfmakeraw(&mut raw);
        tcsetattr(&slave, SetArg::TCSANOW, &raw).unwrap();
        tcflow(&slave, FlowArg::TCOOFF).unwrap();

        let terminal = File::from(slave.try_clone().unwrap());
        let mut front_end = TerminalFrontEnd { slave: None, terminal: Some((terminal, settings)), restoring: None };
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            front_end.owner_gone();
            sender.send(front_end).is_ok()
        });
        let mut front_end = receiver.recv_timeout(TERMINAL_TEST_TIMEOUT).expect("it does not wait for the terminal");
        front_end.finish();

        tcflow(&slave, FlowArg::TCOON).unwrap();
        let mut written = vec![0; RESET_SEQUENCES.len()];
        File::from(master).read_exact(&mut written).unwrap();
        assert_eq!(written, RESET_SEQUENCES);
    }

    #[test]
    fn a_terminal_that_takes_output_is_restored_before_the_supervisor_ends() {
        let OpenptyResult { master, slave } = openpty(None, None).unwrap();
        let settings = tcgetattr(&slave).unwrap();
        let mut raw = settings.clone();
        cfmakeraw(&mut raw);
        tcsetattr(&slave, SetArg::TCSANOW, &raw).unwrap();

        let terminal = Some((File::from(slave.try_clone().unwrap()), settings.clone()));
        let mut front_end = TerminalFrontEnd { slave: None, terminal, restoring: None };
        front_end.owner_gone();
        front_end.finish();
        assert_eq!(tcgetattr(&slave).unwrap(), settings);
        drop(slave);
        let mut written = vec![0; RESET_SEQUENCES.len()];
        File::from(master).read_exact(&mut written).unwrap();
        assert_eq!(written, RESET_SEQUENCES);
    }
}
