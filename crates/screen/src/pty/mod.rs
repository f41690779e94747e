//! A program in a terminal of its own. [`Program`] is our end: its bytes, its size, its life. The program is started
//! and watched by a [supervisor](wh_pipe::supervisor), whose [`front_end`] for terminals is here.

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
pub use interrupt::Unread;
pub use wh_pipe::protocol::{Order, Report};
use wh_pipe::supervisor::{Reports, Supervisor, SupervisorKind};

/// A piece of output below this is all that there was, and what comes later wakes the reader again: looking for more at
/// once would find nothing, and Linux has whoever reads an empty terminal wait until its worker has looked too.
const SHORT: usize = 1024;

/// What to start, and where.
#[derive(Debug)]
pub struct ProgramSpec {
    /// The binary whose `main` calls [`front_end::run`] when its first argument asks for [`SupervisorKind::Terminal`].
    pub supervisor: PathBuf,
    /// The program and its arguments; not empty.
    pub command: Vec<OsString>,
    /// Where it runs; where we run when absent.
    pub directory: Option<PathBuf>,
    /// Variables set for it, over those that we have.
    pub environment: Vec<(OsString, OsString)>,
    /// Variables that it must not see.
    pub withheld: Vec<OsString>,
    /// Session that the supervisor is registered for; `None` outside a daemon.
    pub session: Option<String>,
    /// The terminal's size.
    pub size: Size,
    /// The person's terminal, if one is attached: the program's starts with its settings, and the supervisor
    /// restores it if we cannot.
    pub terminal: Option<OwnedFd>,
}

/// A running program: the terminal's master side and its supervisor.
#[derive(Debug)]
pub struct Program {
    /// The terminal's bytes.
    pub terminal: Terminal,
    /// Reports of the supervisor.
    pub reports: Reports,
    /// The supervisor: takes orders, and ends.
    pub supervisor: Arc<Supervisor>,
}

impl Program {
    /// Starts a supervisor, which starts the program; [`Reports::started`] tells if that worked.
    pub fn start(spec: ProgramSpec) -> io::Result<Self> {
        let settings = spec.terminal.as_ref().and_then(|terminal| tcgetattr(terminal).ok());
        let OpenptyResult { master, slave } = openpty(&window_size(spec.size), settings.as_ref())?;
        // Whoever holds the master can read all that the program shows and type to it: nobody inherits it.
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
        spec.withheld.iter().for_each(|name| {
            command.env_remove(name);
        });
        if let Some(directory) = &spec.directory {
            command.current_dir(directory);
        }
        let terminal = Terminal::new(master)?;
        // The command holds our copies of the slave and of the supervisor's end of the line until it is dropped.
        let (_, supervisor, reports) = Supervisor::start(&mut command, spec.session, ours)?;
        Ok(Self { terminal, reports, supervisor })
    }
}

/// The name that a terminal of ours goes by.
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

/// Lets the kernel's line editor erase whole characters; a new terminal does not know that we speak UTF-8.
fn make_utf8(slave: &OwnedFd) -> io::Result<()> {
    let mut settings: Termios = tcgetattr(slave)?;
    settings.input_flags.insert(InputFlags::IUTF8);
    Ok(tcsetattr(slave, SetArg::TCSANOW, &settings)?)
}

/// The master side.
#[derive(Debug)]
pub struct Terminal(AsyncFd<OwnedFd>);

impl Terminal {
    /// A line to a UI in our own process, in the place of a terminal: what is written to it is typed, what is read from
    /// it is drawn. It has no size of its own.
    pub fn line(end: OwnedFd) -> io::Result<Self> {
        Self::new(end)
    }

