//! Where a person's own files are, by the XDG rules.

use std::fs;
use std::path::PathBuf;

use crate::failure::{Failure, code};

/// What a person has said: `$XDG_CONFIG_HOME/wheelhouse`, or `~/.config/wheelhouse`. None: there is no home either.
pub fn config() -> Option<PathBuf> {
    below("XDG_CONFIG_HOME", ".config")
}

/// What wh keeps from one run to the next: `$XDG_STATE_HOME/wheelhouse`, or `~/.local/state/wheelhouse`.
pub fn state() -> Option<PathBuf> {
    below("XDG_STATE_HOME", ".local/state")
}

/// The same, by its one true name; an error where there is none. A place that everybody shares would be others' to take.
pub fn owned_state() -> Result<PathBuf, Failure> {
    owned(state())
}

/// What a person has said, likewise.
pub fn owned_config() -> Result<PathBuf, Failure> {
    owned(config())
}

fn owned(place: Option<PathBuf>) -> Result<PathBuf, Failure> {
    let place = place.ok_or_else(|| Failure::new(code::FAILED, "there is no home directory").hint("set HOME"))?;
    Ok(fs::canonicalize(&place).unwrap_or(place))
}

/// A person's home: `$HOME`, or what the system knows of its user.
pub fn home() -> Option<PathBuf> {
    std::env::home_dir().filter(|home| home.is_absolute())
}

fn below(variable: &str, otherwise: &str) -> Option<PathBuf> {
    let base = absolute(variable).or_else(|| home().map(|home| home.join(otherwise)));
    base.map(|base| base.join("wheelhouse"))
}

/// A place that depends on where wh is started is none.
fn absolute(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}
