//! Lists the transcripts of an agent's directory.

use std::path::{Path, PathBuf};

use super::TranscriptFormat;
use crate::claude::history;
use crate::interface::QueryContext;
use crate::manage::gemini;

/// Maximum number of days whose transcripts are listed, newest first. A conversation that began earlier is not found.
const MAX_LISTED_DAYS: usize = 100;

/// Returns the transcripts that may belong to an agent in this directory.
pub(super) fn files(format: TranscriptFormat, here: &QueryContext) -> Vec<PathBuf> {
    let folders = match format {
        TranscriptFormat::Claude => history::folder(here).into_iter().collect(),
        TranscriptFormat::Codex => codex_days(here),
        TranscriptFormat::Gemini => gemini::chats(here).into_iter().collect(),
    };
    folders.iter().flat_map(|folder| entries(folder)).filter(|file| is_transcript(format, file)).collect()
}

/// Returns the directories in which a new transcript may be created. They need not exist.
pub(super) fn directories(format: TranscriptFormat, here: &QueryContext) -> Vec<PathBuf> {
    match format {
        TranscriptFormat::Claude => history::folder(here).into_iter().collect(),
        TranscriptFormat::Codex => {
            let Some(sessions) = codex_sessions(here) else { return Vec::new() };
            // A new day, month or year creates a directory.
            let year = newest(&sessions);
            let month = year.as_deref().and_then(newest);
            let day = month.as_deref().and_then(newest);
            [Some(sessions), year, month, day].into_iter().flatten().collect()
        }
        // The project's directory is known only after Gemini has listed it.
        TranscriptFormat::Gemini => {
            let folder = gemini::folder(here);
            gemini::chats(here).or_else(|| folder.map(|folder| folder.join("tmp"))).into_iter().collect()
        }
    }
}

/// Returns true if the name of the file is that of a transcript.
pub(super) fn is_transcript(format: TranscriptFormat, file: &Path) -> bool {
    let prefix = match format {
        TranscriptFormat::Claude => "",
        TranscriptFormat::Codex => "rollout-",
        TranscriptFormat::Gemini => "session-",
    };
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.starts_with(prefix) && name.ends_with(".jsonl")
}

fn codex_sessions(here: &QueryContext) -> Option<PathBuf> {
    let home = here.variable("CODEX_HOME").map(PathBuf::from).or_else(|| here.home(".codex"))?;
    Some(home.join("sessions"))
}

/// Returns the directories of the newest days.
fn codex_days(here: &QueryContext) -> Vec<PathBuf> {
    let below = |folders: Vec<PathBuf>| folders.iter().flat_map(|folder| entries(folder)).collect::<Vec<_>>();
    let years = codex_sessions(here).map(|sessions| entries(&sessions)).unwrap_or_default();
    let mut days = below(below(years));
    days.sort_unstable_by(|one, other| other.cmp(one));
    days.truncate(MAX_LISTED_DAYS);
    days
}

fn newest(folder: &Path) -> Option<PathBuf> {
    entries(folder).into_iter().filter(|entry| entry.is_dir()).max()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
}
