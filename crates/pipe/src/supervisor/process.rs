//! Main loop of a supervisor process. The supervisor leads a session, adopts orphans, and waits in one `poll` for
//! orders, child status changes and the next shutdown step. A [`FrontEnd`] connects the program by pipes or a terminal.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl;
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::signalfd::SignalFd;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, getpid, setpgid};

use crate::protocol::{SupervisorOrder, SupervisorReport};
use crate::signals;
use crate::tree::{KILL, ShutdownSequence, ShutdownStep};

/// Parts of a supervisor that depend on the connection to its program: [pipes](super::pipes) or a terminal.
pub trait FrontEnd: Sized + 'static {
    /// Steps that end the process tree. The last step sends SIGKILL.
    const STEPS: &'static [ShutdownStep];

    /// Grace period before the first step after the owner has exited.
    const OWNER_GONE_GRACE: Duration;

    /// Status changes of the program that are reported in addition to its exit: `WUNTRACED`, `WCONTINUED`, or none.
    const CHANGES: WaitPidFlag;

    /// Opens the socket to the owner and reads the program's command from the arguments.
    fn open(arguments: impl Iterator<Item = OsString>) -> io::Result<(UnixStream, Command)>;

    /// Makes this process a session leader. Called while all signals are blocked.
    fn lead_session() -> io::Result<Self>;

    /// Sets the program's standard streams, unless it inherits them.
    fn connect(&self, _command: &mut Command) -> io::Result<()> {
        Ok(())
    }

    /// Runs in the program's process before `exec`, once this process leads a process group. All signals are blocked.
    /// Only async-signal-safe calls are allowed.
    fn enter() -> io::Result<()> {
        Ok(())
    }

    /// Called once the program has started.
    fn started(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Returns the foreground process group of the program's terminal, if it has one.
    fn foreground(&self) -> Option<Pid> {
        None
    }

    /// Called once the program has exited.
    fn ended(&mut self) {}

    /// Called once the owner has exited. Must not block: the same thread runs the shutdown steps.
    fn owner_gone(&mut self) {}

    /// Called once every process of the tree has exited, before the supervisor exits. May block briefly.
    fn finish(&mut self) {}
}

/// Runs as a supervisor until the program and all its descendants have exited. Returns the program's exit code, or 128
/// plus the number of the signal that killed the program.
pub fn run<F: FrontEnd>(arguments: impl Iterator<Item = OsString>) -> io::Result<ExitCode> {
    // Prevents the program from tracing this process. `stat` and `cmdline` in `/proc` stay readable.
    prctl::set_dumpable(false)?;
    let (socket, command) = F::open(arguments)?;
    let children = signals::block_signals()?;
    let front_end = F::lead_session()?;
    prctl::set_child_subreaper(true)?;
    let mut process = SupervisorProcess { front_end, socket, children, program: None, ending: None, code: 0 };
    match process.start(command) {
        Ok(()) => process.watch(),
        Err(error) => {
            process.report(&SupervisorReport::Failed(error.raw_os_error().unwrap_or(0)));
            Ok(ExitCode::FAILURE)
        }
    }
}

struct SupervisorProcess<F> {
    front_end: F,
    socket: UnixStream,
    children: SignalFd,
    program: Option<Pid>,
    ending: Option<ShutdownSequence>,
    code: u8,
}

impl<F: FrontEnd> SupervisorProcess<F> {
    /// Starts the program. Takes the command by value and drops it, since the command may hold open copies of the
    /// terminal.
    fn start(&mut self, mut command: Command) -> io::Result<()> {
        self.front_end.connect(&mut command)?;
        let supervisor = getpid();
        let become_program = move || {
            signals::die_with_parent(supervisor)?;
            setpgid(Pid::from_raw(0), Pid::from_raw(0))?;
            F::enter()?;
            signals::reset_signals()
        };
        // SAFETY: between fork and exec only async-signal-safe system calls are made, on memory that is already
        // allocated.
        unsafe { command.pre_exec(become_program) };
        #[expect(clippy::disallowed_methods, reason = "a supervisor starts one child, and adopts orphans on purpose")]
        let child = command.spawn()?;
        let pid = Pid::from_raw(i32::try_from(child.id()).map_err(io::Error::other)?);
        self.front_end.started()?;
        self.program = Some(pid);
        self.report(&SupervisorReport::Started(pid.as_raw()));
        Ok(())
    }

