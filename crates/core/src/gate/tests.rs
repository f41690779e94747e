use std::time::{Duration, SystemTime};

use super::*;
use crate::caller::{Origin, SessionLineage};
use crate::request::{Decision, RequestKey};

/// Returns the time this many seconds after [`SENT`].
pub(super) fn at(seconds: i64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs((1_771_622_100 + seconds).unsigned_abs())
}

pub(super) const SENT: &str = "2026-02-20T21:15:00Z";

pub(super) fn request(payload: ControlPayload<'static>) -> ControlMessage<'static> {
    let key = RequestKey {
        team: "crew".to_owned(),
        session: "s1".to_owned(),
        agent: "codex:s1".to_owned(),
        request: "req_1".to_owned(),
    };
    ControlMessage { key, sender: "ada", sent_at: SENT, payload }
}

/// The fingerprint of a message.
fn fingerprint_of(message: &ControlMessage<'_>) -> Fingerprint {
    Fingerprint::of(message.sender, &message.payload.content().unwrap())
}

pub(super) fn typed(text: &str) -> ControlPayload<'_> {
    ControlPayload::Text { text: TextSource::Inline(text), interrupt: false }
}

fn reference(bytes: u64) -> ControlPayload<'static> {
    ControlPayload::Text { text: TextSource::Reference { bytes, sha256: SHA256_OF_X }, interrupt: false }
}

/// The digest of "x".
const SHA256_OF_X: &str = "2D711642B726B04401627CA9FBAC32F5C8530FB1903CC4DB02258717921A4881";

pub(super) fn answer(option: &str) -> ControlPayload<'_> {
    ControlPayload::Answer { question: "q1", option: Some(option), decision: None, text: None }
}

fn rules(texts: &[&str]) -> Vec<Rule> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

/// Gate with a team: a plain member, an observer, a member who may type to codex but not to the session `precious`, and
/// a member whose role does not exist.
pub(super) fn gate() -> Gate {
    let mut team = Team::default();
    let roles = [(None, "ada"), (Some("observer"), "ben"), (Some("typist"), "cleo"), (Some("gone"), "dan")];
    for (role, name) in roles {
        let member = Member { alias: Some(format!("{name}@crew")), role: role.map(str::to_owned) };
        team.members.insert(name.to_owned(), member);
    }
    team.roles.insert("observer".to_owned(), Role { allow: rules(&["interrupt"]), deny: vec![] });
    let typist = Role { allow: rules(&["stdin@codex:*"]), deny: rules(&["*@precious"]) };
    team.roles.insert("typist".to_owned(), typist);
    let mut policy = Policy::default();
    policy.teams.insert("crew".to_owned(), team);
    policy.teams.insert("others".to_owned(), Team::default());
    Gate { policy, ..Gate::default() }
}

pub(super) fn target() -> ControlTarget {
    ControlTarget {
        session_id: "s1".to_owned(),
        agent_id: "codex:s1".to_owned(),
        name: "reviewer".to_owned(),
        team: "crew".to_owned(),
        terminal: false,
        lineage: SessionLineage {
            session: Some("s1".to_owned()),
            creators: vec!["s0".to_owned()],
            ..SessionLineage::default()
        },
    }
}

fn by(name: &str) -> Principal {
    Principal::member("crew", name)
}

fn refused(request: &ControlMessage<'_>, principal: &Principal) -> GateRefusal {
    gate().admit(request, principal, Some(&target()), at(0)).unwrap_err()
}

fn from(name: &'static str, payload: ControlPayload<'static>) -> ControlMessage<'static> {
    ControlMessage { sender: name, ..request(payload) }
}

#[test]
fn a_member_may_type_to_a_session_of_the_team() {
    let admitted = gate().admit(&request(typed("hello")), &by("ada"), Some(&target()), at(1)).unwrap();
    assert_eq!(admitted.by, MemberId { team: "crew".to_owned(), member: "ada".to_owned() });
    assert_eq!(admitted.warning, None);
    assert_eq!(gate().age_limits.dedupe_window(), Duration::from_secs(900));
}

#[test]
fn a_member_is_known_by_the_other_name_too() {
    let admitted = gate().admit(&from("ada@crew", typed("x")), &by("ada"), Some(&target()), at(0)).unwrap();
    assert_eq!(admitted.by.member, "ada");
    let refused = refused(&from("ben@crew", typed("x")), &by("ada"));
    assert_eq!(refused.reason().code(), "other_sender");
}

#[test]
fn a_message_is_taken_from_its_skew_to_its_age_and_not_a_second_outside() {
    let admit = |now| gate().admit(&request(typed("x")), &by("ada"), Some(&target()), now);
    for seconds in [-300, 0, 600] {
        assert!(admit(at(seconds)).is_ok(), "{seconds}");
    }
    assert_eq!(admit(at(601)).unwrap_err(), GateRefusal::TooOld { age: 601, allowed: 600 });
    assert_eq!(admit(at(-301)).unwrap_err(), GateRefusal::Ahead { by: 301, allowed: 300 });
    let moment = Duration::from_millis(1);
    assert_eq!(admit(at(600) + moment).unwrap_err(), GateRefusal::TooOld { age: 601, allowed: 600 });
    assert_eq!(admit(at(-300) - moment).unwrap_err(), GateRefusal::Ahead { by: 301, allowed: 300 });
}

