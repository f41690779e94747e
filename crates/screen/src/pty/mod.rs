//! Runs a program in a new terminal. [`PtyProgram`] holds the master side. A [supervisor](wh_pipe::supervisor) with the
//! [`front_end`] for terminals starts and watches the program.

pub mod front_end;
mod interrupt;

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;

use nix::fcntl::{FcntlArg, FdFlag, OFlag, fcntl};
use nix::pty::{OpenptyResult, Winsize, openpty};
use nix::sys::termios::{InputFlags, SetArg, Termios, tcgetattr, tcsetattr};
use tokio::io::unix::AsyncFd;

use crate::frame::Size;
use crate::replies::CELL_PIXELS;
pub use interrupt::UnreadQueue;
pub use wh_pipe::protocol::{SupervisorOrder, SupervisorReport};
use wh_pipe::supervisor::{Supervisor, SupervisorKind, SupervisorReports};

/// A read of fewer bytes than this has drained the output. Another read would find no output, and on Linux would wait
/// for a kernel worker. Later output wakes the reader again.
const DRAINED_READ_BYTES: usize = 1024;

/// Describes a program to start in a terminal.
#[derive(Debug)]
pub struct ProgramSpec {
    /// Binary whose `main` calls [`front_end::run`] if its first argument selects [`SupervisorKind::Terminal`].
    pub supervisor: PathBuf,
    /// Program and its arguments; not empty.
    pub command: Vec<OsString>,
    /// Working directory; `None` inherits it.
    pub directory: Option<PathBuf>,
    /// Environment variables that are set in addition to the inherited variables.
    pub environment: Vec<(OsString, OsString)>,
    /// Environment variables that are removed.
    pub removed_variables: Vec<OsString>,
    /// Session that the supervisor is registered for; `None` outside a daemon.
    pub session: Option<String>,
    /// Initial size of the terminal.
    pub size: Size,
    /// User's terminal, if one is attached. The program's terminal starts with the settings of the user's terminal,
    /// and the supervisor restores the user's terminal if this process cannot.
    pub terminal: Option<OwnedFd>,
}

/// A running program: the master side of its terminal, and its supervisor.
#[derive(Debug)]
pub struct PtyProgram {
    /// Master side of the terminal.
    pub terminal: PtyMaster,
    /// Reports of the supervisor, in order.
    pub reports: SupervisorReports,
    /// Supervisor of the program. It executes orders and ends the program's processes.
    pub supervisor: Arc<Supervisor>,
}

impl PtyProgram {
    /// Starts a supervisor, which starts the program. [`SupervisorReports::started`] returns the result.
    pub fn start(spec: ProgramSpec) -> io::Result<Self> {
        let settings = spec.terminal.as_ref().and_then(|terminal| tcgetattr(terminal).ok());
        let OpenptyResult { master, slave } = openpty(&window_size(spec.size), settings.as_ref())?;
        // Neither end is inherited: a process that has the master could read all output of the program and send input
        // to it.
        for end in [&master, &slave] {
            fcntl(end, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
        }
        if settings.is_none() {
            make_utf8(&slave)?;
        }
        let (ours, theirs) = UnixStream::pair()?;
        let mut command = Command::new(&spec.supervisor);
        command
            .arg0("wh")
            .arg(SupervisorKind::Terminal.argument())
            .args(&spec.command)
            .envs(spec.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::from(slave))
            .stderr(spec.terminal.map_or_else(Stdio::null, Stdio::from));
        spec.removed_variables.iter().for_each(|name| {
            command.env_remove(name);
        });
        if let Some(directory) = &spec.directory {
            command.current_dir(directory);
        }
        let terminal = PtyMaster::new(master)?;
        // The command holds copies of the slave and of the supervisor's end of the socket until it is dropped.
        let (_, supervisor, reports) = Supervisor::start(&mut command, spec.session, ours)?;
        Ok(Self { terminal, reports, supervisor })
    }
}

/// Value of `TERM` for programs in a terminal of wh.
pub const TERM: &str = "xterm-256color";

fn window_size(size: Size) -> Winsize {
    let (width, height) = CELL_PIXELS;
    Winsize {
        ws_col: size.columns,
        ws_row: size.rows,
        ws_xpixel: size.columns.saturating_mul(width),
        ws_ypixel: size.rows.saturating_mul(height),
    }
}

/// Enables UTF-8 in the kernel's line editor, so that the backspace key erases whole characters. In a new terminal
/// UTF-8 is disabled.
fn make_utf8(slave: &OwnedFd) -> io::Result<()> {
    let mut settings: Termios = tcgetattr(slave)?;
    settings.input_flags.insert(InputFlags::IUTF8);
    Ok(tcsetattr(slave, SetArg::TCSANOW, &settings)?)
}

/// Master side of a terminal, non-blocking and registered with the tokio runtime.
#[derive(Debug)]
pub struct PtyMaster(AsyncFd<OwnedFd>);

impl PtyMaster {
    /// Wraps a socket to a UI in this process in place of a terminal: bytes written to it are typed input, bytes read
    /// from it are drawn output. The socket has no size of its own.
    pub fn from_socket(end: OwnedFd) -> io::Result<Self> {
        Self::new(end)
    }

