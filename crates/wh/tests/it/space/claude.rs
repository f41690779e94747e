//! The real Claude Code in a space, offline with the scripted model, driven through the HTTP API.

mod asking;
mod lasting;

use std::fs;
use std::path::PathBuf;

use nix::unistd::Pid;
use serde_json::{Value, json};
use wh_testkit::wh::Wh;
use wh_testkit::{Lab, eventually, process};

use super::{answer, ask, chats, finished, option, state};
use crate::WH;
use crate::stream::{Watcher, WebSocket};

/// Starts a space with Claude Code in the lab.
fn claude(lab: &Lab, flags: &[&str]) -> Wh {
    let wh = Wh::options(WH).space().environment(lab.env()).directory(&lab.project);
    let wh = wh.flags(&["--agent", "claude"]).flags(flags).start(&[]);
    wh.wait(r#"screen_contains "Type a message""#);
    wh
}

/// Returns Claude Code's own session files of the project.
fn transcripts(lab: &Lab) -> Vec<PathBuf> {
    let projects = fs::read_dir(lab.home.join(".claude/projects")).expect("Claude Code keeps its conversations");
    let files = projects.flat_map(|project| fs::read_dir(project.unwrap().path()).unwrap());
    files.map(|file| file.unwrap().path()).filter(|path| path.extension().is_some_and(|end| end == "jsonl")).collect()
}

/// Returns the conversation from Claude Code's session file, with senders.
fn transcript(lab: &Lab) -> Vec<(String, String)> {
    let [file] = &transcripts(lab)[..] else { panic!("one conversation, not {:?}", transcripts(lab)) };
    let text = fs::read_to_string(file).unwrap();
    let mut said = Vec::new();
    for line in text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        let content = &line["message"]["content"];
        let texts: Vec<String> = match content {
            Value::String(text) => vec![text.clone()],
            Value::Array(blocks) => {
                blocks.iter().filter_map(|block| Some(block["text"].as_str()?.to_owned())).collect()
            }
            _ => Vec::new(),
        };
        match line["type"].as_str() {
            Some("user") if line["isMeta"] != true => {
                said.extend(texts.into_iter().map(|text| ("user".to_owned(), text)))
            }
            Some("assistant") => said.extend(texts.into_iter().map(|text| ("model".to_owned(), text))),
            _ => {}
        }
    }
    said
}

/// Returns the bodies of all requests to the model.
fn model_request_bodies(lab: &Lab) -> Vec<String> {
    lab.model.requests().iter().map(|request| request.body.to_string()).collect()
}

/// Returns the output of a slash command.
fn command(wh: &Wh, line: &str) -> Value {
    wh.post("/control/command", json!({ "command": line })).json()
}

fn said(answer: &Value) -> String {
    let lines = answer["lines"].as_array().unwrap_or_else(|| panic!("no lines in {answer}"));
    lines.iter().map(|line| line.as_str().unwrap()).collect::<Vec<_>>().join("\n")
}

/// Returns the process of Claude Code, below wh and its supervisor.
fn claude_process(wh: &Wh) -> Pid {
    eventually("Claude Code runs", || {
        process::descendants(wh.pid()).into_iter().find(|pid| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line);
            line.contains("--input-format") && !line.contains("__keep")
        })
    })
}

/// Returns the next event of this kind.
fn happened(watcher: &mut WebSocket, kind: &str) -> Value {
    eventually(kind, || Some(watcher.until("event")).filter(|event| event["event"] == kind))
}

