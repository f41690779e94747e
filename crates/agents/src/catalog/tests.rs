//! Tests changes and additions by `agents.toml` files, and their error messages.

use std::ffi::OsString;
use std::path::Path;

use super::draft;
use super::*;
use crate::table::{AgentEntry, ProtocolKind};

fn variables(name: &str) -> Option<OsString> {
    match name {
        "HOME" => Some("/home/me".into()),
        "KEY" => Some("s3cret".into()),
        _ => None,
    }
}

fn read(path: &str, text: &str) -> AgentsFile {
    AgentsFile::read(Path::new(path), text).unwrap_or_else(|error| panic!("{error}; {}", error.hint))
}

/// Creates an agent to use as the internal agent.
fn internal() -> Vec<Arc<dyn Agent>> {
    let entry = AgentEntry { id: "demo".to_owned(), ..AgentEntry::of(ProtocolKind::Claude).unwrap() };
    vec![Arc::new(ProgramAgent::new(entry, None))]
}

/// Builds the entry of an agent by applying the files.
fn made(id: &str, files: &[AgentsFile]) -> AgentEntry {
    let mut drafts = draft::built_in();
    for file in files {
        draft::apply(&mut drafts, &["demo".to_owned()], file, &variables)
            .unwrap_or_else(|error| panic!("{error}; {}", error.hint));
    }
    drafts.into_iter().map(|draft| draft.agent).find(|agent| agent.id == id).expect("it is there")
}

fn entry(id: &str, text: &str) -> AgentEntry {
    let entry = made(id, &[read("/a.toml", text)]);
    assert_eq!(entry.protocol, ProtocolKind::Acp, "{id}");
    entry
}

/// Returns the error message with position, and the hint, for an invalid file.
fn wrong(text: &str) -> (String, String) {
    let path = Path::new("/etc/agents.toml");
    let outcome =
        AgentsFile::read(path, text).and_then(|file| Catalog::with(internal(), None, &[file], &variables).map(drop));
    let error = outcome.expect_err(text);
    (error.to_string(), error.hint)
}

#[test]
fn agents_are_found_by_their_ids_and_internal_ones_come_first() {
    let catalog = Catalog::with(internal(), None, &[], &variables).unwrap();
    assert_eq!(catalog.ids()[..4], ["demo", "claude", "codex", "gemini"]);
    for id in catalog.ids() {
        assert_eq!(catalog.by_id(&id).unwrap().facts().id, id);
    }
    assert!(catalog.by_id("nobody").is_none());
    assert!(catalog.warnings().is_empty());
}

#[test]
fn an_agent_can_be_added_with_all_keys() {
    let entry = entry(
        "mine",
        r#"
        [agents.mine]
        protocol = "acp"
        title = "My agent"
        command = ["mine", "~/bin/mine", "$HOME/other/mine"]
        arguments = ["--acp", "--key=${KEY}", "$$5"]
        version_arguments = ["version"]
        install_hint = "make install"
        login_hint = "ask somebody"
        login = ["auth", "login"]
        logout = ["auth", "logout"]
        status = ["auth", "status"]
        authenticate = { method = "api-key", always = true }
        modes_skipping_permissions = ["yolo"]

        [agents.mine.environment]
        MODE = "$KEY"
        PYTHONPATH = false

        [agents.mine.quirks]
        mode_message_prefix = "[MODE] "
        resume_only_after_start_minute = true
        acknowledged_requests = ["mine/progress"]
        client_capabilities = ["picker"]
        "#,
    );
    assert_eq!((entry.id.as_str(), entry.title.as_str()), ("mine", "My agent"));
    assert_eq!(entry.program.commands, ["mine", "/home/me/bin/mine", "/home/me/other/mine"]);
    assert_eq!(entry.program.arguments, ["--acp", "--key=s3cret", "$5"]);
    let environment = [("MODE".into(), Some("s3cret".into())), ("PYTHONPATH".into(), None)];
    assert_eq!(entry.program.environment, environment.into());
    assert_eq!(entry.program.install.as_deref(), Some("make install"));
    assert_eq!(entry.version, ["version"]);
    assert_eq!(entry.log_in, "ask somebody");
    assert_eq!(entry.account.log_in, ["auth", "login"]);
    assert_eq!(entry.account.log_out, ["auth", "logout"]);
    assert_eq!(entry.account.status, ["auth", "status"]);
    let how = entry.authenticate.as_ref().unwrap();
    assert_eq!((how.method.as_str(), how.always), ("api-key", true));
    assert_eq!(entry.skipping_modes, ["yolo"]);
    assert_eq!(entry.quirks.mode_message_prefix.as_deref(), Some("[MODE] "));
    assert!(entry.quirks.resume_only_after_start_minute);
    assert_eq!(
        (&entry.quirks.acknowledged_requests[..], &entry.quirks.client_capabilities[..]),
        (&["mine/progress".to_owned()][..], &["picker".to_owned()][..])
    );
}