    fn new(master: OwnedFd) -> io::Result<Self> {
        let flags = OFlag::from_bits_truncate(fcntl(&master, FcntlArg::F_GETFL)?);
        fcntl(&master, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
        // SAFETY: the descriptor is owned by the registration, which neither replaces the descriptor nor closes it
        // before the registration is dropped.
        Ok(Self(unsafe { AsyncFd::register(master) }?))
    }

    /// Waits for output and reads a part of it. Returns 0 if the last process has closed the terminal.
    pub async fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let mut ready = self.0.readable().await?;
            let hung_up = ready.ready().is_read_closed();
            match ready.try_io(|terminal| Ok(nix::unistd::read(terminal.get_ref(), buffer)?)) {
                // Linux returns EIO instead of the end of the file.
                Ok(Err(error)) if error.raw_os_error() == Some(nix::libc::EIO) => return Ok(0),
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(result) => {
                    if result.as_ref().is_ok_and(|count| *count < DRAINED_READ_BYTES) {
                        ready.clear_ready();
                    }
                    return result;
                }
                // The readiness of a terminal that hung up is never cleared, so waiting again would spin.
                Err(_not_ready) if hung_up => return Ok(0),
                Err(_not_ready) => {}
            }
        }
    }

    /// Reads available output; `None` if there is none. Returns 0 if the last process has closed the terminal.
    pub fn try_read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match nix::unistd::read(self.0.get_ref(), buffer) {
            Ok(count) => Ok(Some(count)),
            Err(nix::errno::Errno::EIO) => Ok(Some(0)),
            Err(nix::errno::Errno::EAGAIN | nix::errno::Errno::EINTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until the program's side accepts input, and writes at least a part of `bytes`; returns the number of bytes
    /// written. Fails with `BrokenPipe` if the last process has closed the terminal and the terminal's buffer is full.
    pub async fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            let mut ready = self.0.writable().await?;
            let hung_up = ready.ready().is_write_closed();
            match ready.try_io(|terminal| Ok(nix::unistd::write(terminal.get_ref(), bytes)?)) {
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(result) => return result,
                // Linux reports a terminal that hung up as always writable, and refuses every write with EAGAIN.
                Err(_not_ready) if hung_up => return Err(io::ErrorKind::BrokenPipe.into()),
                Err(_not_ready) => {}
            }
        }
    }

    /// Writes as many bytes as the terminal accepts without waiting, and returns their number, which may be 0.
    pub fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        match nix::unistd::write(self.0.get_ref(), bytes) {
            Ok(count) => Ok(count),
            Err(nix::errno::Errno::EAGAIN | nix::errno::Errno::EINTR) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }

    /// Sets the size of the terminal. The kernel notifies the program with SIGWINCH.
    pub fn resize(&self, size: Size) -> io::Result<()> {
        set_window_size(self.0.get_ref(), size)
    }
}

nix::ioctl_write_ptr_bad!(
    /// Sets a terminal's size.
    tiocswinsz,
    nix::libc::TIOCSWINSZ,
    Winsize
);
nix::ioctl_read_bad!(
    /// Reads a terminal's size.
    tiocgwinsz,
    nix::libc::TIOCGWINSZ,
    Winsize
);

fn set_window_size(terminal: &OwnedFd, size: Size) -> io::Result<()> {
    let size = window_size(size);
    // SAFETY: the descriptor is open for the call and the pointer is to a whole Winsize that outlives it.
    unsafe { tiocswinsz(terminal.as_raw_fd(), &raw const size) }?;
    Ok(())
}

/// Returns the size of any terminal.
pub fn terminal_size(terminal: impl AsFd) -> io::Result<Size> {
    let mut size = Winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the descriptor is open for the call and the pointer is to a whole Winsize that outlives it.
    unsafe { tiocgwinsz(terminal.as_fd().as_raw_fd(), &raw mut size) }?;
    Ok(Size::nearest(size.ws_col, size.ws_row))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// Runs on a separate thread, since a loop that never yields could not be timed out within its own runtime.
    fn finishes<T: Send + 'static>(work: impl AsyncFnOnce() -> T + Send + 'static) -> T {
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let _ = sender.send(runtime.block_on(work()));
        });
        receiver.recv_timeout(Duration::from_secs(60)).expect("it completes in time")
    }

    #[test]
    fn a_write_to_a_full_terminal_that_hung_up_fails_instead_of_spinning() {
        let error = finishes(async || {
            let OpenptyResult { master, slave } = openpty(None, None).unwrap();
            let mut raw = tcgetattr(&slave).unwrap();
            nix::sys::termios::cfmakeraw(&mut raw);
            tcsetattr(&slave, SetArg::TCSANOW, &raw).unwrap();
            let terminal = PtyMaster::new(master).unwrap();
            let input = vec![b'x'; 64 * 1024];
            while terminal.try_write(&input).unwrap() > 0 {}
            drop(slave);
            // The kernel may still free some buffer space and accept a little more.
            loop {
                if let Err(error) = terminal.write(&input).await {
                    return error;
                }
            }
        });
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn a_terminal_that_hung_up_is_read_to_its_end() {
        let read = finishes(async || {
            let OpenptyResult { master, slave } = openpty(None, None).unwrap();
            let terminal = PtyMaster::new(master).unwrap();
            nix::unistd::write(&slave, b"last words").unwrap();
            drop(slave);
            let mut buffer = [0; 64];
            let count = terminal.read(&mut buffer).await.unwrap();
            (buffer[..count].to_vec(), terminal.read(&mut buffer).await.unwrap())
        });
        assert_eq!(read, (b"last words".to_vec(), 0));
    }
}
