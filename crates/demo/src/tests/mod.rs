//! Tests of the demo agent through its channels: orders in, reports out.

mod calls;
mod files;
mod interrupts;
mod lasting;
mod properties;
mod questions;
mod tricks;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;
use std::time::Duration;

use wh_agents::interface::{Harness, StartOptions};
use wh_core::space::harness::{Call, HarnessKey, Order, Report, ReportedCapabilities, TurnOutcome};
use wh_core::space::item::{ItemBody, ToolCall, ToolResultPart};
use wh_core::space::question::{Answer, Question};
use wh_core::space::{ItemId, TurnId};

use super::{Demo, DemoOptions};

/// Timeout for a hang. Longer than anything takes on a paused clock, which only advances when all tasks wait.
const HANG_TIMEOUT: Duration = Duration::from_secs(1_000_000);

/// Client of a demo agent.
struct Rig {
    harness: Harness,
    /// Reports that arrived while an order waited for room.
    early: VecDeque<Report>,
    turns: u64,
    calls: u64,
}

fn timeless() -> DemoOptions {
    DemoOptions { pace: Duration::ZERO, ..DemoOptions::default() }
}

fn option(id: &str) -> Answer {
    Answer { option: Some(id.to_owned()), text: None }
}

fn words(text: &str) -> Answer {
    Answer { option: None, text: Some(text.to_owned()) }
}

/// Allows, takes the first choice, or writes something.
fn agreeable(question: &Question) -> Answer {
    question.options.first().map_or_else(|| words("Tern"), |first| option(&first.id))
}

impl Rig {
    fn new(options: DemoOptions) -> Self {
        Self::with_depths(options, 64, 256)
    }

    fn with_depths(options: DemoOptions, orders: usize, reports: usize) -> Self {
        let (harness, inside) = Harness::with_capacities(orders, reports);
        Demo::new(options).perform(&StartOptions::new("."), inside).unwrap();
        Self { harness, early: VecDeque::new(), turns: 0, calls: 0 }
    }

    async fn order(&mut self, order: Order) {
        loop {
            tokio::select! {
                biased;
                room = self.harness.orders.reserve() => {
                    // An agent that has ended takes no orders.
                    if let Ok(room) = room {
                        room.send(order);
                    }
                    return;
                }
                Some(report) = self.harness.reports.recv() => self.early.push_back(report),
            }
        }
    }

    async fn next(&mut self) -> Option<Report> {
        if let Some(report) = self.early.pop_front() {
            return Some(report);
        }
        tokio::time::timeout(HANG_TIMEOUT, self.harness.reports.recv()).await.expect("the agent hangs")
    }

    async fn until(&mut self, last: impl Fn(&Report) -> bool) -> Vec<Report> {
        let mut all = Vec::new();
        loop {
            let report = self.next().await.expect("the agent is gone");
            let done = last(&report);
            all.push(report);
            if done {
                return all;
            }
        }
    }

    async fn prompt(&mut self, text: &str) -> TurnId {
        self.turns += 1;
        let (turn, item) = (TurnId::from(format!("turn-{}", self.turns)), ItemId::from(format!("m-{}", self.turns)));
        self.order(Order::Prompt { turn: turn.clone(), item, text: text.to_owned(), attachments: Vec::new() }).await;
        turn
    }

    /// All reports of a turn, with questions answered by this function.
    async fn turn(&mut self, text: &str, answer: impl Fn(&Question) -> Answer) -> Vec<Report> {
        let turn = self.prompt(text).await;
        let mut all = Vec::new();
        loop {
            let report = self.next().await.expect("the agent is gone");
            if let Report::Asked { key, question } = &report {
                let (question, answer) = (key.clone(), answer(question));
                self.order(Order::Answer { question, answer }).await;
            }
            // Reports before the turn are not related to it.
            if !all.is_empty() || report == Report::Delivered(turn.clone()) {
                all.push(report.clone());
            }
            if matches!(&report, Report::Ended(ended, _) if *ended == turn) {
                check(&all);
                return all;
            }
        }
    }

    /// The reports during a call, and its result.
    async fn call(&mut self, call: Call) -> (Vec<Report>, Result<String, String>) {
        self.calls += 1;
        let id = self.calls;
        self.order(Order::Call { id, call }).await;
        let mut all = self.until(|report| matches!(report, Report::Called(called, _) if *called == id)).await;
        let Some(Report::Called(_, result)) = all.pop() else { panic!("the last is the answer") };
        all.retain(|report| !matches!(report, Report::Tools(_)));
        (all, result.map(|value| value.as_str().unwrap_or_default().to_owned()))
    }
}

