//! The requests that Claude Code understands, each as a function.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use wh_wire::claude::{InterruptReply, ModelInfo, PermissionMode, Request, RewindReply};

use crate::connection::Connection;
use crate::error::Error;

impl Connection {
    /// Ends the turn that runs; what waits behind it still comes.
    ///
    /// # Errors
    ///
    /// As for [`request`](Self::request); the same holds for all below.
    pub async fn interrupt(&self) -> Result<InterruptReply, Error> {
        read("interrupt", self.request(Request::Interrupt { cancel_queued: None }).await?)
    }

    /// Uses another model; `None` is Claude Code's own choice. What it calls the model comes back, where it says.
    pub async fn set_model(&self, model: Option<&str>) -> Result<Option<String>, Error> {
        let reply = self.request(Request::SetModel { model: model.map(str::to_owned) }).await?;
        Ok(reply["model"].as_str().map(str::to_owned))
    }

    /// Works in another permission mode.
    pub async fn set_permission_mode(&self, mode: PermissionMode) -> Result<(), Error> {
        self.request(Request::SetPermissionMode { mode }).await.map(drop)
    }

    /// How its MCP servers fare: `{"mcpServers": [{"name", "status", …}]}`.
    pub async fn mcp_status(&self) -> Result<Value, Error> {
        self.request(Request::McpStatus {}).await
    }

    /// Connects an MCP server again.
    pub async fn mcp_reconnect(&self, server: &str) -> Result<(), Error> {
        self.request(Request::McpReconnect { server_name: server.to_owned() }).await.map(drop)
    }

    /// Switches an MCP server on or off.
    pub async fn mcp_toggle(&self, server: &str, enabled: bool) -> Result<(), Error> {
        self.request(Request::McpToggle { server_name: server.to_owned(), enabled }).await.map(drop)
    }

    /// Other MCP servers in the place of those that were set so before, by name.
    pub async fn mcp_set_servers(&self, servers: Map<String, Value>) -> Result<Value, Error> {
        self.request(Request::McpSetServers { servers }).await
    }

    /// What fills the context.
    pub async fn context_usage(&self) -> Result<Value, Error> {
        self.request(Request::GetContextUsage { detail: None }).await
    }

    /// The models to choose from.
    pub async fn list_models(&self) -> Result<Vec<ModelInfo>, Error> {
        let reply = self.request(Request::ListModels {}).await?;
        read("list_models", reply.get("models").cloned().unwrap_or(reply))
    }

    /// Brings the files back to what they were when this message was sent; with `dry_run` only says what that would
    /// change. Needs [`file_checkpoints`](crate::Options::file_checkpoints).
    pub async fn rewind_files(&self, user_message_id: &str, dry_run: bool) -> Result<RewindReply, Error> {
        let dry_run = dry_run.then_some(true);
        let request = Request::RewindFiles { user_message_id: user_message_id.to_owned(), dry_run };
        let reply: RewindReply = read("rewind_files", self.request(request).await?)?;
        match reply.error {
            Some(message) => Err(Error::Refused { request: "rewind_files".to_owned(), message, code: None }),
            None => Ok(reply),
        }
    }

    /// Ends a task that it runs in the background.
    pub async fn stop_task(&self, task_id: &str) -> Result<(), Error> {
        self.request(Request::StopTask { task_id: task_id.to_owned() }).await.map(drop)
    }

    /// Takes a message back that it has not begun with.
    pub async fn cancel_message(&self, message_uuid: &str) -> Result<Value, Error> {
        self.request(Request::CancelAsyncMessage { message_uuid: message_uuid.to_owned() }).await
    }
}

/// Older versions answer some requests with nothing.
fn read<T: DeserializeOwned + Default>(request: &str, value: Value) -> Result<T, Error> {
    if value.is_null() {
        return Ok(T::default());
    }
    serde_json::from_value(value)
        .map_err(|error| Error::Unexpected { request: request.to_owned(), reason: error.to_string() })
}
