//! Executes a line submitted in the composer: as a command of the UI, or as a command to the space.

use std::time::SystemTime;

use wh_core::line::ComposerLine;
use wh_core::slash::SlashCommand;
use wh_core::space::command::ConversationCommand;
use wh_core::space::harness::Call;
use wh_core::space::roster::AgentRequest;
use wh_core::space::state::SpaceState;

use super::{App, AppEffect, PickerKind, SentCommand};

impl App {
    pub(super) fn submit(&mut self, text: String, state: &SpaceState, now: SystemTime) -> Vec<AppEffect> {
        self.transcript.follow();
        self.notice = None;
        let asked = match ComposerLine::read(&text) {
            Ok(line) => line.into_slash(),
            Err(mistake) => return vec![refused(text, mistake.to_string())],
        };
        let command = match asked {
            SlashCommand::Ui(command) => return self.ui(command, state, now),
            SlashCommand::Space(command) => command,
        };
        match command {
            // The space only adds the agent. The UI also directs chat to the agent.
            ConversationCommand::Manage(Some(agent), AgentRequest::Invite) => {
                self.select_agent(agent.to_string(), state)
            }
            ConversationCommand::Model(None, None) if self.has_choices(PickerKind::Model, state) => {
                self.toggle_picker(PickerKind::Model, state, now)
            }
            ConversationCommand::Mode(None, None) if self.has_choices(PickerKind::Mode, state) => {
                self.toggle_picker(PickerKind::Mode, state, now)
            }
            // Unless exactly one participant is paused, `/resume` resumes a saved conversation.
            ConversationCommand::Call(None, Call::Resume) if state.only_paused().is_none() => {
                self.toggle_picker(PickerKind::Conversation, state, now)
            }
            command => vec![AppEffect::Ask(SentCommand { command, written: Some(text) })],
        }
    }
}

/// Returns true for a line that is sent as a message. If the space refuses a message, the line returns to the composer.
pub(super) fn is_message(text: &str) -> bool {
    matches!(ComposerLine::read(text), Ok(ComposerLine::Message { .. }))
}

/// Returns the effect that records a refused slash command in the conversation. The composer stays empty, and Up
/// recalls the line.
pub(super) fn refused(line: String, reason: String) -> AppEffect {
    AppEffect::Ask(SentCommand { command: ConversationCommand::Refused { line, reason }, written: None })
}
