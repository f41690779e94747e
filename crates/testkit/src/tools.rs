//! The programs that tests lean on, beside what they test.

use std::io::Write;
use std::path::PathBuf;

/// Whether all of these programs are installed. Where one is not, says so on a line that nothing captures, and the test
/// must return; under `CI` it is a failure instead, since a skipped test proves nothing.
#[track_caller]
pub fn present(programs: &[&str]) -> bool {
    let missing: Vec<&str> = programs.iter().copied().filter(|program| find(program).is_none()).collect();
    if missing.is_empty() {
        return true;
    }
    let missing = missing.join(", ");
    assert!(std::env::var_os("CI").is_none(), "not installed: {missing}");
    let caller = std::panic::Location::caller();
    // Not eprintln, which the test harness captures.
    let _ = writeln!(
        std::io::stderr(),
        "SKIPPED: {}:{} because these are not installed: {missing}",
        caller.file(),
        caller.line()
    );
    false
}

fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(program)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_on_the_path_is_found() {
        assert!(find("sh").is_some());
        assert!(find("no-such-program-anywhere").is_none());
    }
}
