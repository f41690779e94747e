//! Finds the transcript of an agent for which no hook reports the path. Never guesses: a file that another process may
//! have written is returned only if it contains a prompt that this agent has received.

mod listing;
mod processes;

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::Value;

use super::fact::{TranscriptFact, TranscriptReader, parsed};
use super::watch::TranscriptWatch;
use super::{claude::ClaudeTranscript, codex, codex::CodexTranscript, gemini::GeminiTranscript};
use crate::interface::QueryContext;
use processes::ProcessTable;

/// Number of bytes at the end of a transcript in which a prompt is looked for.
const SEARCHED_TAIL_BYTES: u64 = 1024 * 1024;

/// Resolution of the times in a transcript.
const TIMESTAMP_RESOLUTION_TIME: Duration = Duration::from_millis(1);

/// Maximum number of lines at the start of a transcript that are read for its origin.
const MAX_HEADER_LINES: usize = 20;

/// Maximum number of bytes at the start of a transcript that are read for its origin.
const MAX_HEADER_BYTES: u64 = 1024 * 1024;

/// Format of a transcript, one per agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TranscriptFormat {
    Claude,
    Codex,
    Gemini,
}

impl TranscriptFormat {
    /// Creates a translator of this format.
    pub fn reader(self) -> Box<dyn TranscriptReader + Send> {
        match self {
            Self::Claude => Box::<ClaudeTranscript>::default(),
            Self::Codex => Box::<CodexTranscript>::default(),
            Self::Gemini => Box::<GeminiTranscript>::default(),
        }
    }

    /// Returns the text by which the command line of the agent is recognised.
    fn program(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
        }
    }
}

/// Prompt that the agent has received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceivedPrompt<'a> {
    pub text: &'a str,
    /// Time before the prompt was sent. An earlier prompt with the same text proves nothing.
    pub sent_at: SystemTime,
}

/// Result of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LocatedTranscript {
    /// The agent writes this file, or was the last to write it.
    Found(PathBuf),
    /// Any of these files may be the agent's. A prompt that the agent has received would decide.
    Ambiguous(Vec<PathBuf>),
    /// The agent has not written a transcript yet.
    Missing,
}

/// Search for the transcript of one running agent.
#[derive(Debug, Clone)]
pub struct TranscriptSearch {
    format: TranscriptFormat,
    here: QueryContext,
    /// Process that was started in the agent's terminal.
    process: u32,
    started: SystemTime,
    /// Root of the process information.
    proc: PathBuf,
}

impl TranscriptSearch {
    /// Creates a search. `here` has the agent's working directory and environment, `process` is the process that was
    /// started in its terminal at the time `started` or slightly later.
    pub fn new(format: TranscriptFormat, mut here: QueryContext, process: u32, started: SystemTime) -> Self {
        // Agents record their directory without symbolic links.
        here.directory = here.directory.canonicalize().unwrap_or(here.directory);
        Self { format, here, process, started, proc: PathBuf::from("/proc") }
    }

    /// Creates a watch for new and changed transcripts, including those of other processes. It is not needed once the
    /// transcript is found. Must be called within a tokio runtime.
    pub fn watch(&self) -> io::Result<TranscriptWatch> {
        TranscriptWatch::new(listing::directories(self.format, &self.here))
    }

    /// Watches the directories that exist now. Must be called after each change, before [`Self::locate`].
    pub fn rearm(&self, watch: &mut TranscriptWatch) {
        watch.arm(Some(listing::directories(self.format, &self.here)));
    }

