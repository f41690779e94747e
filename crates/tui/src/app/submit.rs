//! What is written becomes what is asked for: a slash command, an envelope in JSON, or a message.

use std::time::SystemTime;

use wh_core::line::{self, is_slash};
use wh_core::slash::{Pick, Slash};
use wh_core::space::command::Command;
use wh_core::space::harness::Call;
use wh_core::space::state::State;

use super::{Act, App, Request};

impl App {
    pub(super) fn submit(&mut self, text: String, state: &State, now: SystemTime) -> Vec<Act> {
        self.transcript.follow();
        self.notice = None;
        if is_slash(&text) {
            // What is brought in is more than the space itself can do.
            if let ["/agent", agent] = text.split_whitespace().collect::<Vec<_>>()[..] {
                return self.bring(agent.to_owned(), state);
            }
            return match line::read(&text) {
                Ok(Slash::Space(Command::Model(None, None))) if self.offers(Pick::Model, state) => {
                    self.pick(Pick::Model, state, now)
                }
                Ok(Slash::Space(Command::Mode(None, None))) if self.offers(Pick::Mode, state) => {
                    self.pick(Pick::Mode, state, now)
                }
                // Nobody, or more than one, is paused: a conversation may be meant.
                Ok(Slash::Space(Command::Call(None, Call::Resume))) if state.only_paused().is_none() => {
                    self.pick(Pick::Conversation, state, now)
                }
                Ok(Slash::Ui(command)) => self.ui(command, state, now),
                Ok(Slash::Space(command)) => vec![Act::Ask(Request { command, written: Some(text) })],
                Err(mistake) => vec![refused(text, mistake.to_string())],
            };
        }
        match line::read(&text) {
            Ok(Slash::Space(command)) => vec![Act::Ask(Request { command, written: Some(text) })],
            Ok(Slash::Ui(command)) => self.ui(command, state, now),
            Err(mistake) => vec![refused(text, mistake.to_string())],
        }
    }
}

/// Records a refused slash command in the conversation. The composer stays empty; Up brings the line back.
pub(super) fn refused(line: String, reason: String) -> Act {
    Act::Ask(Request { command: Command::Refused { line, reason }, written: None })
}
