//! What answers Claude Code's questions in this process.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::{Value, json};
use wh_wire::claude::{
    AskKind, CanUseTool, Elicitation, ElicitationAction, ElicitationResult, HookOutput, McpReply, Outgoing,
    PermissionResult,
};

use crate::mcp::McpServer;

/// A future behind a callback.
pub(crate) type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

pub(crate) type PermissionHandler = Arc<dyn Fn(CanUseTool) -> BoxFuture<PermissionResult> + Send + Sync>;
pub(crate) type HookHandler = Arc<dyn Fn(Value) -> BoxFuture<HookOutput> + Send + Sync>;
pub(crate) type ElicitationHandler = Arc<dyn Fn(Elicitation) -> BoxFuture<ElicitationResult> + Send + Sync>;

/// Who answers what.
#[derive(Clone, Default)]
pub(crate) struct Handlers {
    pub permission: Option<PermissionHandler>,
    pub elicitation: Option<ElicitationHandler>,
    /// By the id that Claude Code was given.
    pub hooks: BTreeMap<String, HookHandler>,
    pub servers: BTreeMap<String, Arc<McpServer>>,
}

/// What is done about a question.
pub(crate) enum Fate {
    /// This answers it, in its own time.
    Answered(BoxFuture<Outgoing>),
    /// Whoever holds the connection may answer it.
    Forwarded,
    /// It must not be answered.
    Left,
}

impl Handlers {
    /// Finds who answers. What nobody here knows gets an error: Claude Code waits for every answer.
    pub fn fate(&self, request_id: &str, kind: &AskKind, forward: bool) -> Fate {
        let id = request_id.to_owned();
        match kind {
            AskKind::CanUseTool(ask) => match &self.permission {
                Some(handler) => {
                    let (handler, ask) = (Arc::clone(handler), (**ask).clone());
                    Fate::Answered(Box::pin(async move { Outgoing::success(id, handler(ask).await) }))
                }
                None if forward => Fate::Forwarded,
                None => refuse(id, "nobody is here to be asked for a permission"),
            },
            AskKind::Elicitation(ask) => match &self.elicitation {
                Some(handler) => {
                    let (handler, ask) = (Arc::clone(handler), (**ask).clone());
                    Fate::Answered(Box::pin(async move { Outgoing::success(id, handler(ask).await) }))
                }
                None if forward => Fate::Forwarded,
                None => {
                    let declined = ElicitationResult { action: ElicitationAction::Decline, content: None };
                    Fate::Answered(Box::pin(async move { Outgoing::success(id, declined) }))
                }
            },
            AskKind::HookCallback(ask) => match self.hooks.get(&ask.callback_id) {
                Some(handler) => {
                    let (handler, input) = (Arc::clone(handler), ask.input.clone());
                    Fate::Answered(Box::pin(async move { Outgoing::success(id, handler(input).await) }))
                }
                None => refuse(id, &format!("no hook is registered as {:?}", ask.callback_id)),
            },
            AskKind::McpMessage(ask) => match self.servers.get(&ask.server_name) {
                Some(server) => {
                    let (server, message) = (Arc::clone(server), ask.message.clone());
                    Fate::Answered(Box::pin(async move {
                        // A notification has no reply in JSON-RPC, but the question that carries it has one.
                        let reply = server.handle(message).await;
                        let mcp_response = reply.unwrap_or_else(|| json!({"jsonrpc": "2.0", "result": {}}));
                        Outgoing::success(id, McpReply { mcp_response })
                    }))
                }
                None => refuse(id, &format!("no MCP server is called {:?}", ask.server_name)),
            },
            // We have declared no dialogs, and those must be left unanswered.
            AskKind::UserDialog(_) => Fate::Left,
            AskKind::Unknown { subtype, .. } => {
                let subtype = subtype.clone().unwrap_or_default();
                Fate::Answered(Box::pin(async move { Outgoing::unsupported(id, &subtype) }))
            }
        }
    }
}

fn refuse(id: String, why: &str) -> Fate {
    let why = why.to_owned();
    Fate::Answered(Box::pin(async move { Outgoing::error(id, why) }))
}
