//! `GET /agents`, `GET /agents/{id}`, `GET /agents/{id}/models`, `…/mcp`, `…/sessions`, `POST /agents/{id}/login`,
//! `…/logout` and `…/start`.

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use serde_json::{Value, json};
use wh_core::caller::Act;
use wh_core::space::command::{Command, Refusal, Target};
use wh_core::space::roster::{
    Abilities, AgentCard, Ask, ConversationCard, LoginDone, LoginState, LogoutDone, McpServer, ModelCard, StatusCard,
    Told,
};
use wh_wire::control::{
    AgentBody, AgentCapabilities, AgentConversation, AgentConversationsBody, AgentLoginBody, AgentLoginRequest,
    AgentLogoutBody, AgentMcpBody, AgentMcpServer, AgentModel, AgentModelsBody, AgentRunning, AgentStartRequest,
    AgentStartedBody, AgentStatusBody, AgentsBody,
};

use crate::http::fault::Fault;
use crate::http::peer::Peer;
use crate::http::{Door, body};
use crate::time::iso;

/// What was told of agents, as this door writes it.
pub fn told_body(told: &Told) -> Value {
    match told {
        Told::Agents(cards) => json!(agents_body(cards)),
        Told::Status(status) => json!(status_body(status)),
        Told::Models { models, .. } => json!(models_body(models)),
        Told::Mcp { servers, .. } => json!(AgentMcpBody { servers: servers.iter().map(server_body).collect() }),
        Told::Conversations { conversations, .. } => json!(conversations_body(conversations)),
        Told::LoggedIn { done, .. } => json!(login_body(done)),
        Told::LoggedOut { done, .. } => json!(logout_body(done)),
        Told::TakesPart(id) => json!(AgentStartedBody { ok: true, participant: id.clone() }),
        Told::Done(message) => json!({ "ok": true, "message": message }),
    }
}

async fn ask(door: &Door, agent: Option<&str>, ask: Ask) -> Result<Told, Fault> {
    Ok(door.conversation()?.space.manage(agent, ask).await?)
}

/// What was not asked for cannot be told; if it is, nobody knows what to do with it.
fn other(told: &Told) -> Fault {
    Fault::Space(Refusal::Failed(told.lines().join(" ")))
}

pub(in crate::http) async fn agents(State(door): State<Door>) -> Result<Json<AgentsBody>, Fault> {
    match ask(&door, None, Ask::Agents).await? {
        Told::Agents(cards) => Ok(Json(agents_body(&cards))),
        told => Err(other(&told)),
    }
}

pub(in crate::http) async fn agent(
    State(door): State<Door>,
    Path(id): Path<String>,
) -> Result<Json<AgentStatusBody>, Fault> {
    match ask(&door, Some(&id), Ask::Status).await? {
        Told::Status(status) => Ok(Json(status_body(&status))),
        told => Err(other(&told)),
    }
}

pub(in crate::http) async fn models(
    State(door): State<Door>,
    Path(id): Path<String>,
) -> Result<Json<AgentModelsBody>, Fault> {
    match ask(&door, Some(&id), Ask::Models).await? {
        Told::Models { models, .. } => Ok(Json(models_body(&models))),
        told => Err(other(&told)),
    }
}

pub(in crate::http) async fn mcp(
    State(door): State<Door>,
    Path(id): Path<String>,
) -> Result<Json<AgentMcpBody>, Fault> {
    match ask(&door, Some(&id), Ask::Mcp).await? {
        Told::Mcp { servers, .. } => Ok(Json(AgentMcpBody { servers: servers.iter().map(server_body).collect() })),
        told => Err(other(&told)),
    }
}

pub(in crate::http) async fn sessions(
    State(door): State<Door>,
    Path(id): Path<String>,
) -> Result<Json<AgentConversationsBody>, Fault> {
    match ask(&door, Some(&id), Ask::Conversations).await? {
        Told::Conversations { conversations, .. } => Ok(Json(conversations_body(&conversations))),
        told => Err(other(&told)),
    }
}

pub(in crate::http) async fn login(
    State(door): State<Door>,
    peer: Peer,
    Path(id): Path<String>,
    body: Body,
) -> Result<Json<AgentLoginBody>, Fault> {
    door.admit(&peer, Act::Command).await?;
    let AgentLoginRequest { code, cancel } = body::json_or_nothing(body).await?;
    let wanted = match (code, cancel) {
        (Some(_), true) => {
            return Err(Fault::Refused("Invalid request", "give a code or cancel, not both".to_owned()));
        }
        (Some(code), false) => Ask::TellLogin(code),
        (None, true) => Ask::StopLogin,
        (None, false) => Ask::LogIn,
    };
    let goes_on = matches!(wanted, Ask::TellLogin(_));
    match ask(&door, Some(&id), wanted).await? {
        Told::LoggedIn { done, .. } => Ok(Json(login_body(&done))),
        Told::Done(message) => {
            let done = LoginDone { pending: goes_on, message: Some(message), ..LoginDone::default() };
            Ok(Json(login_body(&done)))
        }
        told => Err(other(&told)),
    }
}

