//! The programs that tests lean on, beside what they test.

use std::env;
use std::io::Write;
use std::panic::Location;
use std::path::PathBuf;

/// A tool, its version and where it comes from a line; `install-tools` beside this crate reads the same file.
const PINS: &str = include_str!("../tools.txt");

/// What sets another directory for the pinned tools than the usual one.
const DIRECTORY: &str = "WHEELHOUSE_TOOLS";

/// Whether all of these programs are installed. Where one is not, says so on a line that nothing captures, and the test
/// must return; under `CI` it is a failure instead, since a skipped test proves nothing.
#[track_caller]
pub fn present(programs: &[&str]) -> bool {
    let missing: Vec<&str> = programs.iter().copied().filter(|program| find(program).is_none()).collect();
    if missing.is_empty() {
        return true;
    }
    skip(&format!("these are not installed: {}", missing.join(", ")), false);
    false
}

/// The command of a pinned tool, where `install-tools` has put it. Where it is not, the same as for [`present`]; that `CI`
/// does without can be said with `WHEELHOUSE_SKIP_TOOLS`.
#[track_caller]
pub fn pinned(tool: &str, major: u32) -> Option<PathBuf> {
    let version = version(tool, major).unwrap_or_else(|| panic!("tools.txt has no {tool} of version {major}"));
    let directory = env::var_os(DIRECTORY).filter(|value| !value.is_empty()).map(PathBuf::from);
    let directory = directory.or_else(|| Some(env::home_dir()?.join(".cache/wheelhouse-tools")));
    let place = directory?.join(format!("{tool}-{version}"));
    if place.join("installed").exists() {
        return Some(place.join("bin").join(tool));
    }
    let reason = format!("{tool} {version} is not in {}; run crates/testkit/install-tools", place.display());
    skip(&reason, env::var_os("WHEELHOUSE_SKIP_TOOLS").is_some());
    None
}

fn version(tool: &str, major: u32) -> Option<&'static str> {
    let pins = PINS.lines().filter_map(|line| line.strip_prefix(tool)?.strip_prefix(' ')?.split(' ').next());
    pins.into_iter().find(|version| version.split('.').next() == Some(&major.to_string()))
}

/// Says that a test is skipped, and why, on a line that nothing captures; under `CI` it is a failure instead, unless it is excused.
#[track_caller]
pub fn skip(reason: &str, excused: bool) {
    assert!(env::var_os("CI").is_none() || excused, "{reason}");
    let caller = Location::caller();
    // Not eprintln, which the test harness captures.
    let _ = writeln!(std::io::stderr(), "SKIPPED: {}:{} because {reason}", caller.file(), caller.line());
}

/// Where a program is installed.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|directory| directory.join(program)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_on_the_path_is_found() {
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
