//! Counts of the trial, as a table.

use super::{Case, State, TerminalProgram};

/// Outcome of the text of one round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextFate {
    /// Carried out once.
    CarriedOut,
    /// Not carried out, and no part of it is on the screen.
    Lost,
    /// Carried out in part, more than once, or joined with other input.
    Mutilated,
}

/// Rounds of one program in one state and one case.
#[derive(Debug, Clone)]
pub struct TerminalRow {
    /// The program.
    pub program: TerminalProgram,
    /// Idle or busy.
    pub state: State,
    /// The message.
    pub case: Case,
    /// Number of rounds.
    pub rounds: usize,
    /// Rounds in which every message that interrupts or follows was acknowledged with `ok`.
    pub ok: usize,
    /// Rounds whose text was carried out exactly once.
    pub carried_out: usize,
    /// Rounds whose text was not carried out.
    pub lost: usize,
    /// Rounds whose text was carried out in part or more than once.
    pub mutilated: usize,
}

impl TerminalRow {
    pub(super) fn new(program: TerminalProgram, state: State, case: Case) -> Self {
        Self { program, state, case, rounds: 0, ok: 0, carried_out: 0, lost: 0, mutilated: 0 }
    }

    pub(super) fn add(&mut self, ok: bool, text: TextFate) {
        self.rounds += 1;
        self.ok += usize::from(ok);
        match text {
            TextFate::CarriedOut => self.carried_out += 1,
            TextFate::Lost => self.lost += 1,
            TextFate::Mutilated => self.mutilated += 1,
        }
    }

    /// True if every round went well.
    pub fn is_whole(&self) -> bool {
        self.ok == self.rounds && self.carried_out == self.rounds
    }
}

/// Outcome of a trial.
#[derive(Debug, Clone, Default)]
pub struct TerminalReport {
    /// One for each program, state and case.
    pub rows: Vec<TerminalRow>,
    /// Programs that are not installed.
    pub skipped: Vec<TerminalProgram>,
    /// Descriptions of failures.
    pub faults: Vec<String>,
}

impl TerminalReport {
    /// A Markdown table.
    pub fn table(&self) -> String {
        let mut table = "| program | state | case | ok of N | text carried out of N | lost | mutilated |\n".to_owned();
        table.push_str("|---|---|---|---|---|---|---|\n");
        for row in &self.rows {
            let TerminalRow { rounds, ok, carried_out, lost, mutilated, .. } = row;
            let (program, state, case) = (row.program.executable(), row.state.name(), row.case.name());
            table.push_str(&format!(
                "| {program} | {state} | {case} | {ok} of {rounds} | {carried_out} of {rounds} | {lost} | {mutilated} |\n"
            ));
        }
        for program in &self.skipped {
            table.push_str(&format!("| {} | | skipped: not installed | | | | |\n", program.executable()));
        }
        table
    }
}
