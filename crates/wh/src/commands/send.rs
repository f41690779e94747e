//! `wh send`.

use std::io::Read;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};
use wh_api::MAX_REQUEST_BYTES;
use wh_wire::control::{SentBody, SessionKind};
use wh_wire::remote::MessageBody;

use crate::door::DoorArguments;
use crate::failure::{Failure, code, with_exit_codes};

/// Type into a run, or send a message to an agent's session
///
/// Types TEXT byte for byte, then presses the keys, as one command: nothing comes between. A line break in TEXT is what
/// Ctrl-J sends; Enter is `--key enter`. A TEXT that begins with - comes after --.
///
/// To an agent's session of the daemon TEXT is a message, and needs no Enter: it goes past what a person may be writing,
/// and the answer says how far it came. It reaches the model as it is, and is refused where the agent would interpret it
/// (a leading / for Claude Code and agents of the Agent Client Protocol).
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes(
    "  wh send 'echo hello' --key enter\n  wh send a 'run the tests'\n  wh send --paste - < notes.txt\n  wh send 'once only' --request-id a1"
))]
pub struct Send {
    /// The session, and what to type; - reads that from standard input. Without a session it is the only run
    #[arg(value_names = ["SESSION", "TEXT"], num_args = 1..=2, required = true)]
    words: Vec<String>,

    /// Then press this key: enter, ctrl+c, shift+tab, f5, …; may be repeated
    #[arg(long = "key", value_name = "NAME")]
    keys: Vec<String>,

    /// Paste TEXT as a terminal does, instead of typing it
    #[arg(long)]
    paste: bool,

    /// Makes a retry safe: the same id again sends nothing
    #[arg(long, value_name = "ID")]
    request_id: Option<String>,

    #[command(flatten)]
    door: DoorArguments,
}

impl Send {
    pub fn run(mut self) -> Result<ExitCode, Failure> {
        let text = self.words.pop().unwrap_or_default();
        if self.words.is_empty() {
            self.door.nothing_for(&text, "wh send", "TEXT")?;
        }
        let door = self.door.onto(self.words.pop())?;
        let text = if text == "-" { standard_input()? } else { text };
        let session = door.summary()?;
        if let Some(ended) = session.as_ref().filter(|one| !one.status.live) {
            let name = &ended.name;
            return Err(Failure::new(code::REFUSED, format!("{name} has ended"))
                .hint(format!("wh logs {name} tells what it said; wh new makes another session")));
        }
        let speaks = session.is_some_and(|one| one.kind == SessionKind::Agent);
        if self.keys.is_empty() && !self.paste && speaks {
            return say(&door, text, self.request_id);
        }
        let kind = if self.paste { "paste" } else { "text" };
        let mut body = json!({ kind: text });
        if !self.keys.is_empty() {
            body["keys"] = self.keys.into();
        }
        if let Some(id) = self.request_id {
            body["request_id"] = id.into();
        }
        send(&door, "send_input", &body)
    }
}

/// Sends a message to an agent, and says how far it came.
fn say(door: &DoorArguments, text: String, request_id: Option<String>) -> Result<ExitCode, Failure> {
    let mut body = json!({ "message": text, "literal": true });
    if let Some(id) = request_id {
        body["request_id"] = id.into();
    }
    door.post_to("/message", &body, Duration::ZERO)?.show(door.json, |said: MessageBody| {
        let words = if said.duplicate { "nothing sent: this request id was used before" } else { "sent" };
        format!("{words} ({}, {})\n", said.request_id, said.stage)
    })
}

/// Sends a command, and says how it went.
pub fn send(door: &DoorArguments, path: &str, body: &Value) -> Result<ExitCode, Failure> {
    door.post(path, body, Duration::ZERO)?.show(door.json, |sent: SentBody| {
        let words = match (sent.duplicate, sent.delivered) {
            (true, _) => "nothing sent: this request id was used before",
            (false, true) => "sent",
            (false, false) => "accepted: it waits, because the program does not read now",
        };
        format!("{words}\n")
    })
}

fn standard_input() -> Result<String, Failure> {
    let mut text = String::new();
    // One byte more than can be sent is enough to know that it cannot.
    let mut input = std::io::stdin().lock().take(MAX_REQUEST_BYTES as u64 + 1);
    input.read_to_string(&mut text).map_err(|error| {
        Failure::new(code::USAGE, format!("standard input cannot be typed: {error}")).hint("give text in UTF-8")
    })?;
    Ok(text)
}
