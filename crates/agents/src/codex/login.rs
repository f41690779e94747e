//! What Codex says of itself without a conversation: its version, and who is logged in.

use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::time::timeout;
use wh_pipe::Launch;

use crate::port::Login;

/// How long a small question may take. It is a large program, and starts slowly on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// The most that is read of an answer.
const LONGEST: u64 = 64 * 1024;

/// Its version, if it tells.
pub(super) async fn version(launch: &Launch) -> Option<String> {
    let (said, _) = ask(launch, &["--version"]).await?;
    let is_version = |word: &&str| word.starts_with(|first: char| first.is_ascii_digit());
    said.split_whitespace().find(is_version).map(str::to_owned)
}

/// Whether somebody is logged in.
pub(super) async fn status(launch: &Launch) -> Login {
    match ask(launch, &["login", "status"]).await {
        Some((said, _)) => read(&said),
        None => Login::Unknown,
    }
}

fn read(said: &str) -> Login {
    let line =
        |beginning: &str| said.lines().find_map(|line| Some(line.trim().strip_prefix(beginning)?.trim().to_owned()));
    if line("Not logged in").is_some() {
        return Login::No;
    }
    match line("Logged in using") {
        // A key is shown in part; that is nobody's business.
        Some(how) => {
            let how = how.split(" - ").next().unwrap_or_default().trim();
            Login::Yes { account: (!how.is_empty()).then(|| how.to_owned()) }
        }
        None => Login::Unknown,
    }
}

/// Runs it with other arguments, and reads what it says, wherever it says it. True: it went well.
pub(super) async fn ask(launch: &Launch, arguments: &[&str]) -> Option<(String, bool)> {
    let mut launch = launch.clone();
    launch.arguments = arguments.iter().map(Into::into).collect();
    let mut child = launch.start().await.ok()?;
    drop(child.stdin.take());
    let (stdout, stderr) = (child.stdout.take()?, child.stderr.clone());
    let mut said = Vec::new();
    let read = timeout(PATIENCE, stdout.take(LONGEST).read_to_end(&mut said)).await;
    let exit = child.end(Duration::from_secs(1)).await;
    read.ok()?.ok()?;
    let said = format!("{}\n{}", String::from_utf8_lossy(&said).trim(), stderr.text().trim());
    Some((said.trim().to_owned(), exit.is_success()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_tells_who_is_logged_in() {
        assert_eq!(read("Not logged in"), Login::No);
        assert_eq!(read("WARNING: something\nNot logged in"), Login::No);
        assert_eq!(read("Logged in using ChatGPT"), Login::Yes { account: Some("ChatGPT".to_owned()) });
        let key = Login::Yes { account: Some("an API key".to_owned()) };
        assert_eq!(read("Logged in using an API key - sk-pr***abc"), key, "no part of a key is shown");
        for nonsense in ["", "error: unrecognized subcommand 'login'"] {
            assert_eq!(read(nonsense), Login::Unknown);
        }
    }

    #[tokio::test]
    async fn what_it_says_on_either_output_is_heard() {
        let launch = Launch::new("sh");
        let said = ask(&launch, &["-c", "echo one; echo two >&2; exit 1"]).await;
        assert_eq!(said, Some(("one\ntwo".to_owned(), false)));
    }
}