#[test]
fn the_history_of_two_turns_matches_the_agents_transcript() {
    Lab::inside("space::claude::the_history_of_two_turns_matches_the_agents_transcript", |lab| {
        let wh = claude(lab, &[]);
        let mut watcher = WebSocket::open(wh.port(), "frames=none");
        let first = ask(&wh, "hello there");
        let second = ask(&wh, "think: about it");
        assert_eq!((&first["stage"], &second["stage"]), (&json!("finished"), &json!("finished")));
        assert_ne!(first["turn"], second["turn"]);
        for (message, answer, turn) in
            [("hello there", "echo: hello there", &first["turn"]), ("think: about it", "", &second["turn"])]
        {
            let started = happened(&mut watcher, "turn_started");
            assert_eq!((&started["turn"], &started["participant"]), (turn, &json!("claude")), "{message}");
            let ended = loop {
                let event = watcher.until("event");
                match event["event"].as_str() {
                    // The message itself, which was queued until it was delivered.
                    Some("item") if event["messages"][0]["from"] == "human" => {}
                    Some("item") => {
                        assert_eq!(&event["turn"], turn, "every item of the turn says so: {event}");
                        if event["progress"] == "done" && !answer.is_empty() {
                            assert_eq!(event["messages"][0]["payload"]["text"], answer, "{event}");
                        }
                    }
                    Some("turn_ended") => break event,
                    _ => {}
                }
            };
            assert_eq!((&ended["turn"], &ended["outcome"]), (turn, &json!("completed")));
        }
        let history = wh.get("/history").json();
        let history: Vec<(String, String)> = serde_json::from_value::<Vec<Value>>(history)
            .unwrap()
            .iter()
            .map(|one| (one["role"].as_str().unwrap().to_owned(), one["text"].as_str().unwrap().to_owned()))
            .collect();
        assert_eq!(history[..2], [("user".into(), "hello there".into()), ("model".into(), "echo: hello there".into())]);
        assert_eq!(history.len(), 4);
        assert_eq!(
            history,
            eventually("its transcript is written", || Some(transcript(lab)).filter(|own| own.len() == 4))
        );
        let messages = wh.get("/control/messages?limit=100").json();
        let thinks = |message: &Value| message["kind"].as_str().is_some_and(|kind| kind.starts_with("reasoning/"));
        let thoughts: Vec<&Value> = messages["messages"].as_array().unwrap().iter().filter(|one| thinks(one)).collect();
        assert!(json!(thoughts).to_string().contains("about it"), "{messages}");
        let usage = state(&wh)["sessions"]["claude"]["usage"].clone();
        assert!(usage["cost"].as_f64().is_some_and(|cost| cost > 0.0), "what it cost is told: {usage}");
        assert!(usage["outputTokens"].as_u64().is_some_and(|tokens| tokens > 0), "{usage}");
    });
}

#[test]
fn ids_of_claude_code_are_never_shown() {
    Lab::inside("space::claude::ids_of_claude_code_are_never_shown", |lab| {
        let wh = claude(lab, &["--mode", "acceptEdits"]);
        let mut watcher = WebSocket::open(wh.port(), "frames=none");
        assert_eq!(ask(&wh, "edit: made.txt some words")["stage"], "finished");
        let mut told = vec![happened(&mut watcher, "turn_ended").to_string()];
        for path in ["/control/state", "/control/messages?limit=1000", "/history", "/control/questions"] {
            told.push(wh.get(path).text());
        }
        let told = told.join("\n");
        assert!(told.contains("made.txt"));
        let own: Vec<String> =
            transcripts(lab).iter().map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
        let text = fs::read_to_string(&transcripts(lab)[0]).unwrap();
        let calls = regex::Regex::new(r"toolu_\w+|msg_\w+").unwrap();
        let ids = own.into_iter().chain(calls.find_iter(&text).map(|id| id.as_str().to_owned()));
        let mut seen = 0;
        for id in ids {
            assert!(!told.contains(&id), "{id} is Claude Code's own");
            seen += 1;
        }
        assert!(seen >= 3, "the session, a call and a message have ids");
    });
}

