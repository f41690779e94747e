//! From a program to a conversation: the handshake, and the conversation to begin or to resume.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use wh_core::space::harness::{Capabilities, Named, Report};
use wh_core::space::item::Level;
use wh_wire::codex::{self as wire, Account, Client, Model, Settings, Started, Thread};

use super::super::calls::CALLS;
use super::super::{LOG_IN, TITLE, modes};
use super::{Choice, CodexProtocol, in_words, is_unknown};
use crate::driver::{Connect, ConnectError, Connected};
use crate::port::{Reports, Resume};
use crate::rpc::{self, Frame, JsonRpc, RpcError, RpcLink};

/// Timeout of requests whose result is good to know but not needed.
const OPTIONAL_TIMEOUT: Duration = Duration::from_secs(10);

/// The conversation to begin with.
enum Which {
    New,
    Newest,
    /// This one. `Again`: it is the one that we were in.
    Named(String),
    Again(String),
}

/// A conversation that was begun.
struct Begun {
    started: Started,
    /// It is an earlier one.
    resumed: bool,
    notice: Option<String>,
}

fn fatal(error: &RpcError) -> ConnectError {
    ConnectError::Fatal(in_words(&error.to_string(), false))
}

impl Connect for CodexProtocol {
    async fn connect(&mut self, _reports: &Reports) -> Result<Connected<Self>, ConnectError> {
        let started = rpc::start(&self.launch, JsonRpc { names_version: false }).await;
        let (link, mut events) = started.map_err(|error| ConnectError::Fatal(in_words(&error.to_string(), false)))?;
        let us = Client { name: "wheelhouse", title: "Wheelhouse", version: env!("CARGO_PKG_VERSION") };
        let directory = place(&self.start.directory);
        let settings = self.choice.beginning(self.start.may_skip_permissions);
        let which = self.which();
        let shaking = async {
            let hello = rpc::request(&link, "initialize", us.initialize()).await.map_err(|it| fatal(&it))?;
            let initialized = Frame::Notification { method: "initialized", params: json!({}) };
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
        let Begun { started, resumed, notice } = begun;
        self.version = hello["userAgent"].as_str().and_then(|agent| agent.split(['/', ' ']).nth(1)).map(str::to_owned);
        let anew = !self.thread.is_empty() || self.again;
        self.thread.clone_from(&started.thread.id);
        (self.status, self.spoken, self.heard) = (started.thread.status, resumed, Instant::now());
        self.pending = Choice::default();
        let models = models.map(|reply| Model::list(&reply)).unwrap_or_default();
        self.capabilities = Capabilities {
            interrupts: true,
            models: models.into_iter().map(|model| Named { id: model.id, title: model.title }).collect(),
            modes: modes::offered(self.start.may_skip_permissions),
            calls: CALLS.iter().map(|call| (*call).to_owned()).collect(),
            ..Capabilities::default()
        };
        self.note(&started);
        self.name_model_in_use();
        let account = account.map(|reply| Account::read(&reply)).unwrap_or_default();
        let mut greeting = Vec::new();
        // Of a new conversation there is something to say only where one was before it.
        if resumed || anew || notice.is_some() {
            greeting.push(self.resume_id());
        }
        let warning = |text: String| Report::Notice(Level::Warning, text);
        greeting.extend(notice.map(warning));
        if account.needed && account.by.is_none() {
            greeting.push(warning(format!("nobody is logged in with {TITLE}: {LOG_IN}")));
        }
        self.link = Some(link.clone());
        Ok(Connected { link, events, greeting, doubt: None })
    }
}

impl CodexProtocol {
    fn which(&self) -> Which {
        match &self.start.resume {
            _ if self.spoken => Which::Again(self.thread.clone()),
            Some(Resume::Latest) if !self.again => Which::Newest,
            Some(Resume::Named(id)) if !self.again => Which::Named(id.clone()),
            _ => Which::New,
        }
    }

    fn name_model_in_use(&mut self) {
        let known = &mut self.capabilities.models;
        if let Some(model) = self.capabilities.model.as_ref().filter(|model| !known.iter().any(|one| one.id == **model))
        {
            known.insert(0, Named { id: model.clone(), title: "the one in use".to_owned() });
        }
    }
}

/// A directory as Codex knows it.
pub(in super::super) fn place(directory: &Path) -> String {
    let whole = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    whole.to_string_lossy().into_owned()
}

async fn begin(link: &RpcLink, directory: &str, which: Which, settings: &Settings<'_>) -> Result<Begun, ConnectError> {
    let mut notice = None;
    let wanted = match &which {
        Which::New => None,
        Which::Named(id) | Which::Again(id) => Some(id.clone()),
        Which::Newest => {
            let list = rpc::request(link, "thread/list", wire::list(directory)).await;
            match list.map(|reply| Thread::first(&reply)) {
                Ok(Some(newest)) => Some(newest.id),
                Ok(None) => {
                    notice = Some("there is no conversation of this directory yet: a new one begins".to_owned());
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
        Started::read(reply).ok_or_else(|| ConnectError::Fatal(format!("{TITLE} names no conversation")))
    };
    if let Some(id) = wanted {
        match rpc::request(link, "thread/resume", wire::resume(&id, directory, settings)).await {
            Ok(reply) => return Ok(Begun { started: read(&reply)?, resumed: true, notice: None }),
            Err(error @ RpcError::Refused { .. }) if matches!(which, Which::Again(_)) => {
                return Err(ConnectError::ConversationLost(error.to_string()));
            }
            Err(error) => return Err(fatal(&error)),
        }
    }
    let reply = rpc::request(link, "thread/start", wire::start(directory, settings)).await;
    Ok(Begun { started: read(&reply.map_err(|error| fatal(&error))?)?, resumed: false, notice })
}
