//! Sends control messages from the command line with the client library. Adds this user's credentials, the directory
//! for long texts, the audit log and error hints.

use std::time::Duration;

use wh_client::sender::{ConnectionError, ControlSender, OutgoingControl, SendError};
use wh_engine::control::audit::{AuditOptions, AuditWriter};
use wh_engine::control::content_ref::ContentRefFolder;
use wh_engine::control::teams::Teams;
use wh_wire::socket::{ControlAck, Credential, ErrorCode};

use crate::async_runtime;
use crate::commands::DeliveryOptions;
use crate::daemon::{DaemonPaths, texts};
use crate::failure::{CliFailure, code, print_to_stderr};

/// Sends a message to a session of this user's daemon and records the result in the audit log.
pub fn send(delivery: &DeliveryOptions, session: &str, message: &OutgoingControl) -> Result<ControlAck, CliFailure> {
    let paths = DaemonPaths::here()?;
    let mut options = AuditOptions::new("wh");
    options.texts = texts()?;
    let audit = AuditWriter::open(paths.sent(), options)
        .map_err(|error| CliFailure::new(code::FAILED, format!("{}: {error}", paths.sent().display())))?;
    let (teams, member) = (paths.teams(), delivery.member.clone());
    let prove = move |team: &str| {
        let token = Teams::open(&teams).and_then(|teams| teams.credential(team, &member));
        token.map(|token| Credential(token.as_str().to_owned())).map_err(|error| error.to_string())
    };
    let shown = paths.clone();
    let sender = ControlSender::new(paths.socket(), &delivery.member, prove)
        .lookup_credentials(move || shown.credentials())
        .retry_policy(message.intent.kind(), delivery.tries())
        .on_long_text(|long| {
            let references = ContentRefFolder::new(long.base, long.max_bytes)?;
            references.write(long.team, long.request_id, long.text, Some(long.expires_at))
        })
        .on_audit(move |record| audit.record(record))
        .on_warning(|words| print_to_stderr(&format!("wh: {words}")));
    async_runtime::block_on(async { Ok(sender.send(session, message).await) })?
        .map_err(|error| failure(&paths, &delivery.member, message, error))
}

fn failure(paths: &DaemonPaths, member: &str, message: &OutgoingControl, error: SendError) -> CliFailure {
    let (words, is_retryable) = (error.to_string(), error.is_retryable());
    match error {
        SendError::Line(ConnectionError::Broken(_)) | SendError::OtherRequest { .. } => {
            CliFailure::new(code::UNREACHABLE, words).hint(retry_hint(message))
        }
        SendError::Line(ConnectionError::Refused(_)) if is_retryable => {
            CliFailure::new(code::REFUSED, words).hint(retry_hint(message))
        }
        SendError::Line(error) => match (paths.require_daemon(), error) {
            (Err(not_running), ConnectionError::Unreachable(_)) => not_running,
            (_, error) => socket_failure(error),
        },
        SendError::Timeout { .. } => CliFailure::new(code::TIMEOUT, words).hint(retry_hint(message)),
        SendError::Unable { .. } => {
            CliFailure::new(code::REFUSED, words).hint("the daemon may have another version; see `wh daemon status`")
        }
        SendError::NoCredential { team, .. } => CliFailure::new(code::UNAUTHORISED, words)
            .hint(format!("create a credential with: wh team add {team} {member}")),
        SendError::TooLong { .. } => CliFailure::new(code::REFUSED, words).hint("send the text in parts"),
        SendError::Text(_) => CliFailure::new(code::FAILED, words),
    }
}

/// Returns a hint with the options that retry the same message.
pub fn retry_hint(message: &OutgoingControl) -> String {
    let (id, sent_at) = (&message.request_id, message.sent_at());
    format!("retry with the same request id: --request-id {id} --sent-at {sent_at}")
}

/// Converts an error of the daemon's socket to a failure.
pub fn socket_failure(error: ConnectionError) -> CliFailure {
    match error {
        ConnectionError::Refused(refused) => match refused.code {
            ErrorCode::SessionNotFound => {
                CliFailure::new(code::UNREACHABLE, refused.message).hint("`wh ls --all` lists the sessions")
            }
            _ => CliFailure::new(code::REFUSED, refused.message),
        },
        error => CliFailure::new(code::UNREACHABLE, error).hint("see `wh daemon status`"),
    }
}

/// Converts seconds to a duration, or returns `otherwise` for an invalid number.
pub fn seconds(given: f64, otherwise: Duration) -> Duration {
    Duration::try_from_secs_f64(given).unwrap_or(otherwise)
}
