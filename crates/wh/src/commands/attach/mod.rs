//! Implements `wh attach`. For a terminal program, shows the program's screen; for an agent, runs a UI in this process.

mod screen;
mod space;

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use wh_api::deadline::Deadline;
use wh_client::sender::{ConnectionError, DaemonConnection};
use wh_core::input::KeyPress;
use wh_screen::modes::TerminalModes;
use wh_wire::control::SessionKind;
use wh_wire::socket::{AttachResponse, ErrorCode, SessionDetails};

use super::space::ThemeChoice;
use crate::daemon::{DaemonFile, DaemonPaths};
use crate::failure::{API_CODES, CliFailure, code, print_to_stderr, with_exit_codes};
use crate::local_terminal::LocalTerminal;
use crate::sender::socket_failure;
use crate::settings::Settings;
use crate::target::{ResponseTimeout, ServerProcess, answered};
use crate::{async_runtime, log};

/// Default key that detaches without ending the session.
pub const DETACH_KEY: &str = "ctrl+\\";

/// Attach this terminal to a session
///
/// Press ctrl+\ (or --detach-key) to detach, or close the terminal; the session continues. Several terminals can attach
/// to one session. For a terminal program, all terminals show the same screen, and the smallest terminal determines the
/// size of the screen. For an agent, each terminal has its own UI with its own scroll position, draft and dialogs. A
/// question that is answered in one UI closes in all UIs.
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes("  wh attach a\n  wh attach build --detach-key ctrl+q", API_CODES))]
pub struct AttachCommand {
    /// Session name or id
    session: String,

    /// Key that detaches
    #[arg(long, value_name = "KEY", default_value = DETACH_KEY)]
    detach_key: String,

    /// Colours of an agent's UI
    #[arg(long, value_name = "THEME", default_value = "auto", env = "WH_THEME")]
    theme: ThemeChoice,

    #[command(flatten)]
    answer: ResponseTimeout,
}

impl AttachCommand {
    pub fn run(self, settings: &Settings) -> Result<ExitCode, CliFailure> {
        attach(&self.session, &self.detach_key, self.answer.timeout, self.theme, settings)
    }
}

/// Shows a session on this terminal until the user detaches or the session ends.
pub fn attach(
    session: &str,
    detach_key: &str,
    timeout: Duration,
    theme: ThemeChoice,
    settings: &Settings,
) -> Result<ExitCode, CliFailure> {
    let keys = DetachKeys::new(detach_key)?;
    let paths = DaemonPaths::here()?;
    let daemon = paths.require_daemon()?;
    let tty = require_terminal()?;
    log::to_file()?;
    async_runtime::block_on(async move {
        match open(&paths, &daemon, session, &tty, Deadline::of(timeout)).await? {
            AttachedSession::Screen(attached, line) => screen::show(*attached, line, tty, keys).await,
            AttachedSession::Space(joined, line) => space::show(*joined, line, tty, keys, (theme, settings)).await,
        }
    })
}

/// Returns the terminal of this process, or an error if there is no terminal.
pub fn require_terminal() -> Result<LocalTerminal, CliFailure> {
    LocalTerminal::here().ok_or_else(|| {
        CliFailure::new(code::USAGE, "attaching requires a terminal")
            .hint("`wh screen SESSION` prints the screen and needs no terminal")
    })
}

enum AttachedSession {
    /// Screen of a terminal program. Also used for an agent if the daemon has another version: its UI then runs in the
    /// daemon.
    Screen(Box<AttachResponse>, DaemonConnection),
    /// Conversation with an agent.
    Space(Box<wh_wire::socket::JoinResponse>, DaemonConnection),
}

