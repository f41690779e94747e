//! Lists the saved conversations of an ACP agent.

use std::path::Path;

use serde_json::{Value, json};
use wh_wire::acp::{self, InitializeReply, SessionList};

use crate::interface::{ManageError, SavedConversation};
use crate::manage::{self, run, title};
use crate::rpc::{self, JsonRpc};
use crate::table::management::AgentQuery;

/// Lists conversations with `session/list`, in a process started only for this request.
pub(crate) async fn conversations(inquiry: AgentQuery<'_>) -> Result<Vec<SavedConversation>, ManageError> {
    let AgentQuery { entry, launch, here } = inquiry;
    let mut launch = launch.clone();
    launch.arguments = entry.program.arguments.iter().map(Into::into).collect();
    let reply = rpc::request_once(&launch, JsonRpc { names_version: true }, run::COMMAND_TIMEOUT, async |link| {
        let us = json!({
            "protocolVersion": acp::ACP_VERSION,
            "clientCapabilities": {},
            "clientInfo": { "name": "wheelhouse", "title": "Wheelhouse", "version": env!("CARGO_PKG_VERSION") },
        });
        let hello: InitializeReply = acp::read(rpc::request(link, "initialize", us).await?);
        if !hello.agent_capabilities.session("list") {
            return Ok(None);
        }
        rpc::request(link, "session/list", json!({ "cwd": here.directory })).await.map(Some)
    });
    match reply.await {
        Ok(Some(reply)) => Ok(sessions(&reply, &here.directory)),
        Ok(None) => Err(ManageError::NotSupported(format!("{} cannot list conversations", entry.title))),
        Err(error) => Err(ManageError::Failed(error.to_string())),
    }
}

/// Parses the reply to `session/list`. Returns the conversations of the directory, newest first.
fn sessions(reply: &Value, directory: &Path) -> Vec<SavedConversation> {
    let titles = reply["sessions"].as_array().cloned().unwrap_or_default();
    let about = |id: &str| {
        let of = titles.iter().find(|one| one["sessionId"] == id)?;
        title(of["title"].as_str()?)
    };
    let list: SessionList = serde_json::from_value(reply.clone()).unwrap_or_default();
    let here = list.sessions.into_iter().filter(|one| one.cwd.as_deref().is_none_or(|cwd| Path::new(cwd) == directory));
    let mut saved: Vec<SavedConversation> = here
        .map(|one| SavedConversation {
            title: about(&one.session_id).unwrap_or_else(|| "(untitled)".to_owned()),
            at: one.updated_at.as_deref().and_then(manage::time),
            directory: one.cwd.map(Into::into),
            name: one.session_id,
        })
        .collect();
    saved.sort_by_key(|saved| std::cmp::Reverse(saved.at));
    saved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listed_sessions_are_of_the_directory_and_the_newest_is_first() {
        let reply = json!({"sessions": [
            {"sessionId": "a", "cwd": "/w", "title": "Old", "updatedAt": "2026-01-01T00:00:00Z"},
            {"sessionId": "b", "cwd": "/w", "updatedAt": "2026-02-01T00:00:00Z"},
            {"sessionId": "c", "cwd": "/elsewhere"},
        ]});
        let saved = sessions(&reply, Path::new("/w"));
        let found: Vec<(&str, &str)> = saved.iter().map(|one| (one.name.as_str(), one.title.as_str())).collect();
        assert_eq!(found, [("b", "(untitled)"), ("a", "Old")]);
        assert_eq!(sessions(&json!({}), Path::new("/w")), []);
    }
}
