//! Runs one short command of an agent in its own process group, with a timeout and an output limit.

use std::ffi::OsStr;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::time::timeout;
use wh_pipe::LaunchSpec;

use crate::interface::ManageError;

/// Timeout of a short command. Agents are large programs, which start slowly on a busy machine.
pub(crate) const COMMAND_TIMEOUT: Duration = Duration::from_secs(15);

/// Maximum size of the standard output that is read.
const MAX_OUTPUT_BYTES: u64 = 64 * 1024;

/// Time for the remaining processes of a command to exit before they are killed.
const COMMAND_EXIT_GRACE: Duration = Duration::from_secs(1);

/// Output of a command, without escape sequences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommandOutput {
    /// Text from standard output.
    pub out: String,
    /// Text from standard error.
    pub err: String,
    /// True if the command exited with 0.
    pub success: bool,
}

impl CommandOutput {
    /// Returns the text of standard output, followed by the text of standard error.
    pub fn text(&self) -> String {
        format!("{}\n{}", self.out.trim(), self.err.trim()).trim().to_owned()
    }

    /// Returns the output if the command succeeded, otherwise an error with the text of the output.
    pub fn require_success(self, what: &str) -> Result<Self, ManageError> {
        match self.success {
            true => Ok(self),
            false if self.text().is_empty() => {
                Err(ManageError::Failed(format!("the command `{what}` failed without output")))
            }
            false => Err(ManageError::Failed(self.text())),
        }
    }
}

/// Runs a program with `arguments`, at most [`COMMAND_TIMEOUT`].
pub(crate) async fn run(launch: &LaunchSpec, arguments: &[impl AsRef<OsStr>]) -> Result<CommandOutput, ManageError> {
    run_within(launch, arguments, COMMAND_TIMEOUT).await
}

async fn run_within(
    launch: &LaunchSpec,
    arguments: &[impl AsRef<OsStr>],
    limit: Duration,
) -> Result<CommandOutput, ManageError> {
    let mut launch = launch.clone();
    launch.arguments = arguments.iter().map(|argument| argument.as_ref().to_owned()).collect();
    // With this variable, Claude Code would assume that it runs inside another Claude Code.
    launch.environment.entry("CLAUDECODE".into()).or_insert(None);
    launch.environment.entry("NO_COLOR".into()).or_insert(Some("1".into()));
    let failed = |why: &dyn std::fmt::Display| ManageError::Failed(why.to_string());
    let mut child = launch.start().await.map_err(|error| failed(&error))?;
    drop(child.stdin.take());
    let stdout = child.stdout.take().ok_or_else(|| failed(&"the output of the program cannot be read"))?;
    let stderr = child.stderr.clone();
    let mut out = Vec::new();
    let read = timeout(limit, stdout.take(MAX_OUTPUT_BYTES).read_to_end(&mut out)).await;
    if read.is_ok() {
        // The program may have closed its output before it exits.
        let _ = timeout(limit, child.exited()).await;
    }
    let exit = child.end(COMMAND_EXIT_GRACE).await;
    let name =
        std::path::Path::new(&launch.program).file_name().unwrap_or(&launch.program).to_string_lossy().into_owned();
    match read {
        Err(_) => Err(failed(&format!("`{name}` did not answer within {} seconds", limit.as_secs()))),
        Ok(Err(error)) => Err(failed(&error)),
        Ok(Ok(_)) => {
            let out = wh_pipe::tail::clean(&String::from_utf8_lossy(&out)).trim().to_owned();
            Ok(CommandOutput { out, err: stderr.text().trim().to_owned(), success: exit.is_success() })
        }
    }
}

/// Returns the first word that looks like a version.
pub(crate) fn version(output: &str) -> Option<String> {
    let number = |word: &&str| word.trim_start_matches('v').starts_with(|first: char| first.is_ascii_digit());
    output.split_whitespace().find(number).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn both_outputs_are_read_without_colours() {
        let output = run(&LaunchSpec::new("sh"), &["-c", "printf '\\033[31mone\\033[0m\\n'; echo two >&2; exit 1"])
            .await
            .unwrap();
        assert_eq!(output, CommandOutput { out: "one".into(), err: "two".into(), success: false });
        assert_eq!(output.text(), "one\ntwo");
        assert_eq!(output.require_success("sh"), Err(ManageError::Failed("one\ntwo".into())));
        let silent = run(&LaunchSpec::new("sh"), &["-c", "exit 1"]).await.unwrap();
        assert_eq!(
            silent.require_success("it"),
            Err(ManageError::Failed("the command `it` failed without output".into()))
        );
        assert!(run(&LaunchSpec::new("sh"), &["-c", "exit 0"]).await.unwrap().require_success("it").is_ok());
    }

    #[tokio::test]
    async fn a_command_that_times_out_is_ended_with_its_children() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pid");
        let script = format!("sleep 1000 & echo $! > {}; wait", file.display());
        let error =
            run_within(&LaunchSpec::new("sh"), &["-c", script.as_str()], Duration::from_secs(1)).await.unwrap_err();
        assert_eq!(error.to_string(), "`sh` did not answer within 1 seconds");
        let pid: i32 = std::fs::read_to_string(file).unwrap().trim().parse().unwrap();
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        assert!(stat.is_empty() || stat.contains(") Z "), "{stat}");
    }

    #[tokio::test]
    async fn output_is_limited() {
        let output = run(&LaunchSpec::new("sh"), &["-c", "head -c 1000000 /dev/zero | tr '\\0' x"]).await.unwrap();
        assert_eq!(output.out.len() as u64, MAX_OUTPUT_BYTES);
        assert!(run(&LaunchSpec::new("/nowhere/at/all"), &["x"]).await.is_err());
    }

    #[test]
    fn a_version_is_a_word_with_a_number() {
        assert_eq!(version("codex-cli 0.166.0"), Some("0.166.0".to_owned()));
        assert_eq!(version("2.1.197 (Claude Code)"), Some("2.1.197".to_owned()));
        assert_eq!(version("v1.2"), Some("v1.2".to_owned()));
        assert_eq!(version("unknown"), None);
    }
}
