//! From a program to a session: the handshake, the login, and what was chosen.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use tokio::time::timeout;
use wh_pipe::Launch;
use wh_wire::acp::{self, InitializeReply, SessionList, SessionReply, read};

use super::super::settings::Settings;
use super::super::table::Entry;
use super::Memory;
use super::life::said;
use crate::backlog::Backlog;
use crate::port::{Resume, Start};
use crate::rpc::{Dialect, Events, Incoming, Peer, RpcError};

/// How long an agent says nothing once it has told an old conversation again.
const QUIET: Duration = Duration::from_millis(250);

/// How long that may take altogether.
const LONGEST_TELLING: Duration = Duration::from_secs(10);

/// A session that can be used.
pub(super) struct Session {
    pub peer: Peer,
    pub events: Events,
    pub id: String,
    pub hello: InitializeReply,
    pub settings: Settings,
    /// What the agent said on the way here, as far as it was kept.
    pub heard: Vec<Incoming>,
    /// It goes on with an old conversation.
    pub old: bool,
    /// The mode that it was brought out of, because that skips permissions.
    pub left: Option<String>,
}

/// Why there is no session.
pub(super) enum Failed {
    /// And why another try would end the same way.
    Altogether(String),
    /// Only the old conversation is not to be had.
    Conversation(String),
}

/// A conversation that is being set up.
struct Hand {
    entry: Arc<Entry>,
    peer: Peer,
    events: Events,
    heard: Backlog,
}

/// Starts the agent and begins a session, or goes on with the one that is remembered. The process is gone when this fails.
pub(super) async fn session(
    entry: Arc<Entry>,
    launch: &Launch,
    start: &Start,
    memory: &mut Memory,
) -> Result<Session, Failed> {
    let started = Peer::start(launch, Dialect::default()).await;
    let (peer, events) = started.map_err(|error| Failed::Altogether(error.to_string()))?;
    let mut hand = Hand { entry, peer, events, heard: Backlog::default() };
    match hand.shake(start, memory).await {
        Ok((id, hello, settings, old, left)) => {
            let Hand { peer, events, heard, .. } = hand;
            Ok(Session { peer, events, id, hello, settings, heard: heard.kept, old, left })
        }
        Err(failed) => {
            hand.peer.close();
            while hand.events.next().await.is_some() {}
            Err(failed)
        }
    }
}

type Shaken = (String, InitializeReply, Settings, bool, Option<String>);

