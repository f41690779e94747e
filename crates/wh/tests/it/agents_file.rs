//! `agents.toml` of the user and of a project, end to end. The agent is a script.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;
use wh_testkit::wh::{Wh, WhOptions};
use wh_testkit::{CONDITION_TIMEOUT, eventually, process, tools};

use crate::WH;

/// Speaks just enough of the Agent Client Protocol to report its arguments.
const AGENT: &str = r#"#!/bin/bash
echo ran >> "$HOME/ran"
case $1 in --version) echo "fake 3.1"; exit;; in) exit 0;; esac
reply() { echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":$1}"; }
while read -r line; do
  id=; [[ $line =~ \"id\":([0-9]+) ]] && id=${BASH_REMATCH[1]}
  case $line in
    *'"initialize"'*) reply '{"protocolVersion":1}';;
    *'"session/new"'*) reply '{"sessionId":"s"}';;
    *'"session/prompt"'*)
      text="$* WORD=$WORD GONE=${GONE-gone}"
      echo "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"s\",\"update\":{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"$text\"}}}}"
      reply '{"stopReason":"end_turn"}';;
  esac
done
"#;

/// Home directory with a project and a program.
struct Home {
    folder: TempDir,
    /// Value of WH_AGENTS_FILE.
    file: Option<PathBuf>,
}

/// Exit code and output of wh.
#[derive(Debug)]
struct Said {
    code: i32,
    out: String,
    err: String,
}

impl Home {
    fn new() -> Option<Self> {
        if !tools::present(&["bash"]) {
            return None;
        }
        let home = Self { folder: tempfile::tempdir().unwrap(), file: None };
        fs::create_dir_all(home.at("bin")).unwrap();
        fs::create_dir_all(home.at("project/deep")).unwrap();
        fs::write(home.at("bin/fake"), AGENT).unwrap();
        fs::set_permissions(home.at("bin/fake"), Permissions::from_mode(0o755)).unwrap();
        Some(home)
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        fs::write(self.at(path), text).unwrap();
    }

    fn own(&self, text: &str) {
        self.write(".config/wheelhouse/agents.toml", text);
    }

    fn project(&self, text: &str) {
        self.write("project/.wheelhouse/agents.toml", text);
    }

