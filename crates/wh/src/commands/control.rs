//! Implements `wh control`, which sends control messages to the daemon.

use std::io::Read;
use std::process::ExitCode;
use std::time::SystemTime;

use clap::{Args, Subcommand};
use serde_json::json;
use wh_client::sender::{ControlIntent, OutgoingControl, RetryPolicy, is_retryable_result, new_request_id};
use wh_wire::socket::{AnswerDecision, ControlAck, ControlResult};

use crate::failure::{CliFailure, code, with_exit_codes};
use crate::print::{clean_line, json_line, print};
use crate::sender::{retry_hint, seconds, send};

/// Send a control message to a session as a member of its team
///
/// Messages are authenticated, audited, and executed at most once: a retry with the same request id is not executed
/// again, even if the daemon was killed in between. The result is ok (delivered or queued), busy, not_live, not_found,
/// timeout, rejected or internal_error.
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes(
    "  wh control send a 'run the tests'\n  wh control send a - --request-id nightly-7 < prompt.md\n  wh control interrupt a\n  wh control answer a q-3 --option allow\n  wh audit --session a",
    &[code::TIMEOUT, code::REFUSED, code::UNAUTHORISED, code::UNREACHABLE]
))]
pub struct ControlCommand {
    #[command(subcommand)]
    command: ControlSubcommand,
}

#[derive(Debug, Subcommand)]
enum ControlSubcommand {
    /// Send a prompt to an agent, or type text into a terminal program with Enter for each line break
    Send(ControlSendArguments),
    /// Interrupt a session
    Interrupt(ControlInterruptArguments),
    /// Answer an open question
    Answer(ControlAnswerArguments),
}

#[derive(Debug, Args)]
struct ControlSendArguments {
    /// Session name or id
    session: String,

    /// Text to send; `-` reads it from standard input
    text: String,

    /// Interrupt the session first
    #[arg(long)]
    interrupt: bool,

    #[command(flatten)]
    delivery: DeliveryOptions,
}

#[derive(Debug, Args)]
struct ControlInterruptArguments {
    /// Session name or id
    session: String,

    #[command(flatten)]
    delivery: DeliveryOptions,
}

#[derive(Debug, Args)]
struct ControlAnswerArguments {
    /// Session name or id
    session: String,

    /// Question id; `wh answer SESSION` lists the open questions
    question: String,

    /// Id of the option to choose
    #[arg(long, value_name = "ID", required_unless_present_any = ["approve", "reject", "text"])]
    option: Option<String>,

    /// Approve the agent's request, this time only
    #[arg(long, conflicts_with_all = ["option", "reject"])]
    approve: bool,

    /// Reject the agent's request
    #[arg(long, conflicts_with = "option")]
    reject: bool,

    /// Reply with this text
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,

    #[command(flatten)]
    delivery: DeliveryOptions,
}

/// Sender, idempotency and retry options of a control message.
#[derive(Debug, Args)]
pub struct DeliveryOptions {
    /// Idempotency key: repeat a message with the same key to retry it safely [default: generated]
    #[arg(long, value_name = "ID")]
    pub request_id: Option<String>,

    /// Time when the message was first sent, e.g. 2026-11-16T08:04:36Z [default: now]. To retry a message later, give
    /// its request id and this time. The daemon remembers request ids for 15 minutes and refuses messages older than 10
    /// minutes, so a message is never executed twice
    #[arg(long, value_name = "TIME", value_parser = parse_time, requires = "request_id")]
    pub sent_at: Option<SystemTime>,

    /// Request id of an earlier message that this one replaces
    #[arg(long, value_name = "ID")]
    pub retry_of: Option<String>,

    /// Send as this team member
    #[arg(long = "as", value_name = "MEMBER", default_value = "local", env = "WH_MEMBER")]
    pub member: String,

    /// Timeout for the acknowledgement, in seconds. wh adds one second per MiB of text. Requests that wh sends before
    /// the message have the same timeout
    #[arg(long, value_name = "SECS", default_value_t = 2.0)]
    pub timeout: f64,

    /// Number of retries if there is no acknowledgement, the daemon is unreachable or the session is busy
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub retries: u32,

