//! Agents that can be invited into a space. An agent can be checked without starting it, and is started when a user
//! invites it. Slow work runs in separate tasks, which send their results to the space's task.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use wh_agents::interface::{
    Agent, AgentFacts, Harness, Installation, ManageError, QueryContext, Readiness, ResumeSelector, StartOptions,
};
use wh_agents::{AgentStartError, Catalog};
use wh_core::space::ParticipantId;
use wh_core::space::command::SpaceRefusal;
use wh_core::space::item::NoticeLevel;
use wh_core::space::roster::{AgentCard, AgentReply, AgentRequest, ConversationCard, StatusCard, conversation_id};

use super::login::LoginInProgress;

/// Time for which the readiness of an agent is cached. A login to the agent or a logout clears its entry.
const READINESS_TTL: Duration = Duration::from_secs(30);

/// Timeout for an agent to end before it is started again.
const REPLACE_TIMEOUT: Duration = Duration::from_secs(15);

/// Agents that can be invited, and settings for starting them.
#[derive(Debug, Clone)]
pub struct Roster {
    pub catalog: Catalog,
    /// Working directory and permissions for starting an agent. The conversation to resume is set by each invitation.
    pub start: StartOptions,
}

/// Message to the space's task from a task that starts or ends agents.
#[derive(Debug)]
pub(super) enum RosterMessage {
    /// Add a started agent; the reply is true if the space accepted the agent.
    Enrol(ParticipantId, Harness, oneshot::Sender<bool>),
    /// Pass on the result of the agent request with this number.
    Managed(u64, Result<AgentReply, SpaceRefusal>),
    /// Publish an announcement in the space.
    Announced(NoticeLevel, AgentReply),
    /// End an agent; the reply is sent after its end.
    Leave(ParticipantId, oneshot::Sender<()>),
}

/// Roster of a space with its runtime state.
pub(super) struct AgentRoster {
    roster: Roster,
    state: Mutex<AgentRosterState>,
}

#[derive(Default)]
pub(super) struct AgentRosterState {
    /// Last readiness of each agent, with the time of the check.
    pub(super) checked: HashMap<String, (Instant, Readiness)>,
    /// Resume ids of saved conversations, by agent and conversation id.
    own_names: HashMap<(String, String), String>,
    /// Conversations that are part of this space, by agent and resume id.
    conversations_here: HashSet<(String, String)>,
    /// Agents that are being started.
    inviting: HashSet<String>,
    /// Logins in progress, by agent.
    pub(super) logins: HashMap<String, LoginInProgress>,
}

/// Guard that prevents a second start of an agent while the first is in progress.
struct InviteGuard<'a>(&'a AgentRoster, String);

impl Drop for InviteGuard<'_> {
    fn drop(&mut self) {
        self.0.state().inviting.remove(&self.1);
    }
}

