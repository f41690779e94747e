//! `wh control`: the sender's side of the control protocol.

use std::io::Read;
use std::process::ExitCode;
use std::time::SystemTime;

use clap::{Args, Subcommand};
use serde_json::json;
use wh_client::sender::{Message, Tries, Wish, may_come_again, new_request_id};
use wh_wire::socket::{ControlAck, ControlResult, Decision};

use crate::failure::{Failure, code, with_exit_codes};
use crate::print::{clean_line, json_line, print};
use crate::sender::{again, seconds, send};

/// Control a session of the daemon as a member of its team: exactly once, authorised, audited
///
/// Every message has a request_id; a retry with the same id is carried out once, also when the daemon was killed in between.
/// The acknowledgement says what became of it: ok (the agent has it, or it is queued), busy, not_live, not_found, timeout, rejected,
/// internal_error.
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes(
    "  wh control send a 'run the tests'\n  wh control send a - --request-id nightly-7 < prompt.md\n  wh control interrupt a\n  wh control answer a q-3 --option allow\n  wh audit --session a"
))]
pub struct Control {
    #[command(subcommand)]
    command: ControlCommand,
}

#[derive(Debug, Subcommand)]
enum ControlCommand {
    /// Give a session a text: a prompt to an agent; typed, with Enter for each line break, to a terminal program
    Send(Send),
    /// Interrupt what a session does
    Interrupt(Interrupt),
    /// Answer a question of a session
    Answer(Answer),
}

#[derive(Debug, Args)]
struct Send {
    /// The session, by its name or id
    session: String,

    /// The text; - reads it from standard input
    text: String,

    /// Interrupt first what is under way
    #[arg(long)]
    interrupt: bool,

    #[command(flatten)]
    how: How,
}

#[derive(Debug, Args)]
struct Interrupt {
    /// The session, by its name or id
    session: String,

    #[command(flatten)]
    how: How,
}

#[derive(Debug, Args)]
struct Answer {
    /// The session, by its name or id
    session: String,

    /// The question's id; `wh answer SESSION` lists them
    question: String,

    /// The option's id
    #[arg(long, value_name = "ID", required_unless_present_any = ["approve", "reject", "text"])]
    option: Option<String>,

    /// Yes, this once
    #[arg(long, conflicts_with_all = ["option", "reject"])]
    approve: bool,

    /// No
    #[arg(long, conflicts_with = "option")]
    reject: bool,

    /// Words of your own
    #[arg(long, value_name = "WORDS")]
    text: Option<String>,

    #[command(flatten)]
    how: How,
}

/// As whom, and how patiently.
#[derive(Debug, Args)]
pub struct How {
    /// The message's own name: the same in every retry [default: a new one]
    #[arg(long, value_name = "ID")]
    pub request_id: Option<String>,

    /// When it was sent first, as 2026-11-16T08:04:36Z [default: now]. To repeat a message later give its request id and this: the daemon
    /// knows a repetition for 15 minutes, and refuses what was sent more than 10 minutes ago, so it is never carried out twice
    #[arg(long, value_name = "TIME", value_parser = moment, requires = "request_id")]
    pub sent_at: Option<SystemTime>,

    /// The request_id of an earlier message that this one replaces
    #[arg(long, value_name = "ID")]
    pub retry_of: Option<String>,

    /// As which member of the team
    #[arg(long = "as", value_name = "MEMBER", default_value = "local", env = "WH_MEMBER")]
    pub member: String,

    /// How long an acknowledgement is waited for, in seconds, and a second more for each MiB of text; and as long at most for what is
    /// asked before the message
    #[arg(long, value_name = "SECS", default_value_t = 2.0)]
    pub timeout: f64,

    /// How often it is tried again when none comes, the daemon is not there or the session is busy
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub retries: u32,

    /// How long to wait before the first retry, in seconds; it doubles
    #[arg(long, value_name = "SECS", default_value_t = 0.25)]
    pub backoff: f64,

    /// Print the acknowledgement as JSON on one line
    #[arg(long)]
    pub json: bool,
}

impl Control {
    pub fn run(self) -> Result<ExitCode, Failure> {
        let (session, wish, how) = match self.command {
            ControlCommand::Send(send) => {
                let text = if send.text == "-" { standard_input()? } else { send.text };
                (send.session, Wish::Text { text, interrupt: send.interrupt }, send.how)
            }
            ControlCommand::Interrupt(interrupt) => (interrupt.session, Wish::Interrupt, interrupt.how),
            ControlCommand::Answer(answer) => {
                let decision = match (answer.approve, answer.reject) {
                    (true, _) => Some(Decision::Approve),
                    (_, true) => Some(Decision::Reject),
                    _ => None,
                };
                let Answer { question, option, text, .. } = answer;
                (answer.session, Wish::Answer { question, option, decision, text }, answer.how)
            }
        };
        let message = Message {
            wish,
            request_id: how.request_id.clone().unwrap_or_else(new_request_id),
            sent_at: how.sent_at.unwrap_or_else(SystemTime::now),
            retry_of: how.retry_of.clone(),
            ui_source: Some("cli".to_owned()),
        };
        let ack = send(&how, &session, &message)?;
        show(&ack, &message, how.json)
    }
}

fn moment(text: &str) -> Result<SystemTime, String> {
    let at: Result<jiff::Timestamp, _> = text.parse();
    at.map(SystemTime::from).map_err(|_| "give it as 2026-11-16T08:04:36Z".to_owned())
}

fn show(ack: &ControlAck, message: &Message, json: bool) -> Result<ExitCode, Failure> {
    if json {
        print(&json_line(&json!(ack).to_string()))?;
    } else {
        let detail = ack.detail.as_deref().map(|detail| format!(": {}", clean_line(detail))).unwrap_or_default();
        let repeated = if ack.duplicate { " (heard before)" } else { "" };
        print(&format!("{}{repeated}{detail}\n    request_id {}\n", ack.result, clean_line(&ack.request_id)))?;
        if may_come_again(ack.result) {
            print(&format!("    {}\n", clean_line(&again(message))))?;
        }
    }
    Ok(ExitCode::from(match ack.result {
        ControlResult::Ok => 0,
        ControlResult::Timeout => code::TIMEOUT,
        ControlResult::Busy | ControlResult::NotLive => code::REFUSED,
        ControlResult::NotFound => code::UNREACHABLE,
        ControlResult::Rejected if ack.error.as_deref().is_some_and(is_about_rights) => code::UNAUTHORISED,
        ControlResult::Rejected => code::REFUSED,
        ControlResult::InternalError => code::FAILED,
    }))
}

/// Whether somebody else might have been let in.
fn is_about_rights(error: &str) -> bool {
    [
        "unproven_sender",
        "other_sender",
        "other_team",
        "no_member",
        "no_role",
        "denied",
        "not_allowed",
        "own_question",
        "untraceable",
    ]
    .contains(&error)
}

/// The largest text that is read: more could not be sent.
const LONGEST: u64 = 16 << 20;

fn standard_input() -> Result<String, Failure> {
    let mut text = String::new();
    let read = std::io::stdin().lock().take(LONGEST + 1).read_to_string(&mut text);
    read.map_err(|error| Failure::new(code::USAGE, format!("standard input: {error}")).hint("give text in UTF-8"))?;
    Ok(text)
}

impl How {
    /// How patiently it is sent.
    pub fn tries(&self) -> Tries {
        let usual = Tries::default();
        Tries {
            timeout: seconds(self.timeout, usual.timeout),
            retries: self.retries,
            backoff: seconds(self.backoff, usual.backoff),
        }
    }
}
