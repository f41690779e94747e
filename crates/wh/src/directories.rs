//! The user's directories, by the XDG base directory specification.

use std::fs;
use std::path::PathBuf;

use crate::failure::{CliFailure, code};

/// Returns the configuration directory: `$XDG_CONFIG_HOME/wheelhouse`, or `~/.config/wheelhouse`. `None` without a home
/// directory.
pub fn config() -> Option<PathBuf> {
    below("XDG_CONFIG_HOME", ".config")
}

/// Returns the state directory: `$XDG_STATE_HOME/wheelhouse`, or `~/.local/state/wheelhouse`. `None` without a home
/// directory.
pub fn state() -> Option<PathBuf> {
    below("XDG_STATE_HOME", ".local/state")
}

/// Returns the canonical state directory. Fails without a home directory, because a directory that all users share,
/// such as /tmp, would not be safe.
pub fn owned_state() -> Result<PathBuf, CliFailure> {
    owned(state())
}

/// Returns the canonical configuration directory. Fails like [`owned_state`].
pub fn owned_config() -> Result<PathBuf, CliFailure> {
    owned(config())
}

fn owned(place: Option<PathBuf>) -> Result<PathBuf, CliFailure> {
    let place = place.ok_or_else(|| CliFailure::new(code::FAILED, "there is no home directory").hint("set HOME"))?;
    Ok(fs::canonicalize(&place).unwrap_or(place))
}

/// Returns the home directory: `$HOME`, or the home directory in the user database.
pub fn home() -> Option<PathBuf> {
    std::env::home_dir().filter(|home| home.is_absolute())
}

fn below(variable: &str, otherwise: &str) -> Option<PathBuf> {
    let base = absolute(variable).or_else(|| home().map(|home| home.join(otherwise)));
    base.map(|base| base.join("wheelhouse"))
}

/// Reads a path variable. Relative paths are ignored, because they depend on the working directory.
fn absolute(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}
