//! Routes below `/agents`: status, models, MCP servers, saved conversations, login, logout and start.

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use serde_json::json;
use wh_core::caller::GuardedAction;
use wh_core::space::command::{ConversationCommand, SpaceRefusal, TargetCommand};
use wh_core::space::roster::{AgentReply, AgentRequest, LoginStatus};
use wh_wire::control::{
    AgentConversationsBody, AgentLoginBody, AgentLoginRequest, AgentLogoutBody, AgentMcpBody, AgentModelsBody,
    AgentStartRequest, AgentStartedBody, AgentStatusBody, AgentsBody,
};

use crate::bodies::agents::{
    agents_body, conversations_body, login_body, logout_body, models_body, server_body, status_body,
};
use crate::http::fault::Fault;
use crate::http::openapi::OperationBuilder;
use crate::http::route::{Route, RouteMethod};
use crate::http::{ApiState, body};

pub(super) fn routes() -> Vec<Route<ApiState>> {
    vec![
        Route::new(
            RouteMethod::Get,
            "/agents",
            agents,
            "agents",
            "List agents, with their installation and login state.",
            |it| it.returns::<AgentsBody>(200, "All agents, installed or not.").fails(503, NO_CONVERSATION),
        ),
        Route::new(
            RouteMethod::Get,
            "/agents/{id}",
            agent,
            "agent",
            "Get an agent's status: version, login, MCP servers.",
            |it| about(it).returns::<AgentStatusBody>(200, "The agent's status."),
        ),
        Route::new(
            RouteMethod::Get,
            "/agents/{id}/models",
            models,
            "agentModels",
            "List the models of an agent.",
            |it| about(it).returns::<AgentModelsBody>(200, "The models."),
        ),
        Route::new(RouteMethod::Get, "/agents/{id}/mcp", mcp, "agentMcp", "List the MCP servers of an agent.", |it| {
            about(it).returns::<AgentMcpBody>(200, "The servers.")
        }),
        Route::new(
            RouteMethod::Get,
            "/agents/{id}/sessions",
            sessions,
            "agentSessions",
            "List the agent's saved conversations.",
            |it| {
                about(it)
                    .returns::<AgentConversationsBody>(200, "The conversations saved in the space's working directory.")
            },
        ),
        Route::new(RouteMethod::Post, "/agents/{id}/login", login, "agentLogin", "Log in to an agent.", |it| {
            about(it).accepts::<AgentLoginRequest>().returns::<AgentLoginBody>(
                200,
                "The state of the login: complete, in progress, or waiting for the user.",
            )
        })
        .admits_to(GuardedAction::Command),
        Route::new(RouteMethod::Post, "/agents/{id}/logout", logout, "agentLogout", "Log out of an agent.", |it| {
            about(it).returns::<AgentLogoutBody>(200, "The result of the logout.")
        })
        .admits_to(GuardedAction::Command),
        Route::new(
            RouteMethod::Post,
            "/agents/{id}/start",
            start,
            "agentStart",
            "Add an agent to the space and make it the target of messages.",
            |it| {
                about(it).accepts::<AgentStartRequest>().returns::<AgentStartedBody>(
                    200,
                    "The agent is in the space and receives messages. The state shows when the agent is ready.",
                )
            },
        )
        .admits_to(GuardedAction::Command),
    ]
}

const NO_CONVERSATION: &str = "The session has no conversation, or cannot accept the request now; see the detail.";

