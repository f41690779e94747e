//! Sending control messages from the command line. The library does it; here are this user's credentials, the folder for long texts and the
//! account, and what failures mean to a person.

use std::time::Duration;

use wh_client::sender::{LineError, Message, Note, SendError, Sender as Sends, Step};
use wh_engine::control::audit::{Act, Audit, Event, Options};
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
        .account(move |note| audit.record(event(note)))
        .warnings(|words| say(&format!("wh: {words}")));
    waiting::block_on(async { Ok(sender.send(session, message).await) })?
        .map_err(|error| failure(&place, &how.member, message, error))
}

fn event(note: &Note<'_>) -> Event {
    let act = match note.step {
        Step::Request => Act::Request,
        Step::Retry => Act::Retry,
        Step::Ack => Act::Ack,
        Step::Duplicate => Act::Duplicate,
        Step::Failure => Act::Failure,
        Step::Timeout => Act::Timeout,
    };
    let owned = |text: Option<&str>| text.map(str::to_owned);
    let mut event = Event::new(act, Some(note.kind), note.key, note.at);
    event.sender = Some(note.sender.to_owned());
    event.result = note.result;
    event.duplicate = note.duplicate;
    event.retry_count = note.retry_count;
    event.retry_of = owned(note.retry_of);
    event.bytes = note.bytes;
    event.error = owned(note.error);
    event.detail = owned(note.detail);
    event.text = owned(note.text);
    event
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
