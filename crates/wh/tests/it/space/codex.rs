//! The real Codex in a space, offline with the scripted model, driven through the HTTP API.

mod asking;
mod lasting;

use std::fs;
use std::path::{Path, PathBuf};

use nix::unistd::Pid;
use serde_json::{Value, json};
use wh_testkit::wh::Wh;
use wh_testkit::{Lab, eventually, process};

use super::{ask, chats, finished, state};
use crate::WH;
use crate::stream::{Watcher, WebSocket};

/// Starts a space with Codex in the lab.
fn codex(lab: &Lab, flags: &[&str]) -> Wh {
    let wh = Wh::options(WH).space().environment(lab.env()).directory(&lab.project);
    let wh = wh.flags(&["--agent", "codex"]).flags(flags).start(&[]);
    wh.wait(r#"screen_contains "Type a message""#);
    wh
}

/// Returns Codex's own session files.
fn rollouts(lab: &Lab) -> Vec<PathBuf> {
    fn below(directory: &Path) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.flat_map(|path| if path.is_dir() { below(&path) } else { vec![path] }).collect()
    }
    let mut files = below(&lab.home.join(".codex/sessions"));
    files.retain(|path| path.extension().is_some_and(|end| end == "jsonl"));
    files
}

/// Returns the id of Codex's only session.
fn conversation(lab: &Lab) -> String {
    let [file] = &rollouts(lab)[..] else { panic!("one conversation, not {:?}", rollouts(lab)) };
    let name = file.file_stem().unwrap().to_string_lossy().into_owned();
    // The file name has a timestamp before the id.
    name[name.len() - 36..].to_owned()
}

/// Waits for a model request that contains this text, and returns the body of the last one.
fn last_model_request(lab: &Lab, words: &str) -> String {
    eventually(&format!("the model receives {words:?}"), || {
        let mut bodies = lab.model.requests().into_iter().map(|request| request.body.to_string());
        bodies.rfind(|body| body.contains(words))
    })
}

/// Returns the output of a slash command.
fn command(wh: &Wh, line: &str) -> Value {
    wh.post("/control/command", json!({ "command": line })).json()
}

fn said(answer: &Value) -> String {
    let lines = answer["lines"].as_array().unwrap_or_else(|| panic!("no lines in {answer}"));
    lines.iter().map(|line| line.as_str().unwrap()).collect::<Vec<_>>().join("\n")
}

/// Returns the processes of Codex below wh and its supervisor: the launcher script and the program.
fn codex_processes(wh: &Wh) -> Vec<Pid> {
    eventually("Codex runs", || {
        let all = process::descendants(wh.pid()).into_iter().filter(|pid| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line);
            line.contains("app-server") && !line.contains("__keep")
        });
        Some(all.collect::<Vec<_>>()).filter(|all| all.len() == 2)
    })
}

/// Returns the next event of this kind.
fn happened(watcher: &mut WebSocket, kind: &str) -> Value {
    eventually(kind, || Some(watcher.until("event")).filter(|event| event["event"] == kind))
}

