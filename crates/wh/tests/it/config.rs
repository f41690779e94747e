//! Settings: `config.toml` of the user and of a project, end to end.

use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;
use wh_testkit::wh::{Wh, WhOptions};

use crate::WH;

/// Home directory with a project. Stops a daemon that was started there when dropped.
struct Home {
    folder: TempDir,
    variables: Vec<(&'static str, &'static str)>,
}

#[derive(Debug)]
struct Said {
    code: i32,
    out: String,
    err: String,
}

impl Home {
    fn new() -> Self {
        let home = Self { folder: tempfile::tempdir().unwrap(), variables: Vec::new() };
        fs::create_dir_all(home.at("project/deep")).unwrap();
        fs::create_dir_all(home.at("run")).unwrap();
        fs::set_permissions(home.at("run"), Permissions::from_mode(0o700)).unwrap();
        home
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        fs::write(self.at(path), text).unwrap();
    }

    fn user(&self, text: &str) {
        self.write("config/wheelhouse/config.toml", text);
    }

    fn project(&self, text: &str) {
        self.write("project/.wheelhouse/config.toml", text);
    }

    fn environment(&self) -> Vec<(String, String)> {
        let path = |path: &str| self.at(path).display().to_string();
        let mut all = vec![
            ("PATH".to_owned(), std::env::var("PATH").unwrap()),
            ("LANG".to_owned(), "C.UTF-8".to_owned()),
            ("HOME".to_owned(), path("")),
            ("XDG_CONFIG_HOME".to_owned(), path("config")),
            ("XDG_STATE_HOME".to_owned(), path("state")),
            ("XDG_RUNTIME_DIR".to_owned(), path("run")),
        ];
        all.extend(self.variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        all
    }

    /// Runs wh in the project without a terminal.
    fn run(&self, arguments: &[&str]) -> Said {
        let mut command = Command::new(WH);
        command.args(arguments).current_dir(self.at("project/deep")).env_clear().envs(self.environment());
        let output = command.stdin(Stdio::null()).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Said { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
    }

    #[track_caller]
    fn ok(&self, arguments: &[&str]) -> String {
        let said = self.run(arguments);
        assert_eq!(said.code, 0, "{arguments:?}: {said:?}");
        said.out
    }

    fn space(&self) -> WhOptions {
        Wh::options(WH).space().environment(self.environment()).directory(self.at("project/deep"))
    }

    /// Returns a setting from `wh config --json`.
    #[track_caller]
    fn setting(&self, key: &str) -> Value {
        let lines = self.ok(&["config", "--json"]);
        let found =
            lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).find(|one| one["key"] == key);
        found.unwrap_or_else(|| panic!("{key} is not listed"))
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = self.run(&["daemon", "stop", "--end-sessions"]);
    }
}

/// Returns the theme of a space's screen: dark, light or none.
fn colours(wh: &Wh) -> &'static str {
    wh.wait("idle");
    let ansi = wh.screen()["raw"].as_str().unwrap().to_owned();
    match (ansi.contains("38;5;111"), ansi.contains("38;5;26m"), ansi.contains("38;5;")) {
        (true, false, _) => "dark",
        (false, true, _) => "light",
        (false, false, false) => "none",
        _ => panic!("{ansi:?}"),
    }
}

#[test]
fn the_theme_comes_from_the_flag_the_environment_the_project_the_user_or_the_default() {
    let mut home = Home::new();
    assert_eq!(colours(&home.space().start(&[])), "dark");
    home.user("theme = \"light\"\n");
    assert_eq!(colours(&home.space().start(&[])), "light");
    home.project("theme = \"none\"\n");
    assert_eq!(colours(&home.space().start(&[])), "none", "a project may set it untrusted");
    home.variables.push(("WH_THEME", "dark"));
    assert_eq!(colours(&home.space().start(&[])), "dark");
    assert_eq!(colours(&home.space().flags(&["--theme", "light"]).start(&[])), "light");
}

