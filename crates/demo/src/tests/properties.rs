//! Property tests: invariants under any sequence of orders.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::tricks::TRICKS;

/// Action of the client.
#[derive(Debug, Clone)]
enum Move {
    Prompt(String),
    Answer(u64, Answer),
    Interrupt,
    Model(String),
    Mode(String),
    Call(Call),
    End,
    /// Reads at most this many reports.
    Read(usize),
    /// Waits this many milliseconds.
    Wait(u64),
}

fn any_text() -> impl Strategy<Value = String> {
    let trick = proptest::sample::select(TRICKS.iter().map(|(_, name, _)| format!("/demo {name}")).collect::<Vec<_>>());
    prop_oneof![3 => trick, 1 => "\\PC{0,40}", 1 => Just("show me a diff, with permission".to_owned())]
}

fn any_answer() -> impl Strategy<Value = Answer> {
    let id = proptest::sample::select(vec!["allow_once", "allow_always", "reject", "red", "nothing"]);
    (proptest::option::of(id.prop_map(str::to_owned)), proptest::option::of("[a-z ]{0,8}"))
        .prop_map(|(option, text)| Answer { option, text })
}

fn any_call() -> impl Strategy<Value = Call> {
    let timeout =
        prop_oneof![Just(None), (0u64..500).prop_map(|ms| Some(Duration::from_millis(ms))), Just(Some(Duration::MAX))];
    let tool = proptest::sample::select(vec!["demo/read", "demo/edit", "demo/run", "demo/search", "fly"]);
    prop_oneof![
        timeout.prop_map(|timeout| Call::Pause { timeout, reason: None }),
        Just(Call::Resume),
        Just(Call::ReportStatus),
        (any::<bool>(), proptest::option::of(any::<u64>())).prop_map(|(newest, count)| Call::Forget { newest, count }),
        Just(Call::Clear),
        proptest::option::of(any::<u64>()).prop_map(|tokens| Call::Compact { tokens }),
        Just(Call::Restart),
        Just(Call::OpenStream { description: None }),
        (0u64..60).prop_map(|number| Call::CloseStream(format!("stream-{number}"))),
        tool.prop_map(|name| Call::UseTool {
            name: name.to_owned(),
            arguments: json!({ "path": "a.txt", "content": "a", "command": "c", "text": "t" }),
        }),
        Just(Call::Other { name: "rewind".to_owned(), parameters: json!(null) }),
    ]
}

fn any_move() -> impl Strategy<Value = Move> {
    let model = proptest::sample::select(vec!["swift", "steady", "brief", "huge"]);
    let mode = proptest::sample::select(vec!["ask", "edit", "plan", "yolo"]);
    prop_oneof![
        6 => any_text().prop_map(Move::Prompt),
        6 => (0u64..40, any_answer()).prop_map(|(number, answer)| Move::Answer(number, answer)),
        3 => Just(Move::Interrupt),
        1 => model.prop_map(|id| Move::Model(id.to_owned())),
        1 => mode.prop_map(|id| Move::Mode(id.to_owned())),
        5 => any_call().prop_map(Move::Call),
        6 => (1usize..60).prop_map(Move::Read),
        3 => (0u64..2000).prop_map(Move::Wait),
    ]
}

/// Result of a sequence of actions.
struct Played {
    prompts: u64,
    /// An order ended the agent before the last action.
    cut_short: bool,
    all: Vec<Report>,
    /// Questions that were answered, whether open or not.
    answered: BTreeSet<HarnessKey>,
}

async fn play(moves: Vec<Move>, options: DemoOptions, depth: usize) -> Played {
    let mut rig = Rig::with_depths(options, depth, depth);
    let (mut all, mut answered, mut ended) = (Vec::new(), BTreeSet::new(), false);
    let mut calls = 0;
    for one in moves {
        match one {
            Move::Prompt(text) => {
                rig.prompt(&text).await;
            }
            Move::Answer(number, answer) => {
                let question = format!("question-{number}");
                answered.insert(question.clone());
                rig.order(Order::Answer { question, answer }).await;
            }
            Move::Interrupt => rig.order(Order::Interrupt).await,
            Move::Model(id) => rig.order(Order::SetModel(id)).await,
            Move::Mode(id) => rig.order(Order::SetMode(id)).await,
            Move::Call(call) => {
                calls += 1;
                rig.order(Order::Call { id: calls, call }).await;
            }
            Move::End => {
                ended = true;
                rig.order(Order::End).await;
            }
            Move::Read(most) => {
                for _ in 0..most {
                    let wait = Duration::from_millis(100);
                    let early = rig.early.pop_front();
                    let report = match early {
                        Some(report) => Some(report),
                        None => tokio::time::timeout(wait, rig.harness.reports.recv()).await.ok().flatten(),
                    };
                    let Some(report) = report else { break };
                    // Some answers match open questions.
                    if let Report::Asked { key, question } = &report
                        && most % 2 == 0
                    {
                        answered.insert(key.clone());
                        rig.order(Order::Answer { question: key.clone(), answer: agreeable(question) }).await;
                    }
                    all.push(report);
                }
            }
            Move::Wait(milliseconds) => tokio::time::sleep(Duration::from_millis(milliseconds)).await,
        }
    }
    rig.order(Order::Interrupt).await;
    rig.order(Order::End).await;
    while let Some(report) = rig.next().await {
        all.push(report);
    }
    let called = all.iter().filter(|report| matches!(report, Report::Called(..))).count() as u64;
    assert!(ended || called == calls, "{called} of {calls} calls were answered");
    Played { prompts: rig.turns, cut_short: ended, all, answered }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn every_prompt_ends_exactly_once(
        mut moves in proptest::collection::vec(any_move(), 0..40),
        end in proptest::option::of(0usize..40),
        pace in proptest::sample::select(vec![0u64, 4]),
        depth in proptest::sample::select(vec![1usize, 3, 64]),
        seed: u64,
    ) {
        if let Some(end) = end {
            moves.insert(end.min(moves.len()), Move::End);
        }
        let place = tempfile::tempdir().unwrap();
        let options = DemoOptions { seed, pace: Duration::from_millis(pace), parent: Some(place.path().to_owned()) };
        let Played { prompts, cut_short, all, answered } = runtime().block_on(play(moves, options, depth));
        let mut ended = BTreeSet::new();
        let mut open = BTreeSet::new();
        for report in &all {
            match report {
                Report::Ended(turn, _) => prop_assert!(ended.insert(turn.clone()), "{turn} ended twice"),
                Report::Asked { key, .. } => prop_assert!(open.insert(key.clone()), "{key} was asked twice"),
                Report::Withdrew(key) => prop_assert!(open.remove(key), "{key} was not open"),
                _ => {}
            }
        }
        let waiting: Vec<&HarnessKey> = open.iter().filter(|key| !answered.contains(*key)).collect();
        if !cut_short {
            prop_assert_eq!(ended.len() as u64, prompts);
            prop_assert!(waiting.is_empty(), "{:?} stay open", waiting);
        }
        prop_assert_eq!(all.last(), Some(&Report::Gone(None)));
        prop_assert_eq!(folder_in(place.path()), None);
    }
}
