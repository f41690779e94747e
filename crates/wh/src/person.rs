//! The person's terminal: raw while a program has it, given back on every way out.

use std::io::{self, IsTerminal, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use nix::sys::signal::{Signal, kill};
use nix::sys::termios::{SetArg, Termios, cfmakeraw, tcgetattr, tcsetattr};
use nix::unistd::{Pid, getpgrp, tcgetpgrp};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, oneshot};
use wh_client::{Attachment, FromTerminal, Look, Surface, ToTerminal};
use wh_core::terminal::{Exit, Size};
use wh_screen::modes::{Modes, MouseTracking};
use wh_screen::pty::front_end::RESET;
use wh_screen::pty::size_of;

use crate::failure::code;

/// Pieces of output that may wait for the terminal. Beyond that the program waits, as it would without us.
const OUTPUT_PIECES: usize = 16;
/// Pieces of typing that may wait for the program. Beyond that they wait in the terminal.
const INPUT_PIECES: usize = 16;
/// How long a terminal that takes no output at all is waited for at the end.
const LAST_OUTPUT: Duration = Duration::from_secs(2);

/// Bytes written to the terminal at once.
const PIECE: usize = 4096;

/// How long a stop may take to reach all of our threads.
const STOP_TAKES: Duration = Duration::from_millis(200);

/// A person at a terminal.
#[derive(Debug)]
pub struct Person {
    size: Size,
}

impl Person {
    /// The person at our own terminal, if it is one in both directions.
    pub fn here() -> Option<Self> {
        if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
            return None;
        }
        // A job in the background has no use of the terminal: the shell has it.
        if tcgetpgrp(io::stdin()).is_ok_and(|foreground| foreground != getpgrp()) {
            return None;
        }
        Some(Self { size: size_of(io::stdin()).ok()? })
    }

    pub fn size(&self) -> Size {
        self.size
    }

    /// The terminal itself, for the supervisor to give back if we cannot.
    pub fn terminal(&self) -> io::Result<OwnedFd> {
        io::stdin().as_fd().try_clone_to_owned()
    }

    /// Gives the terminal to the program behind `surface`.
    pub async fn attach(self, surface: &Surface) -> Attached {
        restore_on_panic();
        // Watched before the size is read, so that no change of it is missed.
        let window = Window::watch();
        go_raw();
        let (output, to_terminal) = mpsc::channel(OUTPUT_PIECES);
        let (typed, input) = mpsc::channel(INPUT_PIECES);
        let (change, changes) = mpsc::channel(4);
        let size = size_of(io::stdin()).unwrap_or(self.size);
        let _ = surface.attach(Attachment { size, output, input, changes }).await;
        thread::spawn(move || read_keyboard(&typed));
        let (tell_written, written) = oneshot::channel();
        let (tell_continued, continued) = std::sync::mpsc::channel();
        let back = change.clone();
        let progress = Arc::new(AtomicU64::new(0));
        let written_so_far = Arc::clone(&progress);
        thread::spawn(move || {
            write_display(to_terminal, &written_so_far, &continued, &back);
            let _ = tell_written.send(());
        });
        let watcher = tokio::spawn(window.report(change, tell_continued));
        Attached { written, progress, watcher, _raw: Raw }
    }
}

/// A terminal that a program has now.
pub struct Attached {
    written: oneshot::Receiver<()>,
    progress: Arc<AtomicU64>,
    watcher: tokio::task::JoinHandle<()>,
    _raw: Raw,
}

impl Attached {
    /// Takes the terminal back after the program's end, with whatever the program left switched on.
    pub async fn detach(mut self, surface: &Surface, exit: Exit) {
        let stuck = loop {
            let before = self.progress.load(Ordering::Relaxed);
            match tokio::time::timeout(LAST_OUTPUT, &mut self.written).await {
                Ok(_) => break false,
                // A slow terminal gets all of it; one that takes nothing is not waited for.
                Err(_) if self.progress.load(Ordering::Relaxed) != before => {}
                Err(_) => break true,
            }
        };
        self.watcher.abort();
        if stuck {
            return;
        }
        let left_on = match surface.look(Look::default()).await {
            Ok(shown) => anything_on(&shown.frame.modes) || !shown.frame.cursor.visible,
            // Nobody kept track: a program that was killed had no chance to clean up.
            Err(_) => exit.signal().is_some(),
        };
        if left_on {
            let _ = write_out(RESET);
        }
    }
}

fn anything_on(modes: &Modes) -> bool {
    modes.alternate_screen
        || modes.bracketed_paste
        || modes.focus_events
        || modes.application_cursor
        || modes.kitty_keyboard != 0
        || modes.modify_other_keys != 0
        || modes.mouse != MouseTracking::Off
}

/// The settings to go back to, while the terminal is raw.
static SAVED: Mutex<Option<Termios>> = Mutex::new(None);

/// Every byte as it comes, in both directions.
fn go_raw() {
    let Ok(settings) = tcgetattr(io::stdin()) else { return };
    let mut raw = settings.clone();
    cfmakeraw(&mut raw);
    if tcsetattr(io::stdin(), SetArg::TCSADRAIN, &raw).is_ok() {
        *SAVED.lock().unwrap_or_else(PoisonError::into_inner) = Some(settings);
    }
}

