//! Writing a run down: which file, in which format, with what at its head.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use wh_core::terminal::Size;
use wh_engine::terminal::RecordingSpec;
use wh_screen::cast::{Format, Header};

use crate::failure::{Failure, code};

/// The version of asciicast.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum RecordFormat {
    V2,
    V3,
}

/// How a run is written down.
#[derive(Debug, Args)]
pub struct RecordArguments {
    /// Write the run down as an asciicast: output, sizes, marks, the end. The file must not be
    /// there yet; only you may read it
    #[arg(long, value_name = "FILE", help_heading = "Recording")]
    record: Option<PathBuf>,

    /// The version of asciicast
    #[arg(long, value_name = "VERSION", default_value = "v3", requires = "record", help_heading = "Recording")]
    record_format: RecordFormat,

    /// Write down what is typed, too: passwords included
    #[arg(long, requires = "record", help_heading = "Recording")]
    record_input: bool,
}

impl RecordArguments {
    /// Whether a recording is wanted.
    pub fn wanted(&self) -> bool {
        self.record.is_some()
    }

    /// Makes the file, if one is wanted.
    pub fn open(&self, command: &[OsString], size: Size, term: String) -> Result<Option<RecordingSpec>, Failure> {
        let Some(path) = &self.record else { return Ok(None) };
        // An older recording, or somebody's letters, are not ours to throw away.
        let opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        let file = opened.map_err(|error| {
            let hint = match error.kind() {
                std::io::ErrorKind::AlreadyExists => "remove it first, or choose another file with --record",
                _ => "choose another file with --record",
            };
            Failure::new(code::FAILED, format!("cannot record to {}: {error}", path.display())).hint(hint)
        })?;
        let words: Vec<String> = command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let format = match self.record_format {
            RecordFormat::V2 => Format::V2,
            RecordFormat::V3 => Format::V3,
        };
        let header = Header {
            timestamp: u64::try_from(jiff::Timestamp::now().as_second()).ok(),
            command: Some(words.join(" ")),
            terminal_type: Some(term),
            ..Header::new(size)
        };
        Ok(Some(RecordingSpec { file, format, header, input: self.record_input }))
    }
}