#[test]
fn a_message_that_is_too_old_is_sent_again_under_its_id() {
    let old = gate().admit(&request(typed("x")), &by("ada"), Some(&target()), at(601)).unwrap_err().to_string();
    assert!(old.contains("a new sent_at and the same request_id"), "{old}");
    let first = gate().admit(&request(typed("x")), &by("ada"), Some(&target()), at(0)).unwrap();
    let again = ControlMessage { sent_at: "2026-02-20T21:25:01Z", ..request(typed("x")) };
    let again = gate().admit(&again, &by("ada"), Some(&target()), at(601)).unwrap();
    assert_eq!(again.fingerprint, first.fingerprint, "it counts as a retry");
}

#[test]
fn a_time_may_be_of_another_zone_but_must_be_a_time() {
    let sent = |text: &'static str| ControlMessage { sent_at: text, ..request(typed("x")) };
    assert!(gate().admit(&sent("2026-02-20T23:15:00.5+02:00"), &by("ada"), Some(&target()), at(1)).is_ok());
    for wrong in ["yesterday", "2026-02-20T21:15:00", "1771622100", "2026-13-01T00:00:00Z"] {
        assert!(matches!(refused(&sent(wrong), &by("ada")), GateRefusal::NoTime { field: "sent_at", .. }), "{wrong}");
    }
}

#[test]
fn limits_count_bytes_and_hold_to_the_byte() {
    let admit = |payload: ControlPayload<'_>| {
        let message = ControlMessage { payload, ..request(typed("x")) };
        gate().admit(&message, &by("ada"), Some(&target()), at(0))
    };
    assert_eq!(admit(typed(&"x".repeat(64 << 10))).unwrap().warning, None);
    assert!(admit(typed(&"x".repeat((64 << 10) + 1))).unwrap().warning.unwrap().contains("65537 bytes"));
    assert!(admit(typed(&"x".repeat(1 << 20))).is_ok());
    let bytes = (1 << 20) + 2;
    assert_eq!(admit(typed(&"ä".repeat(bytes / 2))), Err(GateRefusal::TooLong { bytes, allowed: 1 << 20 }));
    assert_eq!(admit(typed("")), Err(GateRefusal::Empty));
    assert_eq!(admit(typed(" \n\t")), Err(GateRefusal::Empty));
    assert_eq!(admit(reference(0)), Err(GateRefusal::Empty));
    assert!(admit(reference(16 << 20)).is_ok());
    let bytes = (16 << 20) + 1;
    assert_eq!(admit(reference(bytes)), Err(GateRefusal::ReferenceTooLong { bytes, allowed: 16 << 20 }));
}

#[test]
fn names_that_cannot_be_are_refused() {
    let mut long = request(typed("x"));
    long.key.request = "r".repeat(129);
    assert!(matches!(refused(&long, &by("ada")), GateRefusal::RequestId(_)));
    let mut control = request(typed("x"));
    control.key.team = "cr\new".to_owned();
    assert_eq!(refused(&control, &by("ada")), GateRefusal::Name("team"));
}

#[test]
fn an_unauthenticated_sender_is_refused() {
    assert_eq!(refused(&request(typed("x")), &Principal::default()), GateRefusal::Unproven);
    let refused = refused(&from("ben", typed("x")), &by("ada"));
    assert_eq!(refused.to_string(), "the message names the sender \"ben\", but the token belongs to ada@crew");
}

#[test]
fn a_member_of_another_team_or_of_none_is_refused() {
    let stranger = Principal::member("others", "ada");
    assert_eq!(refused(&request(typed("x")), &stranger).reason().code(), "other_team");
    let mut elsewhere = request(typed("x"));
    elsewhere.key.team = "others".to_owned();
    assert_eq!(refused(&elsewhere, &by("ada")).reason().code(), "other_team");
    assert_eq!(refused(&from("eve", typed("x")), &by("eve")).reason().code(), "no_member");
}

#[test]
fn a_session_of_another_team_looks_missing() {
    let target = ControlTarget { team: "others".to_owned(), ..target() };
    let refused = gate().admit(&request(typed("x")), &by("ada"), Some(&target), at(0)).unwrap_err();
    assert_eq!(refused.reason().code(), "no_session");
    assert!(!refused.to_string().contains("others"));
}

#[test]
fn a_session_that_is_gone_is_left_to_liveness() {
    assert!(gate().admit(&request(typed("x")), &by("ada"), None, at(0)).is_ok());
}

#[test]
fn the_agent_must_be_that_of_the_session() {
    let mut other = request(typed("x"));
    other.key.agent = "claude:s1".to_owned();
    assert_eq!(refused(&other, &by("ada")).reason().code(), "other_agent");
}

