//! The trial of interrupts: a real agent gets prompts, each followed by an interrupt at a random moment. The receipts of
//! both are compared with the log of the scripted model.
//!
//! A small one is among the tests, the full one is `wh-bench interrupts`.

mod conversation;
mod judge;
mod leak;
mod report;
mod watch;

use std::path::PathBuf;

pub use judge::{Contradiction, TurnFate};
pub use report::InterruptReport;

use conversation::{Conversation, Round};

use crate::Lab;

/// Rounds in one conversation. Each request to the model holds the whole conversation, so a longer one is slower.
const ROUNDS_PER_CONVERSATION: usize = 50;

/// Rounds without final receipts after which the trial is given up. Each takes up to two minutes.
const MAX_STUCK_ROUNDS: usize = 3;

/// A coding agent whose real CLI the lab has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LabAgent {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
}

impl LabAgent {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Claude, Self::Codex, Self::Gemini];

    /// The name that `wh --agent` takes.
    pub fn id(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
        }
    }

    /// The name for people.
    pub fn title(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
        }
    }
}

/// A trial with one agent.
#[derive(Debug, Clone)]
pub struct InterruptTrial {
    /// The wh binary.
    pub wh: PathBuf,
    /// The agent that is interrupted.
    pub agent: LabAgent,
    /// The number of prompts, each with one interrupt.
    pub rounds: usize,
    /// The seed of the random moments.
    pub seed: u64,
}

impl InterruptTrial {
    /// Runs the trial. `progress` is called after each conversation. Panics when wh or the agent does not start.
    pub fn run(&self, lab: &Lab, progress: impl Fn(&str)) -> InterruptReport {
        let mut report = InterruptReport::new(self.agent);
        let (mut done, mut stuck) = (0, 0);
        while done < self.rounds && stuck < MAX_STUCK_ROUNDS {
            let mut conversation = Conversation::start(self, lab);
            let mut rounds: Vec<Round> = Vec::new();
            for number in done..self.rounds.min(done + ROUNDS_PER_CONVERSATION) {
                rounds.push(conversation.round(number));
                // Later rounds would wait behind this one.
                if !rounds.last().is_some_and(Round::is_over) {
                    stuck += 1;
                    break;
                }
            }
            done += rounds.len();
            let notices = conversation.end(&mut rounds);
            report.add(&rounds, &notices);
            let (title, found) = (self.agent.title(), report.contradictions.len());
            progress(&format!("{title}: {done} of {} rounds, {found} contradictions", self.rounds));
        }
        report
    }
}
