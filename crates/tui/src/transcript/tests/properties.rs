//! Property tests: after any steps, the window shows a contiguous part of the conversation.

use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
enum Step {
    Say(String),
    Grow(usize, String),
    TakeBack(usize),
    Act,
    Press(&'static str),
    Wheel(bool),
    Click(u16),
    Resize(u16, u16),
    Verbose,
    Streams,
    Reset,
    Clear,
    Follow,
}

const KEYS: [&str; 14] = [
    "pageup",
    "pageup",
    "pagedown",
    "ctrl+home",
    "ctrl+end",
    "alt+up",
    "alt+up",
    "alt+down",
    "home",
    "end",
    "enter",
    "ctrl+o",
    "escape",
    "x",
];

fn step() -> impl Strategy<Value = Step> {
    let words = "([a-z日👍]{1,9} |\n){0,16}";
    prop_oneof![
        4 => words.prop_map(Step::Say),
        3 => (0usize..40, words).prop_map(|(number, words)| Step::Grow(number, words)),
        1 => (0usize..40).prop_map(Step::TakeBack),
        1 => Just(Step::Act),
        6 => (0..KEYS.len()).prop_map(|key| Step::Press(KEYS[key])),
        2 => any::<bool>().prop_map(Step::Wheel),
        1 => (0u16..20).prop_map(Step::Click),
        1 => (0u16..90, 0u16..20).prop_map(|(width, height)| Step::Resize(width, height)),
        1 => Just(Step::Verbose),
        1 => Just(Step::Streams),
        1 => Just(Step::Reset),
        1 => Just(Step::Clear),
        1 => Just(Step::Follow),
    ]
}

fn take(bench: &mut Bench, step: Step, floor: &mut u64) {
    let number = bench.state.items.len();
    match step {
        Step::Say(words) => bench.put("human", number, text(&words), ItemProgress::Done),
        Step::Grow(at, words) => bench.put("demo", at.min(number), text(&words), ItemProgress::Growing),
        Step::TakeBack(at) if at < number => bench.put("demo", at, text(""), ItemProgress::Retracted),
        Step::TakeBack(_) => {}
        Step::Act => {
            let body =
                ItemBody::Act { kind: "chat/acknowledge".to_owned(), payload: serde_json::json!({}), about: vec![] };
            bench.put("demo", number, body, ItemProgress::Done);
        }
        Step::Press(key) => {
            bench.press(key);
        }
        Step::Wheel(up) => {
            bench.mouse(if up { MouseAction::WheelUp } else { MouseAction::WheelDown }, 0, 0);
        }
        Step::Click(y) => {
            bench.mouse(MouseAction::Press, 0, y);
        }
        Step::Resize(width, height) => bench.size = (width, height),
        Step::Verbose => bench.verbose = !bench.verbose,
        Step::Streams => bench.streams = !bench.streams,
        Step::Reset => bench.transcript.sync(&bench.state, &MirrorChange { reset: true, ..MirrorChange::default() }),
        Step::Clear => {
            bench.transcript.clear_view(&bench.state);
            *floor = number as u64;
        }
        Step::Follow => bench.transcript.follow(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn the_window_shows_a_part_of_the_whole(steps in prop::collection::vec((step(), any::<bool>()), 1..60)) {
        let mut bench = Bench::new(50, 9);
        let mut cleared = 0;
        for (step, drawn) in steps {
            take(&mut bench, step, &mut cleared);
            if !drawn {
                continue;
            }
            let unmarked = |rows: Vec<String>| -> Vec<String> {
                let bare = |row: String| row.chars().skip(1).collect::<String>().trim_end().to_owned();
                rows.into_iter().map(bare).collect()
            };
            let mut seen = unmarked(bench.frame());
            let mut whole = unmarked(bench.whole_from(cleared));
            let height = usize::from(bench.size.1);
            if bench.size.0 == 0 || height == 0 {
                continue;
            }
            if bench.transcript.following() {
                prop_assert_eq!(bench.transcript.below(), 0);
                let end = whole.len().saturating_sub(height);
                seen.truncate(whole.len());
                prop_assert_eq!(&seen[..], &whole[end..]);
            } else if whole.len() > height {
                let found = whole.windows(height).rposition(|window| window == &seen[..]);
                prop_assert!(found.is_some(), "{:#?} is not a part of {:#?}", seen, whole);
                let below = bench.transcript.below();
                let at = whole.len() - height - below.min(whole.len() - height);
                prop_assert_eq!(&whole[at..at + height], &seen[..], "{} below", below);
            } else {
                whole.resize(height, String::new());
                prop_assert_eq!(seen, whole);
            }
        }
    }
}
