//! Routes questions of Claude Code to callbacks in this process.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::{Value, json};
use wh_wire::claude::{
    CanUseTool, Elicitation, ElicitationAction, ElicitationResult, HookOutput, IncomingRequestKind, McpReply, Outgoing,
    PermissionResult,
};

use crate::mcp::LocalMcpServer;

/// Boxed future of a callback.
pub(crate) type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

pub(crate) type PermissionHandler = Arc<dyn Fn(CanUseTool) -> BoxFuture<PermissionResult> + Send + Sync>;
pub(crate) type HookHandler = Arc<dyn Fn(Value) -> BoxFuture<HookOutput> + Send + Sync>;
pub(crate) type ElicitationHandler = Arc<dyn Fn(Elicitation) -> BoxFuture<ElicitationResult> + Send + Sync>;

/// Callbacks registered in the options.
#[derive(Clone, Default)]
pub(crate) struct Handlers {
    pub permission: Option<PermissionHandler>,
    pub elicitation: Option<ElicitationHandler>,
    /// Hook handlers by callback id. Claude Code sends this id to call the hook.
    pub hooks: BTreeMap<String, HookHandler>,
    pub servers: BTreeMap<String, Arc<LocalMcpServer>>,
}

/// Handler of a question, selected by [`Handlers::route`].
pub(crate) enum QuestionRoute {
    /// Question answered by this future.
    Answered(BoxFuture<Outgoing>),
    /// Question forwarded to the owner of the connection.
    Forwarded,
    /// Question that must not be answered.
    Ignored,
}

impl Handlers {
    /// Selects the callback for a question. Unknown questions are answered with an error, because Claude Code waits for
    /// every answer.
    pub fn route(&self, request_id: &str, kind: &IncomingRequestKind, forward: bool) -> QuestionRoute {
        let id = request_id.to_owned();
        match kind {
            IncomingRequestKind::CanUseTool(ask) => match &self.permission {
                Some(handler) => {
                    let (handler, ask) = (Arc::clone(handler), (**ask).clone());
                    QuestionRoute::Answered(Box::pin(async move { Outgoing::success(id, handler(ask).await) }))
                }
                None if forward => QuestionRoute::Forwarded,
                None => refuse(id, "no callback for permissions is registered"),
            },
            IncomingRequestKind::Elicitation(ask) => match &self.elicitation {
                Some(handler) => {
                    let (handler, ask) = (Arc::clone(handler), (**ask).clone());
                    QuestionRoute::Answered(Box::pin(async move { Outgoing::success(id, handler(ask).await) }))
                }
                None if forward => QuestionRoute::Forwarded,
                None => {
                    let declined = ElicitationResult { action: ElicitationAction::Decline, content: None };
                    QuestionRoute::Answered(Box::pin(async move { Outgoing::success(id, declined) }))
                }
            },
            IncomingRequestKind::HookCallback(ask) => match self.hooks.get(&ask.callback_id) {
                Some(handler) => {
                    let (handler, input) = (Arc::clone(handler), ask.input.clone());
                    QuestionRoute::Answered(Box::pin(async move { Outgoing::success(id, handler(input).await) }))
                }
                None => refuse(id, &format!("no hook has the callback id {:?}", ask.callback_id)),
            },
            IncomingRequestKind::McpMessage(ask) => match self.servers.get(&ask.server_name) {
                Some(server) => {
                    let (server, message) = (Arc::clone(server), ask.message.clone());
                    QuestionRoute::Answered(Box::pin(async move {
                        // A JSON-RPC notification has no reply, but the control request that contains it requires a
                        // reply.
                        let reply = server.handle(message).await;
                        let mcp_response = reply.unwrap_or_else(|| json!({"jsonrpc": "2.0", "result": {}}));
                        Outgoing::success(id, McpReply { mcp_response })
                    }))
                }
                None => refuse(id, &format!("no MCP server is called {:?}", ask.server_name)),
            },
            // The handshake declares no dialogs, and questions about undeclared dialogs must not be answered.
            IncomingRequestKind::UserDialog(_) => QuestionRoute::Ignored,
            IncomingRequestKind::Unknown { subtype, .. } => {
                let subtype = subtype.clone().unwrap_or_default();
                QuestionRoute::Answered(Box::pin(async move { Outgoing::unsupported(id, &subtype) }))
            }
        }
    }
}

fn refuse(id: String, why: &str) -> QuestionRoute {
    let why = why.to_owned();
    QuestionRoute::Answered(Box::pin(async move { Outgoing::error(id, why) }))
}
