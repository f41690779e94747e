//! What Claude Code says of itself without a conversation: its version, and who is logged in.

use std::ffi::OsStr;
use std::time::Duration;

use serde_json::Value;
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
    let first = said.split_whitespace().next()?;
    first.starts_with(|first: char| first.is_ascii_digit()).then(|| first.to_owned())
}

/// Whether somebody is logged in.
pub(super) async fn status(launch: &Launch) -> Login {
    match ask(launch, &["auth", "status"]).await {
        Some((said, _)) => read(&said),
        None => Login::Unknown,
    }
}

fn read(said: &str) -> Login {
    let Ok(status) = serde_json::from_str::<Value>(said) else { return Login::Unknown };
    match status["loggedIn"].as_bool() {
        Some(false) => Login::No,
        Some(true) => {
            let account = ["email", "apiKeySource", "authMethod"].iter().find_map(|field| status[*field].as_str());
            Login::Yes { account: account.map(str::to_owned) }
        }
        None => Login::Unknown,
    }
}

/// Runs it and reads what it says.
pub(crate) async fn ask(launch: &Launch, arguments: &[impl AsRef<OsStr>]) -> Option<(String, bool)> {
    let mut launch = launch.clone();
    launch.arguments = arguments.iter().map(|argument| argument.as_ref().to_owned()).collect();
    launch.environment.insert("CLAUDECODE".into(), None);
    let mut child = launch.start().await.ok()?;
    drop(child.stdin.take());
    let stdout = child.stdout.take()?;
    let mut said = Vec::new();
    let read = timeout(PATIENCE, stdout.take(LONGEST).read_to_end(&mut said)).await;
    let exit = child.end(Duration::from_secs(1)).await;
    read.ok()?.ok()?;
    Some((String::from_utf8_lossy(&said).trim().to_owned(), exit.is_success()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_tells_who_is_logged_in() {
        assert_eq!(read(r#"{"loggedIn": false, "authMethod": "none"}"#), Login::No);
        let said = r#"{"loggedIn": true, "authMethod": "api_key", "apiKeySource": "ANTHROPIC_API_KEY"}"#;
        assert_eq!(read(said), Login::Yes { account: Some("ANTHROPIC_API_KEY".to_owned()) });
        for nonsense in ["", "error: unknown command 'auth'", "{}", "[]"] {
            assert_eq!(read(nonsense), Login::Unknown);
        }
    }
}