    fn report(&mut self, report: &SupervisorReport) {
        // A failed write means that the owner has exited; `poll` reports this too.
        let _ = self.socket.write_all(report.encode().as_bytes());
    }

    fn watch(mut self) -> io::Result<ExitCode> {
        let mut owner_lives = true;
        loop {
            let timeout = self.ending.as_ref().map_or(PollTimeout::NONE, ShutdownSequence::timeout);
            let mut waits = [
                PollFd::new(self.children.as_fd(), PollFlags::POLLIN),
                PollFd::new(self.socket.as_fd(), PollFlags::POLLIN),
            ];
            let waits = if owner_lives { &mut waits[..] } else { &mut waits[..1] };
            match poll(waits, timeout) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
            let orders_wait = waits.get(1).and_then(PollFd::any).unwrap_or(false);
            if orders_wait && !self.handle_order() {
                owner_lives = false;
                self.ending.get_or_insert_with(|| ShutdownSequence::after(F::OWNER_GONE_GRACE, F::STEPS));
                self.front_end.owner_gone();
            }
            while let Ok(Some(_)) = self.children.read_signal() {}
            if !self.reap() {
                self.front_end.finish();
                return Ok(ExitCode::from(self.code));
            }
            if self.program.is_none() {
                self.end();
            }
            if let Some(ending) = &mut self.ending {
                ending.take_due_step();
            }
        }
    }

    /// Reads and handles one order. Returns false if the owner has exited.
    fn handle_order(&mut self) -> bool {
        let mut order = [0; 2];
        if self.socket.read_exact(&mut order).is_err() {
            return false;
        }
        match (SupervisorOrder::decode(order), self.program) {
            (Some(SupervisorOrder::End), _) => self.end(),
            (Some(SupervisorOrder::Kill), _) => self.ending = Some(ShutdownSequence::new(&[KILL])),
            (Some(SupervisorOrder::Signal(number)), Some(program)) => {
                if let Ok(signal) = Signal::try_from(i32::from(number)) {
                    // A program that has moved to another group is still reached by its pid.
                    if killpg(program, signal).is_err() {
                        let _ = kill(program, signal);
                    }
                }
            }
            (Some(SupervisorOrder::SignalForeground(number)), Some(_)) => {
                if let (Ok(signal), Some(group)) = (Signal::try_from(i32::from(number)), self.front_end.foreground()) {
                    let _ = killpg(group, signal);
                }
            }
            _ => {}
        }
        true
    }

    fn end(&mut self) {
        self.ending.get_or_insert_with(|| ShutdownSequence::new(F::STEPS)).start_now();
    }

    /// Handles every child that changed status. Returns false if no child is left.
    fn reap(&mut self) -> bool {
        loop {
            let (report, code) = match waitpid(None, Some(WaitPidFlag::WNOHANG | F::CHANGES)) {
                Ok(WaitStatus::StillAlive) => return true,
                Ok(status) if status.pid() != self.program => continue,
                Ok(WaitStatus::Exited(_, code)) => (SupervisorReport::Exited(code), Some(code)),
                Ok(WaitStatus::Signaled(_, signal, _)) => {
                    (SupervisorReport::Killed(signal as i32), Some(128 + signal as i32))
                }
                Ok(WaitStatus::Stopped(_, signal)) => (SupervisorReport::Stopped(signal as i32), None),
                Ok(WaitStatus::Continued(_)) => (SupervisorReport::Continued, None),
                Ok(_) | Err(Errno::EINTR) => continue,
                Err(_) => return false,
            };
            if let Some(code) = code {
                self.program = None;
                self.code = u8::try_from(code).unwrap_or(u8::MAX);
                self.front_end.ended();
            }
            self.report(&report);
        }
    }
}
