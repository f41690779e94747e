//! The trial of interrupts in terminal programs: real programs in sessions of a daemon are interrupted through its socket, idle
//! and busy, with and without input that was typed ahead. Each round's text appends a name of its own to a file, which shows
//! whether it was carried out exactly once; a busy program can do that only if the interrupt has ended what it was doing.
//!
//! A small one is among the tests, the full one is `wh-bench terminal-interrupts`.

mod program;
mod report;

use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

pub use program::TerminalProgram;
use report::TextFate;
pub use report::{TerminalReport, TerminalRow};

use crate::once::{House, Target};
use crate::{deadline, tools};

/// Time in which a program must have started, and carried out what was typed to it.
const CARRIED_OUT: Duration = Duration::from_secs(30);

/// State of a program when it is interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It waits for input.
    Idle,
    /// It runs something that does not end by itself.
    Busy,
}

impl State {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Idle, Self::Busy];

    /// For tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Busy => "busy",
        }
    }
}

/// Messages of one round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    /// A text that interrupts first.
    Text,
    /// 12 kB of input, and then a text that interrupts first.
    TextAfterInput,
    /// 12 kB of input, an interrupt, and then a text.
    InterruptAfterInput,
}

impl Case {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Text, Self::TextAfterInput, Self::InterruptAfterInput];

    /// For tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "stdin with interrupt",
            Self::TextAfterInput => "stdin with interrupt, 12 kB typed ahead",
            Self::InterruptAfterInput => "interrupt, 12 kB typed ahead, then stdin",
        }
    }
}

/// A trial.
#[derive(Debug, Clone)]
pub struct TerminalTrial {
    /// The wh binary.
    pub wh: PathBuf,
    /// The programs; those that are not installed are skipped.
    pub programs: Vec<TerminalProgram>,
    /// Rounds for each program, state and case.
    pub rounds: usize,
}

impl TerminalTrial {
    /// Runs the trial, all programs at the same time. `progress` is called after each row. Panics when the daemon or a
    /// program does not start.
    pub fn run(&self, progress: impl Fn(&str) + Sync) -> TerminalReport {
        let mut house = House::new(&self.wh);
        house.start();
        let (house, faults) = (&house, Mutex::new(Vec::new()));
        let (installed, skipped): (Vec<TerminalProgram>, Vec<_>) =
            self.programs.iter().partition(|program| tools::find(program.executable()).is_some());
        let rows = thread::scope(|scope| {
            let (progress, faults) = (&progress, &faults);
            let runs: Vec<_> =
                installed.iter().map(|&one| scope.spawn(move || self.program(one, house, faults, progress))).collect();
            runs.into_iter().flat_map(|run| run.join().expect("the trial of a program")).collect()
        });
        TerminalReport { rows, skipped, faults: faults.into_inner().unwrap_or_default() }
    }

    fn program(
        &self,
        program: TerminalProgram,
        house: &House,
        faults: &Mutex<Vec<String>>,
        progress: impl Fn(&str),
    ) -> Vec<TerminalRow> {
        let mut rows = Vec::new();
        let mut trial = ProgramTrial::start(house, program, 0);
        for state in State::ALL {
            for case in Case::ALL {
                let mut row = TerminalRow::new(program, state, case);
                for round in 0..self.rounds {
                    let (acks, text) = trial.round(state, case, round % 2 == 1);
                    let ok = acks.iter().all(|ack| ack["result"] == "ok");
                    row.add(ok, text);
                    if !ok || text != TextFate::CarriedOut {
                        let (name, state, case) = (program.executable(), state.name(), case.name());
                        let screen = trial.screen();
                        let fault = format!("{name}, {state}, {case}, round {round}: {text:?}, {acks:?}\n{screen}");
                        faults.lock().expect("the list of faults").push(fault);
                        // What is left of the program would spoil later rounds.
                        trial = ProgramTrial::start(house, program, trial.number);
                    }
                }
                progress(&format!(
                    "{}, {}, {}: {} of {} carried out",
                    program.executable(),
                    state.name(),
                    case.name(),
                    row.carried_out,
                    row.rounds
                ));
                rows.push(row);
            }
        }
        rows
    }
}