    fn new(master: OwnedFd) -> io::Result<Self> {
        let flags = OFlag::from_bits_truncate(fcntl(&master, FcntlArg::F_GETFL)?);
        fcntl(&master, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
        // SAFETY: the descriptor is owned by the registration, which neither replaces nor closes it before its own end.
        Ok(Self(unsafe { AsyncFd::register(master) }?))
    }

    /// Waits for output and reads some. 0: the last holder of the terminal has closed it.
    pub async fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let mut ready = self.0.readable().await?;
            let hung_up = ready.ready().is_read_closed();
            match ready.try_io(|terminal| Ok(nix::unistd::read(terminal.get_ref(), buffer)?)) {
                // Linux says EIO where others say end of file.
                Ok(Err(error)) if error.raw_os_error() == Some(nix::libc::EIO) => return Ok(0),
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(result) => {
                    if result.as_ref().is_ok_and(|count| *count < SHORT) {
                        ready.clear_ready();
                    }
                    return result;
                }
                // The readiness of a terminal that hung up is never cleared: to wait for it again would not wait.
                Err(_not_ready) if hung_up => return Ok(0),
                Err(_not_ready) => {}
            }
        }
    }

    /// Reads what is there now; `None` when there is nothing.
    pub fn try_read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match nix::unistd::read(self.0.get_ref(), buffer) {
            Ok(count) => Ok(Some(count)),
            Err(nix::errno::Errno::EIO) => Ok(Some(0)),
            Err(nix::errno::Errno::EAGAIN | nix::errno::Errno::EINTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until the program's side takes input and writes some of it. Fails with `BrokenPipe` when the last holder of the
    /// terminal has closed it and its buffer is full: nobody will read what it holds.
    pub async fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            let mut ready = self.0.writable().await?;
            let hung_up = ready.ready().is_write_closed();
            match ready.try_io(|terminal| Ok(nix::unistd::write(terminal.get_ref(), bytes)?)) {
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(result) => return result,
                // Linux reports a terminal that hung up as writable for ever, and refuses every write with EAGAIN.
                Err(_not_ready) if hung_up => return Err(io::ErrorKind::BrokenPipe.into()),
                Err(_not_ready) => {}
            }
        }
    }

    /// Writes what is taken at once; 0 when nothing is.
    pub fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        match nix::unistd::write(self.0.get_ref(), bytes) {
            Ok(count) => Ok(count),
            Err(nix::errno::Errno::EAGAIN | nix::errno::Errno::EINTR) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }

    /// Tells the terminal, and so the program, its size.
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
    /// Asks for a terminal's size.
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

/// The size of a terminal that is not ours.
pub fn size_of(terminal: impl AsFd) -> io::Result<Size> {
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

    /// Runs on a thread of its own: a loop that never yields could not be timed out from within its runtime.
    fn finishes<T: Send + 'static>(work: impl AsyncFnOnce() -> T + Send + 'static) -> T {
        let (tell, told) = mpsc::channel();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let _ = tell.send(runtime.block_on(work()));
        });
        told.recv_timeout(Duration::from_secs(60)).expect("it yields, and ends")
    }

    #[test]
    fn a_write_to_a_full_terminal_that_hung_up_fails_instead_of_spinning() {
        let error = finishes(async || {
            let OpenptyResult { master, slave } = openpty(None, None).unwrap();
            let mut raw = tcgetattr(&slave).unwrap();
            nix::sys::termios::cfmakeraw(&mut raw);
            tcsetattr(&slave, SetArg::TCSANOW, &raw).unwrap();
            let terminal = Terminal::new(master).unwrap();
            let input = vec![b'x'; 64 * 1024];
            while terminal.try_write(&input).unwrap() > 0 {}
            drop(slave);
            // The kernel may still move what was written out of the way, and take a little more.
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
            let terminal = Terminal::new(master).unwrap();
            nix::unistd::write(&slave, b"last words").unwrap();
            drop(slave);
            let mut buffer = [0; 64];
            let count = terminal.read(&mut buffer).await.unwrap();
            (buffer[..count].to_vec(), terminal.read(&mut buffer).await.unwrap())
        });
        assert_eq!(read, (b"last words".to_vec(), 0));
    }
}
