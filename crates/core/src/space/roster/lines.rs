//! Replies about agents as human-readable text lines.

use super::{
    AgentCard, AgentReply, ConversationCard, LoginMethod, LoginState, LoginStatus, LogoutResult, McpServer, ModelCard,
    RunningCard, StatusCard,
};

/// Maximum number of models in a list. If there are more, a further line states the total number.
const MAX_LISTED_MODELS: usize = 40;

/// Maximum number of conversations in a list. If there are more, a further line states the total number.
const MAX_LISTED_CONVERSATIONS: usize = 20;

impl AgentReply {
    /// Returns the reply as human-readable text lines.
    pub fn lines(&self) -> Vec<String> {
        match self {
            Self::Agents(cards) => agents(cards),
            Self::Status(status) => status_lines(status),
            Self::Models { agent, models } => models_of(agent, models),
            Self::Mcp { agent, servers, switching } => {
                let mut lines = vec![format!("MCP Servers ({agent})")];
                lines.extend(servers_of(servers));
                if *switching && !servers.is_empty() {
                    lines.push("Use /mcp enable NAME or /mcp disable NAME.".to_owned());
                }
                lines
            }
            Self::Conversations { agent, conversations } => conversations_of(agent, conversations),
            Self::LoggedIn { agent, done } => logged_in(agent, done),
            Self::LoggedOut { agent, done } => logged_out(agent, done),
            Self::Joined(id) => vec![format!("Chat goes to {id}.")],
            Self::Done(message) => vec![message.clone()],
        }
    }
}

impl LoginState {
    /// Returns the login state as a short human-readable text.
    pub fn description(&self) -> String {
        match self {
            Self::NotNeeded => "no login needed".to_owned(),
            Self::Yes { account: Some(account) } => format!("logged in with {account}"),
            Self::Yes { account: None } => "logged in".to_owned(),
            Self::No => "not logged in".to_owned(),
            Self::Unknown => "login unknown".to_owned(),
        }
    }
}

fn width<'a>(texts: impl Iterator<Item = &'a str>) -> usize {
    texts.map(|text| text.chars().count()).max().unwrap_or_default()
}

fn agents(cards: &[AgentCard]) -> Vec<String> {
    let ids = width(cards.iter().map(|card| card.id.as_str()));
    let titles = width(cards.iter().map(|card| card.title.as_str()));
    let line = |card: &AgentCard| {
        let mark = if card.joined { "*" } else { " " };
        let state = match (&card.version, card.installed) {
            (_, false) => "not installed".to_owned(),
            (Some(version), true) => format!("{version}, {}", card.login.description()),
            (None, true) => card.login.description(),
        };
        format!("{mark} {:<ids$}  {:<titles$}  {state}", card.id, card.title)
    };
    let mut lines = vec!["Agents".to_owned()];
    lines.extend(cards.iter().map(line));
    lines.push("/agent ID adds an agent and sends chat to it.".to_owned());
    lines
}

fn status_lines(status: &StatusCard) -> Vec<String> {
    let card = &status.card;
    let field = |name: &str, value: &str| format!("  {name:<9} {value}");
    let mut lines = vec![format!("{} Status", card.title)];
    if !card.installed {
        lines.push(field("Version", "not installed"));
        lines.extend(card.hint.as_ref().map(|hint| field("", hint)));
        return lines;
    }
    lines.push(field("Version", card.version.as_deref().unwrap_or("unknown")));
    let mark = if matches!(card.login, LoginState::Yes { .. }) { "✓ " } else { "" };
    lines.push(field("Auth", &format!("{mark}{}", card.login.description())));
    lines.extend(card.hint.as_ref().map(|hint| field("", hint)));
    if let Some(RunningCard { model, mode, conversation, turns }) = &status.running {
        lines.extend(model.as_ref().map(|model| field("Model", model)));
        lines.extend(mode.as_ref().map(|mode| field("Mode", mode)));
        let turns = if *turns == 1 { "1 turn".to_owned() } else { format!("{turns} turns") };
        let session = conversation.as_ref().map_or(turns.clone(), |id| format!("{id} ({turns})"));
        lines.push(field("Session", &session));
    }
    lines.extend(status.about.iter().map(|(name, value)| field(name, value)));
    lines.push(field("Space", if card.joined { "joined" } else { "not joined; add it with /agent ID" }));
    match &status.mcp {
        Ok(servers) if servers.is_empty() => lines.push(field("MCP", "no servers")),
        Ok(servers) => {
            lines.push("  MCP Servers".to_owned());
            lines.extend(servers_of(servers).into_iter().map(|line| format!("  {line}")));
        }
        Err(why) => lines.push(field("MCP", why)),
    }
    lines
}

fn servers_of(servers: &[McpServer]) -> Vec<String> {
    if servers.is_empty() {
        return vec!["  No MCP servers.".to_owned()];
    }
    let names = width(servers.iter().map(|server| server.name.as_str()));
    let line = |server: &McpServer| {
        let reason = server.reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
        format!("  {:<names$}  {}{reason}", server.name, server.status)
    };
    servers.iter().map(line).collect()
}

