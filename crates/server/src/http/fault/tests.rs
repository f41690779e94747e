//! Status, code and headers of faults, which callers compare with.

use http_body_util::BodyExt;
use wh_core::space::command::SpaceRefusal as OfSpace;

use super::*;

struct Answered {
    status: u16,
    body: ErrorBody,
    response: Response,
}

async fn answer_to(fault: impl Into<Fault>) -> Answered {
    let (parts, body) = fault.into().into_response().into_parts();
    let body = serde_json::from_slice(&body.collect().await.unwrap().to_bytes()).unwrap();
    Answered { status: parts.status.as_u16(), body, response: Response::from_parts(parts, axum::body::Body::empty()) }
}

impl Answered {
    fn header(&self, name: &str) -> Option<&str> {
        self.response.headers().get(name).map(|value| value.to_str().unwrap())
    }
}

#[tokio::test]
async fn a_fault_has_the_code_of_its_reason_or_else_its_words() {
    let faults: Vec<(Fault, u16, &str, &str)> = vec![
        (Fault::NoSuchPath, 404, "Not found", "not_found"),
        (Fault::NoSuchMethod, 405, "Method not allowed", "method_not_allowed"),
        (Fault::NoToken, 401, "Unauthorized", "unauthorized"),
        (Fault::Forbidden("why".to_owned()), 403, "Forbidden", "forbidden"),
        (Fault::Invalid("why".to_owned()), 400, "Invalid request", "invalid_request"),
        (Fault::Refused("Invalid size", "why".to_owned()), 400, "Invalid size", "invalid_size"),
        (Fault::TooLarge { limit: 3 }, 413, "Body too large", "body_too_large"),
        (Fault::TooSlow, 408, "Body too slow", "body_too_slow"),
        (Fault::NoConversation, 503, "TUI bridge is not yet registered", Reason::PlainProgram.code()),
        (Fault::Lost, 409, "Session lost", Reason::Ended.code()),
        (Fault::NoLastScreen, 404, "No last screen", "no_last_screen"),
        (Fault::Unread, 408, "Not read yet", Reason::Unread.code()),
        (Fault::Line(LineError::Shell), 409, "Shell not allowed", Reason::ShellNotAllowed.code()),
        (TerminalRefusal::Ended.into(), 409, "Program has ended", TerminalRefusal::Ended.reason().code()),
        (TerminalRefusal::RequestIdReused.into(), 409, "Request id reused", Reason::RequestIdReused.code()),
        (OfSpace::RequestIdReused.into(), 409, "Request id reused", Reason::RequestIdReused.code()),
        (
            CreateError::IdempotencyKeyReused("x".to_owned()).into(),
            409,
            "Request id reused",
            Reason::RequestIdReused.code(),
        ),
        (CreateError::NoSuchSession("x".to_owned()).into(), 404, "No such session", Reason::NoSession.code()),
        (CreateError::Stopping.into(), 503, "Stopping", "stopping"),
        (CallerRefusal::Inside.into(), 403, "Inside a session", CallerRefusal::Inside.reason().code()),
        (CreateError::Refused(CallerRefusal::Person).into(), 403, "Not outside", CallerRefusal::Person.reason().code()),
        (PieceError::NoLongerStored.into(), 410, "Not kept", "not_kept"),
        (SessionGone.into(), 503, "Session gone", "session_gone"),
    ];
    for (fault, status, error, code) in faults {
        let detail = fault.to_string();
        let answered = answer_to(fault).await;
        assert_eq!(
            (answered.status, answered.body.error.as_str(), answered.body.code.as_deref()),
            (status, error, Some(code))
        );
        assert_eq!(answered.body.detail, Some(detail), "{error}");
    }
}

#[tokio::test]
async fn a_refusal_has_one_status_wherever_it_comes_from() {
    for refusal in [CallerRefusal::Inside, CallerRefusal::Untraceable, CallerRefusal::Person] {
        let direct = answer_to(refusal.clone()).await;
        let created = answer_to(CreateError::Refused(refusal)).await;
        assert_eq!((direct.status, direct.body), (created.status, created.body));
    }
    let (session, space) = (answer_to(TerminalRefusal::LedgerFull).await, answer_to(OfSpace::LedgerFull).await);
    assert_eq!((session.status, session.body.error), (space.status, space.body.error));
}

#[tokio::test]
async fn headers_say_what_to_do_about_it() {
    assert_eq!(answer_to(Fault::NoToken).await.header("www-authenticate"), Some("Bearer"));
    assert_eq!(answer_to(Fault::UpgradeRequired).await.header("upgrade"), Some("websocket"));
    for busy in [Fault::TooManyWatchers, Fault::NoConversation, CreateError::TooMany(3).into(), SessionGone.into()] {
        assert_eq!(answer_to(busy).await.header("retry-after"), Some("1"));
    }
    let full = answer_to(ConnectionsFull).await;
    assert_eq!((full.status, full.header("connection"), full.header("retry-after")), (503, Some("close"), Some("1")));
    let plain = answer_to(Fault::NoSuchPath).await;
    for name in ["www-authenticate", "upgrade", "retry-after", "connection"] {
        assert_eq!(plain.header(name), None);
    }
}

#[tokio::test]
async fn a_condition_has_its_place_and_a_failed_start_its_hint() {
    let condition = answer_to(Fault::Condition { message: "no such thing".to_owned(), position: 7 }).await;
    assert_eq!((condition.status, condition.body.position), (400, Some(7)));
    assert_eq!(answer_to(Fault::NoSuchPath).await.body.position, None);
    let failed = CreateError::Failed { message: "it is not there".to_owned(), hint: Some("install it".to_owned()) };
    assert_eq!(answer_to(failed).await.body.detail.as_deref(), Some("it is not there; install it"));
}
