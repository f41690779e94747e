//! Handshake with Codex, and starting or resuming a conversation.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use wh_core::space::harness::{AgentOption, Report, ReportedCapabilities};
use wh_core::space::item::NoticeLevel;
use wh_wire::codex::{self as wire, Account, CodexClient, CodexModel, CodexThread, StartedThread, ThreadSettings};

use super::super::calls::CALLS;
use super::super::{LOG_IN, TITLE, modes};
use super::{CodexProtocol, TurnSettings, is_unknown, with_login_hint};
use crate::driver::{ConnectError, Connected, Handshake};
use crate::interface::{ReportSender, ResumeSelector};
use crate::rpc::{self, JsonRpc, RpcError, RpcFrame, RpcLink};

/// Timeout of startup requests whose failure does not prevent the start.
const OPTIONAL_TIMEOUT: Duration = Duration::from_secs(10);

/// Conversation to open at startup.
enum ThreadSelection {
    New,
    Newest,
    /// Conversation with this id, given by the user.
    Requested(String),
    Previous(String),
}

struct OpenedThread {
    started: StartedThread,
    /// True if the conversation was resumed.
    resumed: bool,
    notice: Option<String>,
}

fn fatal(error: &RpcError) -> ConnectError {
    ConnectError::Fatal(with_login_hint(&error.to_string(), false))
}

impl Handshake for CodexProtocol {
    async fn connect(&mut self, _reports: &ReportSender) -> Result<Connected<Self>, ConnectError> {
        let started = rpc::start(&self.launch, JsonRpc { names_version: false }).await;
        let (link, mut events) =
            started.map_err(|error| ConnectError::Fatal(with_login_hint(&error.to_string(), false)))?;
        let us = CodexClient { name: "wheelhouse", title: "Wheelhouse", version: env!("CARGO_PKG_VERSION") };
        let directory = canonical_path(&self.start.directory);
        let settings = self.choice.beginning(self.start.may_skip_permissions);
        let which = self.which();
        let shaking = async {
            let hello = rpc::request(&link, "initialize", us.initialize()).await.map_err(|it| fatal(&it))?;
            let initialized = RpcFrame::Notification { method: "initialized", params: json!({}) };
            link.send(initialized).await.map_err(|gone| ConnectError::Fatal(gone.to_string()))?;
            let soon = |method| rpc::request_within(&link, method, json!({}), OPTIONAL_TIMEOUT);
            let (begun, models, account) =
                tokio::join!(begin(&link, &directory, which, &settings), soon("model/list"), soon("account/read"));
            Ok::<_, ConnectError>((hello, begun?, models, account))
        };
        let (hello, begun, models, account) = match events.buffer_during(shaking).await {
            Ok(shaken) => shaken,
            Err(error) => {
                link.close();
                while events.next().await.is_some() {}
                return Err(error);
            }
        };
        let OpenedThread { started, resumed, notice } = begun;
        self.version = hello["userAgent"].as_str().and_then(|agent| agent.split(['/', ' ']).nth(1)).map(str::to_owned);
        let anew = !self.thread.is_empty() || self.had_conversation;
        self.thread.clone_from(&started.thread.id);
        (self.status, self.has_prompts, self.last_message_at) = (started.thread.status, resumed, Instant::now());
        self.pending = TurnSettings::default();
        let models = models.map(|reply| CodexModel::list(&reply)).unwrap_or_default();
        self.capabilities = ReportedCapabilities {
            interrupts: true,
            models: models.into_iter().map(|model| AgentOption { id: model.id, title: model.title }).collect(),
            modes: modes::offered(self.start.may_skip_permissions),
            calls: CALLS.iter().map(|call| (*call).to_owned()).collect(),
            ..ReportedCapabilities::default()
        };
        self.record_settings(&started);
        self.name_model_in_use();
        let account = account.map(|reply| Account::read(&reply)).unwrap_or_default();
        let mut initial_reports = Vec::new();
        // The resume id of a new conversation is reported only if the conversation replaces an earlier one.
        if resumed || anew || notice.is_some() {
            initial_reports.push(self.resume_id());
        }
        let warning = |text: String| Report::Notice(NoticeLevel::Warning, text);
        initial_reports.extend(notice.map(warning));
        if account.needed && account.login.is_none() {
            initial_reports.push(warning(format!("not logged in to {TITLE}: {LOG_IN}")));
        }
        self.link = Some(link.clone());
        Ok(Connected { link, events, initial_reports, own_question: None })
    }
}

impl CodexProtocol {
    fn which(&self) -> ThreadSelection {
        match &self.start.resume {
            _ if self.has_prompts => ThreadSelection::Previous(self.thread.clone()),
            Some(ResumeSelector::Latest) if !self.had_conversation => ThreadSelection::Newest,
            Some(ResumeSelector::Named(id)) if !self.had_conversation => ThreadSelection::Requested(id.clone()),
            _ => ThreadSelection::New,
        }
    }

    fn name_model_in_use(&mut self) {
        let known = &mut self.capabilities.models;
        if let Some(model) = self.capabilities.model.as_ref().filter(|model| !known.iter().any(|one| one.id == **model))
        {
            known.insert(0, AgentOption { id: model.clone(), title: "the current model".to_owned() });
        }
    }
}

/// Returns the canonical form of a path. Codex stores paths in this form with its conversations.
pub(in super::super) fn canonical_path(directory: &Path) -> String {
    let whole = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    whole.to_string_lossy().into_owned()
}

async fn begin(
    link: &RpcLink,
    directory: &str,
    which: ThreadSelection,
    settings: &ThreadSettings<'_>,
) -> Result<OpenedThread, ConnectError> {
    let mut notice = None;
    let wanted = match &which {
        ThreadSelection::New => None,
        ThreadSelection::Requested(id) | ThreadSelection::Previous(id) => Some(id.clone()),
        ThreadSelection::Newest => {
            let list = rpc::request(link, "thread/list", wire::list(directory)).await;
            match list.map(|reply| CodexThread::first(&reply)) {
                Ok(Some(newest)) => Some(newest.id),
                Ok(None) => {
                    notice =
                        Some("there is no conversation to resume in this directory; starting a new one".to_owned());
                    None
                }
                Err(error) if is_unknown(&error) => {
                    return Err(ConnectError::Fatal(format!("this version of {TITLE} cannot list its conversations")));
                }
                Err(error) => return Err(fatal(&error)),
            }
        }
    };
    let read = |reply: &Value| {
        StartedThread::read(reply).ok_or_else(|| ConnectError::Fatal(format!("{TITLE} returned no conversation id")))
    };
    if let Some(id) = wanted {
        match rpc::request(link, "thread/resume", wire::resume(&id, directory, settings)).await {
            Ok(reply) => return Ok(OpenedThread { started: read(&reply)?, resumed: true, notice: None }),
            Err(error @ RpcError::Refused { .. }) if matches!(which, ThreadSelection::Previous(_)) => {
                return Err(ConnectError::ConversationLost(error.to_string()));
            }
            Err(error) => return Err(fatal(&error)),
        }
    }
    let reply = rpc::request(link, "thread/start", wire::start(directory, settings)).await;
    Ok(OpenedThread { started: read(&reply.map_err(|error| fatal(&error))?)?, resumed: false, notice })
}
