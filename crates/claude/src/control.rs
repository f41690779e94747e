//! Control requests of Claude Code as methods of [`Connection`].

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use wh_wire::claude::{ClientRequest, InterruptReply, ModelInfo, PermissionMode, RewindReply};

use crate::connection::Connection;
use crate::error::Error;

impl Connection {
    /// Interrupts the current turn. Queued messages are still processed.
    ///
    /// # Errors
    ///
    /// See [`request`](Self::request). The same applies to all methods below.
    pub async fn interrupt(&self) -> Result<InterruptReply, Error> {
        read("interrupt", self.request(ClientRequest::Interrupt { cancel_queued: None }).await?)
    }

    /// Selects another model; `None` selects Claude Code's default. Returns the model's name if Claude Code reports it.
    pub async fn set_model(&self, model: Option<&str>) -> Result<Option<String>, Error> {
        let reply = self.request(ClientRequest::SetModel { model: model.map(str::to_owned) }).await?;
        Ok(reply["model"].as_str().map(str::to_owned))
    }

    /// Changes the permission mode.
    pub async fn set_permission_mode(&self, mode: PermissionMode) -> Result<(), Error> {
        self.request(ClientRequest::SetPermissionMode { mode }).await.map(drop)
    }

    /// Returns the status of the MCP servers: `{"mcpServers": [{"name", "status", …}]}`.
    pub async fn mcp_status(&self) -> Result<Value, Error> {
        self.request(ClientRequest::McpStatus {}).await
    }

    /// Reconnects an MCP server.
    pub async fn mcp_reconnect(&self, server: &str) -> Result<(), Error> {
        self.request(ClientRequest::McpReconnect { server_name: server.to_owned() }).await.map(drop)
    }

    /// Enables or disables an MCP server.
    pub async fn mcp_toggle(&self, server: &str, enabled: bool) -> Result<(), Error> {
        self.request(ClientRequest::McpToggle { server_name: server.to_owned(), enabled }).await.map(drop)
    }

    /// Replaces the MCP servers that were set by earlier calls. The keys of `servers` are server names.
    pub async fn mcp_set_servers(&self, servers: Map<String, Value>) -> Result<Value, Error> {
        self.request(ClientRequest::McpSetServers { servers }).await
    }

    /// Returns the usage of the context window, as raw JSON.
    pub async fn context_usage(&self) -> Result<Value, Error> {
        self.request(ClientRequest::GetContextUsage { detail: None }).await
    }

    /// Lists the available models.
    pub async fn list_models(&self) -> Result<Vec<ModelInfo>, Error> {
        let reply = self.request(ClientRequest::ListModels {}).await?;
        read("list_models", reply.get("models").cloned().unwrap_or(reply))
    }

    /// Restores files to their state at the time when the message with this id was sent. With `dry_run`, only reports
    /// the changes. Requires [`file_checkpoints`](crate::Options::file_checkpoints).
    pub async fn rewind_files(&self, user_message_id: &str, dry_run: bool) -> Result<RewindReply, Error> {
        let dry_run = dry_run.then_some(true);
        let request = ClientRequest::RewindFiles { user_message_id: user_message_id.to_owned(), dry_run };
        let reply: RewindReply = read("rewind_files", self.request(request).await?)?;
        match reply.error {
            Some(message) => Err(Error::Refused { request: "rewind_files".to_owned(), message, code: None }),
            None => Ok(reply),
        }
    }

    /// Stops a background task.
    pub async fn stop_task(&self, task_id: &str) -> Result<(), Error> {
        self.request(ClientRequest::StopTask { task_id: task_id.to_owned() }).await.map(drop)
    }

    /// Cancels a queued message that Claude Code has not begun to process.
    pub async fn cancel_message(&self, message_uuid: &str) -> Result<Value, Error> {
        self.request(ClientRequest::CancelAsyncMessage { message_uuid: message_uuid.to_owned() }).await
    }
}

/// Parses a reply. Older versions reply to some requests with null.
fn read<T: DeserializeOwned + Default>(request: &str, value: Value) -> Result<T, Error> {
    if value.is_null() {
        return Ok(T::default());
    }
    serde_json::from_value(value)
        .map_err(|error| Error::Unexpected { request: request.to_owned(), reason: error.to_string() })
}
