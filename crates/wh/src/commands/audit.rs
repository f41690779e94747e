//! `wh audit`.

use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use clap::Args;
use serde_json::Value;
use wh_engine::control::audit::{Filter, Record, read};
use wh_wire::socket::ControlResult;

use super::wait::duration;
use crate::daemon::Place;
use crate::door::{DoorArguments, OPTIONAL_ANSWER_TIMEOUT};
use crate::failure::{Failure, code, say, with_exit_codes};
use crate::print::{clean_line, json_line, print};

/// Show who controlled which session, and what became of it
///
/// The daemon's own account, or with --sent that of this user's `wh control`. Texts are in it only if WH_AUDIT_TEXT wanted them.
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes("  wh audit\n  wh audit --session a --since 10m\n  wh audit --result rejected --json | jq ."))]
pub struct Audit {
    /// Of this session, by its name or id
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,

    /// Of this message
    #[arg(long, value_name = "ID")]
    request_id: Option<String>,

    /// Of this team
    #[arg(long, value_name = "TEAM")]
    team: Option<String>,

    /// Of this sender
    #[arg(long, value_name = "MEMBER")]
    sender: Option<String>,

    /// With this result: ok, not_live, not_found, busy, timeout, rejected, internal_error
    #[arg(long, value_name = "RESULT", value_parser = result)]
    result: Option<ControlResult>,

    /// Not older than this: 10m, 2h
    #[arg(long, value_name = "TIME", value_parser = duration)]
    since: Option<Duration>,

    /// The newest so many
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
    newest: usize,

    /// The account of those who sent, not the daemon's
    #[arg(long)]
    sent: bool,

    /// One JSON object a line, with every field by its full name
    #[arg(long)]
    json: bool,
}

fn result(text: &str) -> Result<ControlResult, String> {
    ControlResult::of(text).ok_or_else(|| {
        let known: Vec<&str> = ControlResult::ALL.iter().map(|one| one.as_str()).collect();
        format!("choose one of {}", known.join(", "))
    })
}

impl Audit {
    pub fn run(self) -> Result<ExitCode, Failure> {
        let place = Place::here()?;
        let path = if self.sent { place.sent() } else { place.audit() };
        let filter = Filter {
            request_id: self.request_id,
            team: self.team,
            session_id: self.session.map(|session| id_of(&place, session)),
            sender: self.sender,
            result: self.result,
            since: self.since.and_then(|since| SystemTime::now().checked_sub(since)),
            newest: Some(self.newest),
        };
        if !path.exists() {
            say("wh: nothing is in the account yet");
            return Ok(ExitCode::SUCCESS);
        }
        let reading =
            read(&path, &filter).map_err(|error| Failure::new(code::FAILED, format!("{}: {error}", path.display())))?;
        if reading.unreadable > 0 {
            say(&format!("wh: {} lines could not be read", reading.unreadable));
        }
        for record in &reading.records {
            let line = if self.json { json_line(&Value::Object(record.0.clone()).to_string()) } else { words(record) };
            print(&line)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// A session's id: the daemon says which one a name means. Where none runs, or it knows no such session any more, the text is taken as it is.
fn id_of(place: &Place, session: String) -> String {
    let door = place
        .living()
        .and_then(|_| DoorArguments::for_daemon(OPTIONAL_ANSWER_TIMEOUT).onto(Some(session.clone())).ok());
    let known = door.and_then(|door| door.summary().ok().flatten());
    known.map_or(session, |one| one.session_id)
}

/// A record on one line, as a person reads it.
fn words(record: &Record) -> String {
    let text = |label: &str| record.text(label).map(clean_line);
    let mut line: Vec<String> = Vec::new();
    line.extend(text("timestamp"));
    line.extend(text("action"));
    line.extend(text("result"));
    line.extend(record.0.get("duplicate").filter(|value| **value == true).map(|_| "duplicate".to_owned()));
    for label in ["request_id", "retry_of", "sender", "team", "session_id", "agent_id", "error", "detail"] {
        line.extend(text(label).map(|value| format!("{label}={value}")));
    }
    line.join("  ") + "\n"
}
