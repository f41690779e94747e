//! The keeper: a small process between us and a program that we speak to over pipes. It adopts whatever the program leaves
//! behind, reports how the program ended, and ends all of it when it is told to, when the program has ended, or when we
//! are gone, also by kill -9.
//!
//! It is started with a number and a command: the number is that of the descriptor which is its line to us, the command is
//! the program with its arguments. It passes its standard input, output and error on to the program and closes its own
//! copies, so that who closes one of them is heard at the other end.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl;
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::signalfd::SignalFd;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, dup2_stderr, dup2_stdin, dup2_stdout, getpid, setpgid, setsid};

use crate::protocol::{Order, Report};
use crate::signals;
use crate::tree::{Ending, KILL, Step, TERMINATE};

/// The first argument by which a binary knows that it is to be a keeper.
pub const ARGUMENT: &str = "__keep";

/// The steps of an end.
const STEPS: &[Step] = &[TERMINATE, KILL];

/// How long a program has, when we are gone, to end by itself: its input has ended too.
const PAUSE: Duration = Duration::from_millis(500);

/// Whether the first argument asks for a keeper.
pub fn is_keeper(argument: Option<&OsStr>) -> bool {
    argument.is_some_and(|argument| argument == ARGUMENT)
}

/// The command that makes our own binary a keeper, also when its file has been replaced meanwhile. Its `main` calls
/// [`run`] with what follows when its first argument [asks for it](is_keeper).
pub fn own_command() -> io::Result<Vec<OsString>> {
    let own = Path::new("/proc/self/exe");
    let own = if own.exists() { own.to_owned() } else { std::env::current_exe()? };
    Ok(vec![own.into_os_string(), ARGUMENT.into()])
}

/// Runs as a keeper until nothing of the program is left. Ends as the program did, as far as a number can say that.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> io::Result<ExitCode> {
    let mut arguments = arguments.into_iter();
    let (Some(number), Some(program)) = (arguments.next(), arguments.next()) else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a keeper is given a descriptor and a program"));
    };
    // The program must not reach into the process that it is known by. `stat` and `cmdline` stay readable.
    prctl::set_dumpable(false)?;
    let mut keeper = Keeper::prepare(&number)?;
    match keeper.start(Command::new(program).args(arguments)) {
        Ok(()) => keeper.watch(),
        Err(error) => {
            keeper.report(&Report::Failed(error.raw_os_error().unwrap_or(0)));
            Ok(ExitCode::FAILURE)
        }
    }
}

struct Keeper {
    line: UnixStream,
    children: SignalFd,
    program: Option<Pid>,
    ending: Option<Ending>,
    code: u8,
}

impl Keeper {
    fn prepare(number: &OsStr) -> io::Result<Self> {
        let line = line(number)?;
        let children = signals::hold()?;
        // Whoever started us may have done so already: then it fails, and nothing is amiss.
        let _ = setsid();
        prctl::set_child_subreaper(true)?;
        Ok(Self { line, children, program: None, ending: None, code: 0 })
    }

    fn start(&mut self, command: &mut Command) -> io::Result<()> {
        let keeper = getpid();
        let become_program = move || {
            signals::die_with(keeper)?;
            setpgid(Pid::from_raw(0), Pid::from_raw(0))?;
            signals::start_afresh()
        };
        // SAFETY: between fork and exec only async-signal-safe system calls are made, on memory that is already there.
        unsafe { command.pre_exec(become_program) };
        #[expect(clippy::disallowed_methods, reason = "a supervisor has one child, and adopts on purpose")]
        let child = command.spawn()?;
        let pid = Pid::from_raw(i32::try_from(child.id()).map_err(io::Error::other)?);
        let null = File::options().read(true).write(true).open("/dev/null")?;
        dup2_stdin(&null)?;
        dup2_stdout(&null)?;
        dup2_stderr(&null)?;
        self.program = Some(pid);
        self.report(&Report::Started(pid.as_raw()));
        Ok(())
    }

    fn report(&mut self, report: &Report) {
        // When the owner is gone there is nobody to tell, and the line's end says so elsewhere.
        let _ = self.line.write_all(report.encode().as_bytes());
    }

    fn watch(mut self) -> io::Result<ExitCode> {
        let mut owner_lives = true;
        loop {
            let timeout = self.ending.as_ref().map_or(PollTimeout::NONE, Ending::timeout);
            let mut waits = [
                PollFd::new(self.children.as_fd(), PollFlags::POLLIN),
                PollFd::new(self.line.as_fd(), PollFlags::POLLIN),
            ];
            let waits = if owner_lives { &mut waits[..] } else { &mut waits[..1] };
            match poll(waits, timeout) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
            let orders_wait = waits.get(1).and_then(PollFd::any).unwrap_or(false);
            if orders_wait && !self.obey() {
                owner_lives = false;
                self.ending.get_or_insert_with(|| Ending::after(PAUSE, STEPS));
            }
            while let Ok(Some(_)) = self.children.read_signal() {}
            if !self.reap() {
                self.report(&Report::Empty);
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
            _ => {}
        }
        true
    }

    fn end(&mut self) {
        self.ending.get_or_insert_with(|| Ending::new(STEPS)).hasten();
    }

    /// Takes note of every child that ended; false when none is left.
    fn reap(&mut self) -> bool {
        loop {
            let (report, code) = match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::StillAlive) => return true,
                Ok(WaitStatus::Exited(pid, code)) if Some(pid) == self.program => (Report::Exited(code), code),
                Ok(WaitStatus::Signaled(pid, signal, _)) if Some(pid) == self.program => {
                    (Report::Killed(signal as i32), 128 + signal as i32)
                }
                Ok(_) | Err(Errno::EINTR) => continue,
                Err(_) => return false,
            };
            self.program = None;
            self.code = u8::try_from(code).unwrap_or(u8::MAX);
            self.report(&report);
        }
    }
}

/// The line to our owner. The program does not get it.
fn line(number: &OsStr) -> io::Result<UnixStream> {
    let invalid = || {
        let why =
            format!("descriptor {number:?} is not a line to an owner; a keeper is started by a program, not by hand");
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
    fn a_keeper_that_is_started_by_hand_says_so() {
        for arguments in [&["x", "true"][..], &["-1", "true"], &["0", "true"], &["99999", "true"], &["3"], &[]] {
            let error = run(arguments.iter().map(OsString::from)).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{arguments:?}");
        }
    }

    #[test]
    fn our_own_command_asks_for_a_keeper() {
        let command = own_command().unwrap();
        assert!(Path::new(&command[0]).exists() && is_keeper(Some(&command[1])));
        assert!(!is_keeper(None) && !is_keeper(Some("run".as_ref())));
    }
}
