//! Recording options: the file, its format and the asciicast header.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use wh_core::terminal::Size;
use wh_engine::terminal::RecordingSpec;
use wh_screen::cast::{CastFormat, CastHeader};

use crate::failure::{CliFailure, code};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum RecordFormat {
    V2,
    V3,
}

/// Options that record the terminal.
#[derive(Debug, Args)]
pub struct RecordArguments {
    /// Record output, resizes, markers and the exit to FILE as an asciicast. FILE must not exist; wh creates it with
    /// mode 0600
    #[arg(long, value_name = "FILE", help_heading = "Recording")]
    record: Option<PathBuf>,

    /// Format version of the asciicast
    #[arg(long, value_name = "VERSION", default_value = "v3", requires = "record", help_heading = "Recording")]
    record_format: RecordFormat,

    /// Record input too, including passwords
    #[arg(long, requires = "record", help_heading = "Recording")]
    record_input: bool,
}

impl RecordArguments {
    /// True if `--record` was given.
    pub fn wanted(&self) -> bool {
        self.record.is_some()
    }

    /// Creates the file. `None` without `--record`.
    pub fn open(&self, command: &[OsString], size: Size, term: String) -> Result<Option<RecordingSpec>, CliFailure> {
        let Some(path) = &self.record else { return Ok(None) };
        // An existing file is never overwritten.
        let opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        let file = opened.map_err(|error| {
            let hint = match error.kind() {
                std::io::ErrorKind::AlreadyExists => "remove the file first, or choose another file with --record",
                _ => "choose another file with --record",
            };
            CliFailure::new(code::FAILED, format!("cannot record to {}: {error}", path.display())).hint(hint)
        })?;
        let words: Vec<String> = command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let format = match self.record_format {
            RecordFormat::V2 => CastFormat::V2,
            RecordFormat::V3 => CastFormat::V3,
        };
        let header = CastHeader {
            timestamp: u64::try_from(jiff::Timestamp::now().as_second()).ok(),
            command: Some(words.join(" ")),
            terminal_type: Some(term),
            ..CastHeader::new(size)
        };
        Ok(Some(RecordingSpec { file, format, header, input: self.record_input }))
    }
}
