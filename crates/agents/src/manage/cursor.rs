//! Parses the output of `cursor-agent`: login state, facts, models and MCP servers. The formats were captured from the
//! real program.

use wh_core::space::roster::{McpServer, ModelCard};

use super::run::run;
use crate::interface::LoginState;
use crate::table::management::AgentQuery;

/// Parses the output of `cursor-agent about`: one fact per line, with two or more spaces between name and value. Omits
/// version and user, which wh reads with other commands.
pub(crate) fn about(output: &str) -> Vec<(String, String)> {
    let fact = |line: &str| {
        let (name, value) = line.trim().split_once("  ")?;
        let (name, value) = (name.trim(), value.trim());
        let known = ["CLI Version", "User Email"].contains(&name);
        (!known && !name.is_empty() && !value.is_empty()).then(|| (name.to_owned(), value.to_owned()))
    };
    output.lines().filter_map(fact).collect()
}

/// Parses the output of `cursor-agent status`.
pub(crate) fn status(output: &str) -> LoginState {
    for line in output.lines().map(str::trim) {
        if let Some((_, who)) = line.split_once("Logged in as ") {
            return LoginState::Yes { account: Some(who.trim().to_owned()).filter(|who| !who.is_empty()) };
        }
        if line.contains("Not logged in") {
            return LoginState::No;
        }
        if line.contains("Logged in") {
            return LoginState::Yes { account: None };
        }
    }
    LoginState::Unknown
}

/// Parses the output of `cursor-agent models`: `ID - NAME`, followed by two or more spaces and `(default)`, `(current)`
/// or `(current, default)`. A name may itself end in parentheses, such as `Claude 4.6 Opus (Thinking)`.
pub(crate) fn models(output: &str) -> Vec<ModelCard> {
    let model = |line: &str| {
        let (id, rest) = line.trim().split_once(" - ")?;
        if id.is_empty() || id.contains(char::is_whitespace) {
            return None;
        }
        let (title, tags) = match rest.trim_end().strip_suffix(')').and_then(|rest| rest.rsplit_once("  (")) {
            Some((title, tags)) => (title, tags),
            None => (rest, ""),
        };
        let tagged = |wanted: &str| tags.split(',').any(|tag| tag.trim() == wanted);
        let (is_default, is_current) = (tagged("default"), tagged("current"));
        Some(ModelCard { id: id.to_owned(), title: title.trim().to_owned(), is_default, is_current })
    };
    output.lines().filter_map(model).collect()
}

/// Parses the output of `cursor-agent mcp list`: `NAME: STATUS`, optionally with a reason in parentheses.
pub(crate) fn mcp(output: &str) -> Vec<McpServer> {
    let server = |line: &str| {
        let (name, rest) = line.trim().split_once(": ")?;
        if name.is_empty() || name.contains(char::is_whitespace) {
            return None;
        }
        let (status, reason) = match rest.trim().strip_suffix(')').and_then(|rest| rest.split_once(" (")) {
            Some((status, reason)) => (status, Some(reason.trim().to_owned())),
            None => (rest, None),
        };
        Some(McpServer { name: name.to_owned(), status: status.trim().to_owned(), reason })
    };
    output.lines().filter_map(server).collect()
}

/// Reads the login state with `cursor-agent status`.
pub(crate) async fn login(inquiry: AgentQuery<'_>) -> LoginState {
    run(inquiry.launch, &["status"]).await.map_or(LoginState::Unknown, |output| status(&output.text()))
}

/// Reads facts about the installation with `cursor-agent about`.
pub(crate) async fn facts(inquiry: AgentQuery<'_>) -> Vec<(String, String)> {
    run(inquiry.launch, &["about"]).await.map(|output| about(&output.out)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_tells_about_itself() {
        let facts = about(include_str!("fixtures/cursor-about.txt"));
        let found: Vec<(&str, &str)> = facts.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let wanted = [
            ("Model", "Claude 4.6 Opus (Thinking)"),
            ("OS", "darwin (arm64)"),
            ("Terminal", "unknown"),
            ("Shell", "zsh"),
        ];
        assert_eq!(found, wanted);
        assert_eq!(about("About Cursor CLI\n\n"), []);
    }

    #[test]
    fn the_status_tells_who_is_logged_in() {
        let person = LoginState::Yes { account: Some("user@example.com".into()) };
        assert_eq!(status("\n ✓ Logged in as user@example.com\n"), person);
        assert_eq!(status("Not logged in"), LoginState::No);
        assert_eq!(status("✓ Logged in"), LoginState::Yes { account: None });
        assert_eq!(status("command not found"), LoginState::Unknown);
    }

    #[test]
    fn a_tag_is_not_a_part_of_a_name_nor_a_name_a_tag() {
        let found = models(include_str!("fixtures/cursor-models.txt"));
        let marks: Vec<(&str, &str, bool, bool)> =
            found.iter().map(|one| (one.id.as_str(), one.title.as_str(), one.is_default, one.is_current)).collect();
        assert_eq!(
            marks,
            [
                ("auto", "Auto", true, true),
                ("opus-4.6-thinking", "Claude 4.6 Opus (Thinking)", true, false),
                ("opus-4.5-thinking", "Claude 4.5 Opus (Thinking)", false, true),
                ("opus-4.5", "Claude 4.5 Opus (Thinking)", false, false),
                ("gpt-5.3-codex", "GPT-5.3 Codex", false, false),
            ]
        );
    }

    #[test]
    fn a_server_may_have_no_reason() {
        let server = |name: &str, status: &str, reason: Option<&str>| McpServer {
            name: name.into(),
            status: status.into(),
            reason: reason.map(Into::into),
        };
        let found = mcp(include_str!("fixtures/cursor-mcp.txt"));
        let wanted = [
            server("github", "not loaded", Some("needs approval")),
            server("playwright", "not loaded", Some("needs approval")),
            server("context7", "connected", None),
        ];
        assert_eq!(found, wanted);
        assert_eq!(mcp("No MCP servers configured: add one\n: x"), []);
    }
}
