//! Whatever comes: nobody gets further than the rules say, and no message is carried out twice.

use std::collections::HashMap;

use proptest::prelude::*;
use wh_wire::socket::{ControlAction, ControlKey, ControlResult};

use super::dedupe::{Entry, Fate, Fingerprint, Reached};
use super::tests::{SENT, at, gate, request, target, typed};
use super::*;
use crate::caller::Origin;

fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["ada", "ben", "cleo", "dan", "eve", "ada@crew", "ben@crew"]).prop_map(str::to_owned)
}

fn team() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["crew", "others", "nowhere"]).prop_map(str::to_owned)
}

fn principal() -> impl Strategy<Value = Principal> {
    let member = proptest::option::of((team(), name()).prop_map(|(team, member)| MemberId { team, member }));
    let origin = prop::sample::select(vec![
        Origin::Outside,
        Origin::Session("s1".to_owned()),
        Origin::Session("s2".to_owned()),
        Origin::Elsewhere,
        Origin::Untraceable,
    ]);
    (member, origin).prop_map(|(member, origin)| Principal { member, origin })
}

/// One step in the life of a message: it comes, its execution ends in some way, or wh is started anew.
#[derive(Debug, Clone)]
enum Step {
    Comes { request: u8, text: u8, after: u64 },
    Ends { request: u8, reached: bool, ok: bool },
    Restarts,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..3u8, 0..2u8, 0..400u64).prop_map(|(request, text, after)| Step::Comes { request, text, after }),
        3 => (0..3u8, any::<bool>(), any::<bool>()).prop_map(|(request, reached, ok)| Step::Ends { request, reached, ok }),
        1 => Just(Step::Restarts),
    ]
}

proptest! {
    #[test]
    fn whoever_is_admitted_is_proven_in_the_team_and_its_session(
        principal in principal(), sender in name(), wanted in team(), owner in team(), answers in any::<bool>(),
    ) {
        let action = if answers {
            ControlAction::Answer(wh_wire::socket::ControlAnswer {
                question_id: "q".to_owned(), option: Some("o".to_owned()), decision: None, text: None,
            })
        } else {
            typed("x")
        };
        let mut request = request(action);
        request.sender = sender;
        request.key.team = wanted;
        let target = Target { team: owner, ..target() };
        if let Ok(admitted) = gate().admit(&request, &principal, Some(&target), at(0)) {
            let proven = principal.member.unwrap();
            prop_assert_eq!(&admitted.by, &proven);
            let alias = format!("{}@crew", proven.member);
            prop_assert!(request.sender == proven.member || request.sender == alias);
            prop_assert_eq!(&proven.team, &request.key.team);
            prop_assert_eq!(&proven.team, &target.team);
            prop_assert!(["ada", "cleo"].contains(&proven.member.as_str()));
            prop_assert!(!answers || principal.origin == Origin::Outside);
            prop_assert!(!(answers && proven.member == "cleo"));
        }
    }

    #[test]
    fn what_is_admitted_twice_is_remembered_in_between(
        max_age in 0..2000u64, max_skew in 0..2000u64, dedupe in 0..100u64, first in -2500..2500i64, later in 0..5000i64,
    ) {
        let times = Times {
            max_age: Duration::from_secs(max_age),
            max_skew: Duration::from_secs(max_skew),
            dedupe: Duration::from_secs(dedupe),
        };
        if times.check(SENT, at(first)).is_ok() && times.check(SENT, at(first + later)).is_ok() {
            prop_assert!(Duration::from_secs(later.unsigned_abs()) <= times.remembered());
        }
    }

    /// The way of [the gate](super), with a store that is a map: no text reaches a session twice under one name, and nobody hears `ok`
    /// whose text did not.
    #[test]
    fn under_one_name_at_most_one_text_arrives_and_only_then_anybody_hears_ok(steps in proptest::collection::vec(step(), 1..60)) {
        let gate = gate();
        let mut store: HashMap<ControlKey, (Entry, u64)> = HashMap::new();
        let mut arrived: HashMap<ControlKey, u32> = HashMap::new();
        let mut clock = 0;
        for step in steps {
            match step {
                Step::Comes { request: number, text, after } => {
                    clock += after;
                    let mut message = request(typed(&format!("text {text}")));
                    message.key.request_id = format!("r{number}");
                    let now = at(clock as i64);
                    let Ok(admitted) = gate.admit(&message, &Principal::member("crew", "ada"), Some(&target()), now) else {
                        continue;
                    };
                    store.retain(|_, (_, at)| clock - *at <= admitted.remember_for.as_secs());
                    match store.get(&message.key) {
                        Some((entry, _)) => {
                            let verdict = entry.repeated(&admitted.fingerprint);
                            if verdict.result == ControlResult::Ok {
                                prop_assert!(verdict.duplicate);
                                prop_assert_eq!(arrived.get(&message.key), Some(&1));
                            }
                        }
                        None => {
                            store.insert(message.key.clone(), (Entry::begun(admitted.fingerprint), clock));
                        }
                    }
                }
                Step::Ends { request: number, reached, ok } => {
                    let key = ControlKey { request_id: format!("r{number}"), ..request(typed("x")).key };
                    let pending = store.get(&key).is_some_and(|(entry, _)| entry.fate == Fate::Pending);
                    if pending && let Some((entry, inserted)) = store.remove(&key) {
                        let result = if reached && ok { ControlResult::Ok } else { ControlResult::Timeout };
                        if reached {
                            *arrived.entry(key.clone()).or_default() += 1;
                        }
                        let reached = if reached { Reached::Perhaps } else { Reached::Nothing };
                        if let Some(entry) = entry.after(reached, result, None) {
                            store.insert(key, (entry, inserted));
                        }
                    }
                }
                Step::Restarts => {
                    store = store.into_iter().map(|(key, (entry, at))| (key, (entry.restarted(), at))).collect();
                }
            }
            prop_assert!(arrived.values().all(|count| *count <= 1), "{:?}", arrived);
        }
    }

    #[test]
    fn other_texts_have_other_fingerprints(one in any::<String>(), other in any::<String>()) {
        let fingerprint = |text: &str| Fingerprint::of(&request(typed(text)));
        prop_assert_eq!(one == other, fingerprint(&one) == fingerprint(&other));
    }
}
