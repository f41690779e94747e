//! The guard: a small process between wh and a program. It leads the program's session, adopts whatever the program
//! leaves behind, reports how the program fares, and ends all of it when it is told to or when wh is gone, also by
//! kill -9. Then it gives the person's terminal back too.
//!
//! Its standard input is the line to wh, its standard output the program's terminal, its standard error the person's
//! terminal if there is one. Being the session's leader and the program's parent, it keeps the program's process group
//! from being an orphan, so that the program can be suspended as under a shell.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl;
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::signalfd::SignalFd;
use nix::sys::termios::{SetArg, Termios, cfmakeraw, tcgetattr, tcsetattr};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, dup2_stderr, dup2_stdout, getpid, setpgid, setsid, tcgetpgrp, tcsetpgrp};
use wh_pipe::protocol::{Order, Report};
use wh_pipe::signals;
use wh_pipe::tree::{Ending, KILL, Step, TERMINATE};

/// The steps of an end. A program in a terminal knows a hangup.
const STEPS: &[Step] = &[Step { signal: Signal::SIGHUP, grace: Duration::from_millis(500) }, TERMINATE, KILL];

/// Everything that a program may have switched on in the person's terminal, switched off. The cursor is saved first, so
/// that leaving an alternate screen that was never entered moves nothing.
pub const RESET: &[u8] = b"\x1b7\x1b[?1049l\x1b[?2026l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1005l\x1b[?1006l\x1b[?1004l\x1b[?2004l\x1b[?1l\x1b>\x1b[<9u\x1b[>4;0m\x1b[?25h\x1b[0 q\x1b[0m";

/// Runs as a guard for the program that `arguments` name, until nothing of it is left.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> io::Result<()> {
    // The program must not reach into the process that it is known by. `stat` and `cmdline` stay readable.
    prctl::set_dumpable(false)?;
    let mut guard = Guard::prepare()?;
    let mut arguments = arguments.into_iter();
    let Some(program) = arguments.next() else { return Err(io::Error::other("no program given")) };
    let mut command = Command::new(program);
    command.args(arguments);
    // The command holds copies of the terminal: it must be gone before the watch begins.
    let started = guard.start(command);
    match started {
        Ok(()) => guard.watch(),
        Err(error) => {
            guard.report(&Report::Failed(error.raw_os_error().unwrap_or(0)));
            Ok(())
        }
    }
}

struct Guard {
    line: UnixStream,
    /// Held open until the program ends, so that its terminal cannot be closed and opened again meanwhile.
    slave: Option<OwnedFd>,
    terminal: Option<(File, Termios)>,
    children: SignalFd,
    program: Option<Pid>,
    ending: Option<Ending>,
}

impl Guard {
    fn prepare() -> io::Result<Self> {
        let children = signals::hold()?;
        let line = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
        let slave = io::stdout().as_fd().try_clone_to_owned()?;
        let terminal = File::from(io::stderr().as_fd().try_clone_to_owned()?);
        let terminal = tcgetattr(&terminal).ok().map(|settings| (terminal, settings));
        let null = File::options().write(true).open("/dev/null")?;
        dup2_stdout(&null)?;
        dup2_stderr(&null)?;

        setsid()?;
        take_terminal(&slave)?;
        prctl::set_child_subreaper(true)?;
        Ok(Self { line, slave: Some(slave), terminal, children, program: None, ending: None })
    }

    fn start(&mut self, mut command: Command) -> io::Result<()> {
        let Some(slave) = &self.slave else { return Err(io::Error::other("the terminal is closed")) };
        command
            .stdin(Stdio::from(slave.try_clone()?))
            .stdout(Stdio::from(slave.try_clone()?))
            .stderr(Stdio::from(slave.try_clone()?));
        let guard = getpid();
        // SAFETY: between fork and exec only async-signal-safe system calls are made, on memory that is already there.
        unsafe { command.pre_exec(move || become_foreground(guard)) };
        #[expect(clippy::disallowed_methods, reason = "a supervisor has one child, and adopts on purpose")]
        let child = command.spawn()?;
        let pid = Pid::from_raw(i32::try_from(child.id()).map_err(io::Error::other)?);
        self.program = Some(pid);
        self.report(&Report::Started(pid.as_raw()));
        Ok(())
    }

    fn report(&mut self, report: &Report) {
        // When wh is gone there is nobody to tell, and the line's end says so elsewhere.
        let _ = self.line.write_all(report.encode().as_bytes());
    }

