//! Where a person's own files are, by the XDG rules.

use std::path::PathBuf;

/// What a person has said: `$XDG_CONFIG_HOME/wheelhouse`, or `~/.config/wheelhouse`. None: there is no home either.
pub fn config() -> Option<PathBuf> {
    below("XDG_CONFIG_HOME", ".config")
}

/// What wh keeps from one run to the next: `$XDG_STATE_HOME/wheelhouse`, or `~/.local/state/wheelhouse`.
pub fn state() -> Option<PathBuf> {
    below("XDG_STATE_HOME", ".local/state")
}

/// A person's home.
pub fn home() -> Option<PathBuf> {
    absolute("HOME")
}

fn below(variable: &str, otherwise: &str) -> Option<PathBuf> {
    let base = absolute(variable).or_else(|| home().map(|home| home.join(otherwise)));
    base.map(|base| base.join("wheelhouse"))
}

/// A place that depends on where wh is started is none.
fn absolute(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}
