//! The user's terminal: in raw mode while a program uses it, restored on every exit path.

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
use wh_client::{ScreenReadOptions, Surface, TerminalAttachment, UserTerminalEvent, UserTerminalMessage};
use wh_core::terminal::{Exit, Size};
use wh_screen::modes::{MouseTracking, TerminalModes};
use wh_screen::pty::front_end::RESET_SEQUENCES;
use wh_screen::pty::terminal_size;

use crate::failure::code;

/// Maximum number of output chunks queued for the terminal. If the queue is full, the program blocks, as on a slow
/// terminal without wh.
const MAX_QUEUED_OUTPUT_CHUNKS: usize = 16;
/// Maximum number of keyboard reads queued for the program. If the queue is full, input waits in the terminal.
const MAX_QUEUED_INPUT_CHUNKS: usize = 16;
/// Timeout at exit for a terminal that accepts no output.
const OUTPUT_STALL_TIMEOUT: Duration = Duration::from_secs(2);

/// Bytes per write to the terminal.
const WRITE_CHUNK_BYTES: usize = 4096;

/// Timeout for a stop signal to reach all threads of wh.
const STOP_DELIVERY_TIMEOUT: Duration = Duration::from_millis(200);

/// Terminal of this process.
#[derive(Debug)]
pub struct LocalTerminal {
    size: Size,
}

impl LocalTerminal {
    /// Returns the terminal if standard input and output are terminals and wh is in the foreground process group.
    pub fn here() -> Option<Self> {
        if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
            return None;
        }
        // A background job must not use the terminal.
        if tcgetpgrp(io::stdin()).is_ok_and(|foreground| foreground != getpgrp()) {
            return None;
        }
        Some(Self { size: terminal_size(io::stdin()).ok()? })
    }

    pub fn size(&self) -> Size {
        self.size
    }

    /// Returns a descriptor of the terminal for the supervisor, which restores the terminal if wh cannot.
    pub fn terminal(&self) -> io::Result<OwnedFd> {
        io::stdin().as_fd().try_clone_to_owned()
    }

    /// Connects the terminal to the program behind `surface`.
    pub async fn attach(self, surface: &Surface) -> TtyAttachment {
        restore_on_panic();
        // Registered before the size is read, so that no resize is missed.
        let window = WindowSignals::watch();
        enter_raw_mode();
        let (output, to_terminal) = mpsc::channel(MAX_QUEUED_OUTPUT_CHUNKS);
        let (typed, input) = mpsc::channel(MAX_QUEUED_INPUT_CHUNKS);
        let (change, changes) = mpsc::channel(4);
        let size = terminal_size(io::stdin()).unwrap_or(self.size);
        let _ = surface.attach(TerminalAttachment { size, output, input, changes }).await;
        thread::spawn(move || read_keyboard(&typed));
        let (output_done, written) = oneshot::channel();
        let (continue_sender, continued) = std::sync::mpsc::channel();
        let back = change.clone();
        let progress = Arc::new(AtomicU64::new(0));
        let written_so_far = Arc::clone(&progress);
        thread::spawn(move || {
            write_display(to_terminal, &written_so_far, &continued, &back);
            let _ = output_done.send(());
        });
        let watcher = tokio::spawn(window.report(change, continue_sender));
        TtyAttachment { written, progress, watcher, _raw: RawModeGuard }
    }
}

/// Connection between the user's terminal and a program.
pub struct TtyAttachment {
    written: oneshot::Receiver<()>,
    progress: Arc<AtomicU64>,
    watcher: tokio::task::JoinHandle<()>,
    _raw: RawModeGuard,
}

impl TtyAttachment {
    /// Waits until the program's last output is written, then restores the terminal, including modes that the program
    /// left enabled.
    pub async fn detach(mut self, surface: &Surface, exit: Exit) {
        let stuck = loop {
            let before = self.progress.load(Ordering::Relaxed);
            match tokio::time::timeout(OUTPUT_STALL_TIMEOUT, &mut self.written).await {
                Ok(_) => break false,
                // A slow terminal receives all output. A terminal that accepts no output does not block the exit.
                Err(_) if self.progress.load(Ordering::Relaxed) != before => {}
                Err(_) => break true,
            }
        };
        self.watcher.abort();
        if stuck {
            return;
        }
        let left_on = match surface.read_screen(ScreenReadOptions::default()).await {
            Ok(shown) => has_active_modes(&shown.frame.modes) || !shown.frame.cursor.visible,
            // The modes are unknown. A killed program could not reset them.
            Err(_) => exit.signal().is_some(),
        };
        if left_on {
            let _ = write_out(RESET_SEQUENCES);
        }
    }
}

fn has_active_modes(modes: &TerminalModes) -> bool {
    modes.alternate_screen
        || modes.bracketed_paste
        || modes.focus_events
        || modes.application_cursor
        || modes.kitty_keyboard != 0
        || modes.modify_other_keys != 0
        || modes.mouse != MouseTracking::Off
}

