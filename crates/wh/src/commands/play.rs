//! Implements `wh play`, which plays a recording in this terminal.

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
use wh_screen::cast::{Cast, PlayFilter, Playback, PlaybackSpeed};

use crate::failure::{CliFailure, code, print_to_stderr};
use crate::open_file;

/// Play a recording in this terminal
///
/// Reads asciicast v2 and v3 files of `wh run --record` and asciinema. Only drawing sequences reach your terminal:
/// text, colours, cursor movement, erasing, scrolling and the alternate screen. Clipboard access, titles, links,
/// queries, device control strings, and keyboard and mouse modes are dropped. The terminal is restored at the end. With
/// --raw nothing is dropped. Press Ctrl-C to stop.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  wh play run.cast --speed 2\n  wh play run.cast --idle-limit 0.5\n\nExit codes:\n  0    success\n  2    usage error\n  125  the file cannot be read or is not a recording\n  130  stopped by Ctrl-C"
)]
pub struct PlayCommand {
    /// Recording to play
    file: PathBuf,

    /// Playback speed, e.g. 2
    #[arg(long, default_value = "1")]
    speed: PlaybackSpeed,

    /// Limit pauses to SECS seconds
    #[arg(long, value_name = "SECS")]
    idle_limit: Option<f64>,

    /// Write the recorded output unfiltered; only for recordings that you trust
    #[arg(long)]
    raw: bool,
}

impl PlayCommand {
    pub fn run(self) -> Result<ExitCode, CliFailure> {
        let cast = read(&self.file)?;
        let limit = match self.idle_limit.map(Duration::try_from_secs_f64).transpose() {
            Ok(limit) => limit,
            Err(_) => {
                return Err(CliFailure::new(code::USAGE, "--idle-limit must be a number of seconds, for example 0.5"));
            }
        };
        let failed = |error: Errno| CliFailure::new(code::FAILED, format!("cannot wait for signals: {error}"));
        let mut clock = PlaybackClock::start().map_err(failed)?;
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
            // Playback is complete, so a write error is ignored.
            let _ = out.write_all(filter.finish().as_bytes()).and_then(|()| out.flush());
        }
        if let Some(signal) = ended {
            return Ok(ExitCode::from(128 + signal));
        }
        if let Some(dropped) = &cast.truncated {
            print_to_stderr(&format!("wh: {}: {dropped}", self.file.display()));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Clock of a playback. Waits until the time of an event, or until a signal ends the playback.
struct PlaybackClock {
    start: Instant,
    signals: SignalFd,
}

impl PlaybackClock {
    /// Starts the clock. Blocks the signals in this thread so that they are read from a descriptor instead of ending
    /// the process.
    fn start() -> Result<Self, Errno> {
        let mut set = SigSet::empty();
        for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
            set.add(signal);
        }
        set.thread_block()?;
        Ok(Self { start: Instant::now(), signals: SignalFd::new(&set)? })
    }

    /// Waits until `at` has passed since the start of the clock. Delays of earlier waits therefore do not add up.
    /// Returns the signal number if a signal arrives first.
    fn wait_until(&mut self, at: Duration) -> Result<Option<u8>, Errno> {
        loop {
            let left = at.saturating_sub(self.start.elapsed());
            // Rounded up: a wait below one millisecond must not become a busy loop.
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

pub fn read(path: &Path) -> Result<Cast, CliFailure> {
    let file = open_file::open(path)
        .map_err(|error| CliFailure::new(code::FAILED, format!("cannot read {}: {error}", path.display())))?;
    Cast::parse(BufReader::new(file)).map_err(|error| {
        CliFailure::new(code::FAILED, format!("{} is not a recording: {error}", path.display()))
            .hint("supported formats: asciicast v2 and v3")
    })
}
