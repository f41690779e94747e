//! Executes the calls that wh supports for Codex, such as `/clear`, `/compact` and `/mcp`.

use serde_json::{Value, json};
use wh_core::space::harness::Call;
use wh_wire::codex::{self as wire, CodexMcpServer};

use super::protocol::{CodexOperation, CodexProtocol, CodexRequestTag, canonical_path, is_unknown};
use super::{LOG_IN, TITLE, manage};
use crate::driver::{DriverState, DriverStep, DriverSteps};
use crate::interface::QueryContext;
use crate::manage::run::run;
use crate::manage::{codex, describe_login};
use crate::rpc::{self, RpcFrame};

/// Names of the calls that wh supports for Codex.
pub(super) const CALLS: [&str; 5] = ["status", "clear", "compact", "restart", "mcp"];

impl CodexProtocol {
    pub(super) fn run_command(&mut self, id: u64, call: Call, now: DriverState<'_>, steps: &mut DriverSteps<Self>) {
        let refused = match call {
            Call::Clear | Call::Compact { .. } if now.prompted => {
                "a turn is in progress; interrupt it or wait for its end".to_owned()
            }
            Call::Clear | Call::Compact { .. } if self.busy.is_some() => {
                "a clear or compact operation is already in progress".to_owned()
            }
            Call::Clear => {
                // The old conversation is not deleted: Codex retains it.
                let begin = RpcFrame::request("thread/start", self.new_thread_params());
                return self.begin_operation(
                    CodexOperation::Clearing,
                    begin,
                    CodexRequestTag::Clear(id, self.thread.clone()),
                    steps,
                );
            }
            Call::Compact { .. } => {
                let compact = RpcFrame::request("thread/compact/start", json!({ "threadId": self.thread }));
                return self.begin_operation(CodexOperation::Compacting, compact, CodexRequestTag::Compact(id), steps);
            }
            Call::ReportStatus => return steps.push(DriverStep::RunInBackground(id, Box::pin(self.status()))),
            Call::Other { name, parameters } => match name.as_str() {
                "mcp" if parameters["words"].as_array().is_some_and(|words| !words.is_empty()) => {
                    format!("use /mcp without arguments; change {TITLE}'s servers with `codex mcp`")
                }
                "mcp" => return steps.push(DriverStep::RunInBackground(id, Box::pin(self.mcp()))),
                other => format!("{TITLE} does not support the command {other:?}"),
            },
            other => format!("{TITLE} does not support the command {:?}", wh_core::slash::call_name(&other)),
        };
        steps.called(id, Err(refused));
    }

    /// Starts an operation by sending a request. The operation must finish before the next prompt is sent.
    fn begin_operation(
        &mut self,
        busy: CodexOperation,
        frame: RpcFrame,
        tag: CodexRequestTag,
        steps: &mut DriverSteps<Self>,
    ) {
        self.busy = Some(busy);
        steps.push(DriverStep::Occupied(true));
        steps.push(DriverStep::Request(frame, tag));
    }

    fn status(&self) -> impl Future<Output = Result<Value, String>> + use<> {
        let name = self.version.as_ref().map_or_else(|| TITLE.to_owned(), |version| format!("{TITLE} {version}"));
        let (model, mode) = (self.capabilities.model.clone(), self.capabilities.mode.clone());
        let (launch, link, here) = (self.launch.clone(), self.link(), QueryContext::from(&self.start));
        async move {
            let asked = match link {
                Some(link) => {
                    let account = rpc::request(&link, "account/read", json!({})).await.ok();
                    account.zip(rpc::request(&link, "config/read", json!({})).await.ok())
                }
                None => None,
            };
            let login = match asked {
                Some((account, config)) => codex::account(&account, &config, &here),
                None => manage::login(&launch, &here).await,
            };
            let choice = |value: Option<String>| value.unwrap_or_else(|| "default".to_owned());
            let chosen = format!("model {}, mode {}", choice(model), choice(mode));
            Ok(json!([name, describe_login(&login, LOG_IN), chosen].join("\n")))
        }
    }

    fn mcp(&self) -> impl Future<Output = Result<Value, String>> + use<> {
        let (launch, link, params) = (self.launch.clone(), self.link(), json!({ "threadId": self.thread }));
        async move {
            let Some(link) = link else { return Err(format!("{TITLE} is not running")) };
            match rpc::request(&link, "mcpServerStatus/list", params).await {
                Ok(reply) => Ok(servers(&CodexMcpServer::list(&reply))),
                Err(error) if is_unknown(&error) => run(&launch, &["mcp", "list"])
                    .await
                    .and_then(|output| output.require_success("codex mcp list"))
                    .map(|output| json!(output.text()))
                    .map_err(|error| error.to_string()),
                Err(error) => Err(error.to_string()),
            }
        }
    }

    /// Returns the parameters for starting a new conversation with the current directory and settings.
    fn new_thread_params(&self) -> Value {
        let directory = canonical_path(&self.start.directory);
        wire::start(&directory, &self.choice.beginning(self.start.may_skip_permissions))
    }
}

fn servers(servers: &[CodexMcpServer]) -> Value {
    if servers.is_empty() {
        return json!("No MCP servers.");
    }
    let line = |server: &CodexMcpServer| {
        let status = server.status.as_deref().unwrap_or("unknown status");
        let error = server.error.as_ref().map(|error| format!(": {error}")).unwrap_or_default();
        format!("{}: {status}, {} tools{error}", server.name, server.tools)
    };
    json!(servers.iter().map(line).collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_says_is_put_in_words() {
        assert_eq!(servers(&[]), json!("No MCP servers."));
        let reply = json!({"data": [
            {"name": "desk", "runtimeStatus": "connected", "tools": {"a": {}, "b": {}}},
            {"name": "lamp", "runtimeStatus": null, "tools": {}, "toolsError": "no light"},
        ]});
        let both = servers(&CodexMcpServer::list(&reply));
        assert_eq!(both, json!("desk: connected, 2 tools\nlamp: unknown status, 0 tools: no light"));
    }
}