fn models_of(agent: &str, models: &[ModelCard]) -> Vec<String> {
    if models.is_empty() {
        return vec![format!("{agent} reports no models.")];
    }
    let ids = width(models.iter().map(|model| model.id.as_str()));
    let line = |model: &ModelCard| {
        let mark = if model.is_default || model.is_current { "●" } else { "○" };
        let tags = match (model.is_current, model.is_default) {
            (true, true) => "  ← current, default",
            (true, false) => "  ← current",
            (false, true) => "  ← default",
            (false, false) => "",
        };
        format!("  {mark} {:<ids$}  {}{tags}", model.id, model.title)
    };
    let mut lines = vec![format!("Available Models ({agent})")];
    lines.extend(models.iter().take(MAX_LISTED_MODELS).map(line));
    if models.len() > MAX_LISTED_MODELS {
        lines.push(format!("  … ({} models)", models.len()));
    }
    lines.push("/model ID changes the model of a joined agent; --model ID sets it at the start.".to_owned());
    lines
}

fn conversations_of(agent: &str, conversations: &[ConversationCard]) -> Vec<String> {
    if conversations.is_empty() {
        return vec![format!("{agent} has no saved conversations for this directory.")];
    }
    let mut lines = vec![format!("Conversations ({agent})")];
    lines.extend(conversations.iter().take(MAX_LISTED_CONVERSATIONS).map(|one| format!("  {}  {}", one.id, one.title)));
    if conversations.len() > MAX_LISTED_CONVERSATIONS {
        lines.push(format!("  … ({} conversations)", conversations.len()));
    }
    lines
}

fn logged_in(agent: &str, done: &LoginStatus) -> Vec<String> {
    let mut lines = vec![format!("{agent} Login")];
    match (done.success, done.pending, &done.account) {
        (true, _, Some(account)) => lines.push(format!("  ✓ Logged in with {account}.")),
        (true, _, None) => lines.push("  ✓ Logged in.".to_owned()),
        (false, true, _) if done.method == Some(LoginMethod::Browser) => lines.push("  Opening browser…".to_owned()),
        (false, true, _) if done.instructions.is_some() => {}
        (false, true, _) => lines.push("  Logging in…".to_owned()),
        (false, false, _) if done.instructions.is_some() => {}
        (false, false, _) => lines.push("  ✗ Not logged in.".to_owned()),
    }
    for text in [&done.message, &done.instructions].into_iter().flatten() {
        lines.extend(text.lines().map(|line| format!("  {line}")));
    }
    lines
}

fn logged_out(agent: &str, done: &LogoutResult) -> Vec<String> {
    let mark = if done.success { "✓ " } else { "" };
    let mut lines = vec![format!("{agent} Logout")];
    lines.extend(done.message.lines().enumerate().map(|(index, line)| {
        let mark = if index == 0 { mark } else { "" };
        format!("  {mark}{line}")
    }));
    lines
}

#[cfg(test)]
mod tests {
    use super::super::StaticCapabilities;
    use super::*;

    fn card(installed: bool, login: LoginState) -> AgentCard {
        let hint = (login == LoginState::No || !installed).then(|| "run `it`".to_owned());
        let version = installed.then(|| "1.2".to_owned());
        let (id, title, abilities) = ("one".into(), "One".into(), StaticCapabilities::ALL);
        AgentCard { id, title, installed, version, login, hint, joined: installed, abilities }
    }

    #[test]
    fn the_agent_list_marks_joined_and_missing_agents() {
        let mut other = card(false, LoginState::Unknown);
        other.id = "another".into();
        let mut unnamed = card(true, LoginState::NotNeeded);
        unnamed.version = None;
        let lines = AgentReply::Agents(vec![card(true, LoginState::Yes { account: None }), other, unnamed]).lines();
        assert_eq!(lines[1], "* one      One  1.2, logged in");
        assert_eq!(lines[2], "  another  One  not installed");
        assert_eq!(lines[3], "* one      One  no login needed");
    }

