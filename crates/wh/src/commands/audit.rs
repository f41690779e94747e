//! Implements `wh audit`, which shows the audit log of control messages.

use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use clap::Args;
use serde_json::Value;
use wh_engine::control::audit::{AuditFilter, LoggedRecord, read};
use wh_wire::socket::ControlResult;

use super::wait::duration;
use crate::daemon::DaemonPaths;
use crate::failure::{CliFailure, code, print_to_stderr, with_exit_codes};
use crate::print::{clean_line, json_line, print};
use crate::target::{OPTIONAL_ANSWER_TIMEOUT, TargetArguments};

/// Show the audit log of control messages
///
/// Prints the daemon's audit log, or with --sent the log of this user's `wh control` commands. The log contains message
/// texts only if WH_AUDIT_TEXT was set.
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes("  wh audit\n  wh audit --session a --since 10m\n  wh audit --result rejected --json | jq .", &[]))]
pub struct AuditCommand {
    /// Filter by session name or id
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,

    /// Filter by request id
    #[arg(long, value_name = "ID")]
    request_id: Option<String>,

    /// Filter by team
    #[arg(long, value_name = "TEAM")]
    team: Option<String>,

    /// Filter by sender
    #[arg(long, value_name = "MEMBER")]
    sender: Option<String>,

    /// Filter by result: ok, not_live, not_found, busy, timeout, rejected, internal_error
    #[arg(long, value_name = "RESULT", value_parser = result)]
    result: Option<ControlResult>,

    /// Show only entries of the last TIME, e.g. 10m or 2h
    #[arg(long, value_name = "TIME", value_parser = duration)]
    since: Option<Duration>,

    /// Show the newest N entries
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
    newest: usize,

    /// Show the log of your `wh control` commands instead of the daemon's log
    #[arg(long)]
    sent: bool,

    /// Print one JSON object per line, with full field names
    #[arg(long)]
    json: bool,
}

fn result(text: &str) -> Result<ControlResult, String> {
    ControlResult::of(text).ok_or_else(|| {
        let known: Vec<&str> = ControlResult::ALL.iter().map(|one| one.as_str()).collect();
        format!("expected one of {}", known.join(", "))
    })
}

impl AuditCommand {
    pub fn run(self) -> Result<ExitCode, CliFailure> {
        let paths = DaemonPaths::here()?;
        let path = if self.sent { paths.sent() } else { paths.audit() };
        let filter = AuditFilter {
            request_id: self.request_id,
            team: self.team,
            session_id: self.session.map(|session| id_of(&paths, session)),
            sender: self.sender,
            result: self.result,
            since: self.since.and_then(|since| SystemTime::now().checked_sub(since)),
            newest: Some(self.newest),
        };
        if !path.exists() {
            print_to_stderr("wh: the audit log is empty");
            return Ok(ExitCode::SUCCESS);
        }
        let reading = read(&path, &filter)
            .map_err(|error| CliFailure::new(code::FAILED, format!("{}: {error}", path.display())))?;
        if reading.unreadable > 0 {
            print_to_stderr(&format!("wh: skipped {} unreadable lines", reading.unreadable));
        }
        for record in &reading.records {
            let line =
                if self.json { json_line(&Value::Object(record.0.clone()).to_string()) } else { record_line(record) };
            print(&line)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Asks the daemon for the id of the session with this name. Returns the name unchanged if the daemon is not running or
/// does not know the session.
fn id_of(paths: &DaemonPaths, session: String) -> String {
    let target = paths
        .running_daemon()
        .and_then(|_| TargetArguments::for_daemon(OPTIONAL_ANSWER_TIMEOUT).with_session(Some(session.clone())).ok());
    let known = target.and_then(|target| target.summary().ok().flatten());
    known.map_or(session, |one| one.session_id)
}

fn record_line(record: &LoggedRecord) -> String {
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
