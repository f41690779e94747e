//! Tests the harness against scripted agents that behave in ways a real agent rarely does.

mod acknowledgements;
mod asking;
mod choosing;
mod restarts;
mod turns;

use std::collections::HashMap;
use std::time::Duration;

use tempfile::TempDir;
use tokio::time::timeout;
use wh_core::space::TurnId;
use wh_core::space::harness::{AckedOrder, Order, Report, TurnOutcome};
use wh_core::space::item::{ItemBody, NoticeLevel};

use super::table::{AccountCommands, AgentEntry, AuthenticationMethod, ProtocolKind, Quirks};
use super::*;
use crate::interface::Agent;
use crate::program::Program;
use crate::program_agent::ProgramAgent;

/// Shell functions shared by the scripts. `next` reads a line and stores its id, `reply` answers the request, `say` and
/// `update` send messages.
const PRELUDE: &str = r#"
next() { read -r line || exit 0; id=; [[ $line =~ \"id\":([0-9]+) ]] && id=${BASH_REMATCH[1]}; echo "$line" >> heard; }
reply() { echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":$1}"; }
fail() { echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"error\":{\"code\":$1,\"message\":\"$2\"}}"; }
update() { echo "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"s\",\"update\":$1}}"; }
say() { update "{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"$1\"}}"; }
may() { echo "{\"jsonrpc\":\"2.0\",\"id\":$1,\"method\":\"session/request_permission\",\"params\":{\"sessionId\":\"s\",\"toolCall\":{\"toolCallId\":\"$2\",\"title\":\"touch x\",\"kind\":\"execute\",\"status\":\"pending\"},\"options\":[{\"optionId\":\"yes\",\"name\":\"Yes\",\"kind\":\"allow_once\"},{\"optionId\":\"no\",\"name\":\"No\",\"kind\":\"reject_once\"}]}}"; }
HELLO='{"protocolVersion":1,"agentInfo":{"name":"fake","version":"7"},"agentCapabilities":{"loadSession":true},"authMethods":[{"id":"key"}]}'
SESSION='{"sessionId":"s","modes":{"currentModeId":"ask","availableModes":[{"id":"ask"},{"id":"plan"},{"id":"wild"}]},"models":{"currentModelId":"small","availableModels":[{"modelId":"small"},{"modelId":"large"}]}}'
hello() { next; reply "$HELLO"; next; reply "$SESSION"; }
rest() { while read -r line; do echo "$line" >> heard; done; }
"#;

fn fake() -> AgentEntry {
    AgentEntry {
        id: "fake".to_owned(),
        title: "Fake".to_owned(),
        protocol: ProtocolKind::Acp,
        program: Program::built_in(&["bash"], &["-c"], "get it"),
        version: vec!["--version".to_owned()],
        log_in: "say please".to_owned(),
        account: AccountCommands::default(),
        authenticate: Some(AuthenticationMethod { method: "key".to_owned(), always: false }),
        skipping_modes: vec!["wild".to_owned()],
        quirks: Quirks {
            mode_message_prefix: Some("[MODE] ".to_owned()),
            acknowledged_requests: vec!["fake/told".to_owned()],
            ..Quirks::default()
        },
    }
}

async fn started(entry: AgentEntry, start: StartOptions) -> Result<Harness, AgentStartError> {
    ProgramAgent::new(entry, None).start(start).await
}

/// Scripted agent with its harness.
struct Run {
    harness: Harness,
    folder: TempDir,
    turns: u64,
}

impl Run {
    async fn new(script: &str) -> Self {
        Self::with(script, |_| {}).await
    }

    async fn with(script: &str, change: impl FnOnce(&mut StartOptions)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut start = StartOptions::new(folder.path());
        start.arguments = vec![format!("{PRELUDE}{script}").into()];
        change(&mut start);
        let harness = started(fake(), start).await.unwrap();
        Self { harness, folder, turns: 0 }
    }

    async fn order(&self, order: Order) {
        self.harness.orders.send(order).await.unwrap();
    }

    async fn prompt(&mut self, text: &str) -> TurnId {
        self.turns += 1;
        let turn = TurnId::from(format!("turn-{}", self.turns).as_str());
        let order =
            Order::Prompt { turn: turn.clone(), item: "item".into(), text: text.to_owned(), attachments: Vec::new() };
        self.order(order).await;
        turn
    }

    async fn next(&mut self) -> Report {
        let report = timeout(Duration::from_secs(30), self.harness.reports.recv()).await;
        report.expect("a report comes in time").expect("a report comes")
    }

    /// Returns all reports up to and including the first match.
    async fn until(&mut self, wanted: impl Fn(&Report) -> bool) -> Vec<Report> {
        let mut reports = Vec::new();
        loop {
            reports.push(self.next().await);
            let last = &reports[reports.len() - 1];
            if wanted(last) {
                return reports;
            }
            assert!(!matches!(last, Report::Gone(_)), "it is gone too early: {reports:?}");
        }
    }

    /// Returns all reports of a turn up to its end.
    async fn ended(&mut self) -> (Vec<Report>, TurnOutcome) {
        let reports = self.until(|report| matches!(report, Report::Ended(..))).await;
        match reports.last() {
            Some(Report::Ended(_, outcome)) => (reports.clone(), outcome.clone()),
            other => panic!("{other:?}"),
        }
    }

    /// Ends the agent and returns the reason of the final `Report::Gone`.
    async fn gone(mut self) -> Option<String> {
        let last = loop {
            if let Report::Gone(why) = self.next().await {
                break why;
            }
        };
        assert_eq!(self.harness.reports.recv().await, None, "nothing comes after that");
        last
    }

    async fn end(self) {
        self.order(Order::End).await;
        assert_eq!(self.gone().await, None);
    }

    /// Returns the lines that the agent has read.
    fn heard(&self) -> Vec<serde_json::Value> {
        let text = std::fs::read_to_string(self.folder.path().join("heard")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// Returns the complete texts, assembled from their deltas.
fn texts(reports: &[Report]) -> Vec<String> {
    let (mut growing, mut whole) = (HashMap::new(), Vec::new());
    for report in reports {
        match report {
            Report::Item { key, body: ItemBody::Text { text, .. }, done: false } => {
                growing.insert(key, text.clone());
            }
            Report::Grew { key, text, .. } => growing.entry(key).or_default().push_str(text),
            Report::Item { body: ItemBody::Text { text, .. }, done: true, .. } => whole.push(text.clone()),
            Report::Finished(key) => whole.extend(growing.remove(key)),
            _ => {}
        }
    }
    whole
}

fn warnings(reports: &[Report]) -> Vec<&str> {
    let warnings = reports.iter().filter_map(|report| match report {
        Report::Notice(NoticeLevel::Warning | NoticeLevel::Error, text) => Some(text.as_str()),
        _ => None,
    });
    warnings.collect()
}