#[test]
fn a_command_alone_makes_an_agent() {
    let entry = entry("mine", "[agents.mine]\ncommand = \"mine-agent\"\n");
    assert_eq!(entry.title, "mine");
    assert_eq!(entry.version, ["--version"]);
    assert!(entry.program.arguments.is_empty() && entry.authenticate.is_none() && entry.skipping_modes.is_empty());
    assert_eq!(entry.program.hint(), "install the program, or correct `command` in /a.toml");
    let with_login = self::entry("mine", "[agents.mine]\ncommand = \"mine\"\nlogin = [\"auth\", \"in\"]\n");
    assert_eq!(with_login.log_in, "run `mine auth in`");
}

#[test]
fn omitted_keys_of_a_known_agent_stay() {
    let before = entry("gemini", "");
    let after = entry(
        "gemini",
        "[agents.gemini]\nenvironment = { GEMINI_CLI_HOME = \"~\" }\nquirks.acknowledged_requests = [\"x\"]\n",
    );
    assert_eq!(after.program.environment, [("GEMINI_CLI_HOME".into(), Some("~".into()))].into());
    assert_eq!(after.quirks.acknowledged_requests, ["x"]);
    assert_eq!(after.quirks.mode_message_prefix, before.quirks.mode_message_prefix);
    assert_eq!(
        (&after.program.commands, &after.program.arguments),
        (&before.program.commands, &before.program.arguments)
    );
    assert_eq!(after.program.install, before.program.install);
    let moved = entry("gemini", "[agents.gemini]\ncommand = \"/opt/gemini\"\n");
    assert_eq!(moved.program.arguments, before.program.arguments);
    assert_eq!(moved.program.install, None, "what had to be run for the other command does not help");
}

#[test]
fn claude_and_codex_can_be_moved_and_doubled() {
    let text = r#"
        [agents.claude]
        command = "/opt/claude"
        arguments = ["--add-dir", "/srv"]
        environment = { CLAUDE_CONFIG_DIR = "$HOME/c" }
        [agents.codex]
        title = "Codex of the house"
        install_hint = "make codex"
        [agents.work]
        protocol = "claude"
        environment = { CLAUDE_CONFIG_DIR = "/work" }
        [agents.second]
        protocol = "codex"
        command = "codex-next"
    "#;
    let claude = made("claude", &[read("/a.toml", text)]);
    assert_eq!(claude.protocol, ProtocolKind::Claude);
    assert_eq!((claude.title.as_str(), &claude.program.commands[..]), ("Claude Code", &["/opt/claude".to_owned()][..]));
    assert_eq!(claude.program.arguments, ["--add-dir", "/srv"]);
    assert_eq!(claude.program.environment, [("CLAUDE_CONFIG_DIR".into(), Some("/home/me/c".into()))].into());
    let catalog = Catalog::with(internal(), None, &[read("/a.toml", text)], &variables).unwrap();
    let facts = |id: &str| catalog.by_id(id).unwrap().facts();
    assert_eq!(facts("codex").title, "Codex of the house");
    assert_eq!(facts("codex").install_hint.as_deref(), Some("make codex"));
    assert_eq!((facts("work").id, facts("work").title), ("work".to_owned(), "Claude Code (work)".to_owned()));
    assert_eq!((facts("second").id, facts("second").title), ("second".to_owned(), "Codex (second)".to_owned()));
    let ids = catalog.ids();
    assert_eq!(ids[ids.len() - 2..], ["work", "second"], "in the order in which they are written");
}

