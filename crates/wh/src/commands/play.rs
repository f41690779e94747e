//! `wh play`.

use std::io::{self, BufReader, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::SignalFd;
use wh_screen::cast::{Cast, PlayFilter, Playback, Speed};

use crate::failure::{Failure, code, say};
use crate::files;

/// Play a recording in this terminal
///
/// Reads asciicast v2 and v3, as `wh run --record` and asciinema write them. Only what draws the screen reaches your terminal: text,
/// colours, cursor movement, erasing, scrolling and the alternate screen. Clipboard access, titles, links, queries, device strings and keyboard
/// and mouse modes are dropped, and at the end the terminal is left as it was; --raw passes everything. Ctrl-C ends it.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  wh play run.cast --speed 2\n  wh play run.cast --idle-limit 0.5\n\nExit codes: 0 played; 2 wrong usage; 125 the file cannot be read or is no recording; 130 ended by Ctrl-C."
)]
pub struct Play {
    /// The recording
    file: PathBuf,

    /// So many times as fast
    #[arg(long, default_value = "1")]
    speed: Speed,

    /// Cut pauses to so many seconds
    #[arg(long, value_name = "SECS")]
    idle_limit: Option<f64>,

    /// Write the output to the terminal exactly as it was recorded; only for recordings that you trust
    #[arg(long)]
    raw: bool,
}

impl Play {
    pub fn run(self) -> Result<ExitCode, Failure> {
        let cast = read(&self.file)?;
        let limit = match self.idle_limit.map(Duration::try_from_secs_f64).transpose() {
            Ok(limit) => limit,
            Err(_) => {
                return Err(Failure::new(code::USAGE, "--idle-limit must be a number of seconds, for example 0.5"));
            }
        };
        let failed = |error: Errno| Failure::new(code::FAILED, format!("cannot wait for signals: {error}"));
        let mut clock = Clock::start().map_err(failed)?;
        let (mut out, mut filter) = (io::stdout().lock(), PlayFilter::new());
        let mut ended = None;
        for step in Playback::new(&cast, self.speed, limit) {
            ended = clock.wait_until(step.at).map_err(failed)?;
            if ended.is_some() {
                break;
            }
            let written = if self.raw {
                out.write_all(step.bytes)
            } else {
                out.write_all(filter.pass(&String::from_utf8_lossy(step.bytes)).as_bytes())
            };
            if written.and_then(|()| out.flush()).is_err() {
                return Ok(ExitCode::SUCCESS);
            }
        }
        if !self.raw {
            // Nobody is left to complain to if this cannot be written.
            let _ = out.write_all(filter.finish().as_bytes()).and_then(|()| out.flush());
        }
        if let Some(signal) = ended {
            return Ok(ExitCode::from(128 + signal));
        }
        if let Some(dropped) = &cast.dropped {
            say(&format!("wh: {}: {dropped}", self.file.display()));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Waits for moments of the recording, and for the signals that end it.
struct Clock {
    start: Instant,
    signals: SignalFd,
}

impl Clock {
    /// Blocks the signals in this thread, so that they are read here instead of ending the process.
    fn start() -> Result<Self, Errno> {
        let mut set = SigSet::empty();
        for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
            set.add(signal);
        }
        set.thread_block()?;
        Ok(Self { start: Instant::now(), signals: SignalFd::new(&set)? })
    }

    /// Waits until this time since the start, counted from there so that delays do not add up. The signal that came, if
    /// one did.
    fn wait_until(&mut self, at: Duration) -> Result<Option<u8>, Errno> {
        loop {
            let left = at.saturating_sub(self.start.elapsed());
            // Rounded up: a wait of less than a millisecond must not become a busy loop.
            let timeout =
                PollTimeout::try_from(left.saturating_add(Duration::from_micros(999))).unwrap_or(PollTimeout::MAX);
            match poll(&mut [PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)], timeout) {
                Ok(0) if self.start.elapsed() >= at => return Ok(None),
                Ok(0) | Err(Errno::EINTR) => {}
                Ok(_) => return Ok(self.signals.read_signal()?.and_then(|read| u8::try_from(read.ssi_signo).ok())),
                Err(error) => return Err(error),
            }
        }
    }
}

/// Reads a recording.
pub fn read(path: &Path) -> Result<Cast, Failure> {
    let file = files::open(path)
        .map_err(|error| Failure::new(code::FAILED, format!("cannot read {}: {error}", path.display())))?;
    Cast::parse(BufReader::new(file)).map_err(|error| {
        Failure::new(code::FAILED, format!("{} is no recording: {error}", path.display()))
            .hint("give an asciicast, version 2 or 3")
    })
}
