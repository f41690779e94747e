//! One command of an agent, run to its end: in a process group of its own, for so long, and read so far.

use std::ffi::OsStr;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::time::timeout;
use wh_pipe::Launch;

use crate::port::ManageError;

/// How long a command may take. These are large programs, and start slowly on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(15);

/// The most that is read of an answer; what follows is not.
const LONGEST: u64 = 64 * 1024;

/// How long what is left of it may take to end by itself.
const GRACE: Duration = Duration::from_secs(1);

/// What a command said, fit to be shown: without escape sequences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Said {
    /// On its standard output.
    pub out: String,
    /// On its standard error.
    pub err: String,
    /// It ended well.
    pub success: bool,
}

impl Said {
    /// All of it.
    pub fn text(&self) -> String {
        format!("{}\n{}", self.out.trim(), self.err.trim()).trim().to_owned()
    }

    /// All of it if it ended well, and otherwise as a failure.
    pub fn well(self, what: &str) -> Result<Self, ManageError> {
        match self.success {
            true => Ok(self),
            false if self.text().is_empty() => Err(ManageError::Failed(format!("{what} failed without a word"))),
            false => Err(ManageError::Failed(self.text())),
        }
    }
}

/// Runs a program with these arguments.
pub(crate) async fn run(launch: &Launch, arguments: &[impl AsRef<OsStr>]) -> Result<Said, ManageError> {
    run_within(launch, arguments, PATIENCE).await
}

async fn run_within(launch: &Launch, arguments: &[impl AsRef<OsStr>], patience: Duration) -> Result<Said, ManageError> {
    let mut launch = launch.clone();
    launch.arguments = arguments.iter().map(|argument| argument.as_ref().to_owned()).collect();
    // Claude Code takes itself for a part of another one, and colours are of no use.
    launch.environment.entry("CLAUDECODE".into()).or_insert(None);
    launch.environment.entry("NO_COLOR".into()).or_insert(Some("1".into()));
    let failed = |why: &dyn std::fmt::Display| ManageError::Failed(why.to_string());
    let mut child = launch.start().await.map_err(|error| failed(&error))?;
    drop(child.stdin.take());
    let stdout = child.stdout.take().ok_or_else(|| failed(&"its output is gone"))?;
    let stderr = child.stderr.clone();
    let mut out = Vec::new();
    let read = timeout(patience, stdout.take(LONGEST).read_to_end(&mut out)).await;
    if read.is_ok() {
        // Whoever closes its output may still have something to do.
        let _ = timeout(patience, child.exited()).await;
    }
    let exit = child.end(GRACE).await;
    let name =
        std::path::Path::new(&launch.program).file_name().unwrap_or(&launch.program).to_string_lossy().into_owned();
    match read {
        Err(_) => Err(failed(&format!("`{name}` did not answer within {} seconds", patience.as_secs()))),
        Ok(Err(error)) => Err(failed(&error)),
        Ok(Ok(_)) => {
            let out = wh_pipe::tail::clean(&String::from_utf8_lossy(&out)).trim().to_owned();
            Ok(Said { out, err: stderr.text().trim().to_owned(), success: exit.is_success() })
        }
    }
}

/// The first word that looks like a version.
pub(crate) fn version(said: &str) -> Option<String> {
    let number = |word: &&str| word.trim_start_matches('v').starts_with(|first: char| first.is_ascii_digit());
    said.split_whitespace().find(number).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_it_says_on_either_output_is_heard_without_colours() {
        let said =
            run(&Launch::new("sh"), &["-c", "printf '\\033[31mone\\033[0m\\n'; echo two >&2; exit 1"]).await.unwrap();
        assert_eq!(said, Said { out: "one".into(), err: "two".into(), success: false });
        assert_eq!(said.text(), "one\ntwo");
        assert_eq!(said.well("sh"), Err(ManageError::Failed("one\ntwo".into())));
        let silent = run(&Launch::new("sh"), &["-c", "exit 1"]).await.unwrap();
        assert_eq!(silent.well("it"), Err(ManageError::Failed("it failed without a word".into())));
        assert!(run(&Launch::new("sh"), &["-c", "exit 0"]).await.unwrap().well("it").is_ok());
    }

    #[tokio::test]
    async fn one_that_does_not_answer_is_ended_with_all_it_has_started() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pid");
        let script = format!("sleep 1000 & echo $! > {}; wait", file.display());
        let error = run_within(&Launch::new("sh"), &["-c", script.as_str()], Duration::from_secs(1)).await.unwrap_err();
        assert_eq!(error.to_string(), "`sh` did not answer within 1 seconds");
        let pid: i32 = std::fs::read_to_string(file).unwrap().trim().parse().unwrap();
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        assert!(stat.is_empty() || stat.contains(") Z "), "{stat}");
    }

    #[tokio::test]
    async fn only_so_much_is_read_and_what_is_missing_is_said() {
        let said = run(&Launch::new("sh"), &["-c", "head -c 1000000 /dev/zero | tr '\\0' x"]).await.unwrap();
        assert_eq!(said.out.len() as u64, LONGEST);
        assert!(run(&Launch::new("/nowhere/at/all"), &["x"]).await.is_err());
    }

    #[test]
    fn a_version_is_a_word_with_a_number() {
        assert_eq!(version("codex-cli 0.166.0"), Some("0.166.0".to_owned()));
        assert_eq!(version("2.1.197 (Claude Code)"), Some("2.1.197".to_owned()));
        assert_eq!(version("v1.2"), Some("v1.2".to_owned()));
        assert_eq!(version("unknown"), None);
    }
}