    #[test]
    fn a_status_has_a_line_for_each_thing() {
        let server = McpServer { name: "desk".into(), status: "not loaded".into(), reason: Some("approve".into()) };
        let account = Some("a@b.c".to_owned());
        let full = StatusCard {
            card: card(true, LoginState::Yes { account }),
            about: vec![("OS".into(), "linux".into())],
            mcp: Ok(vec![server]),
            running: Some(RunningCard {
                model: Some("big".into()),
                mode: Some("plan".into()),
                conversation: Some("c12".into()),
                turns: 2,
            }),
        };
        let lines = AgentReply::Status(Box::new(full)).lines();
        let wanted = [
            "One Status",
            "  Version   1.2",
            "  Auth      ✓ logged in with a@b.c",
            "  Model     big",
            "  Mode      plan",
            "  Session   c12 (2 turns)",
            "  OS        linux",
            "  Space     joined",
            "  MCP Servers",
            "    desk  not loaded (approve)",
        ];
        assert_eq!(lines, wanted);
        let empty = StatusCard {
            card: card(true, LoginState::No),
            about: vec![("OS".into(), "linux".into())],
            mcp: Ok(vec![]),
            running: Some(RunningCard { turns: 1, ..RunningCard::default() }),
        };
        let lines = status_lines(&empty).join("\n");
        for text in ["not logged in", "run `it`", "no servers", "Session   1 turn"] {
            assert!(lines.contains(text), "{text} is not in {lines}");
        }
        let why = Err("not available".to_owned());
        let absent = StatusCard {
            card: card(true, LoginState::Unknown),
            about: vec![("OS".into(), "linux".into())],
            mcp: why.clone(),
            running: None,
        };
        assert!(status_lines(&absent).join("\n").contains("MCP       not available"));
        let about = vec![("OS".into(), "linux".into())];
        let missing = StatusCard { card: card(false, LoginState::Unknown), about, mcp: why, running: None };
        assert_eq!(status_lines(&missing)[1..], ["  Version   not installed", "            run `it`"]);
    }

    #[test]
    fn models_and_servers_are_listed_and_marked() {
        let model =
            |id: &str, is_default, is_current| ModelCard { id: id.into(), title: id.into(), is_default, is_current };
        let models =
            vec![model("a", true, true), model("b", false, true), model("c", true, false), model("d", false, false)];
        let lines = AgentReply::Models { agent: "One".into(), models }.lines();
        assert_eq!(
            lines[1..5],
            ["  ● a  a  ← current, default", "  ● b  b  ← current", "  ● c  c  ← default", "  ○ d  d"]
        );
        let many = (0..50).map(|number| model(&number.to_string(), false, false)).collect();
        assert!(
            AgentReply::Models { agent: "One".into(), models: many }.lines().contains(&"  … (50 models)".to_owned())
        );
        assert_eq!(AgentReply::Models { agent: "One".into(), models: vec![] }.lines(), ["One reports no models."]);
        let of_one = |servers, switching| AgentReply::Mcp { agent: "One".into(), servers, switching }.lines();
        let servers = of_one(vec![], true);
        assert_eq!(servers, ["MCP Servers (One)", "  No MCP servers."]);
        let server = McpServer { name: "desk".into(), status: "connected".into(), reason: None };
        let lines = of_one(vec![server.clone()], true);
        assert_eq!(lines[1..], ["  desk  connected", "Use /mcp enable NAME or /mcp disable NAME."]);
        assert_eq!(of_one(vec![server], false).len(), 2, "an unsupported command is not offered");
    }

    #[test]
    fn conversations_are_listed_by_the_ids_of_wh() {
        let one = ConversationCard { id: "c1".into(), title: "about".into(), at: None, directory: None };
        let list =
            |count| AgentReply::Conversations { agent: "One".into(), conversations: vec![one.clone(); count] }.lines();
        assert_eq!(list(0), ["One has no saved conversations for this directory."]);
        assert_eq!(list(1)[1], "  c1  about");
        assert_eq!(list(25).last().unwrap(), "  … (25 conversations)");
    }

    #[test]
    fn a_login_has_instructions_for_the_remaining_step() {
        let say = |done| AgentReply::LoggedIn { agent: "One".into(), done }.lines();
        let done = LoginStatus { success: true, account: Some("a@b.c".into()), ..LoginStatus::default() };
        assert_eq!(say(done), ["One Login", "  ✓ Logged in with a@b.c."]);
        assert_eq!(say(LoginStatus { success: true, ..LoginStatus::default() })[1], "  ✓ Logged in.");
        let browser = Some(LoginMethod::Browser);
        let instructions = Some("Open https://x".to_owned());
        let open = LoginStatus { pending: true, method: browser, instructions, ..LoginStatus::default() };
        assert_eq!(say(open.clone())[1..], ["  Opening browser…", "  Open https://x"]);
        assert_eq!(say(LoginStatus { method: None, ..open.clone() })[1..], ["  Open https://x"]);
        assert_eq!(say(LoginStatus { pending: false, ..open })[1..], ["  Open https://x"]);
        let failed = LoginStatus { message: Some("no\nway".into()), ..LoginStatus::default() };
        assert_eq!(say(failed)[1..], ["  ✗ Not logged in.", "  no", "  way"]);
        let out = LogoutResult { success: true, supported: true, message: "Logged out.\nA key is set.".into() };
        let lines = AgentReply::LoggedOut { agent: "One".into(), done: out }.lines();
        assert_eq!(lines, ["One Logout", "  ✓ Logged out.", "  A key is set."]);
        assert_eq!(AgentReply::Joined("one".into()).lines(), ["Chat goes to one."]);
        assert_eq!(AgentReply::Done("so".into()).lines(), ["so"]);
        let names = [LoginMethod::Browser, LoginMethod::ApiKey, LoginMethod::Variable, LoginMethod::Terminal];
        assert_eq!(names.map(LoginMethod::name), ["browser", "api_key", "env_var", "terminal"]);
    }
}
