//! What `GET /control/state` gives: the `CLIStateSnapshot` of the control plane, and the session behind it.
//! Field names are the contract's own, in its own case.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The whole state. The default is that of a client that knows nothing yet.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClientState {
    /// The conversation as envelopes.
    pub messages: Vec<Message>,
    /// Who takes part.
    pub participants: Vec<String>,
    /// Whom the next chat goes to.
    pub chat_targets: ChatTargets,
    /// What the terminal UI shows.
    pub ui: Ui,
    /// Open streams and their last frames.
    pub streams: Streams,
    /// What waits for an acknowledgement.
    pub acknowledgements: Acknowledgements,
    /// What each participant said of itself.
    pub participant_statuses: BTreeMap<String, ParticipantStatus>,
    /// What each participant can do.
    pub tool_catalog: BTreeMap<String, Vec<Tool>>,
    /// Whether the space is paused.
    pub pause_state: Option<PauseState>,
    /// The agents' sessions, by participant. Absent where there is no conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sessions: Option<BTreeMap<String, AgentSession>>,
    /// The session under control.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionFacts>,
    /// Its terminal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminal: Option<TerminalFacts>,
}

/// One envelope.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// Its id.
    pub id: String,
    /// Its kind: `chat`, `mcp/request`, ….
    pub kind: String,
    /// Its sender.
    pub from: Option<String>,
    /// Its addressees; null is everybody.
    pub to: Option<Vec<String>>,
    /// What it says.
    pub payload: Value,
    /// Whether this client sent it.
    pub sent: bool,
    /// When it was added to the list: later than all before it.
    pub received_at: String,
    /// The protocol of the envelope: `mew/v0.4`.
    #[serde(default)]
    pub protocol: String,
    /// When it was sent. In a local conversation the same as `receivedAt`.
    #[serde(default)]
    pub ts: String,
    /// The envelopes that it answers or is about.
    #[serde(default, rename = "correlation_id", skip_serializing_if = "Vec::is_empty")]
    pub correlation_id: Vec<String>,
    /// The `reasoning/start` that it is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
}

/// Whom the next chat goes to, and why.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChatTargets {
    /// What holds.
    pub effective: Option<Vec<String>>,
    /// Chosen for now.
    #[serde(rename = "override")]
    pub override_targets: Option<Vec<String>>,
    /// The participant's default.
    pub participant_default: Option<Vec<String>>,
    /// The space's default.
    pub global_default: Option<Vec<String>>,
}

/// What the terminal UI shows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ui {
    /// The reasoning bar.
    pub reasoning: Reasoning,
    /// What waits for the person's answer.
    pub pending_operation: Option<PendingOperation>,
    /// The signal board.
    pub signal_board: SignalBoard,
    /// Whether details are shown.
    pub verbose_mode: bool,
    /// Whether stream frames are shown.
    pub show_streams: bool,
    /// Columns.
    pub terminal_width: Option<u16>,
}

/// The reasoning bar.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Reasoning {
    /// Whether somebody reasons now.
    pub active: bool,
    /// Who.
    pub participant: Option<String>,
    /// For how long.
    pub elapsed_ms: u64,
    /// At what cost.
    pub tokens: Option<u64>,
    /// What about.
    pub preview: Option<String>,
}

/// What waits for the person's answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PendingOperation {
    /// Its id.
    pub id: String,
    /// Its kind.
    pub kind: String,
    /// Who asked.
    pub requested_by: String,
    /// When.
    pub created_at: String,
}

/// The signal board.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SignalBoard {
    /// Whether it is open.
    pub expanded: bool,
    /// `open`, `close` or `auto` if the person chose.
    #[serde(rename = "override")]
    #[schemars(extend("enum" = ["open", "close", "auto", null]))]
    pub override_mode: Option<String>,
    /// Acknowledgements shown.
    pub ack_count: u64,
    /// Statuses shown.
    pub status_count: u64,
    /// The pause shown.
    pub pause_state: Option<SignalPause>,
}

/// A pause as the board shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SignalPause {
    /// Who is paused.
    pub participant: String,
    /// Why.
    pub reason: Option<String>,
}

/// Open streams and their last frames.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Streams {
    /// The open ones.
    pub active: Vec<ActiveStream>,
    /// The last frames of all, oldest first.
    pub recent_frames: Vec<StreamFrame>,
}

/// One open stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ActiveStream {
    /// Its id.
    pub stream_id: String,
    /// Who asked for it.
    pub opened_by: String,
    /// When.
    pub opened_at: String,
    /// When its last frame came.
    pub last_activity_at: String,
}

/// One frame of a stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StreamFrame {
    /// Its stream.
    pub stream_id: String,
    /// What it carries.
    pub payload: Value,
    /// When it came.
    pub timestamp: String,
}

/// What waits for an acknowledgement.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Acknowledgements {
    /// From others.
    pub pending: Vec<Acknowledgement>,
    /// Ids that wait for this participant.
    pub my_pending: Vec<String>,
}

