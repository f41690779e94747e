//! Builds response bodies about agents: status, models, MCP servers, logins and conversations.

use serde_json::{Value, json};
use wh_core::space::roster::{
    AgentCard, AgentReply, ConversationCard, LoginState, LoginStatus, LogoutResult, McpServer, ModelCard,
    StaticCapabilities, StatusCard,
};
use wh_core::time::iso;
use wh_wire::control::{
    AgentBody, AgentCapabilities, AgentConversation, AgentConversationsBody, AgentLoginBody, AgentLogoutBody,
    AgentMcpBody, AgentMcpServer, AgentModel, AgentModelsBody, AgentRunning, AgentStartedBody, AgentStatusBody,
    AgentsBody,
};

/// Converts a reply about agents to the body that the HTTP API sends.
pub fn agent_reply_body(told: &AgentReply) -> Value {
    match told {
        AgentReply::Agents(cards) => json!(agents_body(cards)),
        AgentReply::Status(status) => json!(status_body(status)),
        AgentReply::Models { models, .. } => json!(models_body(models)),
        AgentReply::Mcp { servers, .. } => json!(AgentMcpBody { servers: servers.iter().map(server_body).collect() }),
        AgentReply::Conversations { conversations, .. } => json!(conversations_body(conversations)),
        AgentReply::LoggedIn { done, .. } => json!(login_body(done)),
        AgentReply::LoggedOut { done, .. } => json!(logout_body(done)),
        AgentReply::Joined(id) => json!(AgentStartedBody { ok: true, participant: id.clone() }),
        AgentReply::Done(message) => json!({ "ok": true, "message": message }),
    }
}

pub(crate) fn agents_body(cards: &[AgentCard]) -> AgentsBody {
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
        taking_part: card.joined,
        capabilities: capabilities_body(card.abilities),
    }
}

fn capabilities_body(abilities: StaticCapabilities) -> AgentCapabilities {
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

pub(crate) fn status_body(status: &StatusCard) -> AgentStatusBody {
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

pub(crate) fn models_body(models: &[ModelCard]) -> AgentModelsBody {
    let model = |model: &ModelCard| AgentModel {
        id: model.id.clone(),
        name: model.title.clone(),
        is_default: model.is_default,
        is_current: model.is_current,
    };
    AgentModelsBody { models: models.iter().map(model).collect() }
}

pub(crate) fn server_body(server: &McpServer) -> AgentMcpServer {
    AgentMcpServer { name: server.name.clone(), status: server.status.clone(), reason: server.reason.clone() }
}

pub(crate) fn conversations_body(conversations: &[ConversationCard]) -> AgentConversationsBody {
    let conversation = |one: &ConversationCard| AgentConversation {
        id: one.id.clone(),
        title: one.title.clone(),
        updated_at: one.at.map(iso),
        directory: one.directory.as_ref().map(|directory| directory.to_string_lossy().into_owned()),
    };
    AgentConversationsBody { sessions: conversations.iter().map(conversation).collect() }
}

pub(crate) fn login_body(done: &LoginStatus) -> AgentLoginBody {
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

pub(crate) fn logout_body(done: &LogoutResult) -> AgentLogoutBody {
    AgentLogoutBody { success: done.success, supported: done.supported, message: done.message.clone() }
}