    /// Delay before the first retry, in seconds; doubled for each further retry
    #[arg(long, value_name = "SECS", default_value_t = 0.25)]
    pub backoff: f64,

    /// Print the acknowledgement as JSON on one line
    #[arg(long)]
    pub json: bool,
}

impl ControlCommand {
    pub fn run(self) -> Result<ExitCode, CliFailure> {
        let (session, intent, delivery) = match self.command {
            ControlSubcommand::Send(send) => {
                let text = if send.text == "-" { standard_input()? } else { send.text };
                (send.session, ControlIntent::Text { text, interrupt: send.interrupt }, send.delivery)
            }
            ControlSubcommand::Interrupt(interrupt) => {
                (interrupt.session, ControlIntent::Interrupt, interrupt.delivery)
            }
            ControlSubcommand::Answer(answer) => {
                let decision = match (answer.approve, answer.reject) {
                    (true, _) => Some(AnswerDecision::Approve),
                    (_, true) => Some(AnswerDecision::Reject),
                    _ => None,
                };
                let ControlAnswerArguments { question, option, text, .. } = answer;
                (answer.session, ControlIntent::Answer { question, option, decision, text }, answer.delivery)
            }
        };
        let message = OutgoingControl {
            intent,
            request_id: delivery.request_id.clone().unwrap_or_else(new_request_id),
            sent_at: delivery.sent_at.unwrap_or_else(SystemTime::now),
            retry_of: delivery.retry_of.clone(),
            ui_source: Some("cli".to_owned()),
        };
        let ack = send(&delivery, &session, &message)?;
        show(&ack, &message, delivery.json)
    }
}

fn parse_time(text: &str) -> Result<SystemTime, String> {
    let at: Result<jiff::Timestamp, _> = text.parse();
    at.map(SystemTime::from).map_err(|_| "expected a time such as 2026-11-16T08:04:36Z".to_owned())
}

fn show(ack: &ControlAck, message: &OutgoingControl, json: bool) -> Result<ExitCode, CliFailure> {
    if json {
        print(&json_line(&json!(ack).to_string()))?;
    } else {
        let detail = ack.detail.as_deref().map(|detail| format!(": {}", clean_line(detail))).unwrap_or_default();
        let repeated = if ack.duplicate { " (duplicate)" } else { "" };
        print(&format!("{}{repeated}{detail}\n    request_id {}\n", ack.result, clean_line(&ack.request_id)))?;
        if is_retryable_result(ack.result) {
            print(&format!("    {}\n", clean_line(&retry_hint(message))))?;
        }
    }
    Ok(ExitCode::from(match ack.result {
        ControlResult::Ok => 0,
        ControlResult::Timeout => code::TIMEOUT,
        ControlResult::Busy | ControlResult::NotLive => code::REFUSED,
        ControlResult::NotFound => code::UNREACHABLE,
        ControlResult::Rejected if ack.error.as_deref().is_some_and(is_authorization_error) => code::UNAUTHORISED,
        ControlResult::Rejected => code::REFUSED,
        ControlResult::InternalError => code::FAILED,
    }))
}

/// True if `error` is the code of an authentication or permission error.
fn is_authorization_error(error: &str) -> bool {
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

/// Maximum number of bytes read from standard input. Longer texts cannot be sent.
const MAX_STDIN_BYTES: u64 = 16 << 20;

fn standard_input() -> Result<String, CliFailure> {
    let mut text = String::new();
    let read = std::io::stdin().lock().take(MAX_STDIN_BYTES + 1).read_to_string(&mut text);
    read.map_err(|error| {
        CliFailure::new(code::USAGE, format!("cannot read standard input: {error}")).hint("the text must be UTF-8")
    })?;
    Ok(text)
}

impl DeliveryOptions {
    /// Returns the timeout and the retry policy.
    pub fn tries(&self) -> RetryPolicy {
        let usual = RetryPolicy::default();
        RetryPolicy {
            timeout: seconds(self.timeout, usual.timeout),
            retries: self.retries,
            backoff: seconds(self.backoff, usual.backoff),
        }
    }
}
