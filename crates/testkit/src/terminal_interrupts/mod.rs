//! Interrupt trial with terminal programs: real programs in sessions of a daemon are interrupted through the daemon's
//! socket, idle and busy, with and without type-ahead. In each round the program executes a text that appends a unique
//! name to a file, and the file shows whether the text was executed exactly once. A busy program can execute the text
//! only if the interrupt has ended its current command.
//!
//! A short trial is part of the tests; `wh-bench terminal-interrupts` runs the full one.

mod program;
mod report;

use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

pub use program::TerminalProgram;
use report::TextOutcome;
pub use report::{TerminalReport, TerminalTrialRow};

use crate::once::{TrialDaemon, TrialTarget};
use crate::{deadline, tools};

/// Timeout for starting a program and for executing typed text.
const TYPED_TEXT_TIMEOUT: Duration = Duration::from_secs(30);

/// State of a program when it is interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramState {
    /// Waits for input.
    Idle,
    /// Runs a command that does not end by itself.
    Busy,
}

impl ProgramState {
    /// States that the trial covers.
    pub const ALL: [Self; 2] = [Self::Idle, Self::Busy];

    /// Returns the name of the state in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Busy => "busy",
        }
    }
}

/// Messages that a round sends to the program. The last message is always a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InterruptCase {
    /// A text with the option `interrupt`: the program is interrupted before the text is typed.
    Text,
    /// Type-ahead of 12 kB, followed by a text with the option `interrupt`.
    TextAfterInput,
    /// Type-ahead of 12 kB, followed by a separate interrupt and then a text.
    InterruptAfterInput,
}

impl InterruptCase {
    /// Cases that the trial covers.
    pub const ALL: [Self; 3] = [Self::Text, Self::TextAfterInput, Self::InterruptAfterInput];

    /// Returns the name of the case in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "stdin with interrupt",
            Self::TextAfterInput => "12 kB typed ahead, then stdin with interrupt",
            Self::InterruptAfterInput => "12 kB typed ahead, then interrupt, then stdin",
        }
    }
}

/// Parameters of an interrupt trial with terminal programs.
#[derive(Debug, Clone)]
pub struct TerminalTrial {
    /// Path of the wh binary.
    pub wh: PathBuf,
    /// Programs to interrupt. Programs that are not installed are skipped.
    pub programs: Vec<TerminalProgram>,
    /// Number of rounds for each combination of program, state and case.
    pub rounds: usize,
}

impl TerminalTrial {
    /// Runs the trial with all programs at the same time. `progress` is called after each row. Panics if the daemon or
    /// a program does not start.
    pub fn run(&self, progress: impl Fn(&str) + Sync) -> TerminalReport {
        let mut daemon = TrialDaemon::new(&self.wh);
        daemon.start();
        let (daemon, faults) = (&daemon, Mutex::new(Vec::new()));
        let (installed, skipped): (Vec<TerminalProgram>, Vec<_>) =
            self.programs.iter().partition(|program| tools::find(program.executable()).is_some());
        let rows = thread::scope(|scope| {
            let (progress, faults) = (&progress, &faults);
            let runs: Vec<_> =
                installed.iter().map(|&one| scope.spawn(move || self.program(one, daemon, faults, progress))).collect();
            runs.into_iter().flat_map(|run| run.join().expect("the thread of a program does not panic")).collect()
        });
        TerminalReport { rows, skipped, faults: faults.into_inner().unwrap_or_default() }
    }

    fn program(
        &self,
        program: TerminalProgram,
        daemon: &TrialDaemon,
        faults: &Mutex<Vec<String>>,
        progress: impl Fn(&str),
    ) -> Vec<TerminalTrialRow> {
        let mut rows = Vec::new();
        let mut trial = ProgramTrial::start(daemon, program, 0);
        for state in ProgramState::ALL {
            for case in InterruptCase::ALL {
                let mut row = TerminalTrialRow::new(program, state, case);
                for round in 0..self.rounds {
                    let (acks, text) = trial.round(state, case, round % 2 == 1);
                    let ok = acks.iter().all(|ack| ack["result"] == "ok");
                    row.add(ok, text);
                    if !ok || text != TextOutcome::Executed {
                        let (name, state, case) = (program.executable(), state.name(), case.name());
                        let screen = trial.screen();
                        let fault = format!("{name}, {state}, {case}, round {round}: {text:?}, {acks:?}\n{screen}");
                        faults.lock().expect("no thread panics while it holds the lock").push(fault);
                        // The program is restarted because its state could affect later rounds.
                        trial = ProgramTrial::start(daemon, program, trial.number);
                    }
                }
                progress(&format!(
                    "{}, {}, {}: {} of {} texts executed",
                    program.executable(),
                    state.name(),
                    case.name(),
                    row.executed,
                    row.rounds
                ));
                rows.push(row);
            }
        }
        rows
    }
}

