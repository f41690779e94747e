//! Handshake with an ACP agent: initialization, authentication, opening or resuming a conversation, and initial
//! settings.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};
use wh_core::space::harness::Report;
use wh_core::space::item::NoticeLevel;
use wh_core::space::question::{OptionMeaning, Question, QuestionKind, QuestionOption};
use wh_pipe::link::LinkEvent;
use wh_wire::acp::{self, InitializeReply, SessionList, SessionReply, read};

use super::super::conversation_files::{ConversationFiles, PreparedFile};
use super::super::handshake_buffer::HandshakeBuffer;
use super::super::settings::SessionSettings;
use super::super::table::AgentEntry;
use super::exchange_log::ExchangeLog;
use super::model_errors;
use super::refusals::Refusals;
use super::replay::ReplayTranslator;
use super::replay_wait::ReplayEndDetector;
use super::{AcpProtocol, AcpQuestion, BEGIN_NEW, RESTORE};
use crate::driver::{ConnectError, Connected, Handshake};
use crate::interface::{ALLOW_SKIPPING, QueryContext, ReportSender, ResumeSelector};
use crate::rpc::{self, JsonRpc, RpcError, RpcEvents, RpcFrame, RpcIncoming, RpcLink};

/// Maximum number of buffered messages handled before timeouts are checked again.
const MAX_RECEIVED_AT_ONCE: usize = 1024;

/// State of a handshake in progress.
struct HandshakeState<'a> {
    entry: Arc<AgentEntry>,
    link: RpcLink,
    events: RpcEvents,
    refusals: Refusals,
    buffer: HandshakeBuffer,
    /// Translator of the replay while a conversation is loaded.
    replay: Option<ReplayTranslator>,
    missing: MissingPrompts,
    reports: &'a ReportSender,
}

/// Result of a successful handshake.
struct HandshakeResult {
    session: String,
    hello: InitializeReply,
    settings: SessionSettings,
    /// True if the conversation was resumed.
    resumed: bool,
    /// Mode that wh switched off because it skips permissions.
    left_mode: Option<String>,
    missing: MissingPrompts,
}

/// Prompts that wh has recorded and the agent has not replayed.
#[derive(Debug, Clone, Copy)]
enum MissingPrompts {
    Nothing,
    /// The agent replayed nothing, so prompts may be missing. Contains the number of recorded prompts.
    Unknown(usize),
    /// Some prompts were not replayed. Contains the number of recorded prompts and the number of missing prompts.
    Some((usize, usize)),
}

impl Handshake for AcpProtocol {
    async fn connect(&mut self, reports: &ReportSender) -> Result<Connected<Self>, ConnectError> {
        let files = self.prepare_files(reports).await?;
        let started = rpc::start(&self.launch, JsonRpc { names_version: true }).await;
        let (link, events) = started.map_err(|error| ConnectError::Fatal(error.to_string()))?;
        let entry = Arc::clone(&self.entry);
        let mut setup = HandshakeState {
            entry,
            refusals: Refusals::new(link.clone()),
            link,
            events,
            buffer: HandshakeBuffer::default(),
            replay: None,
            missing: MissingPrompts::Nothing,
            reports,
        };
        let ready = match setup.handshake(self).await {
            Ok(ready) => ready,
            Err(error) => {
                setup.link.close();
                while setup.events.next().await.is_some() {}
                return Err(error);
            }
        };
        let HandshakeState { link, mut events, buffer, .. } = setup;
        events.put_back(buffer.messages);
        let has_copy = match files {
            Some(files) => {
                let tidied = tokio::task::spawn_blocking(move || {
                    files.remove_empty();
                    files.can_restore()
                });
                tidied.await.unwrap_or_default()
            }
            None => false,
        };
        let HandshakeResult { session, hello, settings, resumed, left_mode, missing } = ready;
        (self.session, self.can_resume) = (Some(session), can_resume(&hello));
        self.version = hello.agent_info.and_then(|info| info.version);
        self.settings = settings;
        (self.commands, self.replays) = (Vec::new(), resumed);
        (self.prompted, self.has_prompts) = (false, resumed);
        let mut initial_reports = Vec::new();
        if resumed || self.had_conversation {
            initial_reports.push(self.resume_id(resumed));
        }
        if let Some(mode) = left_mode {
            let text = format!(
                "{} was in mode {mode:?}, which skips permissions, and was switched to another mode",
                self.title()
            );
            initial_reports.push(Report::Notice(
                NoticeLevel::Warning,
                format!("{text}; to allow mode {mode:?}, {ALLOW_SKIPPING}"),
            ));
        }
        let own_question = match missing {
            MissingPrompts::Nothing => {
                self.incomplete.take_if(|_| self.restores);
                None
            }
            MissingPrompts::Unknown(known) => {
                let text = format!(
                    "{} did not replay the conversation; wh cannot check that all {known} messages are still there",
                    self.title()
                );
                initial_reports.push(Report::Notice(NoticeLevel::Warning, text));
                None
            }
            MissingPrompts::Some(missing) => {
                let incomplete = self.incomplete(missing);
                initial_reports.push(Report::Notice(NoticeLevel::Error, incomplete.clone()));
                self.incomplete = Some(incomplete);
                Some((AcpQuestion::Incomplete, self.about_incomplete(missing, has_copy && !self.restores)))
            }
        };
        self.restores = false;
        Ok(Connected { link, events, initial_reports, own_question })
    }
}

