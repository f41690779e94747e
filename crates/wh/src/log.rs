//! Sets up the diagnostics of wh (`WH_LOG`), and reads the size of the raw output buffer.

use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::sync::Mutex;

use tracing_subscriber::filter::{LevelFilter, filter_fn};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry, fmt, registry};
use wh_screen::log::DEFAULT_CHARACTERS;

use crate::directories;
use crate::failure::{CliFailure, code};

/// Maximum size of the raw output buffer, in characters.
const MAX_RAW_CHARACTERS: usize = 64 << 20;

/// Returns the size of the raw output buffer, in characters.
pub fn raw_characters() -> Result<usize, CliFailure> {
    match std::env::var("CONTROL_PLANE_BUFFER") {
        Err(_) => Ok(DEFAULT_CHARACTERS),
        Ok(text) => match text.trim().parse() {
            Ok(characters) if characters <= MAX_RAW_CHARACTERS => Ok(characters),
            _ => Err(CliFailure::new(code::USAGE, format!("CONTROL_PLANE_BUFFER has the invalid value {text:?}"))
                .hint(format!(
                    "set the variable to a number of characters up to {MAX_RAW_CHARACTERS}, for example 4000"
                ))),
        },
    }
}

fn level() -> Result<Option<LevelFilter>, CliFailure> {
    let Ok(level) = std::env::var("WH_LOG") else { return Ok(None) };
    level.parse().map(Some).map_err(|_| {
        CliFailure::new(code::USAGE, format!("WH_LOG has the invalid value {level:?}"))
            .hint("set the variable to error, warn, info, debug or trace")
    })
}

/// Writes diagnostics to standard error if `WH_LOG` is set.
pub fn to_stderr() -> Result<(), CliFailure> {
    if let Some(level) = level()? {
        fmt().with_max_level(level).with_writer(io::stderr).with_ansi(false).init();
    }
    Ok(())
}

/// Writes diagnostics to standard error, at level `info` if `WH_LOG` is not set. Used by the daemon. `layer` receives
/// every span.
pub fn always_to_stderr(layer: impl Layer<Registry> + Send + Sync + 'static) -> Result<(), CliFailure> {
    let level = level()?.unwrap_or(LevelFilter::INFO);
    let spans = layer.with_filter(filter_fn(|metadata| metadata.is_span()));
    let lines = fmt::layer().with_writer(io::stderr).with_ansi(false).with_filter(level);
    registry().with(spans).with(lines).init();
    Ok(())
}

/// Writes diagnostics to a file if `WH_LOG` is set. Used by commands that show a UI on the terminal.
pub fn to_file() -> Result<(), CliFailure> {
    let Some(level) = level()? else { return Ok(()) };
    let path = directories::owned_state()?.join("wh.log");
    let cannot = |error: io::Error| CliFailure::new(code::FAILED, format!("cannot log to {}: {error}", path.display()));
    if let Some(directory) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(cannot)?;
    }
    let file = OpenOptions::new().append(true).create(true).mode(0o600).open(&path).map_err(cannot)?;
    fmt().with_max_level(level).with_writer(Mutex::new(file)).with_ansi(false).init();
    Ok(())
}