#[test]
fn flag_and_environment_override_the_agent_of_a_file() {
    let mut home = Home::new();
    let asked = |home: &Home, flags: &[&str]| {
        let said = home.run(&[&["--headless", "--control-port", "0"], flags].concat());
        assert_eq!(said.code, 2, "{said:?}");
        let (_, rest) = said.err.split_once("there is no agent \"").unwrap_or_else(|| panic!("{said:?}"));
        rest.split('"').next().unwrap().to_owned()
    };
    home.user("agent = [\"user\", \"other\"]\n");
    assert_eq!(asked(&home, &[]), "user");
    home.project("agent = \"project\"\n");
    assert_eq!(asked(&home, &[]), "user", "a project's file needs trust");
    home.ok(&["trust", "--yes"]);
    assert_eq!(asked(&home, &[]), "project");
    home.variables.push(("WH_AGENT", "environment"));
    assert_eq!(asked(&home, &[]), "environment");
    assert_eq!(asked(&home, &["--agent", "flag"]), "flag");
}

#[test]
fn a_timeout_of_a_file_is_used() {
    let mut home = Home::new();
    // The server accepts connections and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port().to_string();
    let waited = |home: &Home, flags: &[&str]| {
        let said = home.run(&[&["state", "--port", &port], flags].concat());
        assert_eq!(said.code, 6, "{said:?}");
        let (_, rest) = said.err.split_once("did not answer within ").unwrap_or_else(|| panic!("{said:?}"));
        rest.lines().next().unwrap().to_owned()
    };
    home.user("[timeouts]\nanswer = \"110ms\"\n");
    assert_eq!(waited(&home, &[]), "110ms");
    home.project("timeouts.answer = 0.12\n");
    assert_eq!(waited(&home, &[]), "110ms");
    let said = home.run(&["state", "--port", &port]);
    let notice = "wh: timeouts.answer is not used: you have not trusted ";
    assert_eq!(said.err.matches(notice).count(), 1, "{said:?}");
    assert!(said.err.contains("wh trust "), "{said:?}");
    home.ok(&["trust", "--yes"]);
    assert_eq!(waited(&home, &[]), "120ms");
    home.variables.push(("WH_ANSWER_TIMEOUT", "130ms"));
    assert_eq!(waited(&home, &[]), "130ms");
    assert_eq!(waited(&home, &["--timeout", "140ms"]), "140ms");
}

#[test]
fn the_daemon_and_new_sessions_follow_the_file() {
    let mut home = Home::new();
    let before = |seconds: i64| {
        let then = jiff::Timestamp::now() - jiff::SignedDuration::from_secs(seconds);
        then.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    };
    let neither = home.run(&["new"]);
    assert!(neither.code == 2 && neither.err.contains("no agent and no program"), "{neither:?}");
    home.user("agent = \"demo\"\n[control]\nmax_age = 60\n");
    let made: Value = serde_json::from_str(&home.ok(&["new", "--name", "a", "--json"])).unwrap();
    assert_eq!(made["agent"], "demo");
    let send = |id: &str| home.run(&["control", "send", "a", "hi", "--request-id", id, "--sent-at", &before(120)]);
    let old = send("r1");
    assert!(old.code != 0 && old.out.contains("at most 60 s are allowed"), "the daemon follows max_age: {old:?}");
    // A program on the command line overrides the agent in the file.
    let made: Value = serde_json::from_str(&home.ok(&["new", "--json", "--", "cat"])).unwrap();
    assert_eq!(made["agent"], "cat");
    assert_eq!(home.run(&["new", "--model", "x", "--person", "--", "cat"]).code, 2);
    home.ok(&["daemon", "stop"]);
    home.variables.push(("WH_CONTROL_MAX_AGE", "300"));
    home.ok(&["daemon", "start"]);
    let fresh = home.run(&["control", "send", "a", "hi", "--request-id", "r2", "--sent-at", &before(120)]);
    assert_eq!(fresh.code, 0, "the variable counts before the file: {fresh:?}");
    home.ok(&["daemon", "stop"]);
    home.ok(&["daemon", "start", "--control-max-age", "60"]);
    let old = home.run(&["control", "send", "a", "hi", "--request-id", "r3", "--sent-at", &before(120)]);
    assert!(
        old.code != 0 && old.out.contains("at most 60 s are allowed"),
        "the flag counts before the variable: {old:?}"
    );
    // Invalid settings do not stop the running daemon.
    home.variables.clear();
    home.user("[control]\ndedupe_ttl = 60\n");
    let refused = home.run(&["daemon", "restart"]);
    assert!(refused.code == 2 && refused.err.contains("the maximum age plus the maximum skew"), "{refused:?}");
    assert_eq!(home.run(&["daemon", "status"]).code, 0);
}

