//! `wh play`.

use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use wh_screen::cast::{Cast, Playback, Speed};

use crate::failure::{Failure, code, say};
use crate::files;

/// Play a recording in this terminal
///
/// Reads asciicast v2 and v3, as `wh run --record` and asciinema write them. What was recorded is written to your terminal as
/// it was: play recordings of strangers with the care with which you would print their files. Ctrl-C ends it.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  wh play run.cast --speed 2\n  wh play run.cast --idle-limit 0.5\n\nExit codes: 0 played; 2 wrong usage; 125 the file cannot be read or is no recording."
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
        let (start, mut out) = (Instant::now(), std::io::stdout().lock());
        for step in Playback::new(&cast, self.speed, limit) {
            // Time itself is played here, counted from the start so that nothing adds up.
            thread::sleep(step.at.saturating_sub(start.elapsed()));
            if out.write_all(step.bytes).and_then(|()| out.flush()).is_err() {
                break;
            }
        }
        if let Some(dropped) = &cast.dropped {
            say(&format!("wh: {}: {dropped}", self.file.display()));
        }
        Ok(ExitCode::SUCCESS)
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