/// One program in a session.
struct ProgramTrial<'a> {
    house: &'a House,
    token: String,
    program: TerminalProgram,
    target: Target,
    session: String,
    file: PathBuf,
    /// Number of the last name.
    number: usize,
}

impl<'a> ProgramTrial<'a> {
    fn start(house: &'a House, program: TerminalProgram, number: usize) -> Self {
        let session = format!("{}-{number}", program.executable());
        let command = program.command();
        let target = house.create(&json!({ "command": command, "name": session, "cwd": house.place() }));
        let file = house.place().join(format!("{session}.txt"));
        let mut trial = Self { house, token: house.token(), program, target, session, file, number };
        let (name, note) = trial.note();
        trial.say(&note, false);
        assert_eq!(trial.seen(&name), 1, "{} did not start:\n{}", trial.session, trial.screen());
        trial
    }

    /// A new name and the line that notes it.
    fn note(&mut self) -> (String, String) {
        self.number += 1;
        let name = format!("n{}", self.number);
        let note = self.program.note(&name, &self.file);
        (name, note)
    }

    /// One round: the acknowledgements that must be `ok`, and what became of the text.
    fn round(&mut self, state: State, case: Case, odd: bool) -> (Vec<Value>, TextFate) {
        if state == State::Busy {
            self.number += 1;
            let name = format!("busy{}", self.number);
            let busy = self.program.busy(&name, &self.file, odd);
            let ack = self.say(&busy, false);
            if self.seen(&name) != 1 {
                return (vec![ack], TextFate::Lost);
            }
        }
        if case != Case::Text {
            // Whether all of it was read does not matter.
            self.say(&self.program.ahead(odd), false);
        }
        let (name, note) = self.note();
        let acks = match case {
            Case::Text | Case::TextAfterInput => vec![self.say(&note, true)],
            Case::InterruptAfterInput => {
                let interrupt = json!({ "type": "control.interrupt.request", "signal": "interrupt" });
                vec![self.send(interrupt), self.say(&note, false)]
            }
        };
        let fate = match self.seen(&name) {
            1 if self.is_clean() => TextFate::CarriedOut,
            0 if !self.screen().contains(&name) => TextFate::Lost,
            _ => TextFate::Mutilated,
        };
        (acks, fate)
    }

    fn say(&self, text: &str, interrupt: bool) -> Value {
        self.send(json!({ "type": "control.stdin.request", "content": text, "interrupt": interrupt }))
    }

    /// Sends a message; its acknowledgement.
    fn send(&self, mut message: Value) -> Value {
        let fields = json!({
            "v": 1, "request_id": uuid(), "team": "default", "session_id": self.target.session_id,
            "agent_id": self.target.agent_id, "sender": "local", "sent_at": jiff::Timestamp::now().to_string(),
        });
        for (name, value) in fields.as_object().into_iter().flatten() {
            message[name] = value.clone();
        }
        let answer = self.house.line().and_then(|mut line| line.ask("control", Some(&self.token), &message));
        answer.unwrap_or_else(|error| json!({ "result": error.to_string() }))
    }

    /// Counts the name in the file, once it is there.
    fn seen(&self, name: &str) -> usize {
        let count = || self.lines().iter().filter(|line| *line == name).count();
        deadline::before(CARRIED_OUT, || Some(count()).filter(|count| *count > 0)).unwrap_or(0)
    }

    /// True if every line of the file is a name that this trial gave out.
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
        let output = self.house.command(&["screen", &self.session]).output();
        output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
    }
}

/// An id that no other message has.
fn uuid() -> String {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static LAST: AtomicUsize = AtomicUsize::new(0);
    format!("interrupt-{}", LAST.fetch_add(1, Ordering::Relaxed))
}