fn about(it: OperationBuilder<'_>) -> OperationBuilder<'_> {
    it.path_parameter("id", json!({"type": "string", "minLength": 1}))
        .fails(404, "No such agent, or the agent has no such conversation.")
        .fails(409, "The agent does not support the operation, or the operation failed; see the detail.")
        .fails(503, NO_CONVERSATION)
}

async fn ask(api: &ApiState, agent: Option<&str>, ask: AgentRequest) -> Result<AgentReply, Fault> {
    Ok(api.conversation()?.space.manage(agent, ask).await?)
}

/// Returns the fault for a reply that does not match the request.
fn other(told: &AgentReply) -> Fault {
    Fault::Space(SpaceRefusal::Failed(told.lines().join(" ")))
}

async fn agents(State(api): State<ApiState>) -> Result<Json<AgentsBody>, Fault> {
    match ask(&api, None, AgentRequest::Agents).await? {
        AgentReply::Agents(cards) => Ok(Json(agents_body(&cards))),
        told => Err(other(&told)),
    }
}

async fn agent(State(api): State<ApiState>, Path(id): Path<String>) -> Result<Json<AgentStatusBody>, Fault> {
    match ask(&api, Some(&id), AgentRequest::Status).await? {
        AgentReply::Status(status) => Ok(Json(status_body(&status))),
        told => Err(other(&told)),
    }
}

async fn models(State(api): State<ApiState>, Path(id): Path<String>) -> Result<Json<AgentModelsBody>, Fault> {
    match ask(&api, Some(&id), AgentRequest::Models).await? {
        AgentReply::Models { models, .. } => Ok(Json(models_body(&models))),
        told => Err(other(&told)),
    }
}

async fn mcp(State(api): State<ApiState>, Path(id): Path<String>) -> Result<Json<AgentMcpBody>, Fault> {
    match ask(&api, Some(&id), AgentRequest::Mcp).await? {
        AgentReply::Mcp { servers, .. } => {
            Ok(Json(AgentMcpBody { servers: servers.iter().map(server_body).collect() }))
        }
        told => Err(other(&told)),
    }
}

async fn sessions(State(api): State<ApiState>, Path(id): Path<String>) -> Result<Json<AgentConversationsBody>, Fault> {
    match ask(&api, Some(&id), AgentRequest::Conversations).await? {
        AgentReply::Conversations { conversations, .. } => Ok(Json(conversations_body(&conversations))),
        told => Err(other(&told)),
    }
}

async fn login(State(api): State<ApiState>, Path(id): Path<String>, body: Body) -> Result<Json<AgentLoginBody>, Fault> {
    let AgentLoginRequest { code, cancel } = body::json_or_nothing(body).await?;
    let wanted = match (code, cancel) {
        (Some(_), true) => {
            return Err(Fault::Refused("Invalid request", "set code or cancel, not both".to_owned()));
        }
        (Some(code), false) => AgentRequest::SubmitLoginCode(code),
        (None, true) => AgentRequest::CancelLogin,
        (None, false) => AgentRequest::LogIn,
    };
    let goes_on = matches!(wanted, AgentRequest::SubmitLoginCode(_));
    match ask(&api, Some(&id), wanted).await? {
        AgentReply::LoggedIn { done, .. } => Ok(Json(login_body(&done))),
        AgentReply::Done(message) => {
            let done = LoginStatus { pending: goes_on, message: Some(message), ..LoginStatus::default() };
            Ok(Json(login_body(&done)))
        }
        told => Err(other(&told)),
    }
}

async fn logout(State(api): State<ApiState>, Path(id): Path<String>) -> Result<Json<AgentLogoutBody>, Fault> {
    match ask(&api, Some(&id), AgentRequest::LogOut).await? {
        AgentReply::LoggedOut { done, .. } => Ok(Json(logout_body(&done))),
        told => Err(other(&told)),
    }
}

async fn start(
    State(api): State<ApiState>,
    Path(id): Path<String>,
    body: Body,
) -> Result<Json<AgentStartedBody>, Fault> {
    let AgentStartRequest { session } = body::json_or_nothing(body).await?;
    let conversation = api.conversation()?;
    conversation.space.invite(&id, session).await?;
    // Same effect as selecting the agent with /agent or in the UI's list of agents.
    let target = ConversationCommand::Target(TargetCommand::Only(vec![id.as_str().into()]));
    conversation.space.command(conversation.me.clone(), None, target).await??;
    Ok(Json(AgentStartedBody { ok: true, participant: id }))
}
