//! Tests of the listener with connections of this process, and of the changes to launches.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;
use wh_wire::hook::{
    EVENT_REPLY_TIMEOUT, HOOK_SOCKET_VARIABLE, HookAgent, HookEvent, HookExit, HookReply, HookRequest,
    PERMISSION_REPLY_TIMEOUT,
};

use super::install::gemini;
use super::*;
use crate::interface::QueryContext;

const PERMISSION: &str = r#"{"session_id":"s","hook_event_name":"PermissionRequest","tool_name":"Bash"}"#;
const STOP: &str = r#"{"session_id":"s","hook_event_name":"Stop"}"#;

/// Sends a payload like a hook process.
fn call(socket: &Path, agent: HookAgent, payload: &str) -> UnixStream {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.write_all(&HookRequest::new(agent, None, payload.as_bytes()).unwrap().encode().unwrap()).unwrap();
    stream
}

/// Reads the reply to a hook process; `None` if the connection was closed without one.
async fn reply(stream: UnixStream) -> Option<HookExit> {
    let read = move || {
        let mut line = Vec::new();
        BufReader::new(stream).read_until(b'\n', &mut line).unwrap();
        HookExit::decode(&line).ok()
    };
    tokio::task::spawn_blocking(read).await.unwrap()
}

#[tokio::test]
async fn a_decision_reaches_the_hook_process_and_a_dropped_responder_decides_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (mut listener, socket) = HookListener::open(&folder.path().join("new")).unwrap();
    let first = call(&socket, HookAgent::Claude, PERMISSION);
    let hook = listener.next().await;
    assert!(hook.message.event.is_permission());
    assert!(hook.agent_process.is_some(), "the test has a parent");
    let second = call(&socket, HookAgent::Claude, PERMISSION);
    drop(listener.next().await.reply);
    assert_eq!(reply(second).await, Some(HookExit::undecided()), "the first message is still held");
    assert!(hook.reply.reply(HookReply::Allow));
    assert!(reply(first).await.unwrap().stdout.contains(r#""behavior":"allow""#));
}

#[tokio::test]
async fn the_receiver_notices_the_end_of_a_hook_process() {
    let folder = tempfile::tempdir().unwrap();
    let (mut listener, socket) = HookListener::open(folder.path()).unwrap();
    let stream = call(&socket, HookAgent::Codex, PERMISSION);
    let mut hook = listener.next().await;
    assert!(!hook.reply.is_closed());
    drop(stream);
    hook.reply.closed().await;
    assert!(hook.reply.is_closed() && !hook.reply.reply(HookReply::Allow));
}

#[tokio::test]
async fn invalid_requests_are_closed_and_unknown_payloads_decide_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (mut listener, socket) = HookListener::open(folder.path()).unwrap();
    let mut invalid = UnixStream::connect(&socket).unwrap();
    invalid.write_all(b"GET / HTTP/1.1\r\n").unwrap();
    assert_eq!(reply(invalid).await, None);
    assert_eq!(reply(call(&socket, HookAgent::Gemini, "[]")).await, Some(HookExit::undecided()));
    let stop = call(&socket, HookAgent::Gemini, STOP);
    assert!(matches!(listener.next().await.message.event, HookEvent::Stopped { .. }));
    assert_eq!(reply(stop).await, Some(HookExit::undecided()));
}