impl AcpProtocol {
    /// Copies and renames the file of the conversation to resume, because Gemini may delete the file after a load. If
    /// no file could be prepared and the agent has the quirk `resume_only_after_start_minute`, waits until the end of
    /// the minute in which the conversation was created: a load in this minute would empty the file. Returns the files,
    /// to be cleaned up after the load.
    async fn prepare_files(&self, reports: &ReportSender) -> Result<Option<ConversationFiles>, ConnectError> {
        let resumed = self.session.as_deref().or(match &self.start.resume {
            Some(ResumeSelector::Named(name)) => Some(name.as_str()),
            Some(ResumeSelector::Latest) | None => None,
        });
        if let Some(id) = resumed.filter(|_| self.entry.quirks.gemini_files)
            && let Some(files) = ConversationFiles::new(&QueryContext::from(&self.start), id)
        {
            let (preparing, restores) = (files.clone(), self.restores);
            let prepared = tokio::task::spawn_blocking(move || preparing.prepare(restores)).await;
            let (is_safe, notice) = match prepared {
                Ok(Ok(PreparedFile::Safe)) => (true, None),
                Ok(Ok(PreparedFile::Uncopied(why))) => {
                    (true, Some(format!("cannot copy the conversation file: {why}")))
                }
                Ok(Ok(PreparedFile::Restored)) => {
                    let text = "the conversation file was restored from wh's copy";
                    (true, Some(text.to_owned()))
                }
                Ok(Ok(PreparedFile::Missing)) | Err(_) => (false, None),
                Ok(Err(error)) => (false, Some(format!("cannot prepare the conversation file for loading: {error}"))),
            };
            if let Some(text) = notice {
                reports.send(Report::Notice(NoticeLevel::Warning, text)).await?;
            }
            if !is_safe {
                self.wait_out_minute(reports).await?;
            }
            return Ok(Some(files));
        }
        self.wait_out_minute(reports).await?;
        Ok(None)
    }

    async fn wait_out_minute(&self, reports: &ReportSender) -> Result<(), ConnectError> {
        let resumes = self.session.is_some() || self.start.resume.is_some();
        let Some(begun) = self.created_at.filter(|_| self.entry.quirks.resume_only_after_start_minute && resumes)
        else {
            return Ok(());
        };
        let wait = rest_of_minute(begun, SystemTime::now());
        if !wait.is_zero() {
            let text =
                format!("waiting {} s until {} can resume the conversation", wait.as_secs().max(1), self.title());
            reports.send(Report::Notice(NoticeLevel::Info, text)).await?;
            tokio::time::sleep(wait).await;
        }
        Ok(())
    }

    fn incomplete(&self, (known, missing): (usize, usize)) -> String {
        format!("{} has resumed the conversation without {missing} of {known} messages", self.title())
    }

    fn about_incomplete(&self, missing: (usize, usize), has_copy: bool) -> Question {
        let choice = |id: &str, label: &str| QuestionOption {
            id: id.to_owned(),
            label: label.to_owned(),
            meaning: OptionMeaning::Other,
        };
        let mut options = Vec::new();
        if has_copy {
            options.push(choice(RESTORE, "Restore wh's copy"));
        }
        options.push(choice(BEGIN_NEW, "Start a new conversation with the text of this one as context"));
        options.push(choice("go-on", "Continue without the missing messages"));
        Question {
            kind: QuestionKind::Choice,
            title: format!("{}. How do you want to continue?", self.incomplete(missing)),
            details: Vec::new(),
            options,
            accepts_text: false,
            preselects: false,
        }
    }
}

/// Returns the time until the end of the minute that contains `begun`.
fn rest_of_minute(begun: SystemTime, now: SystemTime) -> Duration {
    let since = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let end = Duration::from_secs((since(begun).as_secs() / 60 + 1) * 60);
    end.saturating_sub(since(now)).min(Duration::from_secs(60))
}