#[test]
fn a_later_file_overrides_key_by_key() {
    let user = "[agents.mine]\ncommand = \"mine\"\narguments = [\"a\"]\nenvironment = { A = \"1\", B = \"1\" }\n";
    let project = "[agents.mine]\narguments = []\nenvironment = { B = \"2\" }\n[agents.other]\ncommand = \"other\"\n";
    let files = [read("/user.toml", user), read("/project.toml", project)];
    let mine = made("mine", &files);
    assert_eq!(mine.protocol, ProtocolKind::Acp);
    assert_eq!((&mine.program.commands[..], mine.program.arguments.len()), (&["mine".to_owned()][..], 0));
    let environment = [("A".into(), Some("1".into())), ("B".into(), Some("2".into()))];
    assert_eq!(mine.program.environment, environment.into());
    let catalog = Catalog::with(internal(), None, &files, &variables).unwrap();
    let named = |id: &str| catalog.files(id).map(|path| path.display().to_string()).collect::<Vec<_>>();
    assert_eq!(named("mine"), ["/user.toml", "/project.toml"]);
    assert_eq!(named("other"), ["/project.toml"]);
    assert!(named("gemini").is_empty());
}

#[test]
fn errors_have_a_position_and_a_hint() {
    let keys = "valid keys: protocol, title, command, arguments, environment, install_hint, version_arguments, login_hint, \
                login, logout, status, authenticate, modes_skipping_permissions, quirks";
    let place = "give a path that starts with / or ~/, or a name on the PATH";
    for (text, message, hint) in [
        ("[agents.x]\ncomand = \"x\"\n", "2:1: unknown key \"comand\"", "did you mean \"command\"?"),
        ("[agents.x]\ncommand = \"x\"\n  zzz = 1\n", "3:3: unknown key \"zzz\"", keys),
        (
            "[agents.x]\ncommand = \"x\"\nauthenticate = { methd = \"a\" }\n",
            "3:18: unknown key \"methd\"",
            "did you mean \"method\"?",
        ),
        (
            "[agents.x]\ncommand = \"x\"\n[agents.x.quirks]\nacknowledged_requests = []\nmode_message_prefx = \"a\"\n",
            "5:1: unknown key \"mode_message_prefx\"",
            "did you mean \"mode_message_prefix\"?",
        ),
        (
            "[gemini]\n",
            "1:2: unknown key \"gemini\" at the top level",
            "write [agents.gemini] to define an agent with this name",
        ),
        (
            "command = \"x\"\n",
            "1:1: unknown key \"command\" at the top level",
            "write the keys into a table [agents.NAME]",
        ),
        (
            "[agents.gemni]\narguments = []\n",
            "1:9: the agent \"gemni\" is new and has no command",
            "add command = \"gemni\"; or did you mean [agents.gemini]?",
        ),
        (
            "[agents.demo]\ntitle = \"x\"\n",
            "1:9: the agent \"demo\" is built in and cannot be changed",
            "choose another name",
        ),
        (
            "[agents.\"My Agent\"]\ncommand = \"x\"\n",
            "1:9: \"My Agent\" is not a valid agent name",
            "use at most 40 lowercase letters, digits, - and _, and begin with a letter or digit; \"system\" is reserved",
        ),
        (
            "[agents.claude]\ntitle = \"x\"\nquirks = { acknowledged_requests = [] }\n",
            "3:1: \"quirks\" is only valid for agents that use the Agent Client Protocol",
            "keys of \"claude\": protocol, title, command, arguments, environment, install_hint",
        ),
        (
            "[agents.codex]\nprotocol = \"acp\"\n",
            "2:12: the agent \"codex\" can only use the protocol \"codex\"",
            "remove the line, or give the agent another name",
        ),
        ("[agents.x]\ncommand = \"./x\"\n", "2:11: \"./x\" is a relative path", place),
        ("[agents.x]\ncommand = [\"x\", \"bin/x\"]\n", "2:17: \"bin/x\" is a relative path", place),
        (
            "[agents.x]\ncommand = \"\"\n",
            "2:11: \"\" is not a command",
            "give a name on the PATH, or a path that starts with / or ~/",
        ),
        ("[agents.x]\ncommand = []\n", "2:11: the list of commands is empty", "add a command"),
        (
            "[agents.x]\ncommand = \"x\"\narguments = [\"é\", \"$NOPE\"]\n",
            "3:19: the variable NOPE is not set",
            "set NOPE, or write $$ for a dollar sign",
        ),
        (
            "[agents.x]\ncommand = \"x\"\nenvironment = { A = \"5$\" }\n",
            "3:21: $ is not followed by a variable name in \"5$\"",
            "write $NAME or ${NAME}, and $$ for a dollar sign",
        ),
        (
            "[agents.x]\ncommand = \"x\"\nenvironment = { \"A=B\" = \"\" }\n",
            "3:17: \"A=B\" is not a valid variable name",
            "use letters, digits and _",
        ),
        (
            "[agents.x]\ncommand = \"x\"\narguments = [\"\\u0000\"]\n",
            "3:14: the character U+0000 is not allowed",
            "remove it",
        ),
        (
            "[agents.x]\ncommand = \"x\"\ntitle = \"\\u001b[31m\"\n",
            "3:9: \"\\u{1b}[31m\" is not one line of text",
            "write one line without control characters",
        ),
    ] {
        assert_eq!(wrong(text), (format!("/etc/agents.toml:{message}"), hint.to_owned()), "{text}");
    }
}

