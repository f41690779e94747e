//! `wh attach`.

use std::process::ExitCode;
use std::time::Duration;

use bytes::Bytes;
use clap::Args;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;
use wh_client::sender::Line;
use wh_client::{Attachment, FromTerminal, Request, Surface, ToTerminal};
use wh_core::input::KeyPress;
use wh_core::terminal::Exit;
use wh_screen::modes::Modes;
use wh_screen::render::LEAVE;
use wh_wire::attach::{FromPerson, HEADER, ToPerson, header};
use wh_wire::socket::Attached;

use crate::daemon::{DaemonFile, Place};
use crate::door::{AnswerTimeout, Patience, Peer, answered};
use crate::failure::{Failure, code, say, with_exit_codes};
use crate::person::Person;
use crate::sender::unanswered;
use crate::waiting;

/// What leaves a session without ending it.
pub const DETACH_KEY: &str = "ctrl+\\";

/// Show a session on this terminal
///
/// The session goes on when you leave: press ctrl+\ (or --detach-key), or close the terminal. Several terminals may be attached to
/// one session; the smallest decides its size. In the UI of an agent, leaving the UI leaves the session running too.
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes("  wh attach a\n  wh attach build --detach-key ctrl+q"))]
pub struct Attach {
    /// The session, by its name or id
    session: String,

    /// The key that leaves
    #[arg(long, value_name = "KEY", default_value = DETACH_KEY)]
    detach_key: String,

    #[command(flatten)]
    answer: AnswerTimeout,
}

impl Attach {
    pub fn run(self) -> Result<ExitCode, Failure> {
        attach(&self.session, &self.detach_key, self.answer.timeout)
    }
}

/// Shows a session on this terminal until the person leaves or it is over.
pub fn attach(session: &str, detach_key: &str, timeout: Duration) -> Result<ExitCode, Failure> {
    let keys = Keys::new(detach_key)?;
    let place = Place::here()?;
    let daemon = place.needed()?;
    waiting::block_on(show(place, daemon, session.to_owned(), person()?, keys, Patience::of(timeout)))
}

/// The person whose terminal it is shown on.
pub fn person() -> Result<Person, Failure> {
    Person::here().ok_or_else(|| {
        Failure::new(code::USAGE, "attaching needs a terminal").hint("wh screen SESSION prints what it shows")
    })
}

async fn show(
    place: Place,
    daemon: DaemonFile,
    session: String,
    person: Person,
    keys: Keys,
    patience: Patience,
) -> Result<ExitCode, Failure> {
    let size = person.size();
    let payload = json!({ "session_id": session, "size": { "width": size.columns, "height": size.rows } });
    let peer = || Peer::Daemon(daemon.pid);
    let (attached, line) = answered(peer, patience, async {
        let mut line = Line::open(&place.socket()).await.map_err(unanswered)?;
        line.show(place.credentials());
        let attached: Attached = line.ask("attach", payload, None).await.map_err(unanswered)?;
        Ok((attached, line))
    })
    .await?;
    let (reader, writer) = line.into_halves();
    // What a person's terminal is attached to: here a line to the daemon stands behind it.
    let (surface, mut requests) = Surface::new();
    let bridge = tokio::spawn(async move {
        match requests.recv().await {
            Some(Request::Attach(attachment)) => bridge(attachment, reader, writer, keys).await,
            _ => Over::Broken,
        }
    });
    let on_screen = person.attach(&surface).await;
    let over = bridge.await.unwrap_or(Over::Broken);
    // A daemon that is gone has switched nothing off.
    let exit = if matches!(over, Over::Broken) { Exit::Signal(nix::libc::SIGTERM) } else { Exit::Code(0) };
    on_screen.detach(&surface, exit).await;
    let name = attached.session.name;
    match over {
        Over::Left => {
            say(&format!("wh: left {name}; it goes on. Come back with: wh attach {name}"));
            Ok(ExitCode::SUCCESS)
        }
        Over::Said(reason) => {
            say(&format!("wh: {reason}"));
            Ok(ExitCode::SUCCESS)
        }
        Over::Broken => Err(Failure::new(code::UNREACHABLE, "the daemon is gone")
            .hint("wh daemon start brings back what can go on; wh daemon logs tells what it did")),
    }
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

async fn bridge(
    attachment: Attachment,
    reader: BufReader<OwnedReadHalf>,
    mut writer: OwnedWriteHalf,
    keys: Keys,
) -> Over {
    let Attachment { output, mut input, mut changes, .. } = attachment;
    let (tell, mut said) = mpsc::channel(1);
    let hears = tokio::spawn(hear(reader, tell));
    let over = loop {
        let frame = tokio::select! {
            heard = said.recv() => match heard {
                Some(ToPerson::Draw(bytes)) => {
                    if output.send(ToTerminal::Output(Bytes::from(bytes))).await.is_err() {
                        break Over::Left;
                    }
                    continue;
                }
                Some(ToPerson::Left) => break Over::Left,
                Some(ToPerson::Over(reason)) => break Over::Said(reason),
                None => break Over::Broken,
            },
            typed = input.recv() => match typed {
                Some(bytes) if keys.leave(&bytes) => {
                    let _ = output.send(ToTerminal::Output(Bytes::from_static(LEAVE.as_bytes()))).await;
                    break Over::Left;
                }
                Some(bytes) => FromPerson::Typed(bytes.to_vec()),
                None => break Over::Left,
            },
            change = changes.recv() => match change {
                Some(FromTerminal::Resized(size)) => FromPerson::Resized(size.columns, size.rows),
                Some(FromTerminal::Continue) => FromPerson::Back,
                None => break Over::Left,
            },
        };
        if writer.write_all(&frame.encode()).await.is_err() {
            break Over::Broken;
        }
    };
    hears.abort();
    over
}

/// Reads frames until there are no more.
async fn hear(mut reader: BufReader<OwnedReadHalf>, tell: mpsc::Sender<ToPerson>) {
    let mut start = [0; HEADER];
    while reader.read_exact(&mut start).await.is_ok() {
        let Ok((kind, length)) = header(start) else { return };
        let mut body = vec![0; length];
        if reader.read_exact(&mut body).await.is_err() {
            return;
        }
        let Ok(frame) = ToPerson::decode(kind, body) else { return };
        if tell.send(frame).await.is_err() {
            return;
        }
    }
}

/// The bytes that the key which leaves may come as: a session's program may have switched another way of writing keys on.
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