async fn open(
    paths: &DaemonPaths,
    daemon: &DaemonFile,
    session: &str,
    tty: &LocalTerminal,
    deadline: Deadline,
) -> Result<AttachedSession, CliFailure> {
    let server = || ServerProcess::Daemon(daemon.pid);
    answered(server, deadline, async {
        let mut line = DaemonConnection::open(&paths.socket()).await.map_err(socket_failure)?;
        line.show(paths.credentials());
        let wanted = json!({ "session_id": session });
        let seen: SessionDetails = line.ask("session", wanted, None).await.map_err(socket_failure)?;
        // The name may later belong to another session, so all further requests use the id.
        let session = seen.session.session_id;
        if seen.session.kind == SessionKind::Agent {
            match line.ask("join", space::join(&session), None).await {
                Ok(joined) => return Ok(AttachedSession::Space(Box::new(joined), line)),
                Err(ConnectionError::Refused(refused))
                    if matches!(refused.code, ErrorCode::VersionMismatch | ErrorCode::UnknownCommand) =>
                {
                    print_to_stderr(
                        "wh: the daemon has another version, so you see the daemon's UI; update the daemon: wh daemon restart",
                    );
                }
                Err(error) => return Err(socket_failure(error)),
            }
        }
        let size = tty.size();
        let payload = json!({ "session_id": session, "size": { "width": size.columns, "height": size.rows } });
        let attached = line.ask("attach", payload, None).await.map_err(socket_failure)?;
        Ok(AttachedSession::Screen(Box::new(attached), line))
    })
    .await
}

/// Reason why the attachment ended.
enum AttachEnd {
    /// The user pressed the detach key, or the terminal was closed.
    Detached,
    /// The daemon ended the attachment with this message.
    Ended(String),
    /// The connection broke.
    Disconnected,
}

impl AttachEnd {
    /// Prints the reason to the user. `name` is the name of the session.
    fn report(self, name: &str) -> Result<ExitCode, CliFailure> {
        match self {
            Self::Detached => {
                print_to_stderr(&format!("wh: detached from {name} (still running). Reattach with: wh attach {name}"));
                Ok(ExitCode::SUCCESS)
            }
            Self::Ended(reason) => {
                print_to_stderr(&format!("wh: {reason}"));
                Ok(ExitCode::SUCCESS)
            }
            Self::Disconnected => Err(CliFailure::new(code::UNREACHABLE, "lost the connection to the daemon").hint(
                "`wh daemon start` restarts the daemon and restores agent sessions; `wh daemon logs` prints the log",
            )),
        }
    }
}

/// Byte sequences of the detach key, one for each keyboard mode that the session's program may have enabled.
#[derive(Clone)]
struct DetachKeys(Vec<Vec<u8>>);

impl DetachKeys {
    fn new(name: &str) -> Result<Self, CliFailure> {
        let press: KeyPress = name.parse().map_err(|error| {
            CliFailure::new(code::USAGE, format!("--detach-key: {error}")).hint("use a key such as ctrl+\\ or f12")
        })?;
        let modes = [
            TerminalModes::default(),
            TerminalModes { kitty_keyboard: 1, ..TerminalModes::default() },
            TerminalModes { kitty_keyboard: 3, ..TerminalModes::default() },
            TerminalModes { kitty_keyboard: 8, ..TerminalModes::default() },
            TerminalModes { modify_other_keys: 2, ..TerminalModes::default() },
        ];
        let mut written: Vec<Vec<u8>> = Vec::new();
        for modes in modes {
            let bytes = wh_screen::keys::encode(&press, &modes);
            if !bytes.is_empty() && !written.contains(&bytes) {
                written.push(bytes);
            }
        }
        Ok(Self(written))
    }

    fn are_in(&self, typed: &[u8]) -> bool {
        self.0.iter().any(|key| typed.windows(key.len()).any(|part| part == key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_that_leaves_is_known_however_it_is_written() {
        let keys = DetachKeys::new(DETACH_KEY).unwrap();
        assert!(keys.are_in(b"\x1c") && keys.are_in(b"abc\x1c") && keys.are_in(b"\x1b[92;5u"));
        assert!(!keys.are_in(b"abc\x1b[A") && !keys.are_in(b"\\"));
        assert!(DetachKeys::new("nothing+x").is_err());
    }
}
