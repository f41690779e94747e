//! Response body of `GET /control/state`: the `CLIStateSnapshot` of the control plane contract, extended by the
//! controlled session. The contract determines the field names and their case.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Complete state of the client. The default value is empty.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClientState {
    /// The conversation as envelopes.
    pub messages: Vec<Message>,
    /// Names of the participants.
    pub participants: Vec<String>,
    /// Recipients of the next chat message.
    pub chat_targets: ChatTargets,
    /// State of the terminal UI.
    pub ui: Ui,
    /// Open streams and recent frames.
    pub streams: Streams,
    /// Acknowledgements that are pending.
    pub acknowledgements: Acknowledgements,
    /// Status reported by each participant.
    pub participant_statuses: BTreeMap<String, ParticipantStatus>,
    /// Tools offered by each participant.
    pub tool_catalog: BTreeMap<String, Vec<Tool>>,
    /// Pause of the space, if any.
    pub pause_state: Option<PauseState>,
    /// Agent sessions by participant. Absent if there is no conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sessions: Option<BTreeMap<String, AgentSession>>,
    /// The controlled session. Absent if there is no terminal program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionFacts>,
    /// Terminal of the controlled session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminal: Option<TerminalFacts>,
}

/// Envelope of the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// Id of the envelope.
    pub id: String,
    /// Kind of the envelope: `chat`, `mcp/request`, ….
    pub kind: String,
    /// Participant that sent the envelope.
    pub from: Option<String>,
    /// Recipients; null for all participants.
    pub to: Option<Vec<String>>,
    /// Content; its fields depend on `kind`.
    pub payload: Value,
    /// True if the sender is the user of this client.
    pub sent: bool,
    /// Time at which the message was added to the conversation. Always later than the time of the previous message.
    pub received_at: String,
    /// Protocol version of the envelope: `mew/v0.4`.
    #[serde(default)]
    pub protocol: String,
    /// Time at which the message was sent. Equal to `receivedAt` in a local conversation.
    #[serde(default)]
    pub ts: String,
    /// Ids of the envelopes that this envelope answers or refers to.
    #[serde(default, rename = "correlation_id", skip_serializing_if = "Vec::is_empty")]
    pub correlation_id: Vec<String>,
    /// Id of the `reasoning/start` envelope that this envelope belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
}

/// Recipients of the next chat message, and the settings that determine them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChatTargets {
    /// Recipients in effect: the override, else the participant's default, else the space's default.
    pub effective: Option<Vec<String>>,
    /// Recipients of a temporary override, if set.
    #[serde(rename = "override")]
    pub override_targets: Option<Vec<String>>,
    /// Default recipients of the participant.
    pub participant_default: Option<Vec<String>>,
    /// Default recipients of the space.
    pub global_default: Option<Vec<String>>,
}

/// State of the terminal UI.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ui {
    /// State of the reasoning bar.
    pub reasoning: Reasoning,
    /// Operation that waits for the user's answer.
    pub pending_operation: Option<PendingOperation>,
    /// State of the signal board.
    pub signal_board: SignalBoard,
    /// True if details are shown.
    pub verbose_mode: bool,
    /// True if stream frames are shown.
    pub show_streams: bool,
    /// Width of the terminal in columns.
    pub terminal_width: Option<u16>,
}

/// State of the reasoning bar.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Reasoning {
    /// True while a participant is reasoning.
    pub active: bool,
    /// Participant that is reasoning.
    pub participant: Option<String>,
    /// Elapsed time in milliseconds.
    pub elapsed_ms: u64,
    /// Tokens used, if known.
    pub tokens: Option<u64>,
    /// End of the reasoning text, at most 400 characters.
    pub preview: Option<String>,
}

/// An operation that waits for the user's answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PendingOperation {
    /// Id of the operation.
    pub id: String,
    /// Kind of the operation.
    pub kind: String,
    /// Participant that requested the operation.
    pub requested_by: String,
    /// Time of the request.
    pub created_at: String,
}

/// State of the signal board.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SignalBoard {
    /// True if the board is open.
    pub expanded: bool,
    /// Setting chosen by the user: `open`, `close` or `auto`; null if not set.
    #[serde(rename = "override")]
    #[schemars(extend("enum" = ["open", "close", "auto", null]))]
    pub override_mode: Option<String>,
    /// Number of acknowledgements shown.
    pub ack_count: u64,
    /// Number of statuses shown.
    pub status_count: u64,
    /// Pause shown on the board.
    pub pause_state: Option<SignalPause>,
}

/// Pause of a participant, shown on the signal board.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SignalPause {
    /// Participant that is paused.
    pub participant: String,
    /// Reason for the pause.
    pub reason: Option<String>,
}

/// Open streams and their recent frames.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Streams {
    /// Streams that are open.
    pub active: Vec<ActiveStream>,
    /// Most recent frames of all streams, oldest first.
    pub recent_frames: Vec<StreamFrame>,
}

/// Stream that is currently open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ActiveStream {
    /// Id of the stream.
    pub stream_id: String,
    /// Participant that opened the stream.
    pub opened_by: String,
    /// Time at which the stream was opened.
    pub opened_at: String,
    /// Time of the last frame of the stream.
    pub last_activity_at: String,
}

/// Frame of a stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StreamFrame {
    /// Id of the stream.
    pub stream_id: String,
    /// Content of the frame.
    pub payload: Value,
    /// Time at which the frame was received.
    pub timestamp: String,
}

