//! The agents that could take part in a space: asked without being started, and started when somebody invites one. What
//! is slow runs in tasks of its own; the space's task only hears the outcome.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use wh_agents::port::{Agent, AgentFacts, Harness, Installation, ManageError, Readiness, Resume, Start, Surroundings};
use wh_agents::{Catalog, StartError};
use wh_core::space::ParticipantId;
use wh_core::space::command::Refusal;
use wh_core::space::item::Level;
use wh_core::space::roster::{AgentCard, Ask, ConversationCard, StatusCard, Told, conversation_id};

use super::login::UnderWay;

/// How long it is believed what an agent said of its installation and login. A login or a logout ends that at once.
const BELIEVED: Duration = Duration::from_secs(30);

/// How long an agent that is to begin anew may take to end.
const LEAVING: Duration = Duration::from_secs(15);

/// The agents that there are, and how they are started.
#[derive(Debug, Clone)]
pub struct Roster {
    /// Which.
    pub catalog: Catalog,
    /// Where they work and what they may; which conversation, model and mode is said with each invitation.
    pub start: Start,
}

/// What the space's task is asked by those who start and end agents.
#[derive(Debug)]
pub(super) enum Arrival {
    /// It takes part from now on.
    Enrol(ParticipantId, Harness, oneshot::Sender<bool>),
    /// What was asked by this number came to that.
    Managed(u64, Result<Told, Refusal>),
    /// There is something to tell.
    Announced(Level, Told),
    /// It is to end; told once it is gone.
    Leave(ParticipantId, oneshot::Sender<()>),
}

/// The roster, as the space's task holds it.
pub(super) struct Desk {
    roster: Roster,
    state: Mutex<DeskState>,
}

#[derive(Default)]
pub(super) struct DeskState {
    /// What agents said of themselves, and when.
    pub(super) checked: HashMap<String, (Instant, Readiness)>,
    /// What an agent calls the conversation that we call so.
    names: HashMap<(String, String), String>,
    /// Conversations that are part of this space already, by agent and the agent's name for them.
    held_here: HashSet<(String, String)>,
    /// Who is being started.
    inviting: HashSet<String>,
    /// Logins that are under way, by agent.
    pub(super) logins: HashMap<String, UnderWay>,
}

/// While there is one, nobody else starts this agent.
struct Inviting<'a>(&'a Desk, String);

impl Drop for Inviting<'_> {
    fn drop(&mut self) {
        self.0.state().inviting.remove(&self.1);
    }
}

