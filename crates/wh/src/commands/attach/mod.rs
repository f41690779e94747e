//! `wh attach`: a terminal program by its screen, an agent by a UI of its own in this process.

mod screen;
mod space;

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use wh_api::deadline::Deadline;
use wh_client::sender::{Line, LineError};
use wh_core::input::KeyPress;
use wh_screen::modes::Modes;
use wh_wire::control::SessionKind;
use wh_wire::socket::{Attached, ErrorCode, Seen};

use super::space::ThemeChoice;
use crate::daemon::{DaemonFile, Place};
use crate::door::{AnswerTimeout, Peer, answered};
use crate::failure::{Failure, code, say, with_exit_codes};
use crate::person::Person;
use crate::sender::unanswered;
use crate::settings::Settings;
use crate::{log, waiting};

/// The key that leaves a session without ending it.
pub const DETACH_KEY: &str = "ctrl+\\";

/// Show a session on this terminal
///
/// The session goes on when you leave: press ctrl+\ (or --detach-key), or close the terminal. Several terminals may be attached to
/// one session. Of a terminal program all show the same screen, and the smallest decides its size. For an agent each has a UI of
/// its own, with its own scroll position, draft and dialogs; a question that one answers closes for everybody.
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes("  wh attach a\n  wh attach build --detach-key ctrl+q"))]
pub struct Attach {
    /// The session, by its name or id
    session: String,

    /// The key that leaves
    #[arg(long, value_name = "KEY", default_value = DETACH_KEY)]
    detach_key: String,

    /// The colours of an agent's UI
    #[arg(long, value_name = "THEME", default_value = "auto", env = "WH_THEME")]
    theme: ThemeChoice,

    #[command(flatten)]
    answer: AnswerTimeout,
}

impl Attach {
    pub fn run(self, settings: &Settings) -> Result<ExitCode, Failure> {
        attach(&self.session, &self.detach_key, self.answer.timeout, self.theme, settings)
    }
}

/// Shows a session on this terminal until the person leaves or it is over.
pub fn attach(
    session: &str,
    detach_key: &str,
    timeout: Duration,
    theme: ThemeChoice,
    settings: &Settings,
) -> Result<ExitCode, Failure> {
    let keys = Keys::new(detach_key)?;
    let place = Place::here()?;
    let daemon = place.needed()?;
    let person = person()?;
    log::to_file()?;
    waiting::block_on(async move {
        match open(&place, &daemon, session, &person, Deadline::of(timeout)).await? {
            Opened::Screen(attached, line) => screen::show(*attached, line, person, keys).await,
            Opened::Space(joined, line) => space::show(*joined, line, person, keys, (theme, settings)).await,
        }
    })
}

/// The person whose terminal it is shown on.
pub fn person() -> Result<Person, Failure> {
    Person::here().ok_or_else(|| {
        Failure::new(code::USAGE, "attaching needs a terminal").hint("wh screen SESSION prints what it shows")
    })
}

/// A session that can be shown.
enum Opened {
    /// A terminal program, or an agent whose daemon is of another version.
    Screen(Box<Attached>, Line),
    /// An agent.
    Space(Box<wh_wire::socket::Joined>, Line),
}

async fn open(
    place: &Place,
    daemon: &DaemonFile,
    session: &str,
    person: &Person,
    deadline: Deadline,
) -> Result<Opened, Failure> {
    let peer = || Peer::Daemon(daemon.pid);
    answered(peer, deadline, async {
        let mut line = Line::open(&place.socket()).await.map_err(unanswered)?;
        line.show(place.credentials());
        let wanted = json!({ "session_id": session });
        let seen: Seen = line.ask("session", wanted, None).await.map_err(unanswered)?;
        // From here on by its id: another one may get the name.
        let session = seen.session.session_id;
        if seen.session.kind == SessionKind::Agent {
            match line.ask("join", space::join(&session), None).await {
                Ok(joined) => return Ok(Opened::Space(Box::new(joined), line)),
                Err(LineError::Refused(refused))
                    if matches!(refused.code, ErrorCode::VersionMismatch | ErrorCode::UnknownCommand) =>
                {
                    say("wh: the daemon is of another version, and shows its own screen; `wh daemon restart` changes that");
                }
                Err(error) => return Err(unanswered(error)),
            }
        }
        let size = person.size();
        let payload = json!({ "session_id": session, "size": { "width": size.columns, "height": size.rows } });
        let attached = line.ask("attach", payload, None).await.map_err(unanswered)?;
        Ok(Opened::Screen(Box::new(attached), line))
    })
    .await
}

/// How it ended.
enum Over {
    /// The person pressed the key, or their terminal is gone.
    Left,
    /// The daemon said why.
    Said(String),
    /// The line broke.
    Broken,
}

impl Over {
    /// Tells the person, who was shown the session of this name.
    fn tell(self, name: &str) -> Result<ExitCode, Failure> {
        match self {
            Self::Left => {
                say(&format!("wh: left {name}; it goes on. Come back with: wh attach {name}"));
                Ok(ExitCode::SUCCESS)
            }
            Self::Said(reason) => {
                say(&format!("wh: {reason}"));
                Ok(ExitCode::SUCCESS)
            }
            Self::Broken => Err(Failure::new(code::UNREACHABLE, "the daemon is gone")
                .hint("wh daemon start brings back what can go on; wh daemon logs tells what it did")),
        }
    }
}

/// The bytes that the key which leaves may come as: a session's program may have switched another way of writing keys on.
#[derive(Clone)]
struct Keys(Vec<Vec<u8>>);

impl Keys {
    fn new(name: &str) -> Result<Self, Failure> {
        let press: KeyPress = name.parse().map_err(|error| {
            Failure::new(code::USAGE, format!("--detach-key: {error}")).hint("write it as ctrl+\\ or f12")
        })?;
        let modes = [
            Modes::default(),
            Modes { kitty_keyboard: 1, ..Modes::default() },
            Modes { kitty_keyboard: 3, ..Modes::default() },
            Modes { kitty_keyboard: 8, ..Modes::default() },
            Modes { modify_other_keys: 2, ..Modes::default() },
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

    fn leave(&self, typed: &[u8]) -> bool {
        self.0.iter().any(|key| typed.windows(key.len()).any(|part| part == key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_that_leaves_is_known_however_it_is_written() {
        let keys = Keys::new(DETACH_KEY).unwrap();
        assert!(keys.leave(b"\x1c") && keys.leave(b"abc\x1c") && keys.leave(b"\x1b[92;5u"));
        assert!(!keys.leave(b"abc\x1b[A") && !keys.leave(b"\\"));
        assert!(Keys::new("nothing+x").is_err());
    }
}
