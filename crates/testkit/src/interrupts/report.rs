//! Findings of an interrupt trial, formatted as tables.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use super::conversation::{InterruptRound, TrialCommandState};
use super::judge::{self, Contradiction, InterruptedTurnEnd};
use super::{LabAgent, leak};

/// Findings of a trial with one agent.
#[derive(Debug, Clone)]
pub struct InterruptReport {
    /// Agent that was interrupted.
    pub agent: LabAgent,
    pub rounds: usize,
    /// Number of rounds for each end of the interrupted turn.
    pub turn_ends: BTreeMap<InterruptedTurnEnd, usize>,
    /// Contradictions, each with a description of its round.
    pub contradictions: Vec<(Contradiction, String)>,
    /// Texts of the notices with their number of occurrences.
    pub notices: BTreeMap<String, usize>,
    /// Sorted times from the interrupt to the final receipts, one for each round with two final receipts.
    settled_after: Vec<Duration>,
}

impl InterruptReport {
    pub(super) fn new(agent: LabAgent) -> Self {
        Self {
            agent,
            rounds: 0,
            turn_ends: BTreeMap::new(),
            contradictions: Vec::new(),
            notices: BTreeMap::new(),
            settled_after: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, rounds: &[InterruptRound], notices: &[String]) {
        for round in rounds {
            self.rounds += 1;
            *self.turn_ends.entry(judge::turn_end(round)).or_default() += 1;
            self.settled_after.extend(round.settled_after());
            let found = judge::contradictions(round);
            self.contradictions.extend(found.into_iter().map(|contradiction| (contradiction, described(round))));
        }
        for notice in notices {
            *self.notices.entry(notice.clone()).or_default() += 1;
            if leak::find(notice).is_some() {
                self.contradictions.push((Contradiction::Leaked, format!("notice: {notice}")));
            }
        }
        self.settled_after.sort();
    }

    /// Returns the number of rounds whose interrupted turn ended this way.
    pub fn count(&self, end: InterruptedTurnEnd) -> usize {
        self.turn_ends.get(&end).copied().unwrap_or_default()
    }

    /// Formats the findings of several agents as Markdown tables.
    pub fn tables(reports: &[Self]) -> String {
        let mut text = String::from(
            "| agent | rounds | cancelled before submission | cancelled in the stream | finished before the interrupt \
             | finished after the interrupt | contradictions | interrupt to final receipts, median | worst |\n\
             |---|---|---|---|---|---|---|---|---|\n",
        );
        for report in reports {
            let ends = [
                InterruptedTurnEnd::CancelledBeforeSubmission,
                InterruptedTurnEnd::CancelledInStream,
                InterruptedTurnEnd::FinishedBefore,
                InterruptedTurnEnd::FinishedAfter,
            ];
            let ends = ends.map(|end| report.count(end).to_string()).join(" | ");
            let times = &report.settled_after;
            let [median, worst] = [times.get(times.len() / 2), times.last()].map(milliseconds);
            let (title, rounds, found) = (report.agent.title(), report.rounds, report.contradictions.len());
            let _ = writeln!(text, "| {title} | {rounds} | {ends} | {found} | {median} | {worst} |");
        }
        if reports.iter().any(|report| !report.contradictions.is_empty()) {
            text.push_str("\n| agent | contradiction | times | example |\n|---|---|---|---|\n");
        }
        for report in reports {
            let mut kinds: BTreeMap<Contradiction, (usize, &str)> = BTreeMap::new();
            for (contradiction, example) in &report.contradictions {
                kinds.entry(*contradiction).or_insert((0, example)).0 += 1;
            }
            for (contradiction, (times, example)) in kinds {
                let example = example.replace('|', "\\|").replace('\n', " ");
                let _ = writeln!(text, "| {} | {contradiction} | {times} | {example} |", report.agent.title());
            }
        }
        text
    }
}

/// Describes a round in one line.
fn described(round: &InterruptRound) -> String {
    let state = |state: &TrialCommandState| match state {
        TrialCommandState::Refused(text) => format!("rejected: {text}"),
        TrialCommandState::Open { stage } => format!("still {stage}"),
        TrialCommandState::Finished { .. } => "finished".to_owned(),
        TrialCommandState::Failed { reason, .. } => format!("failed: {reason}"),
    };
    let answers = match judge::turn_end(round) {
        InterruptedTurnEnd::CancelledBeforeSubmission => "never requested",
        InterruptedTurnEnd::CancelledInStream => "cut off",
        InterruptedTurnEnd::FinishedBefore => "complete",
        InterruptedTurnEnd::FinishedAfter => "not interrupted",
    };
    let delay = milliseconds(Some(&round.delay));
    let (prompt, interrupt) = (state(&round.prompt), state(&round.interrupt));
    format!("{} after {delay}: prompt {prompt}; interrupt {interrupt}; answer {answers}", round.marker)
}

fn milliseconds(duration: Option<&Duration>) -> String {
    duration.map_or_else(|| "–".to_owned(), |duration| format!("{:.0} ms", duration.as_secs_f64() * 1e3))
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    fn round(marker: &str, prompt: TrialCommandState) -> InterruptRound {
        let now = SystemTime::UNIX_EPOCH;
        let interrupt = TrialCommandState::Finished { accepted: now, at: now + Duration::from_millis(20) };
        let (marker, delay) = (marker.to_owned(), Duration::from_millis(3));
        InterruptRound { marker, delay, interrupted: now, prompt, interrupt, streams: Vec::new() }
    }

    #[test]
    fn contradictions_are_counted_by_kind_with_an_example() {
        let now = SystemTime::UNIX_EPOCH;
        let cancelled = TrialCommandState::Failed { accepted: now, at: now, reason: "cancelled".to_owned() };
        let finished = TrialCommandState::Finished { accepted: now, at: now };
        let mut report = InterruptReport::new(LabAgent::Codex);
        report.add(&[round("m1", cancelled), round("m2", finished.clone()), round("m3", finished)], &[]);
        let tables = InterruptReport::tables(&[report]);
        let lines: Vec<&str> = tables.lines().collect();
        assert_eq!(lines[2], "| Codex | 3 | 3 | 0 | 0 | 0 | 2 | 20 ms | 20 ms |");
        assert_eq!(
            lines[6],
            "| Codex | prompt `finished`, but the answer was cut off or never requested | 2 \
             | m2 after 3 ms: prompt finished; interrupt finished; answer never requested |"
        );
        assert_eq!(lines.len(), 7);
    }

    #[test]
    fn a_notice_with_an_id_is_a_contradiction() {
        let mut report = InterruptReport::new(LabAgent::Claude);
        let notices = ["it is ready", "lost 01a1b2c3-d4e5-7f60-8a9b-0c1d2e3f4a5b"].map(str::to_owned);
        report.add(&[], &notices);
        let kinds: Vec<Contradiction> = report.contradictions.iter().map(|(kind, _)| *kind).collect();
        assert_eq!((kinds, report.notices.len()), (vec![Contradiction::Leaked], 2));
    }
}