impl Hand {
    async fn shake(&mut self, start: &Start, memory: &mut Memory) -> Result<Shaken, Failed> {
        let hello: InitializeReply = read(self.call("initialize", self.hello()).await.map_err(|it| self.failed(&it))?);
        if let Some(version) = hello.protocol_version.filter(|version| *version != acp::VERSION) {
            let text = format!("{} speaks version {version} of the protocol, and wh version 1", self.entry.title);
            return Err(Failed::Altogether(text));
        }
        let entry = self.entry.clone();
        if let Some(how) = entry.authenticate.as_ref().filter(|how| how.always) {
            self.authenticate(&how.method).await.map_err(|it| self.failed(&it))?;
        }
        let (id, reply, old) = match self.wanted(start, memory, &hello).await? {
            Some(id) => {
                let reply = self.go_on(start, &hello, &id).await?;
                (id, reply, true)
            }
            None => {
                let params = json!({ "cwd": start.directory, "mcpServers": [] });
                let reply: SessionReply =
                    read(self.begin("session/new", params, &hello).await.map_err(|it| self.failed(&it))?);
                let none = || Failed::Altogether(format!("{} began a session without a name", self.entry.title));
                memory.begun = Some(SystemTime::now());
                (reply.session_id.clone().ok_or_else(none)?, reply, false)
            }
        };
        let mut settings = Settings::default();
        settings.learn(&reply);
        let left = self.choose(&id, &mut settings, start, memory).await?;
        memory.session = Some(id.clone());
        Ok((id, hello, settings, old, left))
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

    /// Which conversation to go on with; none is a new one.
    async fn wanted(
        &mut self,
        start: &Start,
        memory: &Memory,
        hello: &InitializeReply,
    ) -> Result<Option<String>, Failed> {
        if let Some(session) = &memory.session {
            return Ok(lasts(hello).then(|| session.clone()));
        }
        match &start.resume {
            None => Ok(None),
            Some(_) if !lasts(hello) => {
                let text = format!("{} cannot go on with a conversation", self.entry.title);
                Err(Failed::Altogether(text))
            }
            Some(Resume::Named(id)) => Ok(Some(id.clone())),
            Some(Resume::Latest) if !hello.agent_capabilities.session("list") => {
                let text = format!(
                    "{} does not say which conversation is the newest; give its name with --resume",
                    self.entry.title
                );
                Err(Failed::Altogether(text))
            }
            Some(Resume::Latest) => {
                let params = json!({ "cwd": start.directory });
                let list: SessionList = read(self.call("session/list", params).await.map_err(|it| self.failed(&it))?);
                let here = start.directory.to_str();
                let mut of_here: Vec<_> =
                    list.sessions.into_iter().filter(|one| one.cwd.is_none() || one.cwd.as_deref() == here).collect();
                of_here.sort_by(|one, other| one.updated_at.cmp(&other.updated_at));
                let none = || Failed::Altogether("there is no conversation in this directory yet".to_owned());
                of_here.pop().map(|one| Some(one.session_id)).ok_or_else(none)
            }
        }
    }

    /// Goes on with a conversation, without having it told again where that can be had.
    async fn go_on(&mut self, start: &Start, hello: &InitializeReply, id: &str) -> Result<SessionReply, Failed> {
        let method = if hello.agent_capabilities.session("resume") { "session/resume" } else { "session/load" };
        let params = json!({ "sessionId": id, "cwd": start.directory, "mcpServers": [] });
        match self.begin(method, params, hello).await {
            Ok(reply) => {
                if method == "session/load" {
                    self.hear_out().await;
                }
                Ok(read(reply))
            }
            Err(error @ RpcError::Refused { code: acp::AUTH_REQUIRED, .. }) => Err(self.failed(&error)),
            Err(error @ RpcError::Refused { .. }) => Err(Failed::Conversation(said(&self.entry, &error))),
            Err(error) => Err(self.failed(&error)),
        }
    }

    /// Waits until the agent has told again what was said: some go on with that when they have answered already.
    async fn hear_out(&mut self) {
        let all = async {
            while let Ok(Some(incoming)) = timeout(QUIET, self.events.next()).await {
                self.hear(incoming).await;
            }
        };
        // One that never rests is taken as it is.
        let _ = timeout(LONGEST_TELLING, all).await;
    }

    async fn hear(&mut self, incoming: Incoming) {
        match incoming {
            // That an answer cannot be written is told by the agent's end, which follows.
            Incoming::Request { id, method, .. } => drop(self.peer.unknown(&id, &method).await),
            incoming => self.heard.take(incoming),
        }
    }

    /// Begins a session; where that is refused for want of a login, with the login that may be there.
    async fn begin(&mut self, method: &str, params: Value, hello: &InitializeReply) -> Result<Value, RpcError> {
        let refused = match self.call(method, params.clone()).await {
            Err(refused @ RpcError::Refused { code: acp::AUTH_REQUIRED, .. }) => refused,
            other => return other,
        };
        let known = |method: &str| hello.auth_methods.iter().any(|one| one.id == method);
        let entry = self.entry.clone();
        match entry.authenticate.as_ref().filter(|how| !how.always && known(&how.method)) {
            Some(how) if self.authenticate(&how.method).await.is_ok() => self.call(method, params).await,
            _ => Err(refused),
        }
    }

    async fn authenticate(&mut self, method: &str) -> Result<(), RpcError> {
        self.call("authenticate", json!({ "methodId": method })).await.map(drop)
    }

    /// Has the session use what was chosen, before or at the start. A mode that skips permissions is left where nobody
    /// has allowed one; which, comes back.
    async fn choose(
        &mut self,
        session: &str,
        settings: &mut Settings,
        start: &Start,
        memory: &Memory,
    ) -> Result<Option<String>, Failed> {
        if let Some(model) = memory.model.as_ref().or(start.model.as_ref())
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
        let chosen = memory.mode.clone().or_else(|| start.mode.clone());
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
                Err(Failed::Altogether(format!("{text}; {}", super::super::ALLOW)))
            }
            _ => Ok(None),
        }
    }

    fn not_taken(&self, what: &str, given: &str, settings: &Settings, error: &RpcError) -> Failed {
        let choices = if what == "mode" { &settings.modes } else { &settings.models };
        let open = choices.all.iter().filter(|one| what != "mode" || !self.entry.skips(&one.id));
        let known: Vec<&str> = open.map(|one| one.id.as_str()).collect();
        let hint = if known.is_empty() { String::new() } else { format!("; it has {}", known.join(", ")) };
        let reason = said(&self.entry, error);
        Failed::Altogether(format!("{} did not take the {what} {given:?}: {reason}{hint}", self.entry.title))
    }

    fn failed(&self, error: &RpcError) -> Failed {
        Failed::Altogether(said(&self.entry, error))
    }

    /// Asks something. What the agent says meanwhile is kept, and what it asks is refused: nobody could answer yet.
    async fn call(&mut self, method: &str, params: Value) -> Result<Value, RpcError> {
        let peer = self.peer.clone();
        let asking = peer.request(method, params);
        tokio::pin!(asking);
        loop {
            tokio::select! {
                reply = &mut asking => {
                    while let Some(incoming) = self.events.waiting() {
                        self.hear(incoming).await;
                    }
                    return reply;
                }
                incoming = self.events.next() => match incoming {
                    Some(incoming) => self.hear(incoming).await,
                    // The request is told of the end, too.
                    None => return asking.await,
                },
            }
        }
    }
}

/// Whether it can go on with a conversation after a new start.
pub(super) fn lasts(hello: &InitializeReply) -> bool {
    hello.agent_capabilities.load_session || hello.agent_capabilities.session("resume")
}
