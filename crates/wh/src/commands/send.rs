//! Implements `wh send`, which types text into a run or sends a message to an agent.

use std::io::Read;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};
use wh_api::MAX_REQUEST_BYTES;
use wh_wire::control::{SentBody, SessionKind};
use wh_wire::remote::MessageBody;

use crate::failure::{API_CODES, CliFailure, code, with_exit_codes};
use crate::target::TargetArguments;

/// Type text into a run, or send a message to an agent
///
/// Types TEXT byte for byte, then presses the keys given with --key. Both are one atomic command. A line break in TEXT
/// is sent as Ctrl-J; use `--key enter` for Enter. Write -- before a TEXT that begins with -.
///
/// For an agent session of the daemon, TEXT is a message and needs no Enter. The message does not change the draft of
/// an attached user. The output shows the delivery stage. The text reaches the model unchanged. A text that the agent
/// would interpret as a command is refused. For Claude Code and Agent Client Protocol agents, this is any text that
/// begins with /.
#[derive(Debug, Args)]
#[command(override_usage = "wh send [OPTIONS] [SESSION] <TEXT>")]
#[command(after_help = with_exit_codes(
    "  wh send 'echo hello' --key enter\n  wh send a 'run the tests'\n  wh send --paste - < notes.txt\n  wh send 'once only' --request-id a1", API_CODES
))]
pub struct SendCommand {
    /// Session and text. If TEXT is `-`, the text is read from standard input. Without SESSION, the only run or session
    /// is used
    #[arg(value_names = ["SESSION", "TEXT"], num_args = 1..=2, required = true)]
    words: Vec<String>,

    /// Press this key after the text: enter, ctrl+c, shift+tab, f5, …; may be repeated
    #[arg(long = "key", value_name = "NAME")]
    keys: Vec<String>,

    /// Paste TEXT (bracketed paste) instead of typing it
    #[arg(long)]
    paste: bool,

    /// Idempotency key: repeating the command with the same key does not send the text again
    #[arg(long, value_name = "ID")]
    request_id: Option<String>,

    #[command(flatten)]
    target: TargetArguments,
}

impl SendCommand {
    pub fn run(mut self) -> Result<ExitCode, CliFailure> {
        let text = self.words.pop().unwrap_or_default();
        if self.words.is_empty() {
            self.target.check_not_session(&text, "wh send", "TEXT")?;
        }
        let target = self.target.with_session(self.words.pop())?;
        let text = if text == "-" { standard_input()? } else { text };
        let session = target.summary()?;
        if let Some(ended) = session.as_ref().filter(|one| !one.status.live) {
            let name = &ended.name;
            return Err(CliFailure::new(code::REFUSED, format!("{name} has ended"))
                .hint(format!("`wh logs {name}` prints its output; `wh new` creates another session")));
        }
        let speaks = session.is_some_and(|one| one.kind == SessionKind::Agent);
        if self.keys.is_empty() && !self.paste && speaks {
            return say(&target, text, self.request_id);
        }
        let kind = if self.paste { "paste" } else { "text" };
        let mut body = json!({ kind: text });
        if !self.keys.is_empty() {
            body["keys"] = self.keys.into();
        }
        if let Some(id) = self.request_id {
            body["request_id"] = id.into();
        }
        send(&target, "send_input", &body)
    }
}

/// Sends a message to an agent and prints its delivery stage.
fn say(target: &TargetArguments, text: String, request_id: Option<String>) -> Result<ExitCode, CliFailure> {
    let mut body = json!({ "message": text, "literal": true });
    if let Some(id) = request_id {
        body["request_id"] = id.into();
    }
    target.post_to("/message", &body, Duration::ZERO)?.show(target.json, |ack: MessageBody| {
        let words = if ack.duplicate { "nothing sent: duplicate request id" } else { "sent" };
        format!("{words} ({}, {})\n", ack.request_id, ack.stage)
    })
}

/// Sends a command and prints its result.
pub fn send(target: &TargetArguments, path: &str, body: &Value) -> Result<ExitCode, CliFailure> {
    target.post(path, body, Duration::ZERO)?.show(target.json, |sent: SentBody| {
        let words = match (sent.duplicate, sent.delivered) {
            (true, _) => "nothing sent: duplicate request id",
            (false, true) => "sent",
            (false, false) => "accepted and queued: the program is not reading input",
        };
        format!("{words}\n")
    })
}

fn standard_input() -> Result<String, CliFailure> {
    let mut text = String::new();
    // Reads at most one byte more than the limit: a longer text is refused in any case.
    let mut input = std::io::stdin().lock().take(MAX_REQUEST_BYTES as u64 + 1);
    input.read_to_string(&mut text).map_err(|error| {
        CliFailure::new(code::USAGE, format!("cannot read standard input: {error}")).hint("the text must be UTF-8")
    })?;
    Ok(text)
}