    fn watch(mut self) -> io::Result<()> {
        let mut wh_lives = true;
        loop {
            let timeout = match &self.ending {
                Some(ending) => ending.timeout(),
                None => PollTimeout::NONE,
            };
            let orders_wait = {
                let line = if wh_lives { PollFlags::POLLIN } else { PollFlags::empty() };
                let mut waits =
                    [PollFd::new(self.children.as_fd(), PollFlags::POLLIN), PollFd::new(self.line.as_fd(), line)];
                let waits = if wh_lives { &mut waits[..] } else { &mut waits[..1] };
                match poll(waits, timeout) {
                    Ok(_) | Err(Errno::EINTR) => {}
                    Err(error) => return Err(error.into()),
                }
                waits.get(1).and_then(|wait| wait.revents()).is_some_and(|events| !events.is_empty())
            };
            if orders_wait && !self.obey() {
                wh_lives = false;
                self.give_terminal_back();
                self.end();
            }
            while let Ok(Some(_)) = self.children.read_signal() {}
            if !self.reap() {
                self.report(&Report::Empty);
                return Ok(());
            }
            if self.program.is_none() {
                self.end();
            }
            self.take_due_step();
        }
    }

    /// Carries out one order; false when there will be no more.
    fn obey(&mut self) -> bool {
        let mut order = [0; 2];
        if self.line.read_exact(&mut order).is_err() {
            return false;
        }
        match (Order::decode(order), self.program) {
            (Some(Order::End), _) => self.end(),
            (Some(Order::Kill), _) => self.ending = Some(Ending::new(&STEPS[STEPS.len() - 1..])),
            (Some(Order::Signal(number)), Some(program)) => {
                if let Ok(signal) = Signal::try_from(i32::from(number)) {
                    // A program that has moved to another group is still found by its own id.
                    if killpg(program, signal).is_err() {
                        let _ = kill(program, signal);
                    }
                }
            }
            (Some(Order::SignalForeground(number)), Some(_)) => {
                let group = self.slave.as_ref().and_then(|slave| tcgetpgrp(slave).ok());
                if let (Ok(signal), Some(group)) = (Signal::try_from(i32::from(number)), group) {
                    let _ = killpg(group, signal);
                }
            }
            _ => {}
        }
        true
    }

    /// Takes note of every child that changed; false when none is left.
    fn reap(&mut self) -> bool {
        let changes = WaitPidFlag::WNOHANG | WaitPidFlag::WUNTRACED | WaitPidFlag::WCONTINUED;
        loop {
            let report = match waitpid(None, Some(changes)) {
                Ok(WaitStatus::StillAlive) => return true,
                Ok(WaitStatus::Exited(pid, code)) if Some(pid) == self.program => Report::Exited(code),
                Ok(WaitStatus::Signaled(pid, signal, _)) if Some(pid) == self.program => Report::Killed(signal as i32),
                Ok(WaitStatus::Stopped(pid, signal)) if Some(pid) == self.program => Report::Stopped(signal as i32),
                Ok(WaitStatus::Continued(pid)) if Some(pid) == self.program => Report::Continued,
                Ok(_) | Err(Errno::EINTR) => continue,
                Err(_) => return false,
            };
            if matches!(report, Report::Exited(_) | Report::Killed(_)) {
                self.program = None;
                self.slave = None;
            }
            self.report(&report);
        }
    }

    fn end(&mut self) {
        self.ending.get_or_insert_with(|| Ending::new(STEPS));
    }

    fn take_due_step(&mut self) {
        if let Some(ending) = &mut self.ending {
            ending.take_due_step();
        }
    }

    /// Undoes what wh and the program did to the person's terminal. The shell may have set it for itself by now; then
    /// its settings stay.
    fn give_terminal_back(&mut self) {
        let Some((terminal, settings)) = &mut self.terminal else { return };
        let mut raw = settings.clone();
        cfmakeraw(&mut raw);
        if tcgetattr(&*terminal).is_ok_and(|current| current == raw) {
            let _ = tcsetattr(&*terminal, SetArg::TCSANOW, settings);
        }
        let _ = terminal.write_all(RESET);
    }
}

nix::ioctl_write_int_bad!(
    /// Makes a terminal the one that controls this session.
    tiocsctty,
    nix::libc::TIOCSCTTY
);

fn take_terminal(slave: &OwnedFd) -> io::Result<()> {
    // SAFETY: the descriptor is open for the call, and the argument is a plain number.
    unsafe { tiocsctty(slave.as_raw_fd(), 0) }?;
    Ok(())
}

/// In the child, before it becomes the program: a process group of its own, in the foreground of its terminal, that
/// does not outlive the guard and hears every signal.
fn become_foreground(guard: Pid) -> io::Result<()> {
    signals::die_with(guard)?;
    setpgid(Pid::from_raw(0), Pid::from_raw(0))?;
    // A background process that touches the foreground is stopped by TTOU, unless it blocks it: the guard's mask does.
    tcsetpgrp(io::stdin(), getpid())?;
    signals::start_afresh()
}
