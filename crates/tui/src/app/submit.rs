//! Carries out a line of the composer: in the UI, or in the space.

use std::time::SystemTime;

use wh_core::line::ComposerLine;
use wh_core::slash::Slash;
use wh_core::space::command::Command;
use wh_core::space::harness::Call;
use wh_core::space::roster::Ask;
use wh_core::space::state::State;

use super::{Act, App, Pick, Request};

impl App {
    pub(super) fn submit(&mut self, text: String, state: &State, now: SystemTime) -> Vec<Act> {
        self.transcript.follow();
        self.notice = None;
        let asked = match ComposerLine::read(&text) {
            Ok(line) => line.into_slash(),
            Err(mistake) => return vec![refused(text, mistake.to_string())],
        };
        let command = match asked {
            Slash::Ui(command) => return self.ui(command, state, now),
            Slash::Space(command) => command,
        };
        match command {
            // Chat goes to the agent as well, which is more than the space itself does.
            Command::Manage(Some(agent), Ask::Invite) => self.bring(agent.to_string(), state),
            Command::Model(None, None) if self.offers(Pick::Model, state) => self.pick(Pick::Model, state, now),
            Command::Mode(None, None) if self.offers(Pick::Mode, state) => self.pick(Pick::Mode, state, now),
            // Nobody, or more than one, is paused: a conversation may be meant.
            Command::Call(None, Call::Resume) if state.only_paused().is_none() => {
                self.pick(Pick::Conversation, state, now)
            }
            command => vec![Act::Ask(Request { command, written: Some(text) })],
        }
    }
}

/// True for a line that is said as it is. If it is refused it goes back into the composer.
pub(super) fn is_message(text: &str) -> bool {
    matches!(ComposerLine::read(text), Ok(ComposerLine::Message { .. }))
}

/// Records a refused slash command in the conversation. The composer stays empty; Up brings the line back.
pub(super) fn refused(line: String, reason: String) -> Act {
    Act::Ask(Request { command: Command::Refused { line, reason }, written: None })
}
