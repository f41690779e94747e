//! `GET /agents`, `GET /agents/{id}`, `GET /agents/{id}/models`, `…/mcp`, `…/sessions`, `POST /agents/{id}/login`,
//! `…/logout` and `…/start`.

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use serde_json::json;
use wh_core::caller::Act;
use wh_core::space::command::{Command, Refusal, Target};
use wh_core::space::roster::{Ask, LoginDone, Told};
use wh_wire::control::{
    AgentConversationsBody, AgentLoginBody, AgentLoginRequest, AgentLogoutBody, AgentMcpBody, AgentModelsBody,
    AgentStartRequest, AgentStartedBody, AgentStatusBody, AgentsBody,
};

use crate::bodies::agents::{
    agents_body, conversations_body, login_body, logout_body, models_body, server_body, status_body,
};
use crate::http::fault::Fault;
use crate::http::openapi::Describe;
use crate::http::route::{Method, Route};
use crate::http::{Door, body};

pub(super) fn routes() -> Vec<Route<Door>> {
    vec![
        Route::new(
            Method::Get,
            "/agents",
            agents,
            "agents",
            "The agents that could take part, and whether they can be used.",
            |it| it.gives::<AgentsBody>(200, "All of them, installed or not.").fails(503, NO_CONVERSATION),
        ),
        Route::new(
            Method::Get,
            "/agents/{id}",
            agent,
            "agent",
            "How an agent is: version, login, MCP servers.",
            |it| about(it).gives::<AgentStatusBody>(200, "How it is."),
        ),
        Route::new(
            Method::Get,
            "/agents/{id}/models",
            models,
            "agentModels",
            "The models that an agent offers.",
            |it| about(it).gives::<AgentModelsBody>(200, "The models."),
        ),
        Route::new(Method::Get, "/agents/{id}/mcp", mcp, "agentMcp", "The MCP servers of an agent.", |it| {
            about(it).gives::<AgentMcpBody>(200, "The servers.")
        }),
        Route::new(
            Method::Get,
            "/agents/{id}/sessions",
            sessions,
            "agentSessions",
            "The conversations that it keeps.",
            |it| about(it).gives::<AgentConversationsBody>(200, "The conversations of the space's directory."),
        ),
        Route::new(Method::Post, "/agents/{id}/login", login, "agentLogin", "Log in with an agent.", |it| {
            about(it)
                .takes::<AgentLoginRequest>()
                .gives::<AgentLoginBody>(200, "It is over, or the person has something to do.")
        })
        .admits_to(Act::Command),
        Route::new(Method::Post, "/agents/{id}/logout", logout, "agentLogout", "Log out of an agent.", |it| {
            about(it).gives::<AgentLogoutBody>(200, "What it came to.")
        })
        .admits_to(Act::Command),
        Route::new(
            Method::Post,
            "/agents/{id}/start",
            start,
            "agentStart",
            "Have an agent take part, and chat go to it.",
            |it| {
                about(it)
                    .takes::<AgentStartRequest>()
                    .gives::<AgentStartedBody>(200, "It takes part; whether it gets ready shows in the state.")
            },
        )
        .admits_to(Act::Command),
    ]
}

const NO_CONVERSATION: &str = "There is no conversation here, or not yet.";

fn about(it: Describe<'_>) -> Describe<'_> {
    it.path_parameter("id", json!({"type": "string", "minLength": 1}))
        .fails(404, "There is no such agent, or no such conversation of it.")
        .fails(409, "It cannot do that, or could not; the detail says what to do instead.")
        .fails(503, NO_CONVERSATION)
}

async fn ask(door: &Door, agent: Option<&str>, ask: Ask) -> Result<Told, Fault> {
    Ok(door.conversation()?.space.manage(agent, ask).await?)
}

/// What was not asked for cannot be told; if it is, nobody knows what to do with it.
fn other(told: &Told) -> Fault {
    Fault::Space(Refusal::Failed(told.lines().join(" ")))
}

async fn agents(State(door): State<Door>) -> Result<Json<AgentsBody>, Fault> {
    match ask(&door, None, Ask::Agents).await? {
        Told::Agents(cards) => Ok(Json(agents_body(&cards))),
        told => Err(other(&told)),
    }
}

async fn agent(State(door): State<Door>, Path(id): Path<String>) -> Result<Json<AgentStatusBody>, Fault> {
    match ask(&door, Some(&id), Ask::Status).await? {
        Told::Status(status) => Ok(Json(status_body(&status))),
        told => Err(other(&told)),
    }
}

async fn models(State(door): State<Door>, Path(id): Path<String>) -> Result<Json<AgentModelsBody>, Fault> {
    match ask(&door, Some(&id), Ask::Models).await? {
        Told::Models { models, .. } => Ok(Json(models_body(&models))),
        told => Err(other(&told)),
    }
}

async fn mcp(State(door): State<Door>, Path(id): Path<String>) -> Result<Json<AgentMcpBody>, Fault> {
    match ask(&door, Some(&id), Ask::Mcp).await? {
        Told::Mcp { servers, .. } => Ok(Json(AgentMcpBody { servers: servers.iter().map(server_body).collect() })),
        told => Err(other(&told)),
    }
}

async fn sessions(State(door): State<Door>, Path(id): Path<String>) -> Result<Json<AgentConversationsBody>, Fault> {
    match ask(&door, Some(&id), Ask::Conversations).await? {
        Told::Conversations { conversations, .. } => Ok(Json(conversations_body(&conversations))),
        told => Err(other(&told)),
    }
}

async fn login(State(door): State<Door>, Path(id): Path<String>, body: Body) -> Result<Json<AgentLoginBody>, Fault> {
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

async fn logout(State(door): State<Door>, Path(id): Path<String>) -> Result<Json<AgentLogoutBody>, Fault> {
    match ask(&door, Some(&id), Ask::LogOut).await? {
        Told::LoggedOut { done, .. } => Ok(Json(logout_body(&done))),
        told => Err(other(&told)),
    }
}

async fn start(State(door): State<Door>, Path(id): Path<String>, body: Body) -> Result<Json<AgentStartedBody>, Fault> {
    let AgentStartRequest { session } = body::json_or_nothing(body).await?;
    let conversation = door.conversation()?;
    conversation.space.invite(&id, session).await?;
    // As /agent does, and the list of agents on the screen.
    let target = Command::Target(Target::Only(vec![id.as_str().into()]));
    conversation.space.command(conversation.me.clone(), None, target).await??;
    Ok(Json(AgentStartedBody { ok: true, participant: id }))
}