    fn environment(&self) -> Vec<(String, String)> {
        let path = std::env::var("PATH").unwrap();
        let home = self.at("").display().to_string();
        let file = self.file.as_ref().map(|file| file.display().to_string()).unwrap_or_default();
        let fixed = [("LANG", "C.UTF-8"), ("WORD", "outside"), ("GONE", "1")];
        let ours = [("HOME", home.as_str()), ("PATH", &path), ("WH_AGENTS_FILE", &file)];
        ours.iter().chain(&fixed).map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    /// Runs wh in the project without a terminal.
    fn run(&self, arguments: &[&str]) -> Said {
        self.command(&self.at("project"), arguments)
    }

    fn command(&self, directory: &Path, arguments: &[&str]) -> Said {
        let mut command = Command::new(WH);
        command.args(arguments).current_dir(directory).env_clear().envs(self.environment());
        let output = command.stdin(Stdio::null()).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Said { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
    }

    fn space(&self, agent: &str) -> WhOptions {
        let space = Wh::options(WH).space().environment(self.environment());
        space.directory(self.at("project/deep")).flags(&["--agent", agent])
    }

    /// Returns the answer of an agent to a message.
    fn answer(&self, agent: &str) -> String {
        said_by(&self.space(agent).start(&[]), agent)
    }

    /// Returns the object of `wh doctor` for an agent. `None` if it is not listed.
    fn doctor(&self, agent: &str) -> Option<Value> {
        let said = self.run(&["doctor", "--json"]);
        assert_eq!(said.code, 0, "{said:?}");
        let agents = said.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        agents.into_iter().find(|one| one["agent"] == agent)
    }
}

fn said_by(wh: &Wh, agent: &str) -> String {
    assert_eq!(wh.post("/message", json!({ "message": "hello" })).status, 200);
    eventually("it answers", || {
        let body = wh.get("/control/messages?kind=chat&limit=100").json();
        let said = body["messages"].as_array().unwrap().iter().find(|one| one["from"] == agent)?;
        Some(said["payload"]["text"].as_str().unwrap().to_owned())
    })
}

const MINE: &str = "[agents.mine]\ntitle = \"Mine\"\ncommand = \"~/bin/fake\"\narguments = [\"serve\", \"$WORD\"]\n";

#[test]
fn a_login_without_a_terminal_fails_before_it_starts_a_program() {
    let Some(home) = Home::new() else { return };
    let bin = home.folder.path().join("bin");
    fs::create_dir_all(&bin).unwrap();
    let program = bin.join("claude");
    fs::write(&program, "#!/bin/sh\ncase $1 in auth) echo \"$@\" >> \"$0.ran\"; exec sleep 90;; esac\n").unwrap();
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    let mut child = Command::new(WH)
        .args(["agents", "login", "claude"])
        .env_clear()
        .envs(home.environment())
        .env("PATH", format!("{}:{}", bin.display(), std::env::var("PATH").unwrap()))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(fs::File::create(bin.join("said")).unwrap())
        .spawn()
        .unwrap();
    let status = process::wait(&mut child, CONDITION_TIMEOUT);
    child.kill().unwrap();
    child.wait().unwrap();
    let said = fs::read_to_string(bin.join("said")).unwrap();
    assert_eq!(status.and_then(|status| status.code()), Some(2), "{said}");
    assert!(said.contains("logging in to Claude Code requires a terminal"), "{said}");
    assert!(!bin.join("claude.ran").exists(), "its login was not started");
}

#[test]
fn an_agent_of_agents_toml_is_listed_and_joins_a_space() {
    let Some(home) = Home::new() else { return };
    home.own(&format!("{MINE}status = [\"in\"]\nenvironment = {{ WORD = \"in$WORD\", GONE = false }}\n"));
    let mine = home.doctor("mine").expect("it is listed");
    assert_eq!((&mine["title"], &mine["version"], &mine["logged_in"]), (&json!("Mine"), &json!("3.1"), &json!("yes")));
    assert_eq!(mine["path"], json!(home.at("bin/fake")));
    assert_eq!(mine["files"], json!([home.at(".config/wheelhouse/agents.toml")]));
    assert_eq!(home.doctor("gemini").expect("it is listed")["files"], json!([]));
    assert_eq!(home.answer("mine"), "serve outside WORD=inoutside GONE=gone");
    let unknown = home.run(&["--agent", "yours", "--headless", "--control-port", "0"]);
    assert!(unknown.code == 2 && unknown.err.contains("claude-acp, mine;"), "{unknown:?}");
}

#[test]
fn known_agents_can_be_started_by_another_command() {
    let Some(mut home) = Home::new() else { return };
    home.write(
        "other.toml",
        "[agents.gemini]\ncommand = [\"nowhere-to-be-found\", \"/$HOME/bin/../bin/fake\"]\n\
         [agents.claude]\ncommand = \"~/bin/fake\"\n[agents.codex]\ncommand = \"/nowhere/codex\"\n",
    );
    home.own("this is not read");
    home.file = Some(home.at("other.toml"));
    assert_eq!(home.answer("gemini"), "--acp WORD=outside GONE=1");
    assert_eq!(home.doctor("claude").unwrap()["path"], json!(home.at("bin/fake")));
    let codex = home.doctor("codex").unwrap();
    let hint = format!("install the program, or correct `command` in {}", home.at("other.toml").display());
    assert_eq!((&codex["installed"], &codex["hint"]), (&json!(false), &json!(hint)));
}

#[test]
fn an_invalid_or_unreadable_file_is_reported() {
    let Some(mut home) = Home::new() else { return };
    home.own("[agents.mine]\ncommand = \"x\"\ntitel = \"Mine\"\n");
    let path = home.at(".config/wheelhouse/agents.toml");
    for arguments in [&["doctor"][..], &["--headless", "--control-port", "0"], &["trust"]] {
        home.project("");
        let said = home.run(arguments);
        assert_eq!(said.code, 2, "{said:?}");
        let expected = format!("wh: {}:3:1: unknown key \"titel\"\n    did you mean \"title\"?\n", path.display());
        assert_eq!(said.err, expected);
    }
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let said = home.run(&["doctor"]);
    assert_eq!(said.code, 125, "{said:?}");
    assert!(
        said.err.contains("cannot read") && said.err.contains("make the file readable, or move it away"),
        "{said:?}"
    );
    home.file = Some(home.at("none.toml"));
    let error = home.run(&["doctor"]).err;
    assert!(error.contains("none.toml") && error.contains("WH_AGENTS_FILE"), "{error}");
}

#[test]
fn a_project_file_is_used_only_with_its_trusted_content() {
    let Some(home) = Home::new() else { return };
    home.project(MINE);
    let place = home.at("project/.wheelhouse/agents.toml").display().to_string();
    let project = home.at("project").display().to_string();
    let unused = |why: &str| format!("wh: {place} is not used: {why}; review it with `wh trust {project}`\n");
    let untrusted = unused("you have not trusted this file");

    assert!(home.doctor("mine").is_none(), "nobody has trusted it");
    assert_eq!(home.run(&["doctor"]).err, untrusted);
    let refused = home.run(&["--agent", "mine", "--headless", "--control-port", "0"]);
    assert!(refused.code == 2 && refused.err.contains("there is no agent \"mine\""), "{refused:?}");
    assert!(refused.err.contains(&format!("wh trust {project}")), "{refused:?}");

    let asked = home.run(&["trust"]);
    assert!(asked.code == 2 && asked.err.contains("without a terminal"), "{asked:?}");
    let program = home.at("bin/fake").display().to_string();
    for part in ["adds the agent mine", "\"~/bin/fake\"", "\"serve\" \"$WORD\"", &program] {
        assert!(asked.out.contains(part), "{part}: {}", asked.out);
    }
    assert!(!home.at("ran").exists(), "looking starts nothing");
    assert!(home.doctor("mine").is_none());

    assert_eq!(home.run(&["trust", "--yes"]).code, 0);
    let listed = home.run(&["trust", "--list"]).out;
    assert!(listed.ends_with(&format!("  {place}\n")) && listed.lines().count() == 1, "{listed}");
    assert_eq!(home.doctor("mine").expect("it is trusted")["files"], json!([place]));
    assert_eq!(home.answer("mine"), "serve outside WORD=outside GONE=1", "it counts further down, too");
    assert_eq!(home.run(&["doctor"]).err, "");

    home.project(&MINE.replace("serve", "changed"));
    assert!(home.doctor("mine").is_none());
    assert_eq!(home.run(&["doctor"]).err, unused("the file has changed since you trusted it"));
    assert_eq!(home.run(&["trust", "--yes"]).code, 0);
    assert_eq!(home.answer("mine"), "changed outside WORD=outside GONE=1");

    let revoked = home.command(&home.at("bin"), &["trust", "--revoke", &project]);
    assert_eq!((revoked.code, revoked.out), (0, format!("no longer trusted: {place}\n")));
    assert!(home.doctor("mine").is_none());
    assert_eq!(home.run(&["trust", "--revoke", &project]).code, 2, "nothing is left to revoke");
}

#[test]
fn a_space_reports_an_unused_project_file() {
    let Some(home) = Home::new() else { return };
    home.project(MINE);
    let wh = home.space("demo").start(&["--", "--pace", "0"]);
    wh.wait(r#"screen_contains "you have not trusted""#);
    assert_eq!(wh.stderr().matches("is not used").count(), 1, "{}", wh.stderr());
}

#[test]
fn a_project_file_overrides_the_user_file() {
    let Some(home) = Home::new() else { return };
    home.own(&format!("{MINE}environment = {{ WORD = \"mine\", GONE = \"mine\" }}\n"));
    home.project("[agents.mine]\narguments = [\"project\"]\nenvironment = { WORD = \"project\" }\n");
    assert_eq!(home.answer("mine"), "serve outside WORD=mine GONE=mine");
    let trusted = home.run(&["trust", "--yes"]);
    assert!(trusted.out.contains("changes the agent mine"), "{trusted:?}");
    assert_eq!(home.answer("mine"), "project WORD=project GONE=mine");
}

#[test]
fn a_symbolic_link_is_trusted_by_its_target() {
    let Some(home) = Home::new() else { return };
    home.write("one.toml", MINE);
    home.write("other.toml", MINE);
    fs::create_dir(home.at("project/.wheelhouse")).unwrap();
    let link = home.at("project/.wheelhouse/agents.toml");
    symlink(home.at("one.toml"), &link).unwrap();
    assert!(home.doctor("mine").is_none());
    let trusted = home.run(&["trust", "--yes"]);
    let really = format!("(real path {})", home.at("one.toml").display());
    assert!(trusted.code == 0 && trusted.out.contains(&really), "{trusted:?}");
    assert!(home.doctor("mine").is_some());
    fs::remove_file(&link).unwrap();
    symlink(home.at("other.toml"), &link).unwrap();
    assert!(home.doctor("mine").is_none(), "the same words at another place are another file");
    fs::remove_file(&link).unwrap();
    symlink(home.at("nowhere.toml"), &link).unwrap();
    let said = home.run(&["doctor"]);
    assert!(said.code == 0 && said.err.contains("is not used: cannot read the file"), "{said:?}");
}

#[test]
fn an_invalid_untrusted_file_does_not_stop_wh() {
    let Some(home) = Home::new() else { return };
    home.project("this is no TOML");
    let said = home.run(&["doctor"]);
    assert!(said.code == 0 && said.err.contains("you have not trusted this file"), "{said:?}");
    let wrong = home.run(&["trust", "--yes"]);
    assert!(wrong.code == 2 && wrong.err.contains(".wheelhouse/agents.toml:1:6: "), "{wrong:?}");
    fs::remove_file(home.at("project/.wheelhouse/agents.toml")).unwrap();
    fs::create_dir(home.at("project/.wheelhouse/agents.toml")).unwrap();
    let said = home.run(&["doctor"]);
    assert!(said.code == 0 && said.err.contains("cannot read the file: not a regular file"), "{said:?}");
    assert_eq!(home.run(&["trust", "--yes"]).code, 125);
    let none = home.command(&home.at("bin"), &["trust"]);
    assert!(none.code == 2 && none.err.contains("and none in a parent directory"), "{none:?}");
}

#[test]
fn trust_asks_on_a_terminal_and_defaults_to_no() {
    let Some(home) = Home::new() else { return };
    home.project(MINE);
    let ask = |answer: &str| {
        let wh = Wh::options(WH).environment(home.environment()).directory(home.at("project"));
        let wh = wh.flags(&["--size", "160x40", "--linger", "30"]).start(&["--", WH, "trust"]);
        wh.wait(r#"screen_contains "[y/N]""#);
        if !answer.is_empty() {
            wh.text(answer);
        }
        wh.key("enter");
        wh.wait("exited");
        wh.plain()
    };
    assert!(ask("").contains("The file is not trusted"));
    assert!(ask("no").contains("The file is not trusted"));
    assert!(home.doctor("mine").is_none());
    assert!(ask("y").contains("The file is trusted until"));
    assert!(home.doctor("mine").is_some());
    let again = home.run(&["trust"]);
    assert!(again.code == 0 && again.out.contains("Already trusted"), "{again:?}");
}