#[test]
fn slash_commands_work_over_the_api() {
    Lab::inside("space::claude::slash_commands_work_over_the_api", |lab| {
        let wh = claude(lab, &["--mode", "acceptEdits"]);
        assert_eq!(ask(&wh, "edit: kept.txt before")["stage"], "finished");
        assert_eq!(ask(&wh, "edit: kept.txt after")["stage"], "finished");
        let file = lab.project.join("kept.txt");
        assert_eq!(fs::read_to_string(&file).unwrap(), "after");

        assert!(said(&command(&wh, "/models")).contains("* default"), "its models are listed");
        assert!(said(&command(&wh, "/model haiku")).contains("haiku"));
        assert!(said(&command(&wh, "/mode")).contains("* acceptEdits"));
        assert_eq!(said(&command(&wh, "/mcp")), "No MCP servers.");
        assert!(said(&command(&wh, "/context")).contains("tokens"));
        let status = said(&command(&wh, "/status"));
        assert!(
            status.starts_with("Claude Code 2.") && status.contains("logged in with ANTHROPIC_API_KEY"),
            "{status}"
        );
        let login = said(&command(&wh, "/login"));
        assert!(login.contains("Opening browser…") && login.contains("https://claude.com/"), "{login}");
        assert!(said(&command(&wh, "/login cancel")).contains("was stopped"));
        let no = command(&wh, "/mode bypassPermissions");
        assert!(no["detail"].as_str().unwrap().contains("no mode"), "{no}");

        let list = said(&command(&wh, "/rewind"));
        assert!(list.contains("1  edit: kept.txt before") && list.contains("2  edit: kept.txt after"), "{list}");
        let dry = said(&command(&wh, "/rewind 2"));
        assert!(dry.contains("Would restore 1 file") && dry.contains("kept.txt"), "{dry}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "after", "a dry run changes nothing");
        assert!(said(&command(&wh, "/rewind 2 now")).contains("Restored 1 file"));
        assert_eq!(fs::read_to_string(&file).unwrap(), "before");

        eventually("another model is in use", || (state(&wh)["sessions"]["claude"]["model"] == "haiku").then_some(()));
        assert_eq!(ask(&wh, "hello again")["stage"], "finished");
        let model = lab.model.requests().last().unwrap().body["model"].as_str().unwrap().to_owned();
        assert!(model.contains("haiku"), "the model was asked as {model}");
        assert!(chats(&wh).contains(&("claude".to_owned(), "echo: hello again".to_owned())));
    });
}

#[test]
fn a_mode_that_skips_permissions_needs_a_flag() {
    Lab::inside("space::claude::a_mode_that_skips_permissions_needs_a_flag", |lab| {
        let mut wh = lab.command(WH);
        let output = wh
            .args(["--agent", "claude", "--mode", "bypassPermissions", "--headless", "--control-port", "0"])
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && error.contains("--allow-skipping-permissions"), "{error}");
        // Claude Code refuses this for root unless IS_SANDBOX is set.
        let flags = ["--agent", "claude", "--allow-skipping-permissions", "--mode", "bypassPermissions"];
        let wh = Wh::options(WH).space().environment(lab.env()).env("IS_SANDBOX", "1");
        let wh = wh.directory(&lab.project).flags(&flags).start(&[]);
        assert_eq!(ask(&wh, "tool: touch unasked.txt")["stage"], "finished");
        assert!(lab.project.join("unasked.txt").exists());
    });
}

#[test]
fn an_error_of_the_model_fails_the_turn() {
    Lab::inside("space::claude::an_error_of_the_model_fails_the_turn", |lab| {
        let wh = claude(lab, &[]);
        let receipt = ask(&wh, "fail: 400");
        assert_eq!(receipt["stage"], "failed");
        assert!(receipt["reason"].as_str().unwrap().contains("400"), "{receipt}");
        assert_eq!(ask(&wh, "hello there")["stage"], "finished");
    });
}

#[test]
fn a_missing_installation_has_an_install_hint() {
    let mut wh = std::process::Command::new(WH);
    let output = wh
        .args(["--agent", "claude", "--headless", "--control-port", "0"])
        .env("PATH", "/nowhere")
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success());
    assert!(error.contains("not installed") && error.contains("npm install -g @anthropic-ai/claude-code"), "{error}");
}

#[test]
fn messages_sent_before_the_agent_is_ready_are_queued() {
    Lab::inside("space::claude::messages_sent_before_the_agent_is_ready_are_queued", |lab| {
        let wh = Wh::options(WH).space().environment(lab.env()).directory(&lab.project);
        let wh = wh.flags(&["--agent", "claude"]).start(&[]);
        eventually("the door takes messages", || {
            let sent = wh.post("/message", json!({ "message": "early", "request_id": "early-1" }));
            (sent.status == 200).then_some(())
        });
        assert_eq!(finished(&wh, "early-1")["stage"], "finished");
        assert_eq!(lab.model.prompts(), ["early"]);
    });
}

