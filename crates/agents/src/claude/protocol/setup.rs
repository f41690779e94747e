//! Handshake with Claude Code, history of a resumed conversation, and initial permission mode.

use wh_claude::{Connection, Error, protocol};
use wh_core::space::harness::{AgentOption, Report, ReportedCapabilities};
use wh_core::space::item::NoticeLevel;

use super::super::calls::CALLS;
use super::super::{LOG_IN, TITLE, history, modes};
use super::ClaudeProtocol;
use crate::driver::{ConnectError, Connected, Handshake, Protocol};
use crate::interface::{ALLOW_SKIPPING, ReportSender, ResumeSelector, StartOptions};

impl Handshake for ClaudeProtocol {
    async fn connect(&mut self, reports: &ReportSender) -> Result<Connected<Self>, ConnectError> {
        let options = match &self.session {
            Some(session) => self.options.clone().resume(wh_claude::Resume::Session(session.clone())),
            None => self.options.clone(),
        };
        let (connection, events, hello) = Connection::start(&options).await.map_err(failed)?;
        let mut events = events.into_link();
        let hello: protocol::InitializeReply = serde_json::from_value(hello).unwrap_or_default();
        self.capabilities = capabilities(&hello, &self.start);
        self.version = hello.claude_code_version.or(self.version.take());
        if let Some(mode) = hello.current_permission_mode {
            self.note_mode(&mode);
        }
        if !std::mem::replace(&mut self.history_reported, true) {
            let history = history::of(&self.start).await;
            if self.start.reports_history {
                for report in history.reports {
                    reports.send(report).await?;
                }
            }
            self.checkpoints = history.checkpoints;
        }
        let mut initial_reports = vec![Report::ResumeId(self.resume_id())];
        let skipping = self.skipping_mode().filter(|_| !self.start.may_skip_permissions);
        if let Some(mode) = skipping {
            let leaving = connection.set_permission_mode(protocol::PermissionMode::Default);
            let left = events.buffer_during(leaving).await;
            if let Err(error) = left {
                let why = format!("{TITLE} is in mode {mode:?}, which skips permissions, and cannot leave it: {error}");
                connection.close();
                while events.next().await.is_some() {}
                return Err(ConnectError::Fatal(why));
            }
            self.capabilities.mode = Some("default".to_owned());
            let text =
                format!("{TITLE} was in mode {mode:?}, which skips permissions, and was switched to another mode");
            initial_reports.push(Report::Notice(
                NoticeLevel::Warning,
                format!("{text}; to allow mode {mode:?}, {ALLOW_SKIPPING}"),
            ));
        }
        let link = connection.link().clone();
        self.connection = Some(connection);
        Ok(Connected { link, events, initial_reports, own_question: None })
    }
}

impl ClaudeProtocol {
    /// Returns the id of the conversation to resume. A new conversation has no id before its first turn.
    fn resume_id(&self) -> Option<String> {
        self.session.clone().or_else(|| match &self.start.resume {
            Some(ResumeSelector::Named(name)) => Some(name.clone()),
            Some(ResumeSelector::Latest) | None => None,
        })
    }
}

/// Adds the login hint to an error about authentication.
pub(super) fn hinted(text: &str) -> String {
    let about_login = ["/login", "API key", "ogged in", "authenticat"].iter().any(|word| text.contains(word));
    if about_login { format!("{text}; {LOG_IN}") } else { text.to_owned() }
}

fn failed(error: Error) -> ConnectError {
    match error {
        Error::Disconnected(reason) => {
            // After these errors, Claude Code can still start a new conversation.
            let refused = ["No conversation found", "Failed to resume", "Session not found"];
            if refused.iter().any(|words| reason.contains(words)) {
                ConnectError::ConversationLost(hinted(&reason))
            } else {
                ConnectError::Fatal(hinted(&reason))
            }
        }
        other => ConnectError::Fatal(hinted(&other.to_string())),
    }
}

fn capabilities(hello: &protocol::InitializeReply, start: &StartOptions) -> ReportedCapabilities {
    let models = hello.models.iter().map(|model| AgentOption {
        id: model.value.clone(),
        title: if model.description.is_empty() { model.display_name.clone() } else { model.description.clone() },
    });
    let commands = hello.commands.iter().map(|command| AgentOption {
        id: command.name.clone(),
        title: command.description.lines().next().unwrap_or_default().to_owned(),
    });
    ReportedCapabilities {
        interrupts: true,
        acknowledges: false,
        models: models.collect(),
        model: start.model.clone().or_else(|| Some("default".to_owned())),
        modes: modes(start.may_skip_permissions),
        mode: start.mode.clone().or_else(|| Some("default".to_owned())),
        commands: commands.collect(),
        calls: CALLS.iter().map(|call| (*call).to_owned()).collect(),
    }
}
