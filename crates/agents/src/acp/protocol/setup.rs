//! From a program to a conversation: the handshake, the login, and the choices of a person.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};
use wh_core::space::harness::Report;
use wh_core::space::item::Level;
use wh_core::space::question::{Choice, Meaning, Question, QuestionKind};
use wh_pipe::link::Inbound;
use wh_wire::acp::{self, InitializeReply, SessionList, SessionReply, read};

use super::super::backlog::Backlog;
use super::super::conversation_files::{ConversationFiles, Prepared};
use super::super::settings::Settings;
use super::super::table::Entry;
use super::model_errors;
use super::refusals::Refusals;
use super::replay::Replay;
use super::replay_wait::ReplayWait;
use super::said::Said;
use super::{AcpProtocol, Ask, BEGIN_ANEW, RESTORE};
use crate::driver::{Connect, ConnectError, Connected};
use crate::port::{ALLOW_SKIPPING, Reports, Resume, Surroundings};
use crate::rpc::{self, Frame, Incoming, JsonRpc, RpcError, RpcEvents, RpcLink};

/// Messages that are taken before timeouts are looked at again.
const MAX_HEARD_AT_ONCE: usize = 1024;

/// A conversation that is being set up.
struct Setup<'a> {
    entry: Arc<Entry>,
    link: RpcLink,
    events: RpcEvents,
    refusals: Refusals,
    held: Backlog,
    /// Translates the repeated conversation, while there is one.
    replay: Option<Replay>,
    missing: Missing,
    reports: &'a Reports,
}

/// A conversation that was set up.
struct Ready {
    session: String,
    hello: InitializeReply,
    settings: Settings,
    /// It is an earlier one.
    resumed: bool,
    /// The mode that it was brought out of, because that skips permissions.
    left: Option<String>,
    missing: Missing,
}

/// The messages that an agent did not repeat.
#[derive(Debug, Clone, Copy)]
enum Missing {
    Nothing,
    /// It repeats nothing; this many are known.
    Unknown(usize),
    /// The number of those that are known, and of those that it did not repeat.
    Some((usize, usize)),
}

impl Connect for AcpProtocol {
    async fn connect(&mut self, reports: &Reports) -> Result<Connected<Self>, ConnectError> {
        let files = self.prepare_files(reports).await?;
        let started = rpc::start(&self.launch, JsonRpc { names_version: true }).await;
        let (link, events) = started.map_err(|error| ConnectError::Fatal(error.to_string()))?;
        let entry = Arc::clone(&self.entry);
        let mut setup = Setup {
            entry,
            refusals: Refusals::new(link.clone()),
            link,
            events,
            held: Backlog::default(),
            replay: None,
            missing: Missing::Nothing,
            reports,
        };
        let ready = match setup.shake_hands(self).await {
            Ok(ready) => ready,
            Err(error) => {
                setup.link.close();
                while setup.events.next().await.is_some() {}
                return Err(error);
            }
        };
        let Setup { link, mut events, held, .. } = setup;
        events.put_back(held.kept);
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
        let Ready { session, hello, settings, resumed, left, missing } = ready;
        (self.session, self.lasts) = (Some(session), lasts(&hello));
        self.version = hello.agent_info.and_then(|info| info.version);
        self.settings = settings;
        (self.commands, self.replays) = (Vec::new(), resumed);
        (self.prompted, self.spoken) = (false, resumed);
        let mut greeting = Vec::new();
        if resumed || self.again {
            greeting.push(self.resume_id(resumed));
        }
        if let Some(mode) = left {
            let text =
                format!("{} was in its mode {mode:?}, which skips permissions, and is not any more", self.title());
            greeting.push(Report::Notice(Level::Warning, format!("{text}; {ALLOW_SKIPPING}")));
        }
        let doubt = match missing {
            Missing::Nothing => {
                self.incomplete.take_if(|_| self.restores);
                None
            }
            Missing::Unknown(known) => {
                let text = format!(
                    "{} repeats nothing of the conversation: wh cannot tell whether it has all of its {known} messages",
                    self.title()
                );
                greeting.push(Report::Notice(Level::Warning, text));
                None
            }
            Missing::Some(missing) => {
                let incomplete = self.incomplete(missing);
                greeting.push(Report::Notice(Level::Error, incomplete.clone()));
                self.incomplete = Some(incomplete);
                Some((Ask::Incomplete, self.about_incomplete(missing, has_copy && !self.restores)))
            }
        };
        self.restores = false;
        Ok(Connected { link, events, greeting, doubt })
    }
}

