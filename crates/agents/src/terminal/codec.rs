//! Messages between the driver and the task that serves an agent's terminal: commands to the terminal, and observations
//! of the terminal, the hooks and the transcript. Both ends are in this process. A line carries only the number under
//! which the message waits in the [`Exchange`].

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use wh_core::input::Gesture;
use wh_pipe::link::{Codec, DecodedLine, EncodedFrame, FrameRole};
use wh_wire::hook::HookMessage;

use super::profile::TitleReading;
use super::reading::{DialogReading, ScreenReading};

/// Command to the task that serves an agent's terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TerminalTaskCommand {
    /// Reserve the keyboard. Acknowledged by a new [`Observation::Screen`], then by [`Observation::Held`].
    HoldKeyboard,
    ReleaseKeyboard,
    /// Type while the keyboard is reserved.
    Type(Vec<Gesture>),
    /// Type into this dialog, if it is still the dialog on the screen.
    AnswerDialog {
        dialog: DialogReading,
        input: Vec<Gesture>,
    },
    /// Press Escape if the screen shows work or a dialog, and hold the keyboard until the agent has taken it.
    Interrupt,
    /// Refuse text that others type.
    GuardText(bool),
    /// Follow the transcript at this path, from its first line.
    Follow(PathBuf),
    /// Search the transcript that has this prompt, which is about to be sent.
    ExpectPrompt(String),
    /// Let the hook with this number continue, without a decision.
    ContinueHook(u64),
    /// Do nothing. Stands for a prompt, whose steps are separate commands.
    Nothing,
}

/// Observation of an agent's terminal, its hooks and its transcript.
#[derive(Debug, Clone, PartialEq)]
pub enum Observation {
    Screen(ScreenObservation),
    /// The keyboard is reserved.
    Held,
    /// Input under the reservation was not delivered, for this reason.
    NotTyped(String),
    /// Result of [`TerminalTaskCommand::AnswerDialog`]: an error if nothing was typed.
    DialogAnswered(Result<(), String>),
    /// Result of [`TerminalTaskCommand::Interrupt`]: an error if Escape was not pressed.
    Interrupted(Result<(), String>),
    /// A hook of the agent waits for [`TerminalTaskCommand::ContinueHook`].
    Hook {
        number: u64,
        message: Box<HookMessage>,
        /// Process of the agent that ran the hook, if known.
        process: Option<i32>,
    },
    /// The agent writes the transcript at this path.
    TranscriptFound(PathBuf),
    /// A line of the transcript.
    TranscriptLine(Vec<u8>),
    /// All lines that the transcript had when it was opened were sent.
    TranscriptOpened,
    Warning(String),
}

/// Screen and title of an agent, as its profile reads them.
#[derive(Debug, Clone, PartialEq)]
pub struct ScreenObservation {
    pub reading: ScreenReading,
    pub title: TitleReading,
    /// Number of inputs typed so far, by anybody.
    pub typed: u64,
}

/// Numbered messages that wait for the other end of the link.
#[derive(Debug)]
struct Waiting<T> {
    messages: HashMap<u64, T>,
    last: u64,
}

impl<T> Default for Waiting<T> {
    fn default() -> Self {
        Self { messages: HashMap::new(), last: 0 }
    }
}

/// Messages in both directions whose numbers are in the link. Clones share the messages.
#[derive(Debug, Clone, Default)]
pub struct Exchange {
    commands: Arc<Mutex<Waiting<TerminalTaskCommand>>>,
    observations: Arc<Mutex<Waiting<Observation>>>,
}

fn put<T>(waiting: &Mutex<Waiting<T>>, message: T) -> String {
    let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
    waiting.last += 1;
    let number = waiting.last;
    waiting.messages.insert(number, message);
    number.to_string()
}

fn take<T>(waiting: &Mutex<Waiting<T>>, line: &[u8]) -> Option<T> {
    let number = std::str::from_utf8(line).ok()?.parse().ok()?;
    waiting.lock().unwrap_or_else(PoisonError::into_inner).messages.remove(&number)
}

impl Exchange {
    /// Stores an observation. Returns its line.
    pub fn put_observation(&self, observation: Observation) -> String {
        put(&self.observations, observation)
    }

    /// Takes the command of a line.
    pub fn take_command(&self, line: &[u8]) -> Option<TerminalTaskCommand> {
        take(&self.commands, line)
    }
}

impl Codec for Exchange {
    type Frame = TerminalTaskCommand;
    type Id = u64;
    type Reply = Result<Value, String>;
    type Message = Observation;

    fn encode(&self, frame: TerminalTaskCommand, _number: u64) -> Result<EncodedFrame<u64>, String> {
        Ok(EncodedFrame { line: put(&self.commands, frame), role: FrameRole::Message })
    }

    fn decode(&self, line: &[u8]) -> DecodedLine<Self> {
        take(&self.observations, line).map_or(DecodedLine::Nothing, DecodedLine::Message)
    }
}
