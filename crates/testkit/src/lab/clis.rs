//! Finds the pinned CLIs that the script `install-clis` of this crate has installed.

use std::path::{Path, PathBuf};
use std::{env, fs};

use serde_json::Value;

/// Package names and versions, one per line. `install-clis` reads the same file.
const CLI_PINS: &str = include_str!("../../clis.txt");

/// Environment variable that overrides the default directory of the pinned CLIs.
pub(super) const CLIS_VARIABLE: &str = "WHEELHOUSE_CLIS";

/// Maximum size in bytes of the placeholder that the claude package contains before the last step of its installation.
const MAX_STUB_BYTES: u64 = 4096;

pub(super) fn installed() -> Result<PathBuf, String> {
    let directory = directory()?;
    for (package, version) in CLI_PINS.lines().filter_map(|line| line.split_once(' ')) {
        check(&directory, package, version)?;
    }
    for cli in ["claude", "codex", "gemini"] {
        let command = directory.join("node_modules/.bin").join(cli);
        let size = fs::metadata(&command).map_err(|error| format!("cannot find {}: {error}", command.display()))?.len();
        if cli == "claude" && size <= MAX_STUB_BYTES {
            return Err(format!("the installation of {} is incomplete", command.display()));
        }
    }
    Ok(directory)
}

fn directory() -> Result<PathBuf, String> {
    if let Some(directory) = env::var_os(CLIS_VARIABLE).filter(|value| !value.is_empty()) {
        return Ok(directory.into());
    }
    let home = env::home_dir().ok_or(format!("neither {CLIS_VARIABLE} nor HOME is set"))?;
    Ok(home.join(".cache/wheelhouse-clis"))
}

fn check(directory: &Path, package: &str, version: &str) -> Result<(), String> {
    let manifest = directory.join("node_modules").join(package).join("package.json");
    let text = fs::read(&manifest).map_err(|error| format!("cannot read {}: {error}", manifest.display()))?;
    let manifest: Value = serde_json::from_slice(&text).unwrap_or_default();
    match manifest["version"].as_str() {
        Some(found) if found == version => Ok(()),
        found => Err(format!("the installed version of {package} is {}, not {version}", found.unwrap_or("unknown"))),
    }
}