impl AcpProtocol {
    /// Copies the file of the conversation that is to be resumed, and sees to it that loading does not lose it. Where that
    /// cannot be done, the minute is waited out in which a load would lose it. The files come back to be tidied up after the
    /// load.
    async fn prepare_files(&self, reports: &Reports) -> Result<Option<ConversationFiles>, ConnectError> {
        let resumed = self.session.as_deref().or(match &self.start.resume {
            Some(Resume::Named(name)) => Some(name.as_str()),
            Some(Resume::Latest) | None => None,
        });
        if let Some(id) = resumed.filter(|_| self.entry.quirks.gemini_files)
            && let Some(files) = ConversationFiles::new(&Surroundings::from(&self.start), id)
        {
            let (preparing, restores) = (files.clone(), self.restores);
            let prepared = tokio::task::spawn_blocking(move || preparing.prepare(restores)).await;
            let (is_safe, notice) = match prepared {
                Ok(Ok(Prepared::Safe)) => (true, None),
                Ok(Ok(Prepared::Uncopied(why))) => {
                    (true, Some(format!("the file of the conversation could not be copied: {why}")))
                }
                Ok(Ok(Prepared::Restored)) => {
                    let text = "the file of the conversation is restored from the copy that wh has kept";
                    (true, Some(text.to_owned()))
                }
                Ok(Ok(Prepared::Missing)) | Err(_) => (false, None),
                Ok(Err(error)) => {
                    (false, Some(format!("the file of the conversation could not be prepared for a load: {error}")))
                }
            };
            if let Some(text) = notice {
                reports.send(Report::Notice(Level::Warning, text)).await?;
            }
            if !is_safe {
                self.wait_out_minute(reports).await?;
            }
            return Ok(Some(files));
        }
        self.wait_out_minute(reports).await?;
        Ok(None)
    }

    async fn wait_out_minute(&self, reports: &Reports) -> Result<(), ConnectError> {
        let resumes = self.session.is_some() || self.start.resume.is_some();
        let Some(begun) = self.begun.filter(|_| self.entry.quirks.kept_by_minute && resumes) else { return Ok(()) };
        let wait = rest_of_minute(begun, SystemTime::now());
        if !wait.is_zero() {
            let text = format!("{} can resume the conversation in {} s", self.title(), wait.as_secs().max(1));
            reports.send(Report::Notice(Level::Info, text)).await?;
            tokio::time::sleep(wait).await;
        }
        Ok(())
    }

    fn incomplete(&self, (known, missing): (usize, usize)) -> String {
        format!("{} has resumed the conversation without {missing} of {known} messages", self.title())
    }

    fn about_incomplete(&self, missing: (usize, usize), has_copy: bool) -> Question {
        let choice =
            |id: &str, label: &str| Choice { id: id.to_owned(), label: label.to_owned(), meaning: Meaning::Other };
        let mut options = Vec::new();
        if has_copy {
            options.push(choice(RESTORE, "Restore the copy that wh has kept"));
        }
        options.push(choice(BEGIN_ANEW, "Begin a new conversation, with the text of this one as context"));
        options.push(choice("go-on", "Go on without them"));
        Question {
            kind: QuestionKind::Choice,
            title: format!("{}. What now?", self.incomplete(missing)),
            details: Vec::new(),
            options,
            accepts_text: false,
            preselects: false,
        }
    }
}

/// Time that is left of the minute of `begun`.
fn rest_of_minute(begun: SystemTime, now: SystemTime) -> Duration {
    let since = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let end = Duration::from_secs((since(begun).as_secs() / 60 + 1) * 60);
    end.saturating_sub(since(now)).min(Duration::from_secs(60))
}

/// An error in words, with what to do about it where that is known.
pub(super) fn said(entry: &Entry, error: &RpcError) -> String {
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
    if *code == acp::AUTH_REQUIRED { format!("{text}; {}", entry.log_in) } else { text }
}