pub(in crate::http) async fn logout(
    State(door): State<Door>,
    peer: Peer,
    Path(id): Path<String>,
) -> Result<Json<AgentLogoutBody>, Fault> {
    door.admit(&peer, Act::Command).await?;
    match ask(&door, Some(&id), Ask::LogOut).await? {
        Told::LoggedOut { done, .. } => Ok(Json(logout_body(&done))),
        told => Err(other(&told)),
    }
}

pub(in crate::http) async fn start(
    State(door): State<Door>,
    peer: Peer,
    Path(id): Path<String>,
    body: Body,
) -> Result<Json<AgentStartedBody>, Fault> {
    door.admit(&peer, Act::Command).await?;
    let AgentStartRequest { session } = body::json_or_nothing(body).await?;
    let conversation = door.conversation()?;
    conversation.space.invite(&id, session).await?;
    // As /agent does, and the list of agents on the screen.
    let target = Command::Target(Target::Only(vec![id.as_str().into()]));
    conversation.space.command(conversation.me.clone(), None, target).await??;
    Ok(Json(AgentStartedBody { ok: true, participant: id }))
}

fn agents_body(cards: &[AgentCard]) -> AgentsBody {
    AgentsBody { agents: cards.iter().map(agent_body).collect() }
}

fn agent_body(card: &AgentCard) -> AgentBody {
    let (logged_in, account) = match &card.login {
        LoginState::NotNeeded => ("not_needed", None),
        LoginState::Yes { account } => ("yes", account.clone()),
        LoginState::No => ("no", None),
        LoginState::Unknown => ("unknown", None),
    };
    AgentBody {
        id: card.id.clone(),
        title: card.title.clone(),
        installed: card.installed,
        version: card.version.clone(),
        logged_in: logged_in.to_owned(),
        account,
        hint: card.hint.clone(),
        taking_part: card.taking_part,
        capabilities: capabilities_body(card.abilities),
    }
}

fn capabilities_body(abilities: Abilities) -> AgentCapabilities {
    AgentCapabilities {
        streaming: abilities.streaming,
        resume: abilities.resume,
        modes: abilities.modes,
        model_selection: abilities.models,
        thinking: abilities.thinking,
        mcp: abilities.mcp,
        mcp_switching: abilities.mcp_switching,
        skips_permissions: abilities.skips_permissions,
        session_listing: abilities.conversations,
    }
}

fn status_body(status: &StatusCard) -> AgentStatusBody {
    AgentStatusBody {
        agent: agent_body(&status.card),
        about: status.about.iter().cloned().collect(),
        mcp: status.mcp.as_ref().ok().map(|servers| servers.iter().map(server_body).collect()),
        mcp_problem: status.mcp.as_ref().err().cloned(),
        running: status.running.as_ref().map(|running| AgentRunning {
            model: running.model.clone(),
            mode: running.mode.clone(),
            session: running.conversation.clone(),
            turns: running.turns,
        }),
    }
}

fn models_body(models: &[ModelCard]) -> AgentModelsBody {
    let model = |model: &ModelCard| AgentModel {
        id: model.id.clone(),
        name: model.title.clone(),
        is_default: model.is_default,
        is_current: model.is_current,
    };
    AgentModelsBody { models: models.iter().map(model).collect() }
}

fn server_body(server: &McpServer) -> AgentMcpServer {
    AgentMcpServer { name: server.name.clone(), status: server.status.clone(), reason: server.reason.clone() }
}

fn conversations_body(conversations: &[ConversationCard]) -> AgentConversationsBody {
    let conversation = |one: &ConversationCard| AgentConversation {
        id: one.id.clone(),
        title: one.title.clone(),
        updated_at: one.at.map(iso),
        directory: one.directory.as_ref().map(|directory| directory.to_string_lossy().into_owned()),
    };
    AgentConversationsBody { sessions: conversations.iter().map(conversation).collect() }
}

fn login_body(done: &LoginDone) -> AgentLoginBody {
    AgentLoginBody {
        success: done.success,
        pending: done.pending,
        account: done.account.clone(),
        method: done.method.map(|method| method.name().to_owned()),
        message: done.message.clone(),
        requires_manual_action: done.instructions.is_some(),
        instructions: done.instructions.clone(),
    }
}

fn logout_body(done: &LogoutDone) -> AgentLogoutBody {
    AgentLogoutBody { success: done.success, supported: done.supported, message: done.message.clone() }
}
