//! A login by an agent's own command, away from a terminal: what it prints is passed on, what a person has to say is
//! handed to it, and it takes as long as a person does. Dropping it ends the command.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::time::timeout;
use wh_pipe::{Launch, Stdout};

use crate::port::ManageError;

/// How long a person may take.
pub const PATIENCE: Duration = Duration::from_secs(600);

/// How long what it printed last may take to come.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Runs the command to its end. Everything that it prints goes to `heard`, in pieces that may end anywhere; every line
/// from `said` goes to it. True: it ended well.
pub async fn log_in(
    launch: &Launch,
    heard: mpsc::Sender<String>,
    mut said: mpsc::Receiver<String>,
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
        let (mut errors, mut input) = (true, true);
        let exited = exited;
        tokio::pin!(exited);
        loop {
            tokio::select! {
                () = listen(&mut stdout, &mut piece, &heard), if stdout.is_some() => {}
                more = stderr.more(), if errors => match more {
                    Some(more) => tell(&heard, &more).await,
                    None => errors = false,
                },
                line = said.recv(), if input => match (line, stdin.as_mut()) {
                    (Some(line), Some(stdin)) => {
                        let _ = stdin.write_all(format!("{line}\n").as_bytes()).await;
                    }
                    _ => {
                        input = false;
                        stdin = None;
                    }
                },
                _ = &mut exited => break,
            }
        }
        // What it has started, as a browser, may hold its outputs open: only what is there is read.
        let rest = async {
            while stdout.is_some() {
                listen(&mut stdout, &mut piece, &heard).await;
            }
            while let Some(more) = stderr.more().await {
                tell(&heard, &more).await;
            }
        };
        let _ = timeout(LAST_WORDS, rest).await;
    };
    let in_time = timeout(PATIENCE, talk).await.is_ok();
    let exit = child.end(Duration::from_secs(1)).await;
    if in_time { Ok(exit.is_success()) } else { Err(failed(&"nobody logged in within ten minutes")) }
}

/// Passes the next piece of its output on; at the end there is no more to read.
async fn listen(stdout: &mut Option<Stdout>, piece: &mut [u8], heard: &mpsc::Sender<String>) {
    let Some(open) = stdout.as_mut() else { return };
    match open.read(piece).await {
        Ok(count @ 1..) => tell(heard, &piece[..count]).await,
        _ => *stdout = None,
    }
}

async fn tell(heard: &mpsc::Sender<String>, piece: &[u8]) {
    // Who no longer listens needs to hear nothing.
    let _ = heard.send(wh_pipe::tail::clean(&String::from_utf8_lossy(piece))).await;
}

/// The address that a person is to open, once all of it was printed.
pub fn address(said: &str) -> Option<&str> {
    let places = said.match_indices("https://").map(|(at, _)| &said[at..]);
    let whole = places.filter_map(|rest| {
        let end = rest.find(char::is_whitespace)?;
        Some(rest[..end].trim_end_matches(['.', ',', ')', '"', '\'']))
    });
    whole.into_iter().next()
}

/// What is to be typed into the page, where the agent prints a code for that on a line of its own: `ABCD-1234`.
pub fn code(said: &str) -> Option<&str> {
    let is_code = |word: &&str| {
        let (left, right) = word.split_once('-').unwrap_or_default();
        let good = |part: &str| {
            (4..=8).contains(&part.len()) && part.chars().all(|one| one.is_ascii_uppercase() || one.is_ascii_digit())
        };
        good(left) && good(right)
    };
    said.split_whitespace().find(is_code)
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

    async fn all(mut heard: mpsc::Receiver<String>) -> String {
        let mut all = String::new();
        while let Some(piece) = heard.recv().await {
            all.push_str(&piece);
        }
        all
    }

    #[tokio::test]
    async fn what_is_asked_is_passed_on_and_what_is_said_is_handed_over() {
        let mut launch = Launch::new("sh");
        launch.arguments = ["-c", "echo open it >&2; printf 'code> '; read code; echo got $code; test $code = 42"]
            .map(Into::into)
            .to_vec();
        let (hear, mut heard) = mpsc::channel(8);
        let (say, said) = mpsc::channel(1);
        let login = tokio::spawn(async move { log_in(&launch, hear, said).await });
        let mut first = String::new();
        while !(first.contains("code> ") && first.contains("open it")) {
            first.push_str(&timeout(Duration::from_secs(30), heard.recv()).await.unwrap().unwrap());
        }
        say.send("42".to_owned()).await.unwrap();
        assert!(all(heard).await.contains("got 42"));
        assert_eq!(login.await.unwrap(), Ok(true));
    }

    #[tokio::test]
    async fn one_that_is_stopped_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pid");
        let mut launch = Launch::new("sh");
        launch.arguments = vec!["-c".into(), format!("echo $$ > {}; echo up; exec sleep 1000", file.display()).into()];
        let (hear, mut heard) = mpsc::channel(8);
        let (_say, said) = mpsc::channel(1);
        let login = tokio::spawn(async move { log_in(&launch, hear, said).await });
        assert_eq!(timeout(Duration::from_secs(30), heard.recv()).await.unwrap().unwrap(), "up\n");
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