/// Acknowledgements that are pending.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Acknowledgements {
    /// Acknowledgements expected from other participants.
    pub pending: Vec<Acknowledgement>,
    /// Ids of messages that this participant must acknowledge.
    pub my_pending: Vec<String>,
}

/// Acknowledgement requested from a participant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Acknowledgement {
    /// Id of the acknowledgement.
    pub id: String,
    /// Sender of the message to acknowledge.
    pub from: String,
    /// Participant that must acknowledge.
    pub to: String,
    /// Time of the request.
    pub requested_at: String,
    /// State: `pending`, `granted` or `denied`.
    #[schemars(extend("enum" = ["pending", "granted", "denied"]))]
    pub status: String,
}

/// Status that a participant reported about itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ParticipantStatus {
    /// Status in one word.
    pub status: String,
    /// Status in one sentence.
    pub summary: Option<String>,
    /// Time of the last update.
    pub last_updated: Option<String>,
}

/// A tool that a participant offers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    /// Name of the tool.
    pub name: String,
    /// Display name of the tool.
    pub display_name: Option<String>,
    /// Description of the tool.
    pub description: Option<String>,
    /// JSON Schema of the input.
    pub input_schema: Option<Value>,
}

/// A pause of the space.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PauseState {
    /// True while the pause is in effect.
    pub active: bool,
    /// Participant that requested the pause.
    pub requested_by: Option<String>,
    /// Time at which the pause ends.
    pub expires_at: Option<String>,
    /// Reason for the pause.
    pub reason: Option<String>,
}

/// Status of an agent's session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentSession {
    /// State: `starting`, `idle`, `working`, `waiting`, `paused`, `gone` or `unknown`.
    pub status: String,
    /// Source of the status: `protocol`, `transcript`, `hook`, `title`, `screen` or `process`.
    pub evidence: String,
    /// Text that lists the observations that prove the status; null if the agent's protocol reports the status.
    #[serde(default)]
    pub observation: Option<String>,
    /// Reason why the next message is not typed yet, such as a draft in the composer of the agent's terminal UI.
    #[serde(default)]
    pub waits_for: Option<String>,
    /// Time at which the status was entered.
    pub since: String,
    /// Id of the turn in progress, if any.
    pub turn: Option<String>,
    /// Id of the question that waits for an answer, if any.
    pub question: Option<String>,
    /// Reason for the end of the session.
    pub reason: Option<String>,
    /// Model in use, if known.
    pub model: Option<String>,
    /// Mode in use, if known.
    pub mode: Option<String>,
    /// Usage so far, if the agent has reported it.
    pub usage: Option<Box<AgentUsage>>,
    /// The most recently ended turn.
    #[serde(default)]
    pub last_turn: Option<Box<TurnBody>>,
}

/// A turn that has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnBody {
    /// Id of the turn.
    pub turn: String,
    /// Outcome: `completed`, `cancelled` or `failed`.
    pub outcome: String,
    /// Failure message, if the turn failed.
    pub reason: Option<String>,
    /// Duration in milliseconds.
    #[serde(default)]
    pub duration_ms: u64,
    /// Number of tool calls.
    #[serde(default)]
    pub tool_calls: u64,
    /// Model in use at the end of the turn, if known.
    #[serde(default)]
    pub model: Option<String>,
}

/// Tokens and cost of an agent so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentUsage {
    /// Tokens in the agent's context.
    pub context_tokens: Option<u64>,
    /// Maximum tokens of the context.
    pub context_limit: Option<u64>,
    /// Input tokens in total.
    pub input_tokens: u64,
    /// Output tokens in total.
    pub output_tokens: u64,
    /// Cost in US dollars, if reported.
    pub cost: Option<f64>,
}

/// The controlled session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionFacts {
    /// Session id assigned by wh.
    pub id: String,
    /// Command line of the program.
    pub command: Vec<String>,
    /// Status: `running`, `stopped` or `exited`.
    #[schemars(extend("enum" = ["running", "stopped", "exited"]))]
    pub status: String,
    /// Source of the status: `process`.
    pub evidence: String,
    /// Time at which the status was entered.
    pub since: String,
    /// Process id of the program.
    pub pid: Option<i32>,
    /// Exit status; null while the program runs.
    pub exit: Option<ExitBody>,
    /// Number of wait requests in progress.
    pub open_waits: usize,
    /// Bytes of input that the program has not read yet.
    pub queued_input: usize,
}

/// Exit status of a program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExitBody {
    /// Exit code as a shell reports it: 128+n for signal n.
    pub code: i32,
    /// Number of the signal that killed the program; null if the program exited by itself.
    pub signal: Option<i32>,
}

/// State of the session's terminal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalFacts {
    /// Width in columns.
    pub width: u16,
    /// Height in rows.
    pub height: u16,
    /// True if a user's terminal is attached.
    pub attached: bool,
    /// Window title set by the program.
    pub title: Option<String>,
    /// True if the alternate screen is active.
    pub alternate_screen: bool,
    /// Current directory reported by the shell (OSC 7).
    pub directory: Option<String>,
    /// Text of the last desktop notification (OSC 9, OSC 777).
    pub notification: Option<String>,
    /// The last progress report (OSC 9;4), as the program wrote it.
    pub progress: Option<String>,
    /// The last shell integration mark (OSC 133): `A` prompt, `B` input, `C` output, `D;code` done.
    pub shell_mark: Option<String>,
    /// Number of terminal bells so far.
    pub bells: u64,
    /// Bytes of output that the program has written so far.
    pub output_bytes: u64,
    /// Number of frames that the program has drawn so far.
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
