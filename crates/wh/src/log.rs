//! What is kept of what happened: wh's own diagnostics on request (`WH_LOG`), and how much raw output.

use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::sync::Mutex;

use tracing_subscriber::filter::{LevelFilter, filter_fn};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry, fmt, registry};
use wh_screen::log::DEFAULT_CHARACTERS;

use crate::failure::{Failure, code};
use crate::places;

/// Characters of raw output that may be kept.
const MOST_CHARACTERS: usize = 64 << 20;

/// Characters of raw output that are kept.
pub fn raw_characters() -> Result<usize, Failure> {
    match std::env::var("CONTROL_PLANE_BUFFER") {
        Err(_) => Ok(DEFAULT_CHARACTERS),
        Ok(text) => match text.trim().parse() {
            Ok(characters) if characters <= MOST_CHARACTERS => Ok(characters),
            _ => Err(Failure::new(code::USAGE, format!("CONTROL_PLANE_BUFFER is {text:?}"))
                .hint(format!("give a number of characters up to {MOST_CHARACTERS}, for example 4000"))),
        },
    }
}

fn level() -> Result<Option<LevelFilter>, Failure> {
    let Ok(level) = std::env::var("WH_LOG") else { return Ok(None) };
    level.parse().map(Some).map_err(|_| {
        Failure::new(code::USAGE, format!("WH_LOG is {level:?}")).hint("give error, warn, info, debug or trace")
    })
}

/// Writes diagnostics to standard error, if they are wanted.
pub fn to_stderr() -> Result<(), Failure> {
    if let Some(level) = level()? {
        fmt().with_max_level(level).with_writer(io::stderr).with_ansi(false).init();
    }
    Ok(())
}

/// Writes diagnostics to standard error even if `WH_LOG` is not set: a daemon always has a log. `layer` sees every span.
pub fn always_to_stderr(layer: impl Layer<Registry> + Send + Sync + 'static) -> Result<(), Failure> {
    let level = level()?.unwrap_or(LevelFilter::INFO);
    let spans = layer.with_filter(filter_fn(|metadata| metadata.is_span()));
    let lines = fmt::layer().with_writer(io::stderr).with_ansi(false).with_filter(level);
    registry().with(spans).with(lines).init();
    Ok(())
}

/// Writes diagnostics to a file, if they are wanted: a screen is no place for them.
pub fn to_file() -> Result<(), Failure> {
    let Some(level) = level()? else { return Ok(()) };
    let path = places::owned_state()?.join("wh.log");
    let cannot = |error: io::Error| Failure::new(code::FAILED, format!("cannot log to {}: {error}", path.display()));
    if let Some(directory) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(cannot)?;
    }
    let file = OpenOptions::new().append(true).create(true).mode(0o600).open(&path).map_err(cannot)?;
    fmt().with_max_level(level).with_writer(Mutex::new(file)).with_ansi(false).init();
    Ok(())
}