#[tokio::test]
async fn socket_and_directory_are_private_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let (listener, socket) = HookListener::open(folder.path()).unwrap();
    let (other, other_socket) = HookListener::open(folder.path()).unwrap();
    assert_ne!(socket, other_socket);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&socket), mode(listener.directory())), (0o600, 0o700));
    drop((listener, other));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_message_that_was_received_is_answered_after_the_listener_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let (mut listener, socket) = HookListener::open(folder.path()).unwrap();
    let stream = call(&socket, HookAgent::Claude, PERMISSION);
    let hook = listener.next().await;
    drop(listener);
    assert!(hook.reply.reply(HookReply::Deny { reason: "no".to_owned() }));
    assert!(reply(stream).await.unwrap().stdout.contains(r#""behavior":"deny""#));
}

#[tokio::test]
async fn a_reply_is_sent_before_the_time_limit_of_the_hook() {
    let folder = tempfile::tempdir().unwrap();
    let (mut listener, socket) = HookListener::open(folder.path()).unwrap();
    for (payload, limit) in [(STOP, EVENT_REPLY_TIMEOUT), (PERMISSION, PERMISSION_REPLY_TIMEOUT)] {
        let stream = call(&socket, HookAgent::Claude, payload);
        let hook = listener.next().await;
        tokio::time::pause();
        tokio::time::advance(limit).await;
        tokio::time::resume();
        assert_eq!(reply(stream).await, Some(HookExit::undecided()));
        assert!(!hook.reply.reply(HookReply::Allow), "it is too late");
    }
}

/// Launch in a temporary home directory.
struct TestLaunch {
    home: TempDir,
    context: QueryContext,
}

impl TestLaunch {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let mut context = QueryContext::new(home.path());
        let mut set = |name: &str, value: Option<OsString>| context.environment.insert(name.into(), value);
        set("HOME", Some(home.path().into()));
        for name in ["CODEX_HOME", "GEMINI_CLI_SYSTEM_DEFAULTS_PATH", "GEMINI_CLI_SYSTEM_SETTINGS_PATH"] {
            set(name, None);
        }
        set("GEMINI_CLI_SYSTEM_SETTINGS_PATH", Some(home.path().join("etc/settings.json").into()));
        fs::create_dir(home.path().join("private")).unwrap();
        Self { home, context }
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.home.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn with_installation<T>(
        &self,
        agent: HookAgent,
        arguments: &[&str],
        act: impl FnOnce(&HookInstallation<'_>) -> T,
    ) -> T {
        let program = HookProgram::beside(&self.home.path().join("it's/wh")).unwrap();
        let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        act(&HookInstallation {
            agent,
            program: &program,
            socket: Path::new("/run/socket"),
            directory: &self.home.path().join("private"),
            context: &self.context,
            arguments: &arguments,
            codex_hooks: CodexHooks::IfReviewed,
        })
    }

    fn try_install(
        &self,
        agent: HookAgent,
        arguments: &[&str],
        codex_hooks: CodexHooks,
    ) -> Result<HookedLaunch, HookInstallError> {
        let install = |installation: &HookInstallation<'_>| HookInstallation { codex_hooks, ..*installation }.install();
        self.with_installation(agent, arguments, install)
    }

    fn install(&self, agent: HookAgent, arguments: &[&str]) -> HookedLaunch {
        let launch = self.try_install(agent, arguments, CodexHooks::IfReviewed).unwrap();
        let (name, socket) = launch.environment.last().unwrap();
        assert_eq!((name.as_str(), socket.as_os_str()), (HOOK_SOCKET_VARIABLE, "/run/socket".as_ref()));
        launch
    }

    /// Returns the shell command of the hook for an agent.
    fn command(&self, agent: HookAgent) -> String {
        format!("'{}/it'\\''s/wh' hook --agent {agent}", self.home.path().display())
    }
}

fn words(launch: &HookedLaunch) -> Vec<&str> {
    launch.arguments.iter().map(|argument| argument.to_str().unwrap()).collect()
}

fn json_file(path: impl AsRef<Path>) -> Value {
    let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn claude_gets_a_settings_file_with_hooks_for_all_events() {
    let test = TestLaunch::new();
    let launch = test.install(HookAgent::Claude, &["--model", "opus", "--", "--settings"]);
    let ["--settings", file, "--model", "opus", "--", "--settings"] = words(&launch)[..] else { panic!("{launch:?}") };
    let settings = json_file(file);
    let hook = |event: &str| settings["hooks"][event][0]["hooks"][0].clone();
    let command = test.command(HookAgent::Claude);
    assert_eq!(hook("PermissionRequest"), json!({ "type": "command", "command": command, "timeout": 600 }));
    assert_eq!(hook("Stop")["timeout"], 30);
    assert_eq!(settings["hooks"].as_object().unwrap().len(), 10);
}

#[test]
fn settings_on_the_command_line_of_claude_are_merged() {
    let test = TestLaunch::new();
    let text = r#"{"model":"opus","hooks":{"Stop":[{"hooks":[{"type":"command","command":"mine"}]}]}}"#;
    let path = test.write("mine.json", text);
    let equals = format!("--settings={}", path.display());
    for arguments in [&["--settings", "mine.json", "-c"][..], &["-c", "--settings", text], &[&equals, "-c"]] {
        let launch = test.install(HookAgent::Claude, arguments);
        let ["--settings", file, "-c"] = words(&launch)[..] else { panic!("{launch:?}") };
        let settings = json_file(file);
        assert_eq!(settings["model"], "opus");
        assert_eq!(settings["hooks"]["Stop"][0]["hooks"][0]["command"], "mine");
        assert_eq!(settings["hooks"]["Stop"][1]["hooks"][0]["command"], test.command(HookAgent::Claude));
    }
    assert_eq!(fs::read_to_string(path).unwrap(), text);
}

#[test]
fn settings_that_cannot_be_merged_are_an_error() {
    let test = TestLaunch::new();
    let error =
        |agent, arguments: &[&str]| test.try_install(agent, arguments, CodexHooks::IfReviewed).unwrap_err().to_string();
    assert!(error(HookAgent::Claude, &["--settings", "missing.json"]).contains("missing.json"));
    assert!(error(HookAgent::Claude, &["--settings", "{"]).contains("not valid JSON"));
    assert!(error(HookAgent::Claude, &["--settings", r#"{"hooks":[]}"#]).contains("hooks is not an object"));
    test.write("etc/system-defaults.json", "[]");
    assert!(error(HookAgent::Gemini, &[]).contains("system-defaults.json: it is not a JSON object"));
    test.write(".codex/config.toml", "notify = ");
    assert!(error(HookAgent::Codex, &[]).contains("config.toml"));
}

#[test]
fn system_defaults_of_gemini_contain_the_existing_ones() {
    let mut test = TestLaunch::new();
    let settings = test.with_installation(HookAgent::Gemini, &[], gemini::merged_settings).unwrap();
    assert_eq!(settings["hooks"].as_object().unwrap().len(), 8);
    assert_eq!(settings["hooks"]["BeforeAgent"][0]["hooks"][0]["command"], test.command(HookAgent::Gemini));
    assert_eq!(settings["hooks"]["BeforeAgent"][0]["hooks"][0]["timeout"], 30_000);
    assert_eq!(
        (&settings["hooksConfig"]["enabled"], &settings["ui"]["showStatusInTitle"]),
        (&json!(true), &json!(true))
    );

    let existing = r#"{ // of the administrator
        "ui": {"showStatusInTitle": false, "theme": "x"}, "hooks": {"AfterAgent": [{"hooks": []}]}}"#;
    test.write("etc/system-defaults.json", existing);
    let settings = test.with_installation(HookAgent::Gemini, &[], gemini::merged_settings).unwrap();
    assert_eq!(settings["ui"], json!({ "showStatusInTitle": false, "theme": "x" }));
    assert_eq!(settings["hooks"]["AfterAgent"].as_array().unwrap().len(), 2);

    let named = test.write("named.json", r#"{"a":1}"#);
    test.context.environment.insert("GEMINI_CLI_SYSTEM_DEFAULTS_PATH".into(), Some(named.into()));
    assert_eq!(test.with_installation(HookAgent::Gemini, &[], gemini::merged_settings).unwrap()["a"], 1);
}

#[test]
fn gemini_is_launched_unchanged_if_it_would_not_read_the_system_defaults() {
    let test = TestLaunch::new();
    fs::set_permissions(test.home.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let launch = test.install(HookAgent::Gemini, &["-m", "x"]);
    assert_eq!((words(&launch), launch.calls_hooks), (vec!["-m", "x"], false));
    assert_eq!(launch.environment.len(), 1, "only the socket");
    assert_eq!(fs::read_dir(test.home.path().join("private")).unwrap().count(), 0);
}

#[test]
fn codex_gets_a_notify_program_that_also_starts_the_program_of_the_user() {
    let test = TestLaunch::new();
    let wh = format!("{}/it's/wh", test.home.path().display());
    let notify = |launch: &HookedLaunch| -> Vec<String> {
        let words = words(launch);
        let values: Vec<&str> = words.iter().filter_map(|word| word.strip_prefix("notify=")).collect();
        let [value] = values[..] else { panic!("{words:?}") };
        serde_json::from_str(value).unwrap()
    };
    let launch = test.install(HookAgent::Codex, &["--search", "resume"]);
    assert!(!launch.calls_hooks);
    assert_eq!(notify(&launch), [&wh, "hook", "--agent", "codex", "--notify"]);
    assert_eq!(words(&launch)[2..], ["--search", "resume"]);

    test.write(".codex/config.toml", "notify = [\"say\", \"it's \\\"done\\\"\"]\n");
    let with_then = |then: &[&str]| {
        let words = [&[wh.as_str(), "hook", "--agent", "codex", "--notify-then"], then].concat();
        words.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(notify(&test.install(HookAgent::Codex, &[])), with_then(&["say", "it's \"done\""]));
    test.write(".codex/work.config.toml", "notify = [\"work\"]\n");
    assert_eq!(notify(&test.install(HookAgent::Codex, &["--profile", "work"])), with_then(&["work"]));
    let arguments = ["-c", "model=\"x\"", "-c", "notify=[\"flag\"]", "--config=a.b=1", "hi", "--", "-c", "z=1"];
    let launch = test.install(HookAgent::Codex, &arguments);
    assert_eq!(notify(&launch), with_then(&["flag"]));
    let rest: Vec<&str> = words(&launch).into_iter().filter(|word| !word.starts_with("notify=")).collect();
    assert_eq!(rest, ["-c", "model=\"x\"", "-c", "a.b=1", "-c", "hi", "--", "-c", "z=1"]);
}

#[test]
fn codex_gets_hooks_only_after_a_review_or_on_request() {
    let test = TestLaunch::new();
    let launch = |arguments: &[&str], hooks| test.try_install(HookAgent::Codex, arguments, hooks).unwrap();
    let hooks = |launch: &HookedLaunch| words(launch).iter().filter(|word| word.starts_with("hooks.")).count();
    assert_eq!(hooks(&launch(&[], CodexHooks::IfReviewed)), 0);
    let offered = launch(&[], CodexHooks::Offer);
    assert_eq!((hooks(&offered), offered.calls_hooks), (9, true));
    let event = words(&offered).into_iter().find(|word| word.starts_with("hooks.PermissionRequest=")).unwrap();
    let table: toml::Table = toml::from_str(event).unwrap();
    let hook = &table["hooks"]["PermissionRequest"][0]["hooks"][0];
    assert_eq!(hook["command"].as_str(), Some(test.command(HookAgent::Codex).as_str()));
    assert_eq!(hook["timeout"].as_integer(), Some(600));

    let events = [
        "user_prompt_submit",
        "pre_tool_use",
        "permission_request",
        "post_tool_use",
        "stop",
        "session_start",
        "session_end",
        "pre_compact",
        "interrupt",
    ];
    let reviews: Vec<String> = events
        .iter()
        .map(|event| {
            format!("[hooks.state.\"/<session-flags>/config.toml:{event}:0:0\"]\ntrusted_hash = \"sha256:1\"\n")
        })
        .collect();
    test.write(".codex/config.toml", &reviews.concat());
    assert!(launch(&[], CodexHooks::IfReviewed).calls_hooks);
    assert!(!launch(&[], CodexHooks::NotifyOnly).calls_hooks);
    assert!(!launch(&["-c", "hooks.Stop=[]"], CodexHooks::IfReviewed).calls_hooks, "the user has set hooks");
    test.write(".codex/config.toml", &format!("{}enabled = false\n", reviews.concat()));
    assert!(!launch(&[], CodexHooks::IfReviewed).calls_hooks, "the user has disabled a hook");
}