#[test]
fn keys_and_the_bell_follow_the_file() {
    let home = Home::new();
    home.user("[keys]\ndetails = [\"f9\", \"ctrl+g\"]\n[notifications]\nbell = \"all\"\n");
    let wh = home.space().start(&["--", "--pace", "0"]);
    wh.wait("idle");
    wh.key("f3");
    wh.key("f9");
    wh.wait(r#"screen_contains "Details are shown""#);
    wh.key("ctrl+g");
    wh.wait(r#"screen_contains "Details are hidden""#);
    assert_eq!(wh.post("/message", json!({ "message": "hello" })).status, 200);
    wh_testkit::eventually("the bell", || {
        (wh.get("/control/state").json()["terminal"]["bells"].as_u64()? > 0).then_some(())
    });
}

#[test]
fn a_target_of_a_file_that_is_absent_from_the_space_is_ignored() {
    let home = Home::new();
    home.user("target = \"claude\"\n");
    let wh = home.space().start(&["--", "--pace", "0"]);
    wh.wait(r#"screen_contains "no such participant in this space""#);
}

#[test]
fn an_error_has_its_position_and_affects_only_commands_that_use_the_file() {
    let mut home = Home::new();
    let path = home.at("config/wheelhouse/config.toml").display().to_string();
    home.user("# mine\n\nthem = \"dark\"\n");
    let mistake = format!("{path}:3:1: unknown key \"them\"; did you mean \"theme\"?");
    for arguments in
        [&["run", "--", "true"][..], &["ls"], &["config"], &["config", "get", "theme"], &["daemon", "start"]]
    {
        let said = home.run(arguments);
        assert_eq!((said.code, said.err), (2, format!("wh: {mistake}\n")), "{arguments:?}");
    }
    for arguments in [
        &["--help"][..],
        &["completions", "bash"],
        &["config", "path"],
        &["trust", "--list"],
        &["config", "set", "theme", "dark"],
    ] {
        home.ok(arguments);
    }
    assert!(home.ok(&["doctor"]).contains(&format!("settings: {mistake}\n")));
    home.ok(&["config", "unset", "them"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), "# mine\n\ntheme = \"dark\"\n");
    assert!(home.ok(&["doctor"]).contains(&format!("settings: {path}\n")));
    for (text, place) in [
        (
            "theme = \"drak\"",
            "1:9: theme is \"drak\"; it must be one of auto, dark, light, none; did you mean \"dark\"?",
        ),
        ("[control]\nmax_age = \"1\"", "2:11: control.max_age is a string; it must be a number from 1 to 43200"),
        (
            "[timeouts]\n answer = true",
            "2:11: timeouts.answer is a boolean; it must be a duration such as 500ms, 10s or 2m",
        ),
        ("agent = 1", "1:9: agent is an integer; it must be a name, or a list of names"),
        ("[keys]\nundo = \"f3\"\ntools = \"f3\"", "2:1: f3 is bound to both tools and undo"),
    ] {
        home.user(text);
        let said = home.run(&["run", "--", "true"]);
        assert_eq!((said.code, said.err), (2, format!("wh: {path}:{place}\n")));
    }
    home.user("");
    home.variables.push(("WH_CONTROL_MAX_AGE", "ten"));
    let words = "WH_CONTROL_MAX_AGE is \"ten\"; it must be a number from 1 to 43200\n";
    for arguments in [&["config"][..], &["daemon", "start"]] {
        let said = home.run(arguments);
        assert_eq!((said.code, said.err), (2, format!("wh: {words}")), "{arguments:?}");
    }
    assert_eq!(home.run(&["run", "--", "true"]).code, 0, "a command that does not use a variable does not care");
    assert!(home.ok(&["doctor"]).contains(&format!("settings: {words}")));
    home.user("theme = \n");
    let said = home.run(&["config", "set", "theme", "dark"]);
    assert!(said.code == 2 && said.err.contains(&format!("{path}:1:9: ")), "{said:?}");
}

#[test]
fn a_project_file_is_trusted_by_its_content() {
    let home = Home::new();
    let place = home.at("project/.wheelhouse/config.toml").display().to_string();
    home.project("theme = \"light\"\nagent = \"gemini\"\n");
    assert_eq!(home.setting("theme")["source"], "project");
    assert_eq!(home.setting("agent")["source"], "default");
    let said = home.run(&["config"]);
    assert!(said.err.contains(&format!("agent is not used: you have not trusted {place}; review it with `wh trust ")));
    let wh = home.space().start(&["--", "--pace", "0"]);
    wh.wait(r#"screen_contains "agent is not used""#);
    assert_eq!(wh.stderr().matches("agent is not used").count(), 1, "{}", wh.stderr());
    drop(wh);
    let trusted = home.ok(&["trust", "--yes"]);
    assert!(
        trusted.contains("sets theme to light  (used even if the file is not trusted)\nsets agent to gemini\n"),
        "{trusted}"
    );
    let agent = home.setting("agent");
    assert_eq!((&agent["value"], &agent["source"], &agent["line"]), (&json!(["gemini"]), &json!("project"), &json!(2)));
    home.project("theme = \"light\"\nagent = \"codex\"\n");
    assert_eq!(home.setting("agent")["source"], "default", "it has changed");
    assert!(home.run(&["config"]).err.contains("has changed since you trusted it"));
    home.ok(&["trust", "--yes"]);
    assert_eq!(home.ok(&["config", "get", "agent"]), "codex\n");
    home.ok(&["trust", "--revoke", &home.at("project").display().to_string()]);
    assert_eq!(home.ok(&["config", "get", "agent"]), "demo\n");
    // An error in an untrusted file is only a notice; in a trusted file it is fatal.
    home.project("them = 1\n");
    let said = home.run(&["config", "get", "theme"]);
    assert_eq!((said.code, said.out.as_str()), (0, "auto\n"));
    assert!(home.run(&["config"]).err.contains(&format!("{place} is not used: {place}:1:1: unknown key \"them\"")));
    assert_eq!(home.run(&["trust", "--yes"]).code, 2);
    home.project("[control]\nmax_age = 1\n");
    assert!(home.run(&["config"]).err.contains("control.max_age is only allowed in your own config.toml"));
}

#[test]
fn a_change_keeps_comments_and_file_permissions() {
    let home = Home::new();
    let path = home.at("config/wheelhouse/config.toml");
    assert_eq!(home.ok(&["config", "path"]), format!("{}\n", path.display()));
    home.ok(&["config", "set", "control.max_age", "60"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), "[control]\nmax_age = 60\n");
    let mode = |path: &PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(&path.parent().unwrap().to_owned())), (0o600, 0o700));
    let text = "# mine\ntheme   = 'light'  # by day\n\n[timeouts] # short\nanswer = '2s'\n";
    home.user(text);
    home.ok(&["config", "set", "theme", "dark"]);
    home.ok(&["config", "set", "timeouts.answer", "1m"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), text.replace("'light'", "\"dark\"").replace("'2s'", "\"60s\""));
    assert_eq!(home.setting("timeouts.answer")["value"], "60s");
    for (key, value, words) in [
        ("theme", "drak", "did you mean \"dark\"?"),
        ("control.max_age", "x", "a number from 1 to 43200"),
        ("them", "dark", "'theme'"),
        ("keys.undo", "x", "types a character"),
    ] {
        let said = home.run(&["config", "set", key, value]);
        assert!(said.code == 2 && said.err.contains(words), "{said:?}");
    }
    // A symbolic link is preserved.
    let real = home.at("dotfiles.toml");
    fs::rename(&path, &real).unwrap();
    symlink(&real, &path).unwrap();
    home.ok(&["config", "set", "agent", "demo,claude"]);
    assert!(fs::symlink_metadata(&path).unwrap().is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains("agent = [\"demo\", \"claude\"]"));
    assert_eq!(home.ok(&["config", "get", "agent"]), "demo, claude\n");
    home.ok(&["config", "unset", "agent"]);
    assert_eq!(home.run(&["config", "unset", "agent"]).code, 2);
    // The same in the project's file.
    fs::create_dir_all(home.at("project/.git")).unwrap();
    home.write("project/.git/HEAD", "ref: refs/heads/main\n");
    let own = home.at("project/.wheelhouse/config.toml");
    assert_eq!(home.ok(&["config", "path", "--project"]), format!("{}\n", own.display()));
    let said = home.run(&["config", "set", "--project", "agent", "demo"]);
    assert!(said.code == 0 && said.err.contains("wh trust "), "{said:?}");
    assert_eq!(fs::read_to_string(&own).unwrap(), "agent = \"demo\"\n");
    assert_eq!(home.run(&["config", "set", "--project", "control.max_age", "1"]).code, 2);
}

#[test]
fn shells_complete_the_keys() {
    let home = Home::new();
    for shell in ["bash", "zsh"] {
        let script = home.ok(&["completions", shell]);
        assert!(script.contains("control.max_age") && script.contains("keys.undo"), "{shell}");
    }
}
