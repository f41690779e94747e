//! Where the pinned CLIs are. `install-clis` beside this crate puts them there.

use std::path::{Path, PathBuf};
use std::{env, fs};

use serde_json::Value;

/// A package and its version a line; `install-clis` reads the same file.
const PINS: &str = include_str!("../../clis.txt");

/// What sets another directory than the usual one.
pub(super) const DIRECTORY: &str = "WHEELHOUSE_CLIS";

/// Before its last step of installation, the command of the claude package is a stub of a few hundred bytes.
const STUB: u64 = 4096;

pub(super) fn installed() -> Result<PathBuf, String> {
    let directory = directory()?;
    for (package, version) in PINS.lines().filter_map(|line| line.split_once(' ')) {
        check(&directory, package, version)?;
    }
    for cli in ["claude", "codex", "gemini"] {
        let command = directory.join("node_modules/.bin").join(cli);
        let size = fs::metadata(&command).map_err(|error| format!("{}: {error}", command.display()))?.len();
        if cli == "claude" && size <= STUB {
            return Err(format!("{} is only half installed", command.display()));
        }
    }
    Ok(directory)
}

fn directory() -> Result<PathBuf, String> {
    if let Some(directory) = env::var_os(DIRECTORY).filter(|value| !value.is_empty()) {
        return Ok(directory.into());
    }
    let home = env::home_dir().ok_or(format!("neither {DIRECTORY} nor HOME is set"))?;
    Ok(home.join(".cache/wheelhouse-clis"))
}

fn check(directory: &Path, package: &str, version: &str) -> Result<(), String> {
    let manifest = directory.join("node_modules").join(package).join("package.json");
    let text = fs::read(&manifest).map_err(|error| format!("{}: {error}", manifest.display()))?;
    let manifest: Value = serde_json::from_slice(&text).unwrap_or_default();
    match manifest["version"].as_str() {
        Some(found) if found == version => Ok(()),
        found => Err(format!("{package} is at {}, not at {version}", found.unwrap_or("an unknown version"))),
    }
}
