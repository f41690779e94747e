//! Results of the terminal interrupt trial, formatted as a table.

use super::{InterruptCase, ProgramState, TerminalProgram};

/// Outcome of the text that one round sent to the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextOutcome {
    /// Executed exactly once.
    Executed,
    /// Not executed, and not visible on the screen; or not sent, because the program did not become busy.
    Lost,
    /// Executed in part, more than once, or joined with other input; or visible on the screen but not executed.
    Corrupted,
}

/// Row of the table: counts for one program in one state and case.
#[derive(Debug, Clone)]
pub struct TerminalTrialRow {
    /// Program that was interrupted.
    pub program: TerminalProgram,
    /// State of the program, idle or busy.
    pub state: ProgramState,
    /// Messages that each round sent.
    pub case: InterruptCase,
    pub rounds: usize,
    /// Number of rounds in which all messages were acknowledged with `ok`.
    pub ok: usize,
    /// Number of rounds in which the text was executed exactly once.
    pub executed: usize,
    /// Number of rounds whose text was lost: neither executed nor visible on the screen.
    pub lost: usize,
    /// Number of rounds whose text was executed otherwise than exactly once, or is visible but was not executed.
    pub corrupted: usize,
}

impl TerminalTrialRow {
    pub(super) fn new(program: TerminalProgram, state: ProgramState, case: InterruptCase) -> Self {
        Self { program, state, case, rounds: 0, ok: 0, executed: 0, lost: 0, corrupted: 0 }
    }

    pub(super) fn add(&mut self, ok: bool, text: TextOutcome) {
        self.rounds += 1;
        self.ok += usize::from(ok);
        match text {
            TextOutcome::Executed => self.executed += 1,
            TextOutcome::Lost => self.lost += 1,
            TextOutcome::Corrupted => self.corrupted += 1,
        }
    }

    /// Returns true if, in every round, all messages were acknowledged and the text was executed exactly once.
    pub fn is_whole(&self) -> bool {
        self.ok == self.rounds && self.executed == self.rounds
    }
}

/// Outcome of a trial: counts for each program, state and case.
#[derive(Debug, Clone, Default)]
pub struct TerminalReport {
    /// Rows, one for each program, state and case.
    pub rows: Vec<TerminalTrialRow>,
    /// Programs that are not installed.
    pub skipped: Vec<TerminalProgram>,
    /// Descriptions of the failed rounds.
    pub faults: Vec<String>,
}

impl TerminalReport {
    /// Formats the report as a Markdown table.
    pub fn table(&self) -> String {
        let mut table = "| program | state | case | ok of N | text executed of N | lost | corrupted |\n".to_owned();
        table.push_str("|---|---|---|---|---|---|---|\n");
        for row in &self.rows {
            let TerminalTrialRow { rounds, ok, executed, lost, corrupted, .. } = row;
            let (program, state, case) = (row.program.executable(), row.state.name(), row.case.name());
            table.push_str(&format!(
                "| {program} | {state} | {case} | {ok} of {rounds} | {executed} of {rounds} | {lost} | {corrupted} |\n"
            ));
        }
        for program in &self.skipped {
            table.push_str(&format!("| {} | | skipped: not installed | | | | |\n", program.executable()));
        }
        table
    }
}