/// Terminal settings to restore; `None` unless the terminal is in raw mode.
static SAVED: Mutex<Option<Termios>> = Mutex::new(None);

/// Enters raw mode.
fn enter_raw_mode() {
    let Ok(settings) = tcgetattr(io::stdin()) else { return };
    let mut raw = settings.clone();
    cfmakeraw(&mut raw);
    if tcsetattr(io::stdin(), SetArg::TCSADRAIN, &raw).is_ok() {
        *SAVED.lock().unwrap_or_else(PoisonError::into_inner) = Some(settings);
    }
}

/// Re-enters raw mode after a stop, because the shell may have changed the settings.
fn reenter_raw_mode() {
    if let Some(settings) = &*SAVED.lock().unwrap_or_else(PoisonError::into_inner) {
        let mut raw = settings.clone();
        cfmakeraw(&mut raw);
        let _ = tcsetattr(io::stdin(), SetArg::TCSADRAIN, &raw);
    }
}

/// Restores the saved settings. A second call has no effect.
fn restore_terminal() {
    if let Some(settings) = SAVED.lock().unwrap_or_else(PoisonError::into_inner).take() {
        // TCSANOW: a terminal that accepts no output must not block.
        let _ = tcsetattr(io::stdin(), SetArg::TCSANOW, &settings);
    }
}

/// Restores the terminal when dropped.
struct RawModeGuard;

impl Drop for RawModeGuard {
    fn drop(&mut self) {
        restore_terminal();
    }
}

/// Installs a panic hook that restores the terminal, prints the panic message and exits the process. wh must not
/// continue after a panic in any thread, because its terminal may no longer work.
fn restore_on_panic() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        restore_terminal();
        let _ = write_out(RESET_SEQUENCES);
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
    mut output: mpsc::Receiver<UserTerminalMessage>,
    progress: &AtomicU64,
    continued: &std::sync::mpsc::Receiver<()>,
    back: &mpsc::Sender<UserTerminalEvent>,
) {
    while let Some(message) = output.blocking_recv() {
        match message {
            UserTerminalMessage::Output(bytes) => {
                // Written in chunks, so that progress on a slow terminal is visible.
                for piece in bytes.chunks(WRITE_CHUNK_BYTES) {
                    if write_out(piece).is_err() {
                        return;
                    }
                    progress.fetch_add(1, Ordering::Relaxed);
                }
            }
            UserTerminalMessage::Stopped => {
                suspend(continued);
                let _ = back.blocking_send(UserTerminalEvent::Continue);
            }
        }
    }
}

/// Suspends wh and returns the terminal to the shell until wh is continued.
fn suspend(continued: &std::sync::mpsc::Receiver<()>) {
    restore_terminal();
    while continued.try_recv().is_ok() {}
    // Stops the whole process group, as the terminal driver does. Another thread may handle the signal first, so this
    // thread waits for SIGCONT. The wait has a timeout, because an orphaned process group is not stopped at all.
    let _ = kill(Pid::from_raw(0), Signal::SIGTSTP);
    let _ = continued.recv_timeout(STOP_DELIVERY_TIMEOUT);
    enter_raw_mode();
}

/// Signals for a resized window and for continuing after a stop.
struct WindowSignals {
    resized: io::Result<tokio::signal::unix::Signal>,
    continued: io::Result<tokio::signal::unix::Signal>,
}

impl WindowSignals {
    fn watch() -> Self {
        Self {
            resized: signal(SignalKind::window_change()),
            continued: signal(SignalKind::from_raw(nix::libc::SIGCONT)),
        }
    }

    /// Reports each new size, and re-enters raw mode after a stop.
    async fn report(self, change: mpsc::Sender<UserTerminalEvent>, continue_sender: std::sync::mpsc::Sender<()>) {
        let (Ok(mut resized), Ok(mut continued)) = (self.resized, self.continued) else {
            // Without signals the size is fixed. The channel stays open so that the terminal stays attached.
            return std::future::pending().await;
        };
        loop {
            tokio::select! {
                _ = resized.recv() => {}
                _ = continued.recv() => {
                    reenter_raw_mode();
                    let _ = continue_sender.send(());
                }
            }
            if let Ok(size) = terminal_size(io::stdin())
                && change.send(UserTerminalEvent::Resized(size)).await.is_err()
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

    /// Set in the child process of this test, which runs on a terminal and panics.
    const HERE: &str = "WH_TEST_PANIC_HERE";

    #[test]
    fn a_panic_in_any_thread_gives_the_terminal_back() {
        if std::env::var_os(HERE).is_some() {
            restore_on_panic();
            enter_raw_mode();
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
        let name = "local_terminal::tests::a_panic_in_any_thread_gives_the_terminal_back";
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
