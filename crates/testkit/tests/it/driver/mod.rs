//! The agent driver with a scripted agent in real processes.

mod interrupts;
mod limits;
mod loss;
mod turns;

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use tokio::time::timeout;
use wh_agents::interface::{Agent, Harness, StartOptions};
use wh_core::space::TurnId;
use wh_core::space::harness::{AckedOrder, Order, Report, ReportedCapabilities, TurnOutcome};
use wh_core::space::item::{ItemBody, NoticeLevel, ToolStatus};
use wh_core::space::question::Answer;
use wh_testkit::line_agent::LineAgent;
use wh_testkit::{CONDITION_TIMEOUT, eventually};

/// Text length in bytes above any pipe capacity, so that an agent that does not read cannot receive all of it.
const MORE_THAN_A_PIPE: usize = 1024 * 1024;

/// Time for a turn to end after an interrupt, and for the agent to read an answer.
const DRIVER_GRACE: Duration = Duration::from_secs(5);

/// Running agent with all its reports so far.
struct Run {
    harness: Harness,
    folder: TempDir,
    turns: u64,
    reports: Vec<Report>,
}

impl Run {
    async fn new(options: &[&str]) -> Self {
        Self::with(options, |_| {}).await
    }

    async fn with(options: &[&str], change: impl FnOnce(&mut StartOptions)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut start = StartOptions::new(folder.path());
        start.arguments = options.iter().map(Into::into).collect();
        change(&mut start);
        let harness = LineAgent.start(start).await.unwrap();
        Self { harness, folder, turns: 0, reports: Vec::new() }
    }

    async fn order(&self, order: Order) {
        timeout(CONDITION_TIMEOUT, self.harness.orders.send(order)).await.expect("the order is taken").unwrap();
    }

    async fn prompt(&mut self, text: &str) -> TurnId {
        self.turns += 1;
        let turn = TurnId::from(format!("turn-{}", self.turns).as_str());
        let (item, text, attachments) = ("item".into(), text.to_owned(), Vec::new());
        self.order(Order::Prompt { turn: turn.clone(), item, text, attachments }).await;
        turn
    }

    async fn answer(&self, question: &str, option: Option<&str>, text: Option<&str>) {
        let answer = Answer { option: option.map(str::to_owned), text: text.map(str::to_owned) };
        self.order(Order::Answer { question: question.to_owned(), answer }).await;
    }

    async fn next(&mut self) -> Report {
        let report = timeout(CONDITION_TIMEOUT, self.harness.reports.recv()).await;
        let report = report.unwrap_or_else(|_| panic!("no report in time after {:?}", self.reports));
        let report = report.unwrap_or_else(|| panic!("no report after {:?}", self.reports));
        self.reports.push(report.clone());
        report
    }

    /// Waits for a report for which `wanted` returns a value.
    async fn wait<T>(&mut self, wanted: impl Fn(&Report) -> Option<T>) -> T {
        loop {
            let report = self.next().await;
            if let Some(found) = wanted(&report) {
                return found;
            }
            assert!(!matches!(report, Report::Gone(_)), "it is gone too early: {:?}", self.reports);
        }
    }

    async fn ended(&mut self, turn: &TurnId) -> TurnOutcome {
        self.wait(|report| match report {
            Report::Ended(ended, outcome) if ended == turn => Some(outcome.clone()),
            _ => None,
        })
        .await
    }

    async fn did(&mut self, deed: AckedOrder) -> Result<(), String> {
        self.wait(|report| match report {
            Report::Acked(did, outcome) if *did == deed => Some(outcome.clone()),
            _ => None,
        })
        .await
    }

    /// Waits for text of the agent.
    async fn says(&mut self) {
        self.wait(|report| matches!(report, Report::Item { body: ItemBody::Text { .. }, .. }).then_some(())).await;
    }

    /// Waits for a question and returns its key.
    async fn asked(&mut self) -> String {
        self.wait(|report| if let Report::Asked { key, .. } = report { Some(key.clone()) } else { None }).await
    }

    async fn ready(&mut self) -> ReportedCapabilities {
        self.wait(|report| if let Report::Ready(now) = report { Some(now.clone()) } else { None }).await
    }

    /// Waits for the end of the agent and of its reports, and returns the reason.
    async fn gone(&mut self) -> Option<String> {
        let why = loop {
            if let Report::Gone(why) = self.next().await {
                break why;
            }
        };
        assert_eq!(timeout(CONDITION_TIMEOUT, self.harness.reports.recv()).await, Ok(None), "nothing follows");
        why
    }

    async fn end(mut self) {
        self.order(Order::End).await;
        assert_eq!(self.gone().await, None);
    }

    fn position(&self, wanted: impl Fn(&Report) -> bool) -> usize {
        self.reports.iter().position(wanted).unwrap_or_else(|| panic!("it is not among {:?}", self.reports))
    }

    fn count(&self, wanted: impl Fn(&Report) -> bool) -> usize {
        self.reports.iter().filter(|report| wanted(report)).count()
    }

    /// Returns all text of the agent.
    fn text(&self) -> String {
        let mut all = String::new();
        for report in &self.reports {
            match report {
                Report::Item { body: ItemBody::Text { text, .. }, .. } => all.push_str(text),
                Report::Grew { key, text, .. } if key.starts_with("text") => all.push_str(text),
                Report::Shortened(..) => panic!("too much for one item"),
                _ => {}
            }
        }
        all
    }

    fn statuses(&self) -> Vec<ToolStatus> {
        let status = |report: &Report| match report {
            Report::Item { body: ItemBody::Tool(call), .. } => Some(call.status),
            _ => None,
        };
        self.reports.iter().filter_map(status).collect()
    }

    fn notices(&self, wanted: NoticeLevel) -> Vec<&str> {
        let text = |report| match report {
            &Report::Notice(level, ref text) if level == wanted => Some(text.as_str()),
            _ => None,
        };
        self.reports.iter().filter_map(text).collect()
    }

    /// Creates a file that the script waits for.
    fn touch(&self, name: &str) {
        fs::write(self.folder.path().join(name), "").unwrap();
    }

    /// Returns the lines that the agent has read.
    fn heard(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.folder.path().join("heard")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Returns the prompts that the agent has read, without padding.
    fn prompts(&self) -> Vec<String> {
        let heard = self.heard();
        let prompts = heard.iter().filter(|line| line["op"] == "prompt");
        prompts.map(|line| line["text"].as_str().unwrap().trim().to_owned()).collect()
    }

    /// Returns the ids of all processes so far.
    fn processes(&self) -> Vec<i32> {
        processes(self.folder.path())
    }

    /// Waits for a process and returns its id.
    async fn starts(&self) -> i32 {
        let folder = self.folder.path().to_owned();
        condition("it starts", move || processes(&folder).pop()).await
    }
}

fn processes(folder: &Path) -> Vec<i32> {
    let text = fs::read_to_string(folder.join("starts")).unwrap_or_default();
    text.lines().map(|line| line.parse().unwrap()).collect()
}

fn is_running(pid: i32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

/// Waits for a condition that is not reported.
async fn condition<T: Send + 'static>(what: &'static str, ask: impl FnMut() -> Option<T> + Send + 'static) -> T {
    tokio::task::spawn_blocking(move || eventually(what, ask)).await.unwrap()
}