impl Desk {
    pub fn new(roster: Roster) -> Self {
        Self { roster, state: Mutex::default() }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, DeskState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a conversation is part of this space.
    pub(super) fn note_conversation(&self, agent: &ParticipantId, name: &str) {
        self.state().held_here.insert((agent.to_string(), name.to_owned()));
    }

    pub(super) fn here(&self) -> Surroundings {
        Surroundings::from(&self.roster.start)
    }

    fn agent(&self, id: &str) -> Result<Arc<dyn Agent>, Refusal> {
        if self.roster.catalog.agents().is_empty() {
            let words = "a session has the one agent that it was made with; in a shell, wh agents manages agents and wh new makes sessions";
            return Err(Refusal::NotAvailable(words.to_owned()));
        }
        self.roster.catalog.by_id(id).ok_or_else(|| Refusal::NoSuchAgent(id.to_owned()))
    }

    /// Whether an agent can be used, as it said not long ago or says now.
    pub(super) async fn check(&self, agent: &dyn Agent) -> Readiness {
        let id = agent.facts().id;
        if let Some((at, known)) = self.state().checked.get(&id)
            && at.elapsed() < BELIEVED
        {
            return known.clone();
        }
        let readiness = agent.check(&self.here()).await;
        self.state().checked.insert(id, (Instant::now(), readiness.clone()));
        readiness
    }

    /// Every agent, all asked at once: each may have to start a program that takes a second.
    pub async fn cards(self: Arc<Self>, present: HashSet<String>) -> Vec<AgentCard> {
        let asked = self.roster.catalog.agents().iter().cloned().map(|agent| {
            let desk = Arc::clone(&self);
            tokio::spawn(async move {
                let readiness = desk.check(agent.as_ref()).await;
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

    /// Answers what is asked about an agent, or about all of them.
    pub async fn manage(
        self: Arc<Self>,
        line: mpsc::Sender<Arrival>,
        id: Option<String>,
        ask: Ask,
        present: HashSet<String>,
    ) -> Result<Told, Refusal> {
        if ask == Ask::Agents {
            return Ok(Told::Agents(self.cards(present).await));
        }
        let id = id.unwrap_or_default();
        let (agent, here) = (self.agent(&id)?, self.here());
        let title = agent.facts().title;
        Ok(match ask {
            Ask::Agents => Told::Agents(Vec::new()),
            Ask::Status => {
                let (readiness, mut about, mcp) =
                    tokio::join!(self.check(agent.as_ref()), agent.about(&here), agent.mcp(&here));
                if !about.iter().any(|(name, _)| name == "OS") {
                    about.push(("OS".to_owned(), format!("{} ({})", std::env::consts::OS, std::env::consts::ARCH)));
                }
                let card = card(agent.as_ref(), readiness, present.contains(&id));
                let mcp = mcp.map_err(|error| error.to_string());
                Told::Status(Box::new(StatusCard { card, about, mcp, running: None }))
            }
            Ask::Models => Told::Models { models: agent.models(&here).await.map_err(unmanaged)?, agent: title },
            Ask::Mcp => {
                let servers = agent.mcp(&here).await.map_err(unmanaged)?;
                let switching = agent.abilities().mcp_switching == Some(true);
                Told::Mcp { servers, switching, agent: title }
            }
            Ask::SwitchMcp { server, on } => Told::Done(agent.switch_mcp(&here, &server, on).await.map_err(unmanaged)?),
            Ask::Conversations => Told::Conversations { conversations: self.conversations(&id).await?, agent: title },
            Ask::LogIn => Told::LoggedIn { done: self.log_in(agent, line).await?, agent: title },
            Ask::TellLogin(text) => Told::Done(self.tell_login(&id, text).await?),
            Ask::StopLogin => Told::Done(self.stop_login(&id)?),
            Ask::LogOut => {
                let done = agent.log_out(&here).await;
                self.state().checked.remove(&id);
                Told::LoggedOut { done: done.map_err(unmanaged)?, agent: title }
            }
            Ask::Invite => {
                self.invite(&line, &id, None, present.contains(&id)).await?;
                Told::TakesPart(id)
            }
        })
    }

    /// The conversations that an agent keeps. What it calls them is remembered, and stays here.
    pub async fn conversations(&self, id: &str) -> Result<Vec<ConversationCard>, Refusal> {
        let here = self.here();
        let kept = self.agent(id)?.conversations(&here).await.map_err(unmanaged)?;
        let mut state = self.state();
        let card = |kept: wh_agents::port::Kept| {
            let ours = conversation_id(id, &kept.name);
            state.names.insert((id.to_owned(), ours.clone()), kept.name);
            ConversationCard { id: ours, title: kept.title, at: kept.at, directory: kept.directory }
        };
        Ok(kept.into_iter().map(card).collect())
    }

    async fn own_name(&self, agent: &str, conversation: &str) -> Result<String, Refusal> {
        let key = (agent.to_owned(), conversation.to_owned());
        let known = self.state().names.get(&key).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        self.conversations(agent).await?;
        let known = self.state().names.get(&key).cloned();
        known.ok_or_else(|| Refusal::NoSuchConversation(agent.to_owned(), conversation.to_owned()))
    }

    /// Has an agent take part. `present`: it does already.
    pub async fn invite(
        &self,
        line: &mpsc::Sender<Arrival>,
        id: &str,
        conversation: Option<String>,
        present: bool,
    ) -> Result<(), Refusal> {
        let agent = self.agent(id)?;
        if !self.state().inviting.insert(id.to_owned()) {
            return Err(Refusal::Failed(format!("{id} is being started already")));
        }
        let _alone = Inviting(self, id.to_owned());
        let resume = match conversation {
            Some(conversation) => Some(Resume::Named(self.own_name(id, &conversation).await?)),
            None if present => return Ok(()),
            None => None,
        };
        let mut start = Start { resume, ..self.roster.start.clone() };
        if let Some(Resume::Named(name)) = &start.resume {
            // The space shows it already.
            start.recalls &= !self.state().held_here.contains(&(id.to_owned(), name.clone()));
        }
        let participant = ParticipantId::from(id);
        if present {
            let (gone, waiting) = oneshot::channel();
            let _ = line.send(Arrival::Leave(participant.clone(), gone)).await;
            let ended = timeout(LEAVING, waiting).await;
            ended.map_err(|_| Refusal::Failed(format!("{id} does not end; try again when it is idle")))?.ok();
        }
        let harness = agent.start(start).await.map_err(|error| unstarted(&error))?;
        let (reply, enrolled) = oneshot::channel();
        let _ = line.send(Arrival::Enrol(participant, harness, reply)).await;
        match enrolled.await {
            Ok(true) => Ok(()),
            Ok(false) => Err(Refusal::Failed(format!("{id} takes part already, or the space is ending"))),
            Err(_) => Err(Refusal::NobodyThere),
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
    AgentCard { id, title, installed, version, login, hint, taking_part, abilities: agent.abilities() }
}

pub(super) fn unmanaged(error: ManageError) -> Refusal {
    match error {
        ManageError::NotSupported(why) => Refusal::NotAvailable(why),
        other => Refusal::Failed(other.to_string()),
    }
}

fn unstarted(error: &StartError) -> Refusal {
    Refusal::Failed(match error.hint() {
        Some(hint) => format!("{error}; {hint}"),
        None => error.to_string(),
    })
}
