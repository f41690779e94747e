//! Interrupt trial: a real agent receives prompts, each followed by an interrupt at a random time. The receipts of both
//! are compared with the log of the scripted model.
//!
//! A short trial is part of the tests; `wh-bench interrupts` runs the full one.

mod conversation;
mod judge;
mod leak;
mod report;
mod watch;

use std::path::PathBuf;

pub use judge::{Contradiction, InterruptedTurnEnd};
pub use report::InterruptReport;

use conversation::{InterruptConversation, InterruptRound};

use crate::Lab;

/// Number of rounds in one conversation. Each model request contains the whole conversation, so long conversations are
/// slow.
const ROUNDS_PER_CONVERSATION: usize = 50;

/// Number of rounds without final receipts after which the trial is aborted. Each of these rounds takes up to two
/// minutes.
const MAX_STUCK_ROUNDS: usize = 3;

/// Coding agent whose real CLI is installed in the lab.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LabAgent {
    /// Anthropic's Claude Code.
    Claude,
    /// OpenAI's Codex CLI.
    Codex,
    /// Google's Gemini CLI.
    Gemini,
}

impl LabAgent {
    pub const ALL: [Self; 3] = [Self::Claude, Self::Codex, Self::Gemini];

    /// Returns the id for `wh --agent`.
    pub fn id(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
        }
    }

    /// Returns the display name.
    pub fn title(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
        }
    }
}

/// Parameters of an interrupt trial with one agent.
#[derive(Debug, Clone)]
pub struct InterruptTrial {
    /// Path of the wh binary.
    pub wh: PathBuf,
    /// Agent that is interrupted.
    pub agent: LabAgent,
    /// Number of prompts, each with one interrupt.
    pub rounds: usize,
    /// Seed of the random delays.
    pub seed: u64,
}

impl InterruptTrial {
    /// Runs the trial. `progress` is called after each conversation. Panics if wh or the agent does not start.
    pub fn run(&self, lab: &Lab, progress: impl Fn(&str)) -> InterruptReport {
        let mut report = InterruptReport::new(self.agent);
        let (mut done, mut stuck) = (0, 0);
        while done < self.rounds && stuck < MAX_STUCK_ROUNDS {
            let mut conversation = InterruptConversation::start(self, lab);
            let mut rounds: Vec<InterruptRound> = Vec::new();
            for number in done..self.rounds.min(done + ROUNDS_PER_CONVERSATION) {
                rounds.push(conversation.round(number));
                // The trial continues in a new conversation. In this conversation, later prompts would be queued behind
                // the open round.
                if !rounds.last().is_some_and(InterruptRound::is_over) {
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