/// One acknowledgement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Acknowledgement {
    /// Its id.
    pub id: String,
    /// Whose message it is about.
    pub from: String,
    /// Who must acknowledge.
    pub to: String,
    /// Since when.
    pub requested_at: String,
    /// `pending`, `granted` or `denied`.
    #[schemars(extend("enum" = ["pending", "granted", "denied"]))]
    pub status: String,
}

/// What a participant said of itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ParticipantStatus {
    /// A word.
    pub status: String,
    /// A sentence.
    pub summary: Option<String>,
    /// When.
    pub last_updated: Option<String>,
}

/// Something that a participant can do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Its name for people.
    pub display_name: Option<String>,
    /// What it does.
    pub description: Option<String>,
    /// What it takes.
    pub input_schema: Option<Value>,
}

/// A pause of the space.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PauseState {
    /// Whether it holds.
    pub active: bool,
    /// Who asked for it.
    pub requested_by: Option<String>,
    /// Until when.
    pub expires_at: Option<String>,
    /// Why.
    pub reason: Option<String>,
}

/// How an agent's session fares.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentSession {
    /// `starting`, `idle`, `working`, `waiting`, `paused`, `gone` or `unknown`.
    pub status: String,
    /// What says so: `protocol`, `transcript`, `hook`, `screen` or `process`.
    pub evidence: String,
    /// Since when.
    pub since: String,
    /// The turn that is under way.
    pub turn: Option<String>,
    /// The question that it waits for.
    pub question: Option<String>,
    /// Why it is gone.
    pub reason: Option<String>,
    /// The model in use.
    pub model: Option<String>,
    /// The mode in use.
    pub mode: Option<String>,
    /// What it has cost so far, once it has said.
    pub usage: Option<Box<AgentUsage>>,
    /// Its turn that ended last.
    #[serde(default)]
    pub last_turn: Option<Box<TurnBody>>,
}

/// A turn that is over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnBody {
    /// Which.
    pub turn: String,
    /// `completed`, `cancelled` or `failed`.
    pub outcome: String,
    /// Why it failed.
    pub reason: Option<String>,
    /// How long it took, in milliseconds.
    #[serde(default)]
    pub duration_ms: u64,
    /// Tools that were called in it.
    #[serde(default)]
    pub tool_calls: u64,
    /// The model that was in use at its end, where that is known.
    #[serde(default)]
    pub model: Option<String>,
}

/// What an agent has cost so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentUsage {
    /// Tokens in its context.
    pub context_tokens: Option<u64>,
    /// How many fit.
    pub context_limit: Option<u64>,
    /// Tokens read.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// In dollars, where it says.
    pub cost: Option<f64>,
}

/// The session under control.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionFacts {
    /// wh's own id for it.
    pub id: String,
    /// What runs.
    pub command: Vec<String>,
    /// `running`, `stopped` or `exited`.
    #[schemars(extend("enum" = ["running", "stopped", "exited"]))]
    pub status: String,
    /// What says so: `process`.
    pub evidence: String,
    /// Since when.
    pub since: String,
    /// The program's process id.
    pub pid: Option<i32>,
    /// How it ended.
    pub exit: Option<ExitBody>,
    /// Waits that are open now.
    pub open_waits: usize,
    /// Bytes that the program has not taken yet.
    pub queued_input: usize,
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExitBody {
    /// As a shell shows it: 128+n for signal n.
    pub code: i32,
    /// The signal's number, if one ended it.
    pub signal: Option<i32>,
}

/// The session's terminal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalFacts {
    /// Columns.
    pub width: u16,
    /// Rows.
    pub height: u16,
    /// Whether a person's terminal is attached.
    pub attached: bool,
    /// The window title.
    pub title: Option<String>,
    /// Whether the alternate screen is shown.
    pub alternate_screen: bool,
    /// Where the shell says it is (OSC 7).
    pub directory: Option<String>,
    /// The last notification (OSC 9, OSC 777).
    pub notification: Option<String>,
    /// The last progress report (OSC 9;4), as the program wrote it.
    pub progress: Option<String>,
    /// The last shell integration mark (OSC 133): `A` prompt, `B` input, `C` output, `D;code` done.
    pub shell_mark: Option<String>,
    /// Bells so far.
    pub bells: u64,
    /// Bytes that the program has written so far.
    pub output_bytes: u64,
    /// Frames so far.
    pub frames_rendered: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_state_has_every_field_of_the_contract() {
        let state = serde_json::to_value(ClientState::default()).unwrap();
        let expected = serde_json::json!({
            "messages": [], "participants": [],
            "chatTargets": {"effective": null, "override": null, "participantDefault": null, "globalDefault": null},
            "ui": {
                "reasoning": {"active": false, "participant": null, "elapsedMs": 0, "tokens": null, "preview": null},
                "pendingOperation": null,
                "signalBoard": {"expanded": false, "override": null, "ackCount": 0, "statusCount": 0, "pauseState": null},
                "verboseMode": false, "showStreams": false, "terminalWidth": null
            },
            "streams": {"active": [], "recentFrames": []},
            "acknowledgements": {"pending": [], "myPending": []},
            "participantStatuses": {}, "toolCatalog": {}, "pauseState": null
        });
        assert_eq!(state, expected);
    }
}
