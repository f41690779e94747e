//! Runs an agent's login command without a terminal: forwards the command's output and the user's input. Dropping the
//! future ends the command.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::time::timeout;
use wh_pipe::{LaunchSpec, Stdout};

use crate::interface::ManageError;

/// Timeout of an interactive login.
pub const LOGIN_TIMEOUT: Duration = Duration::from_secs(600);

/// Time for reading the remaining output after the command has exited.
const REMAINING_OUTPUT_GRACE: Duration = Duration::from_millis(500);

/// Runs a login command until it exits or [`LOGIN_TIMEOUT`] expires. Sends the command's output to `output` in chunks
/// and writes lines from `input` to the command. Returns true if the command exited with 0.
pub async fn log_in(
    launch: &LaunchSpec,
    output: mpsc::Sender<String>,
    mut input: mpsc::Receiver<String>,
) -> Result<bool, ManageError> {
    let failed = |why: &dyn std::fmt::Display| ManageError::Failed(why.to_string());
    let mut launch = launch.clone();
    launch.environment.entry("CLAUDECODE".into()).or_insert(None);
    let mut child = launch.start().await.map_err(|error| failed(&error))?;
    let mut stdin = child.stdin.take();
    let mut stdout = child.stdout.take();
    let mut stderr = child.stderr.clone();
    let exited = child.exited();
    let talk = async {
        let mut piece = vec![0; 4096];
        let (mut has_stderr, mut has_input) = (true, true);
        let exited = exited;
        tokio::pin!(exited);
        loop {
            tokio::select! {
                () = forward_stdout(&mut stdout, &mut piece, &output), if stdout.is_some() => {}
                more = stderr.next_bytes(), if has_stderr => match more {
                    Some(more) => forward(&output, &more).await,
                    None => has_stderr = false,
                },
                line = input.recv(), if has_input => match (line, stdin.as_mut()) {
                    (Some(line), Some(stdin)) => {
                        let _ = stdin.write_all(format!("{line}\n").as_bytes()).await;
                    }
                    _ => {
                        has_input = false;
                        stdin = None;
                    }
                },
                _ = &mut exited => break,
            }
        }
        // The time is limited, because processes that the command has started, such as a browser, may keep its output
        // open.
        let rest = async {
            while stdout.is_some() {
                forward_stdout(&mut stdout, &mut piece, &output).await;
            }
            while let Some(more) = stderr.next_bytes().await {
                forward(&output, &more).await;
            }
        };
        let _ = timeout(REMAINING_OUTPUT_GRACE, rest).await;
    };
    let in_time = timeout(LOGIN_TIMEOUT, talk).await.is_ok();
    let exit = child.end(Duration::from_secs(1)).await;
    if in_time { Ok(exit.is_success()) } else { Err(failed(&"the login timed out after ten minutes")) }
}

/// Forwards the next chunk of standard output. Sets `stdout` to `None` at the end of the stream.
async fn forward_stdout(stdout: &mut Option<Stdout>, piece: &mut [u8], output: &mpsc::Sender<String>) {
    let Some(open) = stdout.as_mut() else { return };
    match open.read(piece).await {
        Ok(count @ 1..) => forward(output, &piece[..count]).await,
        _ => *stdout = None,
    }
}

async fn forward(output: &mpsc::Sender<String>, piece: &[u8]) {
    // A closed receiver is not an error.
    let _ = output.send(wh_pipe::tail::clean(&String::from_utf8_lossy(piece))).await;
}

/// Finds the address of the login page in the output. Returns `None` until a complete address has arrived.
pub fn address(output: &str) -> Option<&str> {
    let places = output.match_indices("https://").map(|(at, _)| &output[at..]);
    let whole = places.filter_map(|rest| {
        let end = rest.find(char::is_whitespace)?;
        Some(rest[..end].trim_end_matches(['.', ',', ')', '"', '\'']))
    });
    whole.into_iter().next()
}

/// Finds the code to enter on the login page, in the form `ABCD-1234`.
pub fn code(output: &str) -> Option<&str> {
    let is_code = |word: &&str| {
        let (left, right) = word.split_once('-').unwrap_or_default();
        let good = |part: &str| {
            (4..=8).contains(&part.len()) && part.chars().all(|one| one.is_ascii_uppercase() || one.is_ascii_digit())
        };
        good(left) && good(right)
    };
    output.split_whitespace().find(is_code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_found_in_what_real_ones_print() {
        let claude = include_str!("fixtures/claude-login.txt");
        assert!(address(claude).unwrap().starts_with("https://claude.com/cai/oauth/authorize?code=true&client_id="));
        let codex = include_str!("fixtures/codex-login.txt");
        assert!(address(codex).unwrap().starts_with("https://auth.openai.com/oauth/authorize?"), "not the local one");
        assert_eq!(address("visit https://half"), None, "more of it may come");
        assert_eq!(address("nothing here"), None);
        assert_eq!(address("(https://x.y)\n"), Some("https://x.y"));
        assert_eq!(code("enter ABCD-1234 there"), Some("ABCD-1234"));
        assert_eq!(code("https://x sign-in now"), None);
    }

    async fn all(mut output: mpsc::Receiver<String>) -> String {
        let mut all = String::new();
        while let Some(piece) = output.recv().await {
            all.push_str(&piece);
        }
        all
    }

    #[tokio::test]
    async fn output_is_forwarded_and_input_is_written() {
        let mut launch = LaunchSpec::new("sh");
        launch.arguments = ["-c", "echo open it >&2; printf 'code> '; read code; echo got $code; test $code = 42"]
            .map(Into::into)
            .to_vec();
        let (output_sender, mut output) = mpsc::channel(8);
        let (input_sender, input) = mpsc::channel(1);
        let login = tokio::spawn(async move { log_in(&launch, output_sender, input).await });
        let mut first = String::new();
        while !(first.contains("code> ") && first.contains("open it")) {
            first.push_str(&timeout(Duration::from_secs(30), output.recv()).await.unwrap().unwrap());
        }
        input_sender.send("42".to_owned()).await.unwrap();
        assert!(all(output).await.contains("got 42"));
        assert_eq!(login.await.unwrap(), Ok(true));
    }

    #[tokio::test]
    async fn a_dropped_login_leaves_no_process() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pid");
        let mut launch = LaunchSpec::new("sh");
        launch.arguments = vec!["-c".into(), format!("echo $$ > {}; echo up; exec sleep 1000", file.display()).into()];
        let (output_sender, mut output) = mpsc::channel(8);
        let (_input_sender, input) = mpsc::channel(1);
        let login = tokio::spawn(async move { log_in(&launch, output_sender, input).await });
        assert_eq!(timeout(Duration::from_secs(30), output.recv()).await.unwrap().unwrap(), "up\n");
        login.abort();
        assert!(login.await.unwrap_err().is_cancelled());
        let pid = std::fs::read_to_string(file).unwrap();
        let stat = format!("/proc/{}/stat", pid.trim());
        let gone = async {
            while std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
                tokio::task::yield_now().await;
            }
        };
        timeout(Duration::from_secs(30), gone).await.expect("it is killed");
    }
}
