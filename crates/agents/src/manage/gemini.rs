//! Reads the state of Gemini CLI from its files and command output: login, MCP servers and conversations. Gemini CLI
//! has no command that prints the login state, so this module determines it in the same way as Gemini CLI.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde_json::Value;
use wh_core::space::roster::McpServer;

use super::run::run;
use super::{is_non_empty_file, time, title};
use crate::interface::{LoginState, ManageError, QueryContext, SavedConversation};
use crate::table::management::AgentQuery;

/// Maximum number of lines of a conversation that are scanned for a title.
const MAX_SCANNED_LINES: usize = 100;

/// Maximum size of a JSON file that is read.
const MAX_JSON_BYTES: u64 = 1024 * 1024;

/// Login instructions for a user who has not configured a login.
pub(crate) const INSTRUCTIONS: &str = "Gemini CLI has no login command. Set GEMINI_API_KEY (a key from \
                                       https://aistudio.google.com/apikey) before wh is started, or put it into \
                                       ~/.gemini/.env; or run `gemini` on a terminal and log in there.";

/// Returns Gemini CLI's directory for settings and data.
pub(crate) fn folder(here: &QueryContext) -> Option<PathBuf> {
    let home = here.variable("GEMINI_CLI_HOME").map(PathBuf::from).or_else(|| here.home(""))?;
    Some(home.join(".gemini"))
}

/// Returns the path of the directory with the conversations of the working directory. The path may not exist yet.
/// `None` if the working directory is not in Gemini CLI's list of projects.
pub(crate) fn chats(here: &QueryContext) -> Option<PathBuf> {
    let folder = folder(here)?;
    let projects = json(&folder.join("projects.json"))?;
    let project = projects["projects"][here.directory.to_str()?].as_str()?;
    let is_name = !project.is_empty() && !project.contains('/') && ![".", ".."].contains(&project);
    is_name.then(|| folder.join("tmp").join(project).join("chats"))
}