/// Raw again, if it was when somebody stopped us: a shell sets its terminal as it likes meanwhile.
fn stay_raw() {
    if let Some(settings) = &*SAVED.lock().unwrap_or_else(PoisonError::into_inner) {
        let mut raw = settings.clone();
        cfmakeraw(&mut raw);
        let _ = tcsetattr(io::stdin(), SetArg::TCSADRAIN, &raw);
    }
}

/// Back to what it was. Does nothing the second time.
fn give_back() {
    if let Some(settings) = SAVED.lock().unwrap_or_else(PoisonError::into_inner).take() {
        // At once: a terminal that takes no output must not keep us.
        let _ = tcsetattr(io::stdin(), SetArg::TCSANOW, &settings);
    }
}

/// Gives the terminal back when it goes.
struct Raw;

impl Drop for Raw {
    fn drop(&mut self) {
        give_back();
    }
}

/// A panic's message must be readable, and the terminal usable, whichever thread it comes from. It is our end: a program
/// must not go on in a terminal that was taken from it.
fn restore_on_panic() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        give_back();
        let _ = write_out(RESET);
        before(panic);
        std::process::exit(i32::from(code::FAILED));
    }));
}

fn write_out(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

fn read_keyboard(typed: &mpsc::Sender<Bytes>) {
    let mut keyboard = io::stdin().lock();
    let mut buffer = [0; 4096];
    loop {
        match keyboard.read(&mut buffer) {
            Ok(0) => return,
            Ok(count) => {
                if typed.blocking_send(Bytes::copy_from_slice(&buffer[..count])).is_err() {
                    return;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

fn write_display(
    mut output: mpsc::Receiver<ToTerminal>,
    progress: &AtomicU64,
    continued: &std::sync::mpsc::Receiver<()>,
    back: &mpsc::Sender<FromTerminal>,
) {
    while let Some(message) = output.blocking_recv() {
        match message {
            ToTerminal::Output(bytes) => {
                // In pieces, so that a slow terminal is seen to move.
                for piece in bytes.chunks(PIECE) {
                    if write_out(piece).is_err() {
                        return;
                    }
                    progress.fetch_add(1, Ordering::Relaxed);
                }
            }
            ToTerminal::Stopped => {
                suspend(continued);
                let _ = back.blocking_send(FromTerminal::Continue);
            }
        }
    }
}

/// Gives the terminal back to the person's shell, until they come back.
fn suspend(continued: &std::sync::mpsc::Receiver<()>) {
    give_back();
    while continued.try_recv().is_ok() {}
    // The whole group, as the terminal itself would have done it. The stop may reach another thread first, so this one
    // waits to hear that it is over; a group that nobody could continue is not stopped at all.
    let _ = kill(Pid::from_raw(0), Signal::SIGTSTP);
    let _ = continued.recv_timeout(STOP_TAKES);
    go_raw();
}

/// The signals that tell of the terminal's window and of our own going on after a stop.
struct Window {
    resized: io::Result<tokio::signal::unix::Signal>,
    continued: io::Result<tokio::signal::unix::Signal>,
}

impl Window {
    fn watch() -> Self {
        Self {
            resized: signal(SignalKind::window_change()),
            continued: signal(SignalKind::from_raw(nix::libc::SIGCONT)),
        }
    }

    /// Tells of every new size, and takes the terminal again when we were stopped and go on.
    async fn report(self, change: mpsc::Sender<FromTerminal>, tell_continued: std::sync::mpsc::Sender<()>) {
        let (Ok(mut resized), Ok(mut continued)) = (self.resized, self.continued) else {
            // Without signals the size stays what it was; the channel stays open so that the terminal stays attached.
            return std::future::pending().await;
        };
        loop {
            tokio::select! {
                _ = resized.recv() => {}
                _ = continued.recv() => {
                    stay_raw();
                    let _ = tell_continued.send(());
                }
            }
            if let Ok(size) = size_of(io::stdin())
                && change.send(FromTerminal::Resized(size)).await.is_err()
            {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wh_testkit::{Tmux, eventually};

    /// Set in the copy of this test that runs on a terminal and panics there.
    const HERE: &str = "WH_TEST_PANIC_HERE";

    #[test]
    fn a_panic_in_any_thread_gives_the_terminal_back() {
        if std::env::var_os(HERE).is_some() {
            restore_on_panic();
            go_raw();
            let _ = write_out(b"\x1b[?1049h\x1b[?1003h");
            let _ = thread::spawn(|| panic!("on purpose")).join();
            return;
        }
        if !wh_testkit::tools::present(&["tmux"]) {
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let report = directory.path().join("settings");
        let own = std::env::current_exe().unwrap();
        let name = "person::tests::a_panic_in_any_thread_gives_the_terminal_back";
        let script = format!(
            "{HERE}=1 {} --exact {name}; stty -a > {report}.new; mv {report}.new {report}; exec cat",
            own.display(),
            report = report.display()
        );
        let tmux = Tmux::start(80, 24, &["bash", "--norc", "-c", &script]);
        let settings = eventually("the test has ended", || std::fs::read_to_string(&report).ok());
        assert!(settings.contains(" icanon") && settings.contains(" echo "), "{settings}");
        for format in ["#{alternate_on}", "#{mouse_any_flag}"] {
            eventually("the screen is given back", || (tmux.format(format).trim() == "0").then_some(()));
        }
    }
}