    /// Searches the transcript that the agent writes now. Called again after a change of the directory, and when a
    /// prompt did not appear in the followed transcript, because the agent may continue in a new or in an old file.
    /// Blocks: reads files.
    pub fn locate(&self, prompt: Option<ReceivedPrompt<'_>>) -> LocatedTranscript {
        let table = ProcessTable::read(&self.proc);
        let own = table.descendants(self.process);
        let open: Vec<PathBuf> = own.iter().flat_map(|process| table.open_files(*process)).collect();
        let mut open: Vec<PathBuf> =
            open.into_iter().filter(|file| listing::is_transcript(self.format, file) && self.is_own(file)).collect();
        open.sort_unstable();
        open.dedup();
        // An agent that keeps its transcript open proves that the file is its own.
        if let Some(newest) = newest(&open) {
            return LocatedTranscript::Found(newest);
        }
        let mut candidates: Vec<PathBuf> = listing::files(self.format, &self.here)
            .into_iter()
            .filter(|file| modified(file).is_some_and(|modified| modified >= self.started) && self.is_own(file))
            .collect();
        candidates.sort_unstable();
        if let Some(prompt) = prompt {
            candidates.retain(|file| contains_prompt(self.format, file, prompt));
        }
        if candidates.is_empty() {
            return LocatedTranscript::Missing;
        }
        let others = table.others(&own, self.format.program(), &self.here.directory);
        let is_certain = match prompt {
            Some(_) => candidates.len() == 1,
            // Gemini's transcripts do not tell a conversation in a terminal from one of a nested agent.
            None => !others && (candidates.len() == 1 || self.format != TranscriptFormat::Gemini),
        };
        match newest(&candidates).filter(|_| is_certain) {
            Some(newest) => LocatedTranscript::Found(newest),
            None => LocatedTranscript::Ambiguous(candidates),
        }
    }

    /// Returns true if the transcript belongs to a conversation in a terminal in the agent's directory.
    fn is_own(&self, file: &Path) -> bool {
        let header = header(file);
        let in_directory =
            |line: &Value| line["cwd"].as_str().is_none_or(|directory| Path::new(directory) == self.here.directory);
        match self.format {
            TranscriptFormat::Claude => {
                let starts = header.iter().find(|line| line["cwd"].is_string());
                starts.is_none_or(|line| {
                    in_directory(line) && line["entrypoint"].as_str().is_none_or(|entrypoint| entrypoint == "cli")
                })
            }
            TranscriptFormat::Codex => header.first().is_some_and(|line| {
                let meta = &line["payload"];
                let origin = meta["originator"].as_str().unwrap_or_default();
                line["type"] == "session_meta"
                    && in_directory(meta)
                    && !codex::is_subagent(meta)
                    && ["codex-tui", "codex_cli_rs"].contains(&origin)
            }),
            TranscriptFormat::Gemini => {
                header.first().is_some_and(|line| line["kind"].as_str().is_none_or(|kind| kind == "main"))
            }
        }
    }
}

fn modified(file: &Path) -> Option<SystemTime> {
    file.metadata().and_then(|facts| facts.modified()).ok()
}

fn newest(files: &[PathBuf]) -> Option<PathBuf> {
    files.iter().max_by_key(|file| modified(file)).cloned()
}

fn header(file: &Path) -> Vec<Value> {
    let Ok(file) = std::fs::File::open(file) else { return Vec::new() };
    let lines = BufReader::new(file.take(MAX_HEADER_BYTES)).split(b'\n').map_while(Result::ok);
    lines.take(MAX_HEADER_LINES).filter_map(|line| parsed(&line)).collect()
}

/// Returns true if the end of the transcript contains the prompt.
fn contains_prompt(format: TranscriptFormat, file: &Path, prompt: ReceivedPrompt<'_>) -> bool {
    let tail = || {
        let mut file = std::fs::File::open(file)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(SEARCHED_TAIL_BYTES)))?;
        let mut tail = Vec::new();
        file.take(SEARCHED_TAIL_BYTES).read_to_end(&mut tail)?;
        io::Result::Ok(tail)
    };
    let Ok(tail) = tail() else { return false };
    let mut reader = format.reader();
    let earliest = prompt.sent_at.checked_sub(TIMESTAMP_RESOLUTION_TIME).unwrap_or(prompt.sent_at);
    let mut is_prompt = |line: &[u8]| {
        let facts = reader.line(line);
        let is_same =
            |fact: &TranscriptFact| matches!(fact, TranscriptFact::Prompt { text, .. } if text == prompt.text);
        facts.iter().any(is_same) && recorded_at(line).is_some_and(|time| time >= earliest)
    };
    tail.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).any(&mut is_prompt)
}

/// Returns the time of a line.
fn recorded_at(line: &[u8]) -> Option<SystemTime> {
    let time = parsed(line)?["timestamp"].as_str()?.parse::<jiff::Timestamp>().ok()?;
    Some(time.into())
}

#[cfg(test)]
mod tests;