fn json(path: &Path) -> Option<Value> {
    if path.metadata().ok()?.len() > MAX_JSON_BYTES {
        return None;
    }
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

/// Determines the login state for the authentication type that the settings contain or that the environment selects.
pub(crate) fn login(here: &QueryContext) -> LoginState {
    let folder = folder(here);
    let settings = folder.as_ref().and_then(|folder| json(&folder.join("settings.json"))).unwrap_or_default();
    let chosen =
        settings["security"]["auth"]["selectedType"].as_str().or_else(|| settings["selectedAuthType"].as_str());
    let is_true = |name: &str| here.variable(name).is_some_and(|value| value == "true");
    let way = match chosen {
        Some(chosen) => chosen.to_owned(),
        None if is_true("GOOGLE_GENAI_USE_GCA") => "oauth-personal".to_owned(),
        None if is_true("GOOGLE_GENAI_USE_VERTEXAI") => "vertex-ai".to_owned(),
        None => "gemini-api-key".to_owned(),
    };
    let by = |account: &str| LoginState::Yes { account: Some(account.to_owned()) };
    let set = |name: &str| here.variable(name).is_some() || named_in_file(here, name);
    match way.as_str() {
        "gemini-api-key" if set("GEMINI_API_KEY") => by("GEMINI_API_KEY"),
        "gemini-api-key" if is_non_empty_file(folder.as_ref().map(|it| it.join("gemini-credentials.json"))) => {
            by("an API key")
        }
        "gemini-api-key" => LoginState::No,
        "vertex-ai" if set("GOOGLE_API_KEY") => by("GOOGLE_API_KEY"),
        "vertex-ai" if set("GOOGLE_CLOUD_PROJECT") && set("GOOGLE_CLOUD_LOCATION") => by("GOOGLE_CLOUD_PROJECT"),
        "vertex-ai" => LoginState::No,
        "oauth-personal" => {
            let file = |name: &str| folder.as_ref().map(|folder| folder.join(name));
            let accounts = file("google_accounts.json").and_then(|path| json(&path)).unwrap_or_default();
            let account = accounts["active"].as_str().map(str::to_owned);
            let there =
                is_non_empty_file(file("oauth_creds.json")) || is_non_empty_file(file("gemini-credentials.json"));
            if there { LoginState::Yes { account } } else { LoginState::No }
        }
        _ => LoginState::Unknown,
    }
}

/// Returns true if the `.env` file that Gemini CLI would use sets the variable.
fn named_in_file(here: &QueryContext, name: &str) -> bool {
    let beside = here.directory.ancestors().flat_map(|one| [one.join(".gemini/.env"), one.join(".env")]);
    let at_home = ["", ".gemini"].into_iter().filter_map(|below| here.home(below)).map(|home| home.join(".env"));
    // Gemini reads only the first file that exists.
    let Some(file) = beside.chain(at_home).find(|file| file.is_file()) else { return false };
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines().any(|line| {
        let line = line.trim().strip_prefix("export ").unwrap_or(line.trim());
        line.split_once('=').is_some_and(|(key, value)| key.trim() == name && !value.trim().is_empty())
    })
}

/// Parses the output of `gemini mcp list`, one line per server: a mark and `NAME: COMMAND (KIND) - STATUS`.
pub(crate) fn mcp(output: &str) -> Vec<McpServer> {
    let server = |line: &str| {
        let line = line.trim().trim_start_matches(|first: char| !first.is_alphanumeric());
        let (name, rest) = line.split_once(": ")?;
        let (_, status) = rest.rsplit_once(" - ")?;
        let name = name.split(" (from ").next()?.trim();
        let plain = !name.is_empty() && !name.contains(char::is_whitespace) && !status.trim().is_empty();
        plain.then(|| McpServer { name: name.to_owned(), status: status.trim().to_lowercase(), reason: None })
    };
    output.lines().filter_map(server).collect()
}

/// Parses the output of `gemini mcp enable` and `gemini mcp disable`, which exit with 0 even if they fail.
pub(crate) fn mcp_switch_result(output: &str) -> Result<String, String> {
    let line = output.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    match line.strip_prefix("Error:") {
        Some(why) => Err(why.trim().to_owned()),
        None if line.is_empty() => Err("no output".to_owned()),
        None => Ok(line.to_owned()),
    }
}

/// Parses the output of `gemini --list-sessions`, one line `  1. TITLE (WHEN) [ID]` per conversation, oldest first.
/// Returns the newest first.
pub(crate) fn sessions(output: &str, directory: &Path) -> Vec<SavedConversation> {
    let listed = |line: &str| {
        let (number, rest) = line.trim().split_once(". ")?;
        number.parse::<u32>().ok()?;
        let (rest, id) = rest.strip_suffix(']')?.rsplit_once(" [")?;
        let about = rest.rsplit_once(" (").map_or(rest, |(about, _)| about);
        let id_like = !id.is_empty() && id.chars().all(|one| one.is_ascii_alphanumeric() || one == '-');
        id_like.then(|| SavedConversation {
            name: id.to_owned(),
            title: about.trim().to_owned(),
            at: None,
            directory: Some(directory.to_owned()),
        })
    };
    let mut listed: Vec<SavedConversation> = output.lines().filter_map(listed).collect();
    listed.reverse();
    listed
}

/// Lists the conversations of a directory from Gemini CLI's files, newest first. `None` if Gemini CLI does not know the
/// directory. Reading files is faster than `gemini --list-sessions`, which may generate titles with the model first.
pub(crate) fn conversations(here: &QueryContext) -> Option<Vec<SavedConversation>> {
    let files = std::fs::read_dir(chats(here)?).into_iter().flatten();
    let files = files.filter_map(|entry| Some(entry.ok()?.path()));
    let mut listed: Vec<SavedConversation> = files.filter_map(|file| conversation(&file, &here.directory)).collect();
    listed.sort_by_key(|listed| std::cmp::Reverse(listed.at));
    Some(listed)
}

fn conversation(file: &Path, directory: &Path) -> Option<SavedConversation> {
    if file.extension()? != "jsonl" {
        return None;
    }
    let lines = BufReader::new(std::fs::File::open(file).ok()?).lines().map_while(Result::ok).take(MAX_SCANNED_LINES);
    let mut entries = lines.filter_map(|line| serde_json::from_str::<Value>(&line).ok());
    let head = entries.next().filter(|head| head["kind"].as_str().is_none_or(|kind| kind == "main"))?;
    let first_prompt = entries.find_map(|entry| {
        let content = &entry["content"];
        let text = content.as_str().or_else(|| content[0]["text"].as_str())?;
        title(text).filter(|title| entry["type"] == "user" && !title.starts_with('<'))
    });
    let written = file.metadata().and_then(|facts| facts.modified()).ok();
    Some(SavedConversation {
        name: head["sessionId"].as_str()?.to_owned(),
        title: first_prompt?,
        at: written.or_else(|| time(head["lastUpdated"].as_str()?)),
        directory: Some(directory.to_owned()),
    })
}

/// Lists the conversations from Gemini CLI's files, or with `gemini --list-sessions` if [`conversations`] returns
/// `None`.
pub(crate) async fn saved_conversations(inquiry: AgentQuery<'_>) -> Result<Vec<SavedConversation>, ManageError> {
    let here = inquiry.here.clone();
    if let Ok(Some(listed)) = tokio::task::spawn_blocking(move || conversations(&here)).await {
        return Ok(listed);
    }
    let output = run(inquiry.launch, &["--list-sessions"]).await?.require_success("gemini --list-sessions")?;
    Ok(sessions(&output.text(), &inquiry.here.directory))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(folder: &Path) -> QueryContext {
        let mut here = QueryContext::new(folder.join("work"));
        here.environment.insert("HOME".into(), Some(folder.into()));
        for name in [
            "GEMINI_API_KEY",
            "GOOGLE_API_KEY",
            "GOOGLE_CLOUD_PROJECT",
            "GOOGLE_GENAI_USE_GCA",
            "GOOGLE_GENAI_USE_VERTEXAI",
            "GEMINI_CLI_HOME",
        ] {
            here.environment.insert(name.into(), None);
        }
        here
    }

    fn write(folder: &Path, name: &str, text: &str) {
        let file = folder.join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    fn by(account: &str) -> LoginState {
        LoginState::Yes { account: Some(account.to_owned()) }
    }

    #[test]
    fn a_login_is_what_would_be_used() {
        let home = tempfile::tempdir().unwrap();
        let mut here = at(home.path());
        let set = |here: &mut QueryContext, name: &str| here.environment.insert(name.into(), Some("true".into()));
        assert_eq!(login(&here), LoginState::No);
        set(&mut here, "GEMINI_API_KEY");
        assert_eq!(login(&here), by("GEMINI_API_KEY"));
        write(home.path(), ".gemini/settings.json", r#"{"security":{"auth":{"selectedType":"oauth-personal"}}}"#);
        assert_eq!(login(&here), LoginState::No, "the key is not what is chosen");
        write(home.path(), ".gemini/oauth_creds.json", "{}");
        assert_eq!(login(&here), LoginState::Yes { account: None });
        write(home.path(), ".gemini/google_accounts.json", r#"{"active": "a@b.c"}"#);
        assert_eq!(login(&here), by("a@b.c"));
        write(home.path(), ".gemini/settings.json", r#"{"selectedAuthType":"vertex-ai"}"#);
        assert_eq!(login(&here), LoginState::No);
        set(&mut here, "GOOGLE_CLOUD_PROJECT");
        set(&mut here, "GOOGLE_CLOUD_LOCATION");
        assert_eq!(login(&here), by("GOOGLE_CLOUD_PROJECT"));
        set(&mut here, "GOOGLE_API_KEY");
        assert_eq!(login(&here), by("GOOGLE_API_KEY"));
        write(home.path(), ".gemini/settings.json", r#"{"selectedAuthType":"cloud-shell"}"#);
        assert_eq!(login(&here), LoginState::Unknown);
    }

    #[test]
    fn the_environment_chooses_where_nothing_is_set_up() {
        let home = tempfile::tempdir().unwrap();
        let mut here = at(home.path());
        here.environment.insert("GOOGLE_GENAI_USE_VERTEXAI".into(), Some("true".into()));
        assert_eq!(login(&here), LoginState::No);
        here.environment.insert("GOOGLE_GENAI_USE_GCA".into(), Some("true".into()));
        write(home.path(), ".gemini/gemini-credentials.json", "x");
        assert_eq!(login(&here), LoginState::Yes { account: None });
        here.environment.insert("GOOGLE_GENAI_USE_GCA".into(), None);
        here.environment.insert("GOOGLE_GENAI_USE_VERTEXAI".into(), None);
        assert_eq!(login(&here), by("an API key"));
        write(home.path(), "work/.env", "# no\nexport GEMINI_API_KEY=x\n");
        assert_eq!(login(&here), by("GEMINI_API_KEY"));
        write(home.path(), "work/.env", "GEMINI_API_KEY=\nOTHER\n");
        assert_eq!(login(&here), by("an API key"));
    }

    #[test]
    fn its_servers_are_read_and_a_refusal_is_one_though_it_ends_well() {
        let server = |name: &str, status: &str| McpServer { name: name.into(), status: status.into(), reason: None };
        assert_eq!(mcp(include_str!("fixtures/gemini-mcp.txt")), [server("desk", "disconnected")]);
        assert_eq!(mcp("✓ a (from ext): http://x (http) - Connected\nb c: x - y\n"), [server("a", "connected")]);
        assert_eq!(mcp("No MCP servers configured."), []);
        let refused = wh_pipe::tail::clean(include_str!("fixtures/gemini-disable.txt"));
        assert_eq!(
            mcp_switch_result(&refused),
            Err("Server 'desk' not found. Use 'gemini mcp' to see available servers.".into())
        );
        assert_eq!(mcp_switch_result("\n✓ MCP server 'desk' enabled.\n"), Ok("✓ MCP server 'desk' enabled.".into()));
        assert_eq!(mcp_switch_result(""), Err("no output".into()));
    }

    #[test]
    fn listed_sessions_are_read() {
        let listed = sessions(include_str!("fixtures/gemini-sessions.txt"), Path::new("/w"));
        let found: Vec<(&str, &str)> = listed.iter().map(|one| (one.name.as_str(), one.title.as_str())).collect();
        let wanted = [
            ("830a6680-273e-48db-8a6b-3d265487d8aa", "Second (and last) talk"),
            ("2ccd436e-0f93-405f-86c9-9a60ad396d14", "hello there gem"),
        ];
        assert_eq!(found, wanted);
        assert_eq!(sessions("No previous sessions found for this project.", Path::new("/w")), []);
        assert_eq!(sessions("x. y [z]\n1. y\n1. y [../z]", Path::new("/w")), []);
    }

    #[test]
    fn saved_conversations_are_read() {
        let home = tempfile::tempdir().unwrap();
        let here = at(home.path());
        assert_eq!(conversations(&here), None);
        let projects = serde_json::json!({"projects": {here.directory.to_str().unwrap(): "work"}});
        write(home.path(), ".gemini/projects.json", &projects.to_string());
        let chats = ".gemini/tmp/work/chats";
        write(home.path(), &format!("{chats}/session-1.jsonl"), include_str!("fixtures/gemini-chat.jsonl"));
        write(home.path(), &format!("{chats}/session-2.jsonl"), "{\"sessionId\":\"s\",\"kind\":\"subagent\"}\n");
        write(home.path(), &format!("{chats}/session-3.jsonl"), "{\"sessionId\":\"s\",\"kind\":\"main\"}\n");
        write(home.path(), &format!("{chats}/other.txt"), "");
        let listed = conversations(&here).unwrap();
        assert_eq!(listed.len(), 1, "{listed:?}");
        assert_eq!(
            (listed[0].name.as_str(), listed[0].title.as_str()),
            ("830a6680-273e-48db-8a6b-3d265487d8aa", "hello there gem")
        );
        assert!(listed[0].at.is_some());
        let mut long = at(home.path());
        long.environment.insert("GEMINI_CLI_HOME".into(), Some("/nowhere/at/all".into()));
        assert_eq!(conversations(&long), None);
        write(home.path(), ".gemini/projects.json", &" ".repeat(MAX_JSON_BYTES as usize + 1));
        assert_eq!(conversations(&here), None);
    }
}