#[test]
fn a_prompt_is_streamed_and_is_in_the_context_of_the_next() {
    Lab::inside("space::codex::a_prompt_is_streamed_and_is_in_the_context_of_the_next", |lab| {
        let wh = codex(lab, &[]);
        let mut watcher = WebSocket::open(wh.port(), "frames=none");
        wh.post("/message", json!({ "message": "slow: 20", "request_id": "r1" }));
        let started = happened(&mut watcher, "turn_started");
        assert_eq!(started["participant"], "codex");
        wh.wait(r#"screen_contains "word1""#);
        let stage = wh.get("/control/receipts/r1").json()["stage"].clone();
        assert_ne!(stage, "finished", "it comes word by word");
        let ended = happened(&mut watcher, "turn_ended");
        assert_eq!((&ended["turn"], &ended["outcome"]), (&started["turn"], &json!("completed")));
        assert_eq!(finished(&wh, "r1")["stage"], "finished");
        assert_eq!(ask(&wh, "hello there")["stage"], "finished");
        assert!(last_model_request(lab, "hello there").contains("slow: 20"), "the first turn is in its context");
        let answers: Vec<String> = chats(&wh)
            .into_iter()
            .filter(|(from, _)| from == "codex")
            .map(|(_, text)| text.trim().to_owned())
            .collect();
        let words: Vec<String> = (0..20).map(|number| format!("word{number}")).collect();
        assert_eq!(answers, [words.join(" "), "echo: hello there".to_owned()]);
        let session = state(&wh)["sessions"]["codex"].clone();
        assert_eq!((&session["model"], &session["mode"]), (&json!("gpt-5"), &json!("auto")), "{session}");
    });
}

#[test]
fn codex_works_in_its_directory_without_a_question() {
    Lab::inside("space::codex::codex_works_in_its_directory_without_a_question", |lab| {
        let wh = codex(lab, &["--mode", "auto"]);
        assert_eq!(ask(&wh, "tool: echo some words; touch made.txt")["stage"], "finished");
        assert!(lab.project.join("made.txt").exists());
        let messages = wh.get("/control/messages?limit=100").text();
        assert!(messages.contains("echo some words; touch made.txt") && messages.contains("some words"), "{messages}");
        assert!(!messages.contains("/bin/bash"), "a command is shown as it was meant");
    });
}

#[test]
fn ids_of_codex_are_never_shown() {
    Lab::inside("space::codex::ids_of_codex_are_never_shown", |lab| {
        let wh = codex(lab, &[]);
        let mut watcher = WebSocket::open(wh.port(), "frames=none");
        assert_eq!(ask(&wh, "tool: echo made")["stage"], "finished");
        let mut told = vec![happened(&mut watcher, "turn_ended").to_string()];
        for path in ["/control/state", "/control/messages?limit=1000", "/history", "/control/questions"] {
            told.push(wh.get(path).text());
        }
        let told = told.join("\n");
        assert!(told.contains("echo made"));
        let text = fs::read_to_string(&rollouts(lab)[0]).unwrap();
        let ids = regex::Regex::new(r"call_\w+|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}").unwrap();
        let mut seen = vec![conversation(lab)];
        seen.extend(ids.find_iter(&text).map(|id| id.as_str().to_owned()));
        for id in &seen {
            assert!(!told.contains(id.as_str()), "{id} is Codex's own");
        }
        assert!(seen.len() >= 4, "the conversation, the turn and the call have ids: {seen:?}");
    });
}

#[test]
fn slash_commands_work_over_the_api() {
    Lab::inside("space::codex::slash_commands_work_over_the_api", |lab| {
        let wh = codex(lab, &["--mode", "auto"]);
        eventually("it is ready", || (state(&wh)["sessions"]["codex"]["status"] == "idle").then_some(()));
        let models = said(&command(&wh, "/models"));
        assert!(models.contains("* gpt-5"), "{models}");
        let mut ids =
            models.lines().filter(|line| !line.starts_with('*')).filter_map(|line| line.split_whitespace().next());
        let other = ids.next_back().expect("there is another").to_owned();
        assert!(said(&command(&wh, &format!("/model {other}"))).contains(&other));
        assert!(said(&command(&wh, "/mode")).contains("* auto"));
        assert!(said(&command(&wh, "/mode read-only")).contains("read-only"));
        let no = command(&wh, "/mode full-access");
        assert!(no["detail"].as_str().unwrap().contains("no mode"), "{no}");
        eventually("both are in use", || {
            let session = &state(&wh)["sessions"]["codex"];
            (session["model"] == other.as_str() && session["mode"] == "read-only").then_some(())
        });
        assert_eq!(ask(&wh, "tool: touch kept-out.txt")["stage"], "finished");
        assert!(!lab.project.join("kept-out.txt").exists(), "it may only read");
        let model = lab.model.requests().last().unwrap().body["model"].as_str().unwrap().to_owned();
        assert_eq!(model, other);

        assert_eq!(said(&command(&wh, "/mcp")), "No MCP servers.");
        let status = said(&command(&wh, "/status"));
        assert!(status.starts_with("Codex 0.") && status.contains("mode read-only"), "{status}");
        let login = said(&command(&wh, "/login"));
        assert!(login.contains("Logged in with LAB_KEY"), "its provider is paid by a variable: {login}");
        assert!(said(&command(&wh, "/logout")).contains("Not logged in"));
    });
}

#[test]
fn a_conversation_is_compacted_or_cleared_in_the_same_process() {
    Lab::inside("space::codex::a_conversation_is_compacted_or_cleared_in_the_same_process", |lab| {
        let wh = codex(lab, &[]);
        assert_eq!(ask(&wh, "remember the wheel")["stage"], "finished");
        let before = codex_processes(&wh);
        assert_eq!(wh.post("/control/command", json!({ "command": "/compact" })).status, 200);
        wh.wait(r#"screen_contains "was compacted""#);
        assert_eq!(wh.post("/control/command", json!({ "command": "/clear" })).status, 200);
        assert_eq!(ask(&wh, "who are you")["stage"], "finished");
        assert!(!last_model_request(lab, "who are you").contains("remember the wheel"));
        assert_eq!(codex_processes(&wh), before);
    });
}

#[test]
fn a_mode_that_skips_permissions_needs_a_flag() {
    Lab::inside("space::codex::a_mode_that_skips_permissions_needs_a_flag", |lab| {
        let mut wh = lab.command(WH);
        let output = wh
            .args(["--agent", "codex", "--mode", "full-access", "--headless", "--control-port", "0"])
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && error.contains("--allow-skipping-permissions"), "{error}");
        let wh = codex(lab, &["--allow-skipping-permissions", "--mode", "full-access"]);
        let outside = lab.home.join("unasked.txt");
        assert_eq!(ask(&wh, &format!("tool: touch {}", outside.display()))["stage"], "finished");
        assert!(outside.exists());
    });
}

#[test]
fn a_configuration_that_skips_permissions_needs_the_flag_too() {
    Lab::inside("space::codex::a_configuration_that_skips_permissions_needs_the_flag_too", |lab| {
        let file = lab.home.join(".codex/config.toml");
        let text = fs::read_to_string(&file).unwrap();
        let skips = "approval_policy = \"never\"\nsandbox_mode = \"danger-full-access\"\n";
        fs::write(&file, format!("{skips}{text}")).unwrap();
        let wh = codex(lab, &[]);
        wh.wait(r#"screen_contains "which skips permissions""#);
        let outside = lab.home.join("unasked.txt");
        ask(&wh, &format!("tool: touch {}", outside.display()));
        assert!(!outside.exists(), "it stays in its directory");
    });
}

#[test]
fn an_error_of_the_model_fails_the_turn() {
    Lab::inside("space::codex::an_error_of_the_model_fails_the_turn", |lab| {
        let wh = codex(lab, &[]);
        let receipt = ask(&wh, "fail: 400");
        assert_eq!(receipt["stage"], "failed");
        assert!(receipt["reason"].as_str().unwrap().contains("400"), "{receipt}");
        let receipt = ask(&wh, "fail: 401");
        assert!(receipt["reason"].as_str().unwrap().contains("codex login"), "{receipt}");
        assert_eq!(ask(&wh, "hello there")["stage"], "finished");
    });
}

#[test]
fn a_missing_installation_has_an_install_hint() {
    let mut wh = std::process::Command::new(WH);
    let output = wh
        .args(["--agent", "codex", "--headless", "--control-port", "0"])
        .env("PATH", "/nowhere")
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success());
    assert!(error.contains("not installed") && error.contains("npm install -g @openai/codex"), "{error}");
}
