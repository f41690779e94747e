//! MCP servers in this process. Their tools are callbacks, and the control protocol is their transport.

use std::fmt;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::handlers::BoxFuture;

/// MCP version for clients that do not request a version.
const DEFAULT_MCP_VERSION: &str = "2025-06-18";

/// Callback of a tool.
type ToolFunction = Arc<dyn Fn(Value) -> BoxFuture<Result<ToolOutput, String>> + Send + Sync>;

/// Output of a tool call, returned by the callback of a [`LocalMcpServer`] tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutput {
    /// MCP content blocks.
    pub content: Vec<Value>,
    /// Structured output (`structuredContent` in MCP); `None` if the tool returns only content blocks.
    pub structured: Option<Value>,
}

impl From<String> for ToolOutput {
    fn from(text: String) -> Self {
        Self { content: vec![json!({"type": "text", "text": text})], structured: None }
    }
}

impl From<&str> for ToolOutput {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

/// MCP server in this process, with its tools.
///
/// ```
/// use serde_json::json;
/// use wh_claude::LocalMcpServer;
///
/// let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
/// let server = LocalMcpServer::new("weather", "1.0");
/// let server = server.tool("forecast", "Returns tomorrow's weather in a city", schema, |input| async move {
///     let city = input["city"].as_str().ok_or("the field city is missing")?;
///     Ok(format!("fair in {city}").into())
/// });
/// ```
#[derive(Clone)]
#[must_use]
pub struct LocalMcpServer {
    name: String,
    version: String,
    tools: Vec<LocalTool>,
}

#[derive(Clone)]
struct LocalTool {
    name: String,
    description: String,
    input_schema: Value,
    function: ToolFunction,
}

impl fmt::Debug for LocalMcpServer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tools: Vec<&str> = self.tools.iter().map(|tool| tool.name.as_str()).collect();
        formatter.debug_struct("LocalMcpServer").field("name", &self.name).field("tools", &tools).finish()
    }
}

impl LocalMcpServer {
    /// Creates a server without tools.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self { name: name.into(), version: version.into(), tools: Vec::new() }
    }

    /// Returns the name of the server. Claude Code refers to the tools of the server as `mcp__NAME__TOOL`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Adds a tool. `input_schema` is the JSON Schema of the input, `function` the callback. An error of the callback
    /// is sent to the model.
    pub fn tool<F, R>(
        mut self,
        name: impl Into<String>,
        description: impl Into<String>,
        input_schema: Value,
        function: F,
    ) -> Self
    where
        F: Fn(Value) -> R + Send + Sync + 'static,
        R: Future<Output = Result<ToolOutput, String>> + Send + 'static,
    {
        self.tools.push(LocalTool {
            name: name.into(),
            description: description.into(),
            input_schema,
            function: Arc::new(move |input| Box::pin(function(input))),
        });
        self
    }

    /// Executes one JSON-RPC request and returns the response. Returns `None` for a notification.
    pub(crate) async fn handle(&self, message: Value) -> Option<Value> {
        let id = message.get("id").filter(|id| !id.is_null())?.clone();
        let parameters = &message["params"];
        let outcome = match message["method"].as_str().unwrap_or_default() {
            "initialize" => Ok(json!({
                "protocolVersion": parameters["protocolVersion"].as_str().unwrap_or(DEFAULT_MCP_VERSION),
                "capabilities": {"tools": {}},
                "serverInfo": {"name": self.name, "version": self.version},
            })),
            "ping" => Ok(json!({})),
            "tools/list" => Ok(json!({ "tools": self.tools.iter().map(LocalTool::listed).collect::<Vec<_>>() })),
            "tools/call" => self.call(parameters).await,
            other => Err((-32601, format!("there is no method {other:?}"))),
        };
        Some(match outcome {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err((code, message)) => {
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
            }
        })
    }

    async fn call(&self, parameters: &Value) -> Result<Value, (i64, String)> {
        let name = parameters["name"].as_str().unwrap_or_default();
        let Some(tool) = self.tools.iter().find(|tool| tool.name == name) else {
            return Err((-32602, format!("there is no tool {name:?}")));
        };
        let arguments = parameters.get("arguments").cloned().unwrap_or_else(|| json!({}));
        Ok(match (tool.function)(arguments).await {
            Ok(ToolOutput { content, structured: None }) => json!({"content": content, "isError": false}),
            Ok(ToolOutput { content, structured: Some(data) }) => {
                json!({"content": content, "structuredContent": data, "isError": false})
            }
            Err(why) => json!({"content": [{"type": "text", "text": why}], "isError": true}),
        })
    }
}

impl LocalTool {
    fn listed(&self) -> Value {
        json!({"name": self.name, "description": self.description, "inputSchema": self.input_schema})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server() -> LocalMcpServer {
        let schema = json!({"type": "object"});
        LocalMcpServer::new("desk", "1").tool("double", "Twice as much", schema, |input| async move {
            let number = input["number"].as_i64().ok_or("a number, please")?;
            Ok((number * 2).to_string().into())
        })
    }

    async fn ask(method: &str, parameters: Value) -> Value {
        let message = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": parameters});
        let reply = server().handle(message).await.expect("a request has a reply");
        assert_eq!((&reply["jsonrpc"], &reply["id"]), (&json!("2.0"), &json!(7)));
        reply
    }

    #[tokio::test]
    async fn a_client_can_find_and_call_the_tools() {
        let hello = ask("initialize", json!({"protocolVersion": "2024-11-05"})).await;
        assert_eq!(hello["result"]["protocolVersion"], "2024-11-05");
        assert_eq!(hello["result"]["serverInfo"]["name"], "desk");
        let list = ask("tools/list", json!({})).await;
        assert_eq!(list["result"]["tools"][0]["name"], "double");
        let good = ask("tools/call", json!({"name": "double", "arguments": {"number": 21}})).await;
        assert_eq!(good["result"], json!({"content": [{"type": "text", "text": "42"}], "isError": false}));
        let bad = ask("tools/call", json!({"name": "double"})).await;
        assert_eq!(bad["result"]["isError"], true);
    }

    #[tokio::test]
    async fn what_it_does_not_know_is_an_error_and_a_notification_has_no_reply() {
        assert_eq!(ask("resources/list", json!({})).await["error"]["code"], -32601);
        assert_eq!(ask("tools/call", json!({"name": "fly"})).await["error"]["code"], -32602);
        let note = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(server().handle(note).await, None);
    }
}