impl Setup<'_> {
    async fn shake_hands(&mut self, agent: &mut AcpProtocol) -> Result<Ready, ConnectError> {
        let hello: InitializeReply = read(self.call("initialize", self.hello()).await.map_err(|it| self.fatal(&it))?);
        if let Some(version) = hello.protocol_version.filter(|version| *version != acp::VERSION) {
            let text = format!("{} speaks version {version} of the protocol, and wh version 1", self.entry.title);
            return Err(ConnectError::Fatal(text));
        }
        let entry = Arc::clone(&self.entry);
        if let Some(how) = entry.authenticate.as_ref().filter(|how| how.always) {
            self.authenticate(&how.method).await.map_err(|it| self.fatal(&it))?;
        }
        let (session, reply, resumed) = match self.wanted(agent, &hello).await? {
            Some(id) => {
                let reply = self.resume(agent, &hello, &id).await?;
                (id, reply, true)
            }
            None => {
                let params = json!({ "cwd": agent.start.directory, "mcpServers": [] });
                let reply: SessionReply =
                    read(self.begin("session/new", params, &hello).await.map_err(|it| self.fatal(&it))?);
                let none = || ConnectError::Fatal(format!("{} began a session without a name", self.entry.title));
                agent.begun = Some(SystemTime::now());
                (reply.session_id.clone().ok_or_else(none)?, reply, false)
            }
        };
        let mut settings = Settings::default();
        settings.learn(&reply);
        let left = self.choose(&session, &mut settings, agent).await?;
        let missing = self.missing;
        Ok(Ready { session, hello, settings, resumed, left, missing })
    }

    fn hello(&self) -> Value {
        let mut abilities = json!({ "fs": { "readTextFile": false, "writeTextFile": false }, "terminal": false });
        for name in &self.entry.quirks.client {
            abilities["_meta"][name.as_str()] = json!(true);
        }
        json!({
            "protocolVersion": acp::VERSION,
            "clientCapabilities": abilities,
            "clientInfo": { "name": "wheelhouse", "title": "Wheelhouse", "version": env!("CARGO_PKG_VERSION") },
        })
    }

    /// The conversation to resume; none is a new one.
    async fn wanted(&mut self, agent: &AcpProtocol, hello: &InitializeReply) -> Result<Option<String>, ConnectError> {
        if let Some(session) = &agent.session {
            return Ok(lasts(hello).then(|| session.clone()));
        }
        let fatal = |text: String| Err(ConnectError::Fatal(text));
        let title = &self.entry.title;
        match &agent.start.resume {
            None => Ok(None),
            Some(_) if !lasts(hello) => fatal(format!("{title} cannot go on with a conversation")),
            Some(Resume::Named(id)) => Ok(Some(id.clone())),
            Some(Resume::Latest) if !hello.agent_capabilities.session("list") => {
                fatal(format!("{title} does not say which conversation is the newest; give its name with --resume"))
            }
            Some(Resume::Latest) => {
                let params = json!({ "cwd": agent.start.directory });
                let list: SessionList = read(self.call("session/list", params).await.map_err(|it| self.fatal(&it))?);
                let here = agent.start.directory.to_str();
                let mut of_here: Vec<_> =
                    list.sessions.into_iter().filter(|one| one.cwd.is_none() || one.cwd.as_deref() == here).collect();
                of_here.sort_by(|one, other| one.updated_at.cmp(&other.updated_at));
                let none = || ConnectError::Fatal("there is no conversation in this directory yet".to_owned());
                of_here.pop().map(|one| Some(one.session_id)).ok_or_else(none)
            }
        }
    }

    /// Resumes a conversation, without having it repeated where nobody wants to see it.
    async fn resume(
        &mut self,
        agent: &mut AcpProtocol,
        hello: &InitializeReply,
        id: &str,
    ) -> Result<SessionReply, ConnectError> {
        let shows = agent.session.is_none() && agent.start.recalls;
        let can = |what| hello.agent_capabilities.session(what);
        let loads = hello.agent_capabilities.load_session && (shows || !can("resume"));
        let method = if loads { "session/load" } else { "session/resume" };
        let params = json!({ "sessionId": id, "cwd": agent.start.directory, "mcpServers": [] });
        self.replay = loads.then(|| Replay::new(id, shows));
        match self.begin(method, params, hello).await {
            Ok(reply) => {
                if loads {
                    self.hear_out(&agent.said).await;
                }
                self.missing = self.missing_of(&agent.said);
                if let Some(mut replay) = self.replay.take() {
                    for report in replay.finish() {
                        self.reports.send(report).await?;
                    }
                }
                Ok(read(reply))
            }
            Err(error @ RpcError::Refused { code: acp::AUTH_REQUIRED, .. }) => Err(self.fatal(&error)),
            Err(error @ RpcError::Refused { .. }) => Err(ConnectError::ConversationLost(said(&self.entry, &error))),
            Err(error) => Err(self.fatal(&error)),
        }
    }

    /// Messages of the conversation that the agent has not repeated so far.
    fn missing_of(&self, said: &Said) -> Missing {
        let Some(replay) = &self.replay else { return Missing::Nothing };
        match said.missing_in(replay.repeated()) {
            (_, 0) => Missing::Nothing,
            (known, _) if replay.repeated().is_empty() => Missing::Unknown(known),
            counts => Missing::Some(counts),
        }
    }

    /// Waits until the agent has repeated the conversation: some go on with that when they have answered already.
    async fn hear_out(&mut self, said: &Said) {
        let mut wait = ReplayWait::new(Instant::now());
        loop {
            match timeout_at(wait.deadline(Instant::now()), self.events.next()).await {
                Ok(Some(event)) => {
                    wait.heard();
                    self.hear(event).await;
                    self.hear_waiting().await;
                }
                Ok(None) => return,
                Err(_) => {
                    let complete = matches!(self.missing_of(said), Missing::Nothing);
                    if wait.is_over(Instant::now(), complete) {
                        return;
                    }
                }
            }
        }
    }

    /// Takes messages that are here already. One at a time they would be taken more slowly than short ones arrive.
    async fn hear_waiting(&mut self) {
        for _ in 0..MAX_HEARD_AT_ONCE {
            let Some(event) = self.events.waiting() else { return };
            self.hear(event).await;
        }
    }

    async fn hear(&mut self, event: Inbound<JsonRpc>) {
        let event = match &mut self.replay {
            Some(replay) => match replay.take(event) {
                Ok(reports) => {
                    for report in reports {
                        // Without a reader the agent is ended where it is waited for.
                        let _ = self.reports.send(report).await;
                    }
                    return;
                }
                Err(event) => event,
            },
            None => event,
        };
        match event {
            // Nobody could answer yet.
            Inbound::Message(Incoming::Request { id, method, .. }) => self.refusals.push(Frame::unknown(id, &method)),
            event => self.held.take(event),
        }
    }

    /// Begins a session; where that is refused for want of a login, with the login that may be there.
    async fn begin(&mut self, method: &'static str, params: Value, hello: &InitializeReply) -> Result<Value, RpcError> {
        let refused = match self.call(method, params.clone()).await {
            Err(refused @ RpcError::Refused { code: acp::AUTH_REQUIRED, .. }) => refused,
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

    /// Has the session use what was chosen, before or at the start. A mode that skips permissions is left where nobody has
    /// allowed one, and comes back.
    async fn choose(
        &mut self,
        session: &str,
        settings: &mut Settings,
        agent: &AcpProtocol,
    ) -> Result<Option<String>, ConnectError> {
        let start = &agent.start;
        if let Some(model) = agent.model.as_ref().or(start.model.as_ref())
            && settings.models.current.as_ref() != Some(model)
        {
            let (method, params) = settings.model(session, model);
            let reply =
                self.call(method, params).await.map_err(|error| self.not_taken("model", model, settings, &error))?;
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
                    let error = RpcError::Gone("there is none".into());
                    return Err(self.not_taken("mode", &mode, settings, &error));
                }
                let (method, params) = settings.mode(session, &mode);
                let reply =
                    self.call(method, params).await.map_err(|error| self.not_taken("mode", &mode, settings, &error))?;
                settings.modes.current = Some(mode);
                settings.learn(&read::<SessionReply>(reply));
                Ok(left)
            }
            None if left.is_some() => {
                let mode = left.unwrap_or_default();
                let text = format!("{} is in its mode {mode:?}, which skips permissions", self.entry.title);
                Err(ConnectError::Fatal(format!("{text}; {ALLOW_SKIPPING}")))
            }
            _ => Ok(None),
        }
    }

    fn not_taken(&self, what: &str, given: &str, settings: &Settings, error: &RpcError) -> ConnectError {
        let choices = if what == "mode" { &settings.modes } else { &settings.models };
        let open = choices.all.iter().filter(|one| what != "mode" || !self.entry.skips(&one.id));
        let known: Vec<&str> = open.map(|one| one.id.as_str()).collect();
        let hint = if known.is_empty() { String::new() } else { format!("; it has {}", known.join(", ")) };
        let reason = said(&self.entry, error);
        ConnectError::Fatal(format!("{} did not take the {what} {given:?}: {reason}{hint}", self.entry.title))
    }

    fn fatal(&self, error: &RpcError) -> ConnectError {
        ConnectError::Fatal(said(&self.entry, error))
    }

    /// Sends a request. Messages that arrive meanwhile are kept, and requests of the agent refused.
    async fn call(&mut self, method: &'static str, params: Value) -> Result<Value, RpcError> {
        let link = self.link.clone();
        let asking = rpc::request(&link, method, params);
        tokio::pin!(asking);
        loop {
            tokio::select! {
                reply = &mut asking => {
                    self.hear_waiting().await;
                    return reply;
                }
                event = self.events.next() => match event {
                    Some(event) => {
                        self.hear(event).await;
                        self.hear_waiting().await;
                    }
                    // The request is told of the end, too.
                    None => return asking.await,
                },
            }
        }
    }
}

/// True if it can resume a conversation in a later process.
fn lasts(hello: &InitializeReply) -> bool {
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