#[test]
fn roles_allow_by_action_and_session_and_denials_win() {
    let admit = |name: &'static str, action, target: &ControlTarget| {
        gate().admit(&from(name, action), &by(name), Some(target), at(0)).map_err(|refused| refused.reason().code())
    };
    assert_eq!(admit("ben", typed("x"), &target()).unwrap_err(), "not_allowed");
    assert!(admit("cleo", typed("x"), &target()).is_ok());
    assert_eq!(admit("cleo", ControlPayload::Interrupt, &target()).unwrap_err(), "not_allowed");
    let precious = ControlTarget { name: "precious".to_owned(), ..target() };
    assert_eq!(admit("cleo", typed("x"), &precious).unwrap_err(), "denied");
    assert_eq!(admit("dan", typed("x"), &target()).unwrap_err(), "no_role");
    let gemini = ControlTarget { agent_id: "gemini:s1".to_owned(), ..target() };
    assert_eq!(admit("cleo", typed("x"), &gemini).unwrap_err(), "not_allowed");
}

#[test]
fn a_team_may_take_rights_from_its_plain_members() {
    let mut gate = gate();
    let role = Role { allow: rules(&["*"]), deny: rules(&["answer"]) };
    gate.policy.teams.get_mut("crew").unwrap().roles.insert("member".to_owned(), role);
    let refused = gate.admit(&request(answer("yes")), &by("ada"), Some(&target()), at(0)).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "ada@crew may not perform the action `answer` on this session: the role \"member\" denies it by the rule \"answer\""
    );
}

#[test]
fn a_caller_inside_a_session_answers_only_for_sessions_that_it_created() {
    let from = |origin| Principal { origin, ..by("ada") };
    let inside = |id: &str| from(Origin::Session(id.to_owned()));
    let (own, creator, other, gone) = (inside("s1"), inside("s0"), inside("s2"), from(Origin::Untraceable));
    let admit = |action, principal: &Principal, target: &ControlTarget| {
        gate()
            .admit(&request(action), principal, Some(target), at(0))
            .map(|_| ())
            .map_err(|refused| refused.reason().code())
    };
    let decision =
        ControlPayload::Answer { question: "q1", option: None, decision: Some(Decision::Approve), text: None };
    for action in [answer("yes"), decision, typed(" /mode all")] {
        assert_eq!(admit(action.clone(), &own, &target()), Err("own_question"));
        assert_eq!(admit(action.clone(), &other, &target()), Err("inside_session"));
        assert_eq!(admit(action.clone(), &gone, &target()), Err("untraceable"));
        assert_eq!(admit(action, &creator, &target()), Ok(()));
    }
    for principal in [&own, &creator, &other, &gone] {
        assert_eq!(admit(typed("hello"), principal, &target()), Ok(()), "{principal:?}");
        assert_eq!(admit(ControlPayload::Interrupt, principal, &target()), Ok(()), "{principal:?}");
    }
    let terminal = ControlTarget { terminal: true, ..target() };
    assert_eq!(admit(typed("1"), &own, &terminal), Err("own_question"));
    assert_eq!(admit(typed("1"), &other, &terminal), Err("inside_session"));
    assert_eq!(admit(typed("1"), &creator, &terminal), Ok(()));
    let parent = ControlTarget { lineage: SessionLineage { has_created: true, ..target().lineage }, ..target() };
    assert_eq!(admit(typed("hello"), &other, &parent), Err("inside_session"));
    // The text behind a reference is checked once it has been read.
    assert_eq!(admit(reference(1), &other, &target()), Ok(()));
    let refused = gate().check_referenced_text("/mode all", &other, &target()).unwrap_err();
    assert_eq!(refused.reason().code(), "inside_session");
}

#[test]
fn rules_are_read_and_written() {
    for text in ["*", "stdin", "interrupt", "*@s1", "answer@codex:*", "stdin@a@b"] {
        assert_eq!(text.parse::<Rule>().unwrap().to_string(), text);
    }
    for wrong in ["", "type", "watch", "STDIN", "stdin@", "@s1", "stdin interrupt"] {
        assert!(wrong.parse::<Rule>().is_err(), "{wrong:?}");
    }
}

#[test]
fn a_fingerprint_covers_the_content_and_not_the_time_of_sending() {
    let first = fingerprint_of(&request(typed("x")));
    let retry = ControlMessage { sent_at: "2026-02-20T21:15:09Z", ..request(typed("x")) };
    assert_eq!(fingerprint_of(&retry), first);
    assert_eq!(fingerprint_of(&request(reference(1))), first);
    assert_ne!(fingerprint_of(&request(typed("y"))), first);
    assert_ne!(fingerprint_of(&from("ben", typed("x"))), first);
    assert_ne!(fingerprint_of(&request(answer("a"))), fingerprint_of(&request(answer("b"))));
    assert_eq!(Fingerprint::stored(first.as_str()), first);
}
