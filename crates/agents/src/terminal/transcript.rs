//! Transcripts: the JSONL files into which agents record their conversations. Finds and follows the file, and
//! translates its lines into facts.

pub mod claude;
pub mod codex;
pub mod fact;
pub mod follower;
pub mod gemini;
mod lines;
pub mod locate;
#[cfg(test)]
mod tests;
mod watch;

pub use fact::{TranscriptEnd, TranscriptFact, TranscriptReader, split_history};
pub use follower::{FollowEvent, TranscriptFollower};
pub use locate::{LocatedTranscript, ReceivedPrompt, TranscriptFormat, TranscriptSearch};
pub use watch::TranscriptWatch;