#[test]
fn claude_code_shares_a_space_with_another_agent() {
    Lab::inside("space::claude::claude_code_shares_a_space_with_another_agent", |lab| {
        let wh = claude(lab, &["--agent", "demo"]);
        for (agent, others) in [("claude", "demo"), ("demo", "claude")] {
            assert_eq!(wh.post("/control/command", json!({ "command": format!("/target {agent}") })).status, 200);
            let before = chats(&wh).iter().filter(|(from, _)| from == others).count();
            assert_eq!(ask(&wh, &format!("hello {agent}"))["stage"], "finished");
            let all = chats(&wh);
            assert!(
                all.iter().any(|(from, text)| from == agent && text.contains(&format!("hello {agent}"))),
                "{all:?}"
            );
            assert_eq!(all.iter().filter(|(from, _)| from == others).count(), before, "{others} was not meant");
        }
        wh.post("/control/command", json!({ "command": "/target claude demo" }));
        let sent = wh.post("/message", json!({ "message": "tool: touch both.txt", "request_id": "both" }));
        assert_eq!(sent.status, 200, "{}", sent.text());
        wh.post("/control/command", json!({ "command": "/target demo" }));
        wh.post("/message", json!({ "message": "/demo ask", "request_id": "other" }));
        let open = eventually("both ask", || {
            let open = wh.get("/control/questions").json()["questions"].as_array().unwrap().clone();
            (open.len() == 2).then_some(open)
        });
        for question in open.iter().rev() {
            let answered = answer(&wh, question["id"].as_str().unwrap(), &option(question, "allow_once"));
            assert_eq!(answered.status, 200, "{}", answered.text());
        }
        assert_eq!(finished(&wh, "both")["stage"], "finished");
        assert_eq!(finished(&wh, "other")["stage"], "finished");
        assert!(lab.project.join("both.txt").exists());
    });
}

#[test]
fn the_doctor_reports_whether_claude_code_can_be_used() {
    Lab::inside("space::claude::the_doctor_reports_whether_claude_code_can_be_used", |lab| {
        let report = |with_key: bool| {
            let mut wh = lab.command(WH);
            if !with_key {
                wh.env_remove("ANTHROPIC_API_KEY");
            }
            let output = wh.args(["doctor", "--json"]).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let text = String::from_utf8(output.stdout).unwrap();
            let objects = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            objects.into_iter().find(|one| one["agent"] == "claude").unwrap()
        };
        let usable = report(true);
        assert_eq!((&usable["installed"], &usable["logged_in"]), (&json!(true), &json!("yes")), "{usable}");
        assert!(usable["version"].as_str().unwrap().starts_with("2."), "{usable}");
        let lacking = report(false);
        assert_eq!((&lacking["installed"], &lacking["logged_in"]), (&json!(true), &json!("no")), "{lacking}");
        assert!(lacking["hint"].as_str().unwrap().contains("claude auth login"), "{lacking}");
    });
}

#[test]
fn an_unknown_slash_command_is_not_finished_like_a_prompt() {
    Lab::inside("space::claude::an_unknown_slash_command_is_not_finished_like_a_prompt", |lab| {
        let wh = claude(lab, &[]);
        let unknown = wh.post("/message", json!({ "message": "/nosuchcommand" }));
        assert_eq!((unknown.status, unknown.json()["code"].clone()), (404, json!("unknown_command")));
        let literal = wh.post("/message", json!({ "message": "/nosuchcommand", "literal": true }));
        assert_eq!((literal.status, literal.json()["code"].clone()), (409, json!("not_literal")));
        // A message with explicit participants is never a slash command.
        for text in ["/nosuchcommand", "/nosuchcommand with words"] {
            let sent = wh.post("/message", json!({ "message": text, "to": ["claude"] })).json();
            let receipt = finished(&wh, sent["request_id"].as_str().unwrap());
            assert_eq!(receipt["stage"], "failed", "{receipt}");
            assert_eq!(receipt["reason"], "Claude Code has no command /nosuchcommand");
        }
        assert_eq!(ask(&wh, "Unknown command: is that so?")["stage"], "finished", "words are words");
    });
}
