//! Finds external programs that tests require, or skips the tests.

use std::env;
use std::io::Write;
use std::panic::Location;
use std::path::PathBuf;

/// Pinned tools: name, version and source, one tool per line. `install-tools` reads the same file.
const TOOL_PINS: &str = include_str!("../tools.txt");

/// Environment variable that overrides the default directory of the pinned tools.
const TOOLS_VARIABLE: &str = "WHEELHOUSE_TOOLS";

/// Returns true if all programs are installed. If a program is missing, reports a skipped test on the uncaptured stderr
/// and returns false; if the environment variable `CI` is set, panics instead.
#[track_caller]
pub fn present(programs: &[&str]) -> bool {
    let missing: Vec<&str> = programs.iter().copied().filter(|program| find(program).is_none()).collect();
    if missing.is_empty() {
        return true;
    }
    skip(&format!("these programs are not installed: {}", missing.join(", ")), false);
    false
}

/// Returns the path of a pinned tool as installed by `install-tools`. If the tool is missing, the test is skipped as by
/// [`present`]. If `CI` is set, a missing tool is a failure unless `WHEELHOUSE_SKIP_TOOLS` is set too.
#[track_caller]
pub fn pinned(tool: &str, major: u32) -> Option<PathBuf> {
    let version = version(tool, major).unwrap_or_else(|| panic!("tools.txt does not list version {major} of {tool}"));
    let directory = env::var_os(TOOLS_VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
    let directory = directory.or_else(|| Some(env::home_dir()?.join(".cache/wheelhouse-tools")));
    let place = directory?.join(format!("{tool}-{version}"));
    if place.join("installed").exists() {
        return Some(place.join("bin").join(tool));
    }
    let reason = format!("{tool} {version} is not installed in {}; run crates/testkit/install-tools", place.display());
    skip(&reason, env::var_os("WHEELHOUSE_SKIP_TOOLS").is_some());
    None
}

fn version(tool: &str, major: u32) -> Option<&'static str> {
    let pins = TOOL_PINS.lines().filter_map(|line| line.strip_prefix(tool)?.strip_prefix(' ')?.split(' ').next());
    pins.into_iter().find(|version| version.split('.').next() == Some(&major.to_string()))
}

/// Reports a skipped test on the uncaptured stderr. Panics instead if the environment variable `CI` is set and
/// `excused` is false.
#[track_caller]
pub fn skip(reason: &str, excused: bool) {
    assert!(env::var_os("CI").is_none() || excused, "{reason}");
    let caller = Location::caller();
    // eprintln is not used because the test harness captures it.
    let _ = writeln!(std::io::stderr(), "SKIPPED: {}:{} because {reason}", caller.file(), caller.line());
}

/// Returns the path of an installed program, found on the `PATH`.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|directory| directory.join(program)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_on_the_path_is_found() {
        assert!(find("sh").is_some());
        assert!(find("no-such-program-anywhere").is_none());
    }

    #[test]
    fn a_tool_is_pinned_for_each_major_version() {
        assert!(version("asciinema", 3).is_some_and(|version| version.starts_with("3.")));
        assert!(version("asciinema", 2).is_some_and(|version| version.starts_with("2.")));
        assert_eq!(version("asciinema", 4), None);
        assert_eq!(version("ascii", 3), None);
    }
}