#[test]
fn type_and_syntax_errors_have_a_position() {
    for (text, place, words) in [
        ("[agents.x]\ncommand = 5\n", "2:11", "expected a command or a list of commands"),
        ("[agents.x]\ncommand = [\"a\", 5]\n", "2:17", "invalid type: integer `5`, expected a string"),
        (
            "[agents.x]\ncommand = \"x\"\narguments = \"--acp\"\n",
            "3:13",
            "invalid type: string \"--acp\", expected a sequence",
        ),
        ("[agents.x]\ncommand = \"x\"\ntitle = true\n", "3:9", "invalid type: boolean `true`, expected a string"),
        (
            "[agents.x]\ncommand = \"x\"\nenvironment = { A = true }\n",
            "3:21",
            "expected a string, or false to remove the variable",
        ),
        (
            "[agents.x]\ncommand = \"x\"\nprotocol = \"mcp\"\n",
            "3:12",
            "unknown variant `mcp`, expected one of `acp`, `claude`, `codex`",
        ),
        ("[agents.x]\ncommand = \"x\"\nauthenticate = \"a\"\n", "3:16", "expected a table such as { method"),
        ("[agents.x]\ncommand = \"x\"\nauthenticate = { always = true }\n", "3:16", "missing field `method`"),
        ("agents = 1\n", "1:10", "invalid type: integer `1`"),
        ("[agents]\nx = 1\n", "2:5", "expected a table such as [agents.NAME]"),
        ("[agents.x]\ncommand = \"x\n", "2:13", "invalid basic string"),
        ("[agents.x]\ncommand = \"a\"\ncommand = \"b\"\n", "3:1", "duplicate key"),
        ("[agents.x\n", "1:10", "unclosed table"),
    ] {
        let (message, hint) = wrong(text);
        assert!(message.starts_with(&format!("/etc/agents.toml:{place}: ")), "{text}: {message}");
        assert!(message.contains(words), "{text}: {message}");
        assert_eq!(hint, "correct the error, or move the file away");
    }
}