impl AgentRoster {
    pub fn new(roster: Roster) -> Self {
        Self { roster, state: Mutex::default() }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, AgentRosterState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that a conversation of an agent is part of this space.
    pub(super) fn note_conversation(&self, agent: &ParticipantId, name: &str) {
        self.state().conversations_here.insert((agent.to_string(), name.to_owned()));
    }

    pub(super) fn surroundings(&self) -> QueryContext {
        QueryContext::from(&self.roster.start)
    }

    fn agent(&self, id: &str) -> Result<Arc<dyn Agent>, SpaceRefusal> {
        if self.roster.catalog.agents().is_empty() {
            let message = "a session keeps the agent it was created with; in a shell, use wh agents to manage agents and wh new to create sessions";
            return Err(SpaceRefusal::NotAvailable(message.to_owned()));
        }
        self.roster.catalog.by_id(id).ok_or_else(|| SpaceRefusal::NoSuchAgent(id.to_owned()))
    }

    /// Returns the readiness of an agent, cached for [`READINESS_TTL`].
    pub(super) async fn check(&self, agent: &dyn Agent) -> Readiness {
        let id = agent.facts().id;
        if let Some((at, known)) = self.state().checked.get(&id)
            && at.elapsed() < READINESS_TTL
        {
            return known.clone();
        }
        let readiness = agent.check(&self.surroundings()).await;
        self.state().checked.insert(id, (Instant::now(), readiness.clone()));
        readiness
    }

    /// Lists all agents with their readiness. The agents are checked concurrently, because a check may start a program
    /// that takes a second.
    pub async fn cards(self: Arc<Self>, present: HashSet<String>) -> Vec<AgentCard> {
        let asked = self.roster.catalog.agents().iter().cloned().map(|agent| {
            let roster = Arc::clone(&self);
            tokio::spawn(async move {
                let readiness = roster.check(agent.as_ref()).await;
                (agent, readiness)
            })
        });
        let mut cards = Vec::new();
        for asked in asked.collect::<Vec<_>>() {
            if let Ok((agent, readiness)) = asked.await {
                let taking_part = present.contains(&agent.facts().id);
                cards.push(card(agent.as_ref(), readiness, taking_part));
            }
        }
        cards
    }

    /// Executes a request about one agent or about all agents.
    pub async fn manage(
        self: Arc<Self>,
        messages: mpsc::Sender<RosterMessage>,
        id: Option<String>,
        ask: AgentRequest,
        present: HashSet<String>,
    ) -> Result<AgentReply, SpaceRefusal> {
        if ask == AgentRequest::Agents {
            return Ok(AgentReply::Agents(self.cards(present).await));
        }
        let id = id.unwrap_or_default();
        let (agent, surroundings) = (self.agent(&id)?, self.surroundings());
        let title = agent.facts().title;
        Ok(match ask {
            AgentRequest::Agents => AgentReply::Agents(Vec::new()),
            AgentRequest::Status => {
                let (readiness, mut about, mcp) =
                    tokio::join!(self.check(agent.as_ref()), agent.about(&surroundings), agent.mcp(&surroundings));
                if !about.iter().any(|(name, _)| name == "OS") {
                    about.push(("OS".to_owned(), format!("{} ({})", std::env::consts::OS, std::env::consts::ARCH)));
                }
                let card = card(agent.as_ref(), readiness, present.contains(&id));
                let mcp = mcp.map_err(|error| error.to_string());
                AgentReply::Status(Box::new(StatusCard { card, about, mcp, running: None }))
            }
            AgentRequest::Models => {
                AgentReply::Models { models: agent.models(&surroundings).await.map_err(manage_refusal)?, agent: title }
            }
            AgentRequest::Mcp => {
                let servers = agent.mcp(&surroundings).await.map_err(manage_refusal)?;
                let switching = agent.abilities().mcp_switching == Some(true);
                AgentReply::Mcp { servers, switching, agent: title }
            }
            AgentRequest::SwitchMcp { server, on } => {
                AgentReply::Done(agent.switch_mcp(&surroundings, &server, on).await.map_err(manage_refusal)?)
            }
            AgentRequest::Conversations => {
                AgentReply::Conversations { conversations: self.conversations(&id).await?, agent: title }
            }
            AgentRequest::LogIn => AgentReply::LoggedIn { done: self.log_in(agent, messages).await?, agent: title },
            AgentRequest::SubmitLoginCode(text) => AgentReply::Done(self.tell_login(&id, text).await?),
            AgentRequest::CancelLogin => AgentReply::Done(self.stop_login(&id)?),
            AgentRequest::LogOut => {
                let done = agent.log_out(&surroundings).await;
                self.state().checked.remove(&id);
                AgentReply::LoggedOut { done: done.map_err(manage_refusal)?, agent: title }
            }
            AgentRequest::Invite => {
                self.invite(&messages, &id, None, present.contains(&id)).await?;
                AgentReply::Joined(id)
            }
        })
    }

    /// Lists the saved conversations of an agent. Their resume ids are stored in the roster and not returned.
    pub async fn conversations(&self, id: &str) -> Result<Vec<ConversationCard>, SpaceRefusal> {
        let surroundings = self.surroundings();
        let kept = self.agent(id)?.conversations(&surroundings).await.map_err(manage_refusal)?;
        let mut state = self.state();
        let card = |kept: wh_agents::interface::SavedConversation| {
            let ours = conversation_id(id, &kept.name);
            state.own_names.insert((id.to_owned(), ours.clone()), kept.name);
            ConversationCard { id: ours, title: kept.title, at: kept.at, directory: kept.directory }
        };
        Ok(kept.into_iter().map(card).collect())
    }

    async fn own_name(&self, agent: &str, conversation: &str) -> Result<String, SpaceRefusal> {
        let key = (agent.to_owned(), conversation.to_owned());
        let known = self.state().own_names.get(&key).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        self.conversations(agent).await?;
        let known = self.state().own_names.get(&key).cloned();
        known.ok_or_else(|| SpaceRefusal::NoSuchConversation(agent.to_owned(), conversation.to_owned()))
    }

    /// Starts an agent and adds it to the space. If the space already has this agent (`present`),
    /// restarts the agent with the given conversation; does nothing if no conversation is given.
    pub async fn invite(
        &self,
        messages: &mpsc::Sender<RosterMessage>,
        id: &str,
        conversation: Option<String>,
        present: bool,
    ) -> Result<(), SpaceRefusal> {
        let agent = self.agent(id)?;
        if !self.state().inviting.insert(id.to_owned()) {
            return Err(SpaceRefusal::Failed(format!("{id} is already being started")));
        }
        let _alone = InviteGuard(self, id.to_owned());
        let resume = match conversation {
            Some(conversation) => Some(ResumeSelector::Named(self.own_name(id, &conversation).await?)),
            None if present => return Ok(()),
            None => None,
        };
        let mut start = StartOptions { resume, ..self.roster.start.clone() };
        if let Some(ResumeSelector::Named(name)) = &start.resume {
            // The agent need not report a conversation that the space already shows.
            start.reports_history &= !self.state().conversations_here.contains(&(id.to_owned(), name.clone()));
        }
        let participant = ParticipantId::from(id);
        if present {
            let (gone, waiting) = oneshot::channel();
            let _ = messages.send(RosterMessage::Leave(participant.clone(), gone)).await;
            let ended = timeout(REPLACE_TIMEOUT, waiting).await;
            ended
                .map_err(|_| SpaceRefusal::Failed(format!("{id} did not end in time; retry when the agent is idle")))?
                .ok();
        }
        let harness = agent.start(start).await.map_err(|error| start_refusal(&error))?;
        let (reply, enrolled) = oneshot::channel();
        let _ = messages.send(RosterMessage::Enrol(participant, harness, reply)).await;
        match enrolled.await {
            Ok(true) => Ok(()),
            Ok(false) => Err(SpaceRefusal::Failed(format!("{id} is already in the space, or the space is ending"))),
            Err(_) => Err(SpaceRefusal::NoAgentPresent),
        }
    }
}

fn card(agent: &dyn Agent, readiness: Readiness, taking_part: bool) -> AgentCard {
    let AgentFacts { id, title, .. } = agent.facts();
    let installed = readiness.installation.is_present();
    let version = match readiness.installation {
        Installation::BuiltIn => Some(env!("CARGO_PKG_VERSION").to_owned()),
        Installation::Installed { version, .. } => version,
        Installation::Missing => None,
    };
    let Readiness { login, hint, .. } = readiness;
    AgentCard { id, title, installed, version, login, hint, joined: taking_part, abilities: agent.abilities() }
}

pub(super) fn manage_refusal(error: ManageError) -> SpaceRefusal {
    match error {
        ManageError::NotSupported(why) => SpaceRefusal::NotAvailable(why),
        other => SpaceRefusal::Failed(other.to_string()),
    }
}

fn start_refusal(error: &AgentStartError) -> SpaceRefusal {
    SpaceRefusal::Failed(match error.hint() {
        Some(hint) => format!("{error}; {hint}"),
        None => error.to_string(),
    })
}
