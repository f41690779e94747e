//! What was told of agents, as lines for people.

use super::{
    AgentCard, ConversationCard, LoginDone, LoginMethod, LoginState, LogoutDone, McpServer, ModelCard, RunningCard,
    StatusCard, Told,
};

/// Models that are listed; the rest is counted.
const MOST_MODELS: usize = 40;

/// Conversations that are listed; the rest is counted.
const MOST_CONVERSATIONS: usize = 20;

impl Told {
    /// In lines for people.
    pub fn lines(&self) -> Vec<String> {
        match self {
            Self::Agents(cards) => agents(cards),
            Self::Status(status) => status_lines(status),
            Self::Models { agent, models } => models_of(agent, models),
            Self::Mcp { agent, servers, switching } => {
                let mut lines = vec![format!("MCP Servers ({agent})")];
                lines.extend(servers_of(servers));
                if *switching && !servers.is_empty() {
                    lines.push("/mcp enable NAME and /mcp disable NAME switch one.".to_owned());
                }
                lines
            }
            Self::Conversations { agent, conversations } => conversations_of(agent, conversations),
            Self::LoggedIn { agent, done } => logged_in(agent, done),
            Self::LoggedOut { agent, done } => logged_out(agent, done),
            Self::TakesPart(id) => vec![format!("Chat goes to {id}.")],
            Self::Done(said) => vec![said.clone()],
        }
    }
}

