//! What the paths about agents take and answer.

use serde_json::json;
use wh_wire::control::{
    AgentConversationsBody, AgentLoginBody, AgentLoginRequest, AgentLogoutBody, AgentMcpBody, AgentModelsBody,
    AgentStartRequest, AgentStartedBody, AgentStatusBody, AgentsBody,
};

use super::operations::{Describe, Operation, Schemas};

const NONE: &str = "There is no conversation here, or not yet.";

pub(super) fn all(schemas: &mut Schemas) -> Vec<Operation> {
    let about = |describe: Describe<'_>| {
        describe
            .path_parameter("id", json!({"type": "string", "minLength": 1}))
            .fails(404, "There is no such agent, or no such conversation of it.")
            .fails(409, "It cannot do that, or could not; the detail says what to do instead.")
            .fails(503, NONE)
            .done()
    };
    vec![
        Describe::new(
            schemas,
            "get",
            "/agents",
            "agents",
            "The agents that could take part, and whether they can be used.",
        )
        .gives::<AgentsBody>(200, "All of them, installed or not.")
        .fails(503, NONE)
        .done(),
        about(
            Describe::new(schemas, "get", "/agents/{id}", "agent", "How an agent is: version, login, MCP servers.")
                .gives::<AgentStatusBody>(200, "How it is."),
        ),
        about(
            Describe::new(schemas, "get", "/agents/{id}/models", "agentModels", "The models that an agent offers.")
                .gives::<AgentModelsBody>(200, "The models."),
        ),
        about(
            Describe::new(schemas, "get", "/agents/{id}/mcp", "agentMcp", "The MCP servers of an agent.")
                .gives::<AgentMcpBody>(200, "The servers."),
        ),
        about(
            Describe::new(schemas, "get", "/agents/{id}/sessions", "agentSessions", "The conversations that it keeps.")
                .gives::<AgentConversationsBody>(200, "The conversations of the space's directory."),
        ),
        about(
            Describe::new(schemas, "post", "/agents/{id}/login", "agentLogin", "Log in with an agent.")
                .takes::<AgentLoginRequest>()
                .gives::<AgentLoginBody>(200, "It is over, or the person has something to do."),
        ),
        about(
            Describe::new(schemas, "post", "/agents/{id}/logout", "agentLogout", "Log out of an agent.")
                .gives::<AgentLogoutBody>(200, "What it came to."),
        ),
        about(
            Describe::new(
                schemas,
                "post",
                "/agents/{id}/start",
                "agentStart",
                "Have an agent take part, and chat go to it.",
            )
            .takes::<AgentStartRequest>()
            .gives::<AgentStartedBody>(200, "It takes part; whether it gets ready shows in the state."),
        ),
    ]
}