/// Formats an error, with a suggested fix if one is known.
pub(super) fn error_text(entry: &AgentEntry, error: &RpcError) -> String {
    let RpcError::Refused { code, message, data } = error else { return error.to_string() };
    if let Some(text) = model_errors::refusal(*code, message, &entry.log_in) {
        return text;
    }
    let more = data.as_ref().and_then(|data| match data {
        Value::String(text) => Some(text.as_str()),
        data => ["details", "message", "error"].iter().find_map(|name| data[*name].as_str()),
    });
    let text = match more.filter(|more| !more.is_empty() && !message.contains(more)) {
        Some(more) => format!("{message}: {more}"),
        None => message.clone(),
    };
    if *code == acp::AUTH_REQUIRED_CODE { format!("{text}; {}", entry.log_in) } else { text }
}

impl HandshakeState<'_> {
    async fn handshake(&mut self, agent: &mut AcpProtocol) -> Result<HandshakeResult, ConnectError> {
        let hello: InitializeReply = read(self.call("initialize", self.hello()).await.map_err(|it| self.fatal(&it))?);
        if let Some(version) = hello.protocol_version.filter(|version| *version != acp::ACP_VERSION) {
            let text = format!(
                "{} uses version {version} of the Agent Client Protocol; wh supports version 1",
                self.entry.title
            );
            return Err(ConnectError::Fatal(text));
        }
        let entry = Arc::clone(&self.entry);
        if let Some(how) = entry.authenticate.as_ref().filter(|how| how.always) {
            self.authenticate(&how.method).await.map_err(|it| self.fatal(&it))?;
        }
        let (session, reply, resumed) = match self.conversation_to_resume(agent, &hello).await? {
            Some(id) => {
                let reply = self.resume(agent, &hello, &id).await?;
                (id, reply, true)
            }
            None => {
                let params = json!({ "cwd": agent.start.directory, "mcpServers": [] });
                let reply: SessionReply =
                    read(self.begin("session/new", params, &hello).await.map_err(|it| self.fatal(&it))?);
                let none = || ConnectError::Fatal(format!("{} returned no session id", self.entry.title));
                agent.created_at = Some(SystemTime::now());
                (reply.session_id.clone().ok_or_else(none)?, reply, false)
            }
        };
        let mut settings = SessionSettings::default();
        settings.learn(&reply);
        let left_mode = self.choose(&session, &mut settings, agent).await?;
        let missing = self.missing;
        Ok(HandshakeResult { session, hello, settings, resumed, left_mode, missing })
    }

    fn hello(&self) -> Value {
        let mut abilities = json!({ "fs": { "readTextFile": false, "writeTextFile": false }, "terminal": false });
        for name in &self.entry.quirks.client_capabilities {
            abilities["_meta"][name.as_str()] = json!(true);
        }
        json!({
            "protocolVersion": acp::ACP_VERSION,
            "clientCapabilities": abilities,
            "clientInfo": { "name": "wheelhouse", "title": "Wheelhouse", "version": env!("CARGO_PKG_VERSION") },
        })
    }

    /// Determines the id of the conversation to resume. Returns `None` to start a new conversation.
    async fn conversation_to_resume(
        &mut self,
        agent: &AcpProtocol,
        hello: &InitializeReply,
    ) -> Result<Option<String>, ConnectError> {
        if let Some(session) = &agent.session {
            return Ok(can_resume(hello).then(|| session.clone()));
        }
        let fatal = |text: String| Err(ConnectError::Fatal(text));
        let title = &self.entry.title;
        match &agent.start.resume {
            None => Ok(None),
            Some(_) if !can_resume(hello) => fatal(format!("{title} cannot resume conversations")),
            Some(ResumeSelector::Named(id)) => Ok(Some(id.clone())),
            Some(ResumeSelector::Latest) if !hello.agent_capabilities.session("list") => {
                fatal(format!("{title} does not list its conversations; give an id with --resume"))
            }
            Some(ResumeSelector::Latest) => {
                let params = json!({ "cwd": agent.start.directory });
                let list: SessionList = read(self.call("session/list", params).await.map_err(|it| self.fatal(&it))?);
                let here = agent.start.directory.to_str();
                let mut of_here: Vec<_> =
                    list.sessions.into_iter().filter(|one| one.cwd.is_none() || one.cwd.as_deref() == here).collect();
                of_here.sort_by(|one, other| one.updated_at.cmp(&other.updated_at));
                let none = || ConnectError::Fatal("there is no conversation to resume in this directory".to_owned());
                of_here.pop().map(|one| Some(one.session_id)).ok_or_else(none)
            }
        }
    }

    /// Resumes a conversation. The agent replays the conversation only if the history is needed, or if the agent cannot
    /// resume without a replay.
    async fn resume(
        &mut self,
        agent: &mut AcpProtocol,
        hello: &InitializeReply,
        id: &str,
    ) -> Result<SessionReply, ConnectError> {
        let shows = agent.session.is_none() && agent.start.reports_history;
        let can = |what| hello.agent_capabilities.session(what);
        let loads = hello.agent_capabilities.load_session && (shows || !can("resume"));
        let method = if loads { "session/load" } else { "session/resume" };
        let params = json!({ "sessionId": id, "cwd": agent.start.directory, "mcpServers": [] });
        self.replay = loads.then(|| ReplayTranslator::new(id, shows));
        match self.begin(method, params, hello).await {
            Ok(reply) => {
                if loads {
                    self.wait_for_replay(&agent.exchanges).await;
                }
                self.missing = self.missing_of(&agent.exchanges);
                if let Some(mut replay) = self.replay.take() {
                    for report in replay.finish() {
                        self.reports.send(report).await?;
                    }
                }
                Ok(read(reply))
            }
            Err(error @ RpcError::Refused { code: acp::AUTH_REQUIRED_CODE, .. }) => Err(self.fatal(&error)),
            Err(error @ RpcError::Refused { .. }) => {
                Err(ConnectError::ConversationLost(error_text(&self.entry, &error)))
            }
            Err(error) => Err(self.fatal(&error)),
        }
    }

    /// Compares the messages replayed so far with the recorded prompts.
    fn missing_of(&self, exchanges: &ExchangeLog) -> MissingPrompts {
        let Some(replay) = &self.replay else { return MissingPrompts::Nothing };
        match exchanges.missing_in(replay.user_messages()) {
            (_, 0) => MissingPrompts::Nothing,
            (known, _) if replay.user_messages().is_empty() => MissingPrompts::Unknown(known),
            counts => MissingPrompts::Some(counts),
        }
    }

    /// Waits for the end of the replay. Some agents continue the replay after their reply to the load request.
    async fn wait_for_replay(&mut self, exchanges: &ExchangeLog) {
        let mut wait = ReplayEndDetector::new(Instant::now());
        loop {
            match timeout_at(wait.deadline(Instant::now()), self.events.next()).await {
                Ok(Some(event)) => {
                    wait.message_replayed();
                    self.receive(event).await;
                    self.receive_buffered().await;
                }
                Ok(None) => return,
                Err(_) => {
                    let complete = matches!(self.missing_of(exchanges), MissingPrompts::Nothing);
                    if wait.is_over(Instant::now(), complete) {
                        return;
                    }
                }
            }
        }
    }

    /// Handles all messages that have already arrived. Waiting for each message separately would be slower than the
    /// agent sends them.
    async fn receive_buffered(&mut self) {
        for _ in 0..MAX_RECEIVED_AT_ONCE {
            let Some(event) = self.events.try_next() else { return };
            self.receive(event).await;
        }
    }

    async fn receive(&mut self, event: LinkEvent<JsonRpc>) {
        let event = match &mut self.replay {
            Some(replay) => match replay.take(event) {
                Ok(reports) => {
                    for report in reports {
                        // The caller detects a closed report channel.
                        let _ = self.reports.send(report).await;
                    }
                    return;
                }
                Err(event) => event,
            },
            None => event,
        };
        match event {
            // There is no conversation yet, so no client could answer.
            LinkEvent::Message(RpcIncoming::Request { id, method, .. }) => {
                self.refusals.push(RpcFrame::unknown(id, &method))
            }
            event => self.buffer.push(event),
        }
    }

    /// Opens a session with the request `method`. If the agent requires authentication, authenticates with the
    /// configured method and retries once.
    async fn begin(&mut self, method: &'static str, params: Value, hello: &InitializeReply) -> Result<Value, RpcError> {
        let refused = match self.call(method, params.clone()).await {
            Err(refused @ RpcError::Refused { code: acp::AUTH_REQUIRED_CODE, .. }) => refused,
            other => return other,
        };
        let known = |method: &str| hello.auth_methods.iter().any(|one| one.id == method);
        let entry = Arc::clone(&self.entry);
        match entry.authenticate.as_ref().filter(|how| !how.always && known(&how.method)) {
            Some(how) if self.authenticate(&how.method).await.is_ok() => self.call(method, params).await,
            _ => Err(refused),
        }
    }

    async fn authenticate(&mut self, method: &str) -> Result<(), RpcError> {
        self.call("authenticate", json!({ "methodId": method })).await.map(drop)
    }

    /// Applies the chosen model and mode. If the agent is in a mode that skips permissions and such modes are not
    /// allowed, switches to another mode and returns the mode that was left.
    async fn choose(
        &mut self,
        session: &str,
        settings: &mut SessionSettings,
        agent: &AcpProtocol,
    ) -> Result<Option<String>, ConnectError> {
        let start = &agent.start;
        if let Some(model) = agent.model.as_ref().or(start.model.as_ref())
            && settings.models.current.as_ref() != Some(model)
        {
            let (method, params) = settings.model(session, model);
            let reply = self
                .call(method, params)
                .await
                .map_err(|error| self.setting_refused("model", model, settings, &error))?;
            settings.models.current = Some(model.clone());
            settings.learn(&read::<SessionReply>(reply));
        }
        let current = settings.modes.current.clone();
        let left = current.clone().filter(|mode| !start.may_skip_permissions && self.entry.skips(mode));
        let chosen = agent.mode.clone().or_else(|| start.mode.clone());
        let careful = || settings.modes.all.iter().find(|mode| !self.entry.skips(&mode.id)).map(|mode| mode.id.clone());
        let wanted = chosen.or_else(|| left.as_ref().and_then(|_| careful()));
        match wanted {
            Some(mode) if current.as_ref() != Some(&mode) => {
                let unknown = !settings.modes.all.is_empty() && !settings.modes.has(&mode);
                if unknown {
                    let error = RpcError::Gone("the mode is not available".into());
                    return Err(self.setting_refused("mode", &mode, settings, &error));
                }
                let (method, params) = settings.mode(session, &mode);
                let reply = self
                    .call(method, params)
                    .await
                    .map_err(|error| self.setting_refused("mode", &mode, settings, &error))?;
                settings.modes.current = Some(mode);
                settings.learn(&read::<SessionReply>(reply));
                Ok(left)
            }
            None if left.is_some() => {
                let mode = left.unwrap_or_default();
                let text = format!("{} is in mode {mode:?}, which skips permissions", self.entry.title);
                Err(ConnectError::Fatal(format!("{text}; to allow this mode, {ALLOW_SKIPPING}")))
            }
            _ => Ok(None),
        }
    }

    fn setting_refused(&self, what: &str, given: &str, settings: &SessionSettings, error: &RpcError) -> ConnectError {
        let choices = if what == "mode" { &settings.modes } else { &settings.models };
        let open = choices.all.iter().filter(|one| what != "mode" || !self.entry.skips(&one.id));
        let known: Vec<&str> = open.map(|one| one.id.as_str()).collect();
        let hint = if known.is_empty() { String::new() } else { format!("; available: {}", known.join(", ")) };
        let reason = error_text(&self.entry, error);
        ConnectError::Fatal(format!("{} rejected the {what} {given:?}: {reason}{hint}", self.entry.title))
    }

    fn fatal(&self, error: &RpcError) -> ConnectError {
        ConnectError::Fatal(error_text(&self.entry, error))
    }

    /// Sends a request and waits for the reply. Until then, messages are buffered and requests of the agent are
    /// refused.
    async fn call(&mut self, method: &'static str, params: Value) -> Result<Value, RpcError> {
        let link = self.link.clone();
        let asking = rpc::request(&link, method, params);
        tokio::pin!(asking);
        loop {
            tokio::select! {
                reply = &mut asking => {
                    self.receive_buffered().await;
                    return reply;
                }
                event = self.events.next() => match event {
                    Some(event) => {
                        self.receive(event).await;
                        self.receive_buffered().await;
                    }
                    // The link is closed, so the pending request fails with the reason.
                    None => return asking.await,
                },
            }
        }
    }
}

/// Returns true if the agent can resume a conversation in a later process.
fn can_resume(hello: &InitializeReply) -> bool {
    hello.agent_capabilities.load_session || hello.agent_capabilities.session("resume")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_of_a_minute_is_waited_for_once() {
        let at = |seconds: u64| UNIX_EPOCH + Duration::from_secs(seconds);
        assert_eq!(rest_of_minute(at(65), at(70)), Duration::from_secs(50));
        assert_eq!(rest_of_minute(at(65), at(120)), Duration::ZERO);
        assert_eq!(rest_of_minute(at(65), at(500)), Duration::ZERO);
        assert_eq!(rest_of_minute(at(6500), at(0)), Duration::from_secs(60), "a clock may have been set back");
    }
}