/// Trial of one program, which runs in a session.
struct ProgramTrial<'a> {
    daemon: &'a TrialDaemon,
    token: String,
    program: TerminalProgram,
    target: TrialTarget,
    session: String,
    file: PathBuf,
    /// Number of the last generated name.
    number: usize,
}

impl<'a> ProgramTrial<'a> {
    fn start(daemon: &'a TrialDaemon, program: TerminalProgram, number: usize) -> Self {
        let session = format!("{}-{number}", program.executable());
        let command = program.command();
        let target = daemon.create(&json!({ "command": command, "name": session, "cwd": daemon.agent_directory() }));
        let file = daemon.agent_directory().join(format!("{session}.txt"));
        let mut trial = Self { daemon, token: daemon.token(), program, target, session, file, number };
        let (name, note) = trial.note();
        trial.say(&note, false);
        assert_eq!(trial.seen(&name), 1, "{} did not start:\n{}", trial.session, trial.screen());
        trial
    }

    /// Returns a new name, and the input line that appends the name to the file.
    fn note(&mut self) -> (String, String) {
        self.number += 1;
        let name = format!("n{}", self.number);
        let note = self.program.note(&name, &self.file);
        (name, note)
    }

    /// Runs one round. Returns the acknowledgements, which must be `ok`, and the outcome of the text.
    fn round(&mut self, state: ProgramState, case: InterruptCase, odd: bool) -> (Vec<Value>, TextOutcome) {
        if state == ProgramState::Busy {
            self.number += 1;
            let name = format!("busy{}", self.number);
            let busy = self.program.busy(&name, &self.file, odd);
            let ack = self.say(&busy, false);
            if self.seen(&name) != 1 {
                return (vec![ack], TextOutcome::Lost);
            }
        }
        if case != InterruptCase::Text {
            // The acknowledgement is ignored, because the program may leave a part of the type-ahead unread.
            self.say(&self.program.ahead(odd), false);
        }
        let (name, note) = self.note();
        let acks = match case {
            InterruptCase::Text | InterruptCase::TextAfterInput => vec![self.say(&note, true)],
            InterruptCase::InterruptAfterInput => {
                let interrupt = json!({ "type": "control.interrupt.request", "signal": "interrupt" });
                vec![self.send(interrupt), self.say(&note, false)]
            }
        };
        let outcome = match self.seen(&name) {
            1 if self.is_clean() => TextOutcome::Executed,
            0 if !self.screen().contains(&name) => TextOutcome::Lost,
            _ => TextOutcome::Corrupted,
        };
        (acks, outcome)
    }

    fn say(&self, text: &str, interrupt: bool) -> Value {
        self.send(json!({ "type": "control.stdin.request", "content": text, "interrupt": interrupt }))
    }

    /// Sends a message and returns its acknowledgement.
    fn send(&self, mut message: Value) -> Value {
        let fields = json!({
            "v": 1, "request_id": uuid(), "team": "default", "session_id": self.target.session_id,
            "agent_id": self.target.agent_id, "sender": "local", "sent_at": jiff::Timestamp::now().to_string(),
        });
        for (name, value) in fields.as_object().into_iter().flatten() {
            message[name] = value.clone();
        }
        let answer = self.daemon.connect().and_then(|mut line| line.request("control", Some(&self.token), &message));
        answer.unwrap_or_else(|error| json!({ "result": error.to_string() }))
    }

    /// Waits until the file contains the name. Returns the number of occurrences; 0 after a timeout.
    fn seen(&self, name: &str) -> usize {
        let count = || self.lines().iter().filter(|line| *line == name).count();
        deadline::wait_until(TYPED_TEXT_TIMEOUT, || Some(count()).filter(|count| *count > 0)).unwrap_or(0)
    }

    /// Returns true if the file contains only names of this trial, without duplicates.
    fn is_clean(&self) -> bool {
        let lines = self.lines();
        let mut sorted = lines.clone();
        sorted.sort();
        sorted.dedup();
        sorted.len() == lines.len() && lines.iter().all(|line| line.starts_with('n') || line.starts_with("busy"))
    }

    fn lines(&self) -> Vec<String> {
        fs::read_to_string(&self.file).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    fn screen(&self) -> String {
        let output = self.daemon.command(&["screen", &self.session]).output();
        output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
    }
}

/// Returns a unique request id.
fn uuid() -> String {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static LAST: AtomicUsize = AtomicUsize::new(0);
    format!("interrupt-{}", LAST.fetch_add(1, Ordering::Relaxed))
}
