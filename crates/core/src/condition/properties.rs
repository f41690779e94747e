//! Property tests of the parser and of parsed conditions.

use proptest::prelude::*;

use super::tests::FixedFacts;
use super::*;

fn any_atom() -> impl Strategy<Value = String> {
    let operator = proptest::sample::select(vec![">", ">=", "<", "<=", "==", "=", "!="]);
    let compared = ("(message_count|FRAMES)", operator, 0u64..12);
    let quoted = "[ -!#-\\[\\]-~é日🙂\\n\\t\\x01]{1,8}";
    let pattern = "(/[a-z.]{1,6}/[imsx]{0,3}|/[a-z]\\\\/[/.]?\\\\\\\\/)";
    prop_oneof![
        compared.prop_map(|(name, operator, number)| format!("{name} {operator}{number}")),
        quoted.prop_map(|text| format!("screen_contains \"{text}\"")),
        "[a-z\"\\n]{1,8}".prop_map(|text| format!("title_contains '{text}'")),
        pattern.prop_filter_map("a whole pattern", |pattern| {
            let source = format!("screen_matches {pattern}");
            Condition::parse(&source).is_ok().then_some(source)
        }),
        (0u64..1200, "(ms|s| ms|)").prop_map(|(number, unit)| format!("screen_stable {number}{unit}")),
        (0u16..5, 0u16..5).prop_map(|(x, y)| format!("cursor_at {x} ,{y}")),
        "exited|reasoning_active|Reasoning_Complete|no_pending_operations|idle|question",
    ]
}

fn any_source() -> impl Strategy<Value = String> {
    any_atom().prop_recursive(4, 24, 4, |inner| {
        let joint = proptest::sample::select(vec![" and ", " && ", " or ", "||", " OR "]);
        prop_oneof![
            inner.clone().prop_map(|source| format!("not {source}")),
            inner.clone().prop_map(|source| format!("!({source})")),
            inner.clone().prop_map(|source| format!("( {source} )")),
            (proptest::collection::vec(inner, 1..4), joint).prop_map(|(sources, joint)| sources.join(joint)),
        ]
    })
}

/// Generates valid conditions. Sources that exceed a limit, for example with too many patterns, are skipped.
fn any_condition() -> impl Strategy<Value = Condition> {
    any_source().prop_filter_map("within the bounds", |source| Condition::parse(&source).ok())
}

prop_compose! {
    fn any_facts()(
        message_count in 0u64..12,
        reasoning_active: bool,
        pending_operations in 0u64..2,
        frames in 0u64..12,
        cursor in proptest::option::of((0u16..5, 0u16..5)),
        title in proptest::option::of("[a-z]{0,12}"),
        exited: bool,
        screen in "[a-z.é\\n]{0,40}",
        quiet in 0u64..2000,
    ) -> FixedFacts {
        FixedFacts {
            message_count,
            reasoning_active,
            pending_operations,
            frames,
            cursor,
            title,
            exited,
            screen,
            quiet_for: Duration::from_millis(quiet),
            ..FixedFacts::default()
        }
    }
}

fn read(source: &str) -> Condition {
    Condition::parse(source).expect("a condition within parentheses is a condition")
}

proptest! {
    #[test]
    fn reading_never_panics(source in any::<String>()) {
        if let Err(error) = Condition::parse(&source) {
            prop_assert!(error.position <= source.chars().count());
            prop_assert!(!error.message.is_empty());
        }
    }

    #[test]
    fn reading_what_is_nearly_a_condition_never_panics(
        source in any_source(), cut in 0usize..60, garbage in "[\"'/\\\\()!&|<>=,. \\x00a-z0-9]{0,6}",
    ) {
        let kept: String = source.chars().take(cut).collect();
        let rest: String = source.chars().skip(cut).collect();
        for source in [format!("{kept}{garbage}"), format!("{kept}{garbage}{rest}")] {
            if let Err(error) = Condition::parse(&source) {
                prop_assert!(error.position <= source.chars().count());
            }
        }
    }

    #[test]
    fn a_written_condition_reads_back_equal(condition in any_condition()) {
        let written = condition.to_string();
        prop_assert_eq!(&written.parse::<Condition>().expect(&written), &condition);
        prop_assert_eq!(read(&written).to_string(), written);
    }

    #[test]
    fn de_morgan_holds(left in any_condition(), right in any_condition(), facts in any_facts()) {
        let ask = |source: String| Condition::parse(&source).map(|condition| condition.holds(&facts));
        prop_assert_eq!(
            ask(format!("not (({left}) and ({right}))")),
            ask(format!("not ({left}) or not ({right})"))
        );
        prop_assert_eq!(
            ask(format!("not (({left}) or ({right}))")),
            ask(format!("not ({left}) and not ({right})"))
        );
    }

    #[test]
    fn not_and_and_or_mean_what_they_say(
        left in any_condition(), right in any_condition(), facts in any_facts(),
    ) {
        let (first, second) = (left.holds(&facts), right.holds(&facts));
        prop_assert_eq!(read(&format!("not ({left})")).holds(&facts), !first);
        if let Ok(both) = Condition::parse(&format!("({left}) and ({right})")) {
            prop_assert_eq!(both.holds(&facts), first && second);
        }
        if let Ok(either) = Condition::parse(&format!("{left} or {right}")) {
            prop_assert_eq!(either.holds(&facts), first || second);
        }
    }

    #[test]
    fn the_screen_is_never_asked_for_where_it_is_not_needed(
        condition in any_condition(), facts in any_facts(),
    ) {
        let _ = condition.holds(&facts);
        prop_assert!(condition.needs_screen() || facts.screen_reads.get() == 0);
    }

    #[test]
    fn time_alone_changes_nothing_before_the_next_change(
        condition in any_condition(), facts in any_facts(), later in 0u64..5000,
    ) {
        let before = condition.holds(&facts);
        let later = facts.quiet_for + Duration::from_millis(later);
        if condition.next_change(facts.quiet_for).is_none_or(|change| later < change) {
            prop_assert_eq!(condition.holds(&FixedFacts { quiet_for: later, ..facts }), before);
        }
    }

    #[test]
    fn every_change_by_time_is_a_stable_threshold(condition in any_condition()) {
        let mut quiet = Duration::ZERO;
        while let Some(change) = condition.next_change(quiet) {
            prop_assert!(change > quiet && change <= MAX_STABLE_DURATION);
            prop_assert!(condition.needs_stability());
            quiet = change;
        }
    }
}