impl LoginState {
    /// In a few words.
    pub fn words(&self) -> String {
        match self {
            Self::NotNeeded => "no login needed".to_owned(),
            Self::Yes { account: Some(account) } => format!("logged in by {account}"),
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
        let mark = if card.taking_part { "*" } else { " " };
        let state = match (&card.version, card.installed) {
            (_, false) => "not installed".to_owned(),
            (Some(version), true) => format!("{version}, {}", card.login.words()),
            (None, true) => card.login.words(),
        };
        format!("{mark} {:<ids$}  {:<titles$}  {state}", card.id, card.title)
    };
    let mut lines = vec!["Agents".to_owned()];
    lines.extend(cards.iter().map(line));
    lines.push("/agent ID has one take part, and chat go to it.".to_owned());
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
    lines.push(field("Auth", &format!("{mark}{}", card.login.words())));
    lines.extend(card.hint.as_ref().map(|hint| field("", hint)));
    if let Some(RunningCard { model, mode, conversation, turns }) = &status.running {
        lines.extend(model.as_ref().map(|model| field("Model", model)));
        lines.extend(mode.as_ref().map(|mode| field("Mode", mode)));
        let turns = if *turns == 1 { "1 turn".to_owned() } else { format!("{turns} turns") };
        let session = conversation.as_ref().map_or(turns.clone(), |id| format!("{id} ({turns})"));
        lines.push(field("Session", &session));
    }
    lines.extend(status.about.iter().map(|(name, value)| field(name, value)));
    lines.push(field(
        "Space",
        if card.taking_part { "takes part" } else { "does not take part; /agent ID has it do so" },
    ));
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
        return vec![format!("{agent} offers no models.")];
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
    lines.extend(models.iter().take(MOST_MODELS).map(line));
    if models.len() > MOST_MODELS {
        lines.push(format!("  … ({} models)", models.len()));
    }
    lines.push("/model ID switches, once it takes part; --model ID begins with it.".to_owned());
    lines
}

fn conversations_of(agent: &str, conversations: &[ConversationCard]) -> Vec<String> {
    if conversations.is_empty() {
        return vec![format!("{agent} keeps no conversation of this directory.")];
    }
    let mut lines = vec![format!("Conversations ({agent})")];
    lines.extend(conversations.iter().take(MOST_CONVERSATIONS).map(|one| format!("  {}  {}", one.id, one.title)));
    if conversations.len() > MOST_CONVERSATIONS {
        lines.push(format!("  … ({} conversations)", conversations.len()));
    }
    lines
}

fn logged_in(agent: &str, done: &LoginDone) -> Vec<String> {
    let mut lines = vec![format!("{agent} Login")];
    match (done.success, done.pending, &done.account) {
        (true, _, Some(account)) => lines.push(format!("  ✓ Logged in by {account}.")),
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

fn logged_out(agent: &str, done: &LogoutDone) -> Vec<String> {
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
    use super::super::Abilities;
    use super::*;

    fn card(installed: bool, login: LoginState) -> AgentCard {
        let hint = (login == LoginState::No || !installed).then(|| "run `it`".to_owned());
        let version = installed.then(|| "1.2".to_owned());
        let (id, title, abilities) = ("one".into(), "One".into(), Abilities::ALL);
        AgentCard { id, title, installed, version, login, hint, taking_part: installed, abilities }
    }

    #[test]
    fn agents_say_who_takes_part_and_what_is_missing() {
        let mut other = card(false, LoginState::Unknown);
        other.id = "another".into();
        let mut unnamed = card(true, LoginState::NotNeeded);
        unnamed.version = None;
        let lines = Told::Agents(vec![card(true, LoginState::Yes { account: None }), other, unnamed]).lines();
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
        let lines = Told::Status(Box::new(full)).lines();
        let wanted = [
            "One Status",
            "  Version   1.2",
            "  Auth      ✓ logged in by a@b.c",
            "  Model     big",
            "  Mode      plan",
            "  Session   c12 (2 turns)",
            "  OS        linux",
            "  Space     takes part",
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
        let lines = Told::Models { agent: "One".into(), models }.lines();
        assert_eq!(
            lines[1..5],
            ["  ● a  a  ← current, default", "  ● b  b  ← current", "  ● c  c  ← default", "  ○ d  d"]
        );
        let many = (0..50).map(|number| model(&number.to_string(), false, false)).collect();
        assert!(Told::Models { agent: "One".into(), models: many }.lines().contains(&"  … (50 models)".to_owned()));
        assert_eq!(Told::Models { agent: "One".into(), models: vec![] }.lines(), ["One offers no models."]);
        let of_one = |servers, switching| Told::Mcp { agent: "One".into(), servers, switching }.lines();
        let servers = of_one(vec![], true);
        assert_eq!(servers, ["MCP Servers (One)", "  No MCP servers."]);
        let server = McpServer { name: "desk".into(), status: "connected".into(), reason: None };
        let lines = of_one(vec![server.clone()], true);
        assert_eq!(lines[1..], ["  desk  connected", "/mcp enable NAME and /mcp disable NAME switch one."]);
        assert_eq!(of_one(vec![server], false).len(), 2, "what it cannot do is not offered");
    }

    #[test]
    fn conversations_are_listed_by_our_ids() {
        let one = ConversationCard { id: "c1".into(), title: "about".into(), at: None, directory: None };
        let list = |count| Told::Conversations { agent: "One".into(), conversations: vec![one.clone(); count] }.lines();
        assert_eq!(list(0), ["One keeps no conversation of this directory."]);
        assert_eq!(list(1)[1], "  c1  about");
        assert_eq!(list(25).last().unwrap(), "  … (25 conversations)");
    }

    #[test]
    fn a_login_says_what_is_left_to_do() {
        let say = |done| Told::LoggedIn { agent: "One".into(), done }.lines();
        let done = LoginDone { success: true, account: Some("a@b.c".into()), ..LoginDone::default() };
        assert_eq!(say(done), ["One Login", "  ✓ Logged in by a@b.c."]);
        assert_eq!(say(LoginDone { success: true, ..LoginDone::default() })[1], "  ✓ Logged in.");
        let browser = Some(LoginMethod::Browser);
        let instructions = Some("Open https://x".to_owned());
        let open = LoginDone { pending: true, method: browser, instructions, ..LoginDone::default() };
        assert_eq!(say(open.clone())[1..], ["  Opening browser…", "  Open https://x"]);
        assert_eq!(say(LoginDone { method: None, ..open.clone() })[1..], ["  Open https://x"]);
        assert_eq!(say(LoginDone { pending: false, ..open })[1..], ["  Open https://x"]);
        let failed = LoginDone { message: Some("no\nway".into()), ..LoginDone::default() };
        assert_eq!(say(failed)[1..], ["  ✗ Not logged in.", "  no", "  way"]);
        let out = LogoutDone { success: true, supported: true, message: "Logged out.\nA key is set.".into() };
        let lines = Told::LoggedOut { agent: "One".into(), done: out }.lines();
        assert_eq!(lines, ["One Logout", "  ✓ Logged out.", "  A key is set."]);
        assert_eq!(Told::TakesPart("one".into()).lines(), ["Chat goes to one."]);
        assert_eq!(Told::Done("so".into()).lines(), ["so"]);
        let names = [LoginMethod::Browser, LoginMethod::ApiKey, LoginMethod::Variable, LoginMethod::Terminal];
        assert_eq!(names.map(LoginMethod::name), ["browser", "api_key", "env_var", "terminal"]);
    }
}