#[test]
fn an_outline_has_every_key_as_it_is_written() {
    let file = read(
        "/a.toml",
        "[agents.mine]\ncommand = \"mine\"\narguments = [\"$KEY\", \"a b\"]\nenvironment = { LD_PRELOAD = \"/x\\u001b\", A = false }\n\
         status = []\nquirks = { acknowledged_requests = [\"t\"] }\n",
    );
    let [outline] = &file.outline()[..] else { panic!("one agent") };
    assert_eq!(outline.id, "mine");
    let expected = [
        ("command", r#""mine""#),
        ("arguments", r#""$KEY" "a b""#),
        ("environment", r#"without "A" "LD_PRELOAD"="/x\u{1b}""#),
        ("status", "none"),
        ("quirks", r#"acknowledged_requests ["t"]"#),
    ];
    assert_eq!(outline.lines, expected.map(|(key, said)| (key, said.to_owned())));
}

#[test]
fn former_names_of_keys_are_accepted_with_a_warning() {
    let text = "[agents.mine]\ncommand = \"mine\"\n[agents.mine.quirks]\nmode_in_words = \"[MODE] \"\n\
                kept_by_minute = true\ntold = [\"mine/progress\"]\nclient = [\"picker\"]\n";
    let file = read("/etc/agents.toml", text);
    let warnings = [
        "/etc/agents.toml:4:1: the key \"mode_in_words\" was renamed; write \"mode_message_prefix\"",
        "/etc/agents.toml:5:1: the key \"kept_by_minute\" was renamed; write \"resume_only_after_start_minute\"",
        "/etc/agents.toml:6:1: the key \"told\" was renamed; write \"acknowledged_requests\"",
        "/etc/agents.toml:7:1: the key \"client\" was renamed; write \"client_capabilities\"",
    ];
    assert_eq!(file.warnings(), warnings);
    let catalog = Catalog::with(internal(), None, std::slice::from_ref(&file), &variables).unwrap();
    assert_eq!(catalog.warnings(), warnings);
    let quirks = made("mine", &[file]).quirks;
    assert_eq!(quirks.mode_message_prefix.as_deref(), Some("[MODE] "));
    assert!(quirks.resume_only_after_start_minute);
    assert_eq!((&quirks.acknowledged_requests[0][..], &quirks.client_capabilities[0][..]), ("mine/progress", "picker"));
}

#[test]
fn current_names_of_keys_give_no_warning() {
    let file =
        read("/a.toml", "[agents.gemini.quirks]\nacknowledged_requests = [\"told\"]\nclient_capabilities = []\n");
    assert!(file.warnings().is_empty());
}

#[test]
fn a_key_is_not_given_by_both_of_its_names() {
    let text = "[agents.gemini.quirks]\nacknowledged_requests = []\ntold = []\n";
    let message = "3:1: \"told\" was renamed to \"acknowledged_requests\", and both are present";
    assert_eq!(wrong(text), (format!("/etc/agents.toml:{message}"), "remove \"told\"".to_owned()));
}

#[test]
fn the_examples_of_the_documentation_are_right() {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/agents.md")).unwrap();
    let blocks: Vec<&str> = page.split("```toml\n").skip(1).filter_map(|rest| rest.split("\n```").next()).collect();
    assert_eq!(blocks.len(), 2);
    let files: Vec<AgentsFile> = blocks.iter().map(|text| read("/docs.toml", text)).collect();
    let catalog = Catalog::with(internal(), None, &files, &|_| Some("/value".into())).unwrap();
    assert_eq!(catalog.files("claude").count(), 1);
    assert!(catalog.warnings().is_empty(), "{:?}", catalog.warnings());
    let ids = catalog.ids();
    assert_eq!(ids[ids.len() - 3..], ["mine", "example", "claude-work"]);
    let every_key: Vec<&str> = files[1].outline()[0].lines.iter().map(|(key, _)| *key).collect();
    assert_eq!(every_key.len(), 14, "the complete example has every key: {every_key:?}");
    let hint = catalog.by_id("example").unwrap().facts().login_hint;
    assert_eq!(hint.as_deref(), Some("run `example-agent auth login`"));
}
