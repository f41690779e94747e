//! Property tests of the gate: every admitted message complies with the rules, and the request id of a message is
//! stored for as long as the message can be admitted again.

use std::time::Duration;

use proptest::prelude::*;

use super::tests::{SENT, answer, at, gate, request, target, typed};
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

proptest! {
    #[test]
    fn every_admitted_sender_is_authenticated_and_in_the_team(
        principal in principal(), sender in name(), wanted in team(), owner in team(), answers in any::<bool>(),
    ) {
        let payload = if answers { answer("yes") } else { typed("x") };
        let mut request = ControlMessage { sender: &sender, ..request(payload) };
        request.key.team = wanted;
        let target = ControlTarget { team: owner, ..target() };
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
    fn a_message_that_can_be_admitted_twice_is_remembered_in_between(
        max_age in 0..2000u64, max_skew in 0..2000u64, dedupe in 0..100u64, first in -2500..2500i64, later in 0..5000i64,
    ) {
        let times = AgeLimits {
            max_age: Duration::from_secs(max_age),
            max_skew: Duration::from_secs(max_skew),
            dedupe: Duration::from_secs(dedupe),
        };
        if times.check(SENT, at(first)).is_ok() && times.check(SENT, at(first + later)).is_ok() {
            prop_assert!(Duration::from_secs(later.unsigned_abs()) <= times.dedupe_window());
        }
    }
}