fn outcome(all: &[Report]) -> &TurnOutcome {
    match all.last() {
        Some(Report::Ended(_, outcome)) => outcome,
        other => panic!("the last is {other:?}"),
    }
}

/// The text of all complete messages.
fn texts(all: &[Report]) -> String {
    let said = all.iter().filter_map(|report| match report {
        Report::Item { body: ItemBody::Text { text, .. }, done: true, .. } => Some(text.as_str()),
        _ => None,
    });
    said.collect::<Vec<_>>().join("\n")
}

fn questions(all: &[Report]) -> Vec<&Question> {
    let asked = all.iter().filter_map(|report| match report {
        Report::Asked { question, .. } => Some(question),
        _ => None,
    });
    asked.collect()
}

/// The completed tool calls.
fn cards(all: &[Report]) -> Vec<&ToolCall> {
    let done = all.iter().filter_map(|report| match report {
        Report::Item { body: ItemBody::Tool(call), done: true, .. } => Some(call),
        _ => None,
    });
    done.collect()
}

/// Checks the invariants of every turn.
fn check(all: &[Report]) {
    let [Report::Delivered(turn), Report::Submitted(submitted), Report::Acknowledged(_, true), rest @ ..] = all else {
        panic!("it begins otherwise: {:?}", &all[..all.len().min(4)])
    };
    assert_eq!(turn, submitted);
    let [middle @ .., Report::Usage(_), Report::Ended(ended, outcome)] = rest else {
        panic!("it ends otherwise: {:?}", all.last())
    };
    assert_eq!(ended, turn);
    let mut growing: BTreeMap<&HarnessKey, String> = BTreeMap::new();
    let mut done: BTreeSet<&HarnessKey> = BTreeSet::new();
    let mut streams: BTreeSet<&HarnessKey> = BTreeSet::new();
    let mut started = false;
    for report in middle {
        match report {
            Report::Started(other) => started = turn == other,
            Report::Ended(other, _) => assert_ne!(turn, other, "it ends twice"),
            Report::Item { key, body, done: complete } => {
                assert!(started && !done.contains(key), "{key} changes after it was done, or before its turn");
                if *complete {
                    let grown = growing.remove(key).unwrap_or_default();
                    assert!(whole(body).contains(&grown), "{key} is another than it grew to be");
                    done.insert(key);
                } else {
                    growing.entry(key).or_default();
                }
            }
            Report::Grew { key, text, .. } => {
                growing.get_mut(key).unwrap_or_else(|| panic!("{key} grows and is not there")).push_str(text);
            }
            Report::StreamOpened(key) => assert!(streams.insert(key)),
            Report::StreamFrame(key, _) => assert!(streams.contains(key), "a frame of a closed stream"),
            Report::StreamClosed(key) => assert!(streams.remove(key)),
            _ => {}
        }
    }
    if *outcome != TurnOutcome::Cancelled {
        assert!(started);
        assert!(growing.is_empty(), "{growing:?} are never done");
    }
    assert!(streams.is_empty(), "{streams:?} stay open");
}

fn whole(body: &ItemBody) -> String {
    match body {
        ItemBody::Text { text, .. } | ItemBody::Thought { text, .. } => text.clone(),
        ItemBody::Tool(call) => {
            let pieces = call.output.iter().map(|piece| match piece {
                ToolResultPart::Text(text) => text.clone(),
                ToolResultPart::Diff { new, .. } => new.clone(),
            });
            pieces.collect()
        }
        other => panic!("it has no {other:?}"),
    }
}

fn ready(all: &[Report]) -> &ReportedCapabilities {
    let found = all.iter().rev().find_map(|report| match report {
        Report::Ready(capabilities) => Some(capabilities),
        _ => None,
    });
    found.expect("it says what it can do")
}

/// The one directory created in `place`, if it still exists.
fn folder_in(place: &std::path::Path) -> Option<PathBuf> {
    let mut entries = std::fs::read_dir(place).unwrap();
    let found = entries.next().map(|entry| entry.unwrap().path());
    assert!(entries.next().is_none(), "there is more than one folder");
    found
}
