//! Truth trial: a real agent runs in its own terminal UI and receives messages at hostile moments: while it starts, works
//! or asks, while a person types, right after Escape. The log of the scripted model and the agent's transcript show what
//! became of each message.
//!
//! A short trial is part of the tests; `wh-bench truth` runs the full one.

mod judge;
mod moments;
mod report;
mod session;
mod transcript;

use std::path::PathBuf;

pub use judge::MessageOutcome;
pub use moments::HostileMoment;
pub use report::{TruthReport, TruthRow};

use judge::RoundEvidence;
use session::{JudgedMessage, TruthSession};

use crate::Lab;
use crate::interrupts::LabAgent;
use crate::random::SeededRandom;

/// Parameters of a truth trial with one agent.
#[derive(Debug, Clone)]
pub struct TruthTrial {
    /// Path of the wh binary.
    pub wh: PathBuf,
    /// Agent that receives the messages.
    pub agent: LabAgent,
    /// Minimum number of messages that are sent through the conversation of the agent.
    pub sends: usize,
    /// Minimum number of messages that are typed naively: as text and Enter into the terminal.
    pub naive: usize,
    /// Moments of the trial.
    pub moments: Vec<HostileMoment>,
    /// Seed of the random times.
    pub seed: u64,
}

/// Position in the trial: numbers of the round and of the last message, and random numbers.
struct TrialProgress {
    round: usize,
    number: usize,
    random: SeededRandom,
}

impl TruthTrial {
    /// Runs the trial. `progress` is called after each round. Panics if wh or the agent does not start.
    pub fn run(&self, lab: &Lab, progress: impl Fn(&str)) -> TruthReport {
        let mut report = TruthReport::new(self.agent);
        let mut position = TrialProgress { round: 0, number: 0, random: SeededRandom(self.seed) };
        while report.verified.sends < self.sends && !self.moments.is_empty() {
            let evidence = RoundEvidence::begin(lab, self.agent);
            let (sent, notices) = self.verified_round(lab, &mut position, &progress);
            evidence.judge(&sent, &mut report.verified, &mut report.faults);
            report.faults.extend(notices);
            position.round += 1;
            let (title, row) = (self.agent.title(), &report.verified);
            progress(&format!("{title}: {} of {} sends, {} wrong", row.sends, self.sends, row.faults()));
        }
        let mut naive_moments = self.moments.iter().cycle();
        while report.naive.sends < self.naive
            && let Some(moment) = naive_moments.next()
        {
            let evidence = RoundEvidence::begin(lab, self.agent);
            let sent = self.naive_send(lab, *moment, &mut position);
            evidence.judge(&sent, &mut report.naive, &mut Vec::new());
            position.round += 1;
        }
        if self.naive > 0 {
            let (title, row) = (self.agent.title(), &report.naive);
            progress(&format!("{title}: {} naive sends, {} wrong", row.sends, row.faults()));
        }
        report
    }

    /// Sends messages at all moments to one process of the agent.
    fn verified_round(
        &self,
        lab: &Lab,
        position: &mut TrialProgress,
        progress: &impl Fn(&str),
    ) -> (Vec<JudgedMessage>, Vec<String>) {
        let mut session = TruthSession::start(self, lab, false);
        let mut sent = Vec::new();
        let mut notices = Vec::new();
        for moment in &self.moments {
            if *moment != HostileMoment::Starting && !session.wait_until_idle() {
                notices.push(format!(
                    "{}: the agent is not idle before {moment}\n{}",
                    self.agent.title(),
                    session.view()
                ));
                session.recover();
            }
            let messages = moment.perform(&mut session, position);
            for message in &messages {
                progress(&format!("{} {moment}: {}", self.agent.title(), message.summary()));
            }
            sent.extend(messages);
        }
        session.wait_until_idle();
        (sent, notices)
    }

    /// Types a message at one moment into a new process of the agent.
    fn naive_send(&self, lab: &Lab, moment: HostileMoment, position: &mut TrialProgress) -> Vec<JudgedMessage> {
        let mut session = TruthSession::start(self, lab, true);
        if moment != HostileMoment::Starting {
            session.wait_until_idle();
        }
        let sent = moment.perform(&mut session, position);
        session.wait_for_silence();
        sent
    }
}
