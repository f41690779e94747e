//! Sending control messages from the command line. The library does it; here are this user's credentials, the folder for long texts and the
//! account, and what failures mean to a person.

use std::time::Duration;

use wh_client::sender::{LineError, Message, SendError, Sender as Sends};
use wh_engine::control::audit::{Audit, Options};
use wh_engine::control::content_ref::References;
use wh_engine::control::teams::Teams;
use wh_wire::socket::{ControlAck, Credential, ErrorCode};

use crate::commands::How;
use crate::daemon::{Place, texts};
use crate::failure::{Failure, code, say};
use crate::waiting;

/// Sends a message to a session of the daemon here, and writes down what became of it.
pub fn send(how: &How, session: &str, message: &Message) -> Result<ControlAck, Failure> {
    let place = Place::here()?;
    let mut options = Options::new("wh");
    options.texts = texts()?;
    let audit = Audit::open(place.sent(), options)
        .map_err(|error| Failure::new(code::FAILED, format!("{}: {error}", place.sent().display())))?;
    let (teams, member) = (place.teams(), how.member.clone());
    let prove = move |team: &str| {
        let token = Teams::open(&teams).and_then(|teams| teams.credential(team, &member));
        token.map(|token| Credential(token.as_str().to_owned())).map_err(|error| error.to_string())
    };
    let shown = place.clone();
    let sender = Sends::new(place.socket(), &how.member, prove)
        .shows(move || shown.credentials())
        .tries(message.wish.kind(), how.tries())
        .texts(|long| {
            let references = References::new(long.base, long.longest)?;
            references.write(long.team, long.request_id, long.text, Some(long.expires_at))
        })
        .account(move |record| audit.record(record))
        .warnings(|words| say(&format!("wh: {words}")));
    waiting::block_on(async { Ok(sender.send(session, message).await) })?
        .map_err(|error| failure(&place, &how.member, message, error))
}

fn failure(place: &Place, member: &str, message: &Message, error: SendError) -> Failure {
    let (words, may_pass) = (error.to_string(), error.may_pass());
    match error {
        SendError::Line(LineError::Broken(_)) | SendError::OtherRequest { .. } => {
            Failure::new(code::UNREACHABLE, words).hint(again(message))
        }
        SendError::Line(LineError::Refused(_)) if may_pass => Failure::new(code::REFUSED, words).hint(again(message)),
        SendError::Line(error) => match (place.needed(), error) {
            (Err(nobody), LineError::Unreachable(_)) => nobody,
            (_, error) => unanswered(error),
        },
        SendError::Timeout { .. } => Failure::new(code::TIMEOUT, words).hint(again(message)),
        SendError::Unable { .. } => {
            Failure::new(code::REFUSED, words).hint("is the daemon of another version? wh daemon status tells")
        }
        SendError::NoCredential { team, .. } => {
            Failure::new(code::UNAUTHORISED, words).hint(format!("make one with: wh team add {team} {member}"))
        }
        SendError::TooLong { .. } => Failure::new(code::REFUSED, words).hint("send it in parts"),
        SendError::Text(_) => Failure::new(code::FAILED, words),
    }
}

/// How a message is repeated so that it is known as the same.
pub fn again(message: &Message) -> String {
    let (id, sent_at) = (&message.request_id, message.sent_at());
    format!("ask again under the same name: --request-id {id} --sent-at {sent_at}")
}

/// What it means that the daemon's socket does not answer, or says no.
pub fn unanswered(error: LineError) -> Failure {
    match error {
        LineError::Refused(refused) => match refused.code {
            ErrorCode::SessionNotFound => {
                Failure::new(code::UNREACHABLE, refused.message).hint("wh ls --all lists the sessions")
            }
            _ => Failure::new(code::REFUSED, refused.message),
        },
        error => Failure::new(code::UNREACHABLE, error).hint("wh daemon status tells more"),
    }
}

/// So many seconds, or the other where there is no such time.
pub fn seconds(given: f64, otherwise: Duration) -> Duration {
    Duration::try_from_secs_f64(given).unwrap_or(otherwise)
}
