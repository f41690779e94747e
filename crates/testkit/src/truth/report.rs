//! Counts of the truth trial, formatted as a table.

use std::collections::BTreeMap;

use super::judge::{MessageOutcome, cut};
use super::session::{JudgedMessage, MessageReply};
use crate::interrupts::LabAgent;

/// Counts of the messages by their outcome.
#[derive(Debug, Clone, Default)]
pub struct TruthRow {
    pub sends: usize,
    pub arrived: usize,
    pub waited: usize,
    pub refused: usize,
    pub lost: usize,
    pub doubled: usize,
    pub changed: usize,
    /// Messages that arrived although their receipts say that they have failed.
    pub denied: usize,
    /// Commands that ran because a message answered the question for permission.
    pub executed: usize,
    /// Drafts of a person that were changed or sent.
    pub touched: usize,
    /// Number of sends and of faults by moment.
    pub moments: BTreeMap<String, (usize, usize)>,
    /// Number of refusals by reason.
    pub reasons: BTreeMap<String, usize>,
}

impl TruthRow {
    /// Returns the number of outcomes that must not happen.
    pub fn faults(&self) -> usize {
        self.lost + self.doubled + self.changed + self.denied + self.executed + self.touched
    }

    pub(super) fn add(&mut self, message: &JudgedMessage, outcome: MessageOutcome) {
        let before = self.faults();
        self.sends += 1;
        *match outcome {
            MessageOutcome::Arrived => &mut self.arrived,
            MessageOutcome::Waited => &mut self.waited,
            MessageOutcome::Refused => &mut self.refused,
            MessageOutcome::Lost => &mut self.lost,
            MessageOutcome::Doubled => &mut self.doubled,
            MessageOutcome::Changed => &mut self.changed,
            MessageOutcome::Denied => &mut self.denied,
        } += 1;
        self.executed += usize::from(message.executed);
        self.touched += usize::from(message.touched);
        let wrong = self.faults() > before;
        let moment = self.moments.entry(message.moment.to_string()).or_default();
        moment.0 += 1;
        moment.1 += usize::from(wrong);
        if outcome == MessageOutcome::Refused
            && let MessageReply::Refused(why) | MessageReply::Failed(why) = &message.reply
        {
            let why = why.replace(&message.marker, "…");
            *self.reasons.entry(format!("{}: {}", message.moment, cut(&why))).or_default() += 1;
        }
    }

    fn cells(&self) -> String {
        let counts = [
            self.sends,
            self.arrived,
            self.waited,
            self.refused,
            self.lost,
            self.doubled,
            self.changed,
            self.denied,
            self.executed,
            self.touched,
        ];
        counts.map(|count| count.to_string()).join(" | ")
    }
}

/// Results of a truth trial with one agent.
#[derive(Debug, Clone)]
pub struct TruthReport {
    pub agent: LabAgent,
    /// Messages that were sent through the conversation of the agent.
    pub verified: TruthRow,
    /// Messages that were typed as text and Enter.
    pub naive: TruthRow,
    /// Descriptions of the verified messages with a wrong outcome.
    pub faults: Vec<String>,
}

impl TruthReport {
    pub(super) fn new(agent: LabAgent) -> Self {
        Self { agent, verified: TruthRow::default(), naive: TruthRow::default(), faults: Vec::new() }
    }

    /// Returns Markdown tables with the counts of all agents, the counts by moment, and the reasons of refusals.
    pub fn tables(reports: &[Self]) -> String {
        let mut text = String::from(
            "| agent | way | sends | arrived once, unchanged | waited, then arrived | refused with a reason | lost | doubled | changed | wrong receipt | permissions executed | drafts touched |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n",
        );
        for report in reports {
            for (way, row) in [("wh", &report.verified), ("text and Enter", &report.naive)] {
                if row.sends > 0 {
                    text.push_str(&format!("| {} | {way} | {} |\n", report.agent.title(), row.cells()));
                }
            }
        }
        text.push_str("\n| agent | moment | sends | wrong | text and Enter | wrong |\n|---|---|---|---|---|---|\n");
        for report in reports {
            let names: std::collections::BTreeSet<&String> =
                report.verified.moments.keys().chain(report.naive.moments.keys()).collect();
            for name in names {
                let (sends, wrong) = report.verified.moments.get(name).copied().unwrap_or_default();
                let (naive, naive_wrong) = report.naive.moments.get(name).copied().unwrap_or_default();
                let agent = report.agent.title();
                text.push_str(&format!("| {agent} | {name} | {sends} | {wrong} | {naive} | {naive_wrong} |\n"));
            }
        }
        for report in reports {
            for (reason, count) in &report.verified.reasons {
                text.push_str(&format!("\n{} refused {count}: {reason}", report.agent.title()));
            }
        }
        text.push('\n');
        text
    }
}
