//! Management of the real agents, offline: logins, models, MCP servers and sessions, with `wh agents`, `wh doctor` and
//! the HTTP API of a space.

use std::fs;
use std::process::Output;

use serde_json::{Value, json};
use wh_testkit::wh::Wh;
use wh_testkit::{Lab, eventually};

use super::{ask, chats, state};
use crate::WH;

/// API key variables of the lab.
const KEYS: [&str; 3] = ["ANTHROPIC_API_KEY", "LAB_KEY", "GEMINI_API_KEY"];

/// Runs `wh ARGS` in the lab without these variables.
fn wh(lab: &Lab, arguments: &[&str], without: &[&str]) -> Output {
    let mut wh = lab.command(WH);
    for name in without {
        wh.env_remove(name);
    }
    wh.args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[track_caller]
fn json_of(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {} {}", text(&output.stdout), text(&output.stderr)))
}

/// Returns the results of `wh doctor` for the three agents: installed, logged in, account.
fn doctor(lab: &Lab, without: &[&str]) -> [(Value, String, Value); 3] {
    let output = wh(lab, &["doctor", "--json"], without);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let lines: Vec<Value> = text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    ["claude", "codex", "gemini"].map(|id| {
        let one = lines.iter().find(|one| one["agent"] == id).unwrap_or_else(|| panic!("no {id} in {lines:?}"));
        (one["installed"].clone(), one["logged_in"].as_str().unwrap().to_owned(), one["account"].clone())
    })
}

#[test]
fn login_status_reports_the_account_in_use() {
    Lab::inside("space::managing::login_status_reports_the_account_in_use", |lab| {
        let by = |login: &str, account: Value| (json!(true), login.to_owned(), account);
        let keys = KEYS.map(|key| by("yes", json!(key)));
        assert_eq!(doctor(lab, &[]), keys, "by the variables");
        assert_eq!(doctor(lab, &KEYS), ["no", "no", "no"].map(|no| by(no, Value::Null)), "by nothing");

        // Login files instead of variables.
        let write = |name: &str, value: Value| fs::write(lab.home.join(name), value.to_string()).unwrap();
        fs::create_dir_all(lab.home.join(".claude")).unwrap();
        let token = json!({"accessToken": "x", "refreshToken": "y", "expiresAt": 4_102_444_800_000_u64,
            "scopes": ["user:inference", "user:profile"], "subscriptionType": "max"});
        write(".claude/.credentials.json", json!({ "claudeAiOauth": token }));
        fs::write(lab.home.join(".codex/config.toml"), "").unwrap();
        write(".codex/auth.json", json!({"auth_mode": "apikey", "OPENAI_API_KEY": "sk-test-1234567890abcdef"}));
        write(".gemini/settings.json", json!({"security": {"auth": {"selectedType": "oauth-personal"}}}));
        write(".gemini/oauth_creds.json", json!({"access_token": "x"}));
        write(".gemini/google_accounts.json", json!({"active": "someone@example.com"}));
        let [claude, codex, gemini] = doctor(lab, &KEYS);
        assert_eq!(claude.1, "yes", "{claude:?}");
        assert_eq!(codex, by("yes", json!("an API key")));
        assert_eq!(gemini, by("yes", json!("someone@example.com")));
        let out = wh(lab, &["agents", "logout", "codex"], &KEYS);
        assert!(text(&out.stdout).contains("✓ Successfully logged out"), "{out:?}");
        assert_eq!(doctor(lab, &KEYS)[1].1, "no");
    });
}

#[test]
fn login_status_depends_on_the_directory() {
    Lab::inside("space::managing::login_status_depends_on_the_directory", |lab| {
        let other = lab.home.join("other");
        fs::create_dir_all(&other).unwrap();
        fs::write(other.join(".env"), "GEMINI_API_KEY=of-the-directory\n").unwrap();
        let gemini = |arguments: &[&str]| {
            let list = json_of(&wh(lab, &[&["agents", "list", "--json"], arguments].concat(), &KEYS))["agents"].clone();
            list.as_array().unwrap().iter().find(|one| one["id"] == "gemini").unwrap()["logged_in"].clone()
        };
        assert_eq!(gemini(&[]), "no");
        assert_eq!(gemini(&["--cwd", other.to_str().unwrap()]), "yes");
    });
}

#[test]
fn missing_agents_have_an_install_hint() {
    Lab::inside("space::managing::missing_agents_have_an_install_hint", |lab| {
        let mut list = lab.command(WH);
        let list = list.env("PATH", "/usr/bin:/bin").args(["agents", "--json"]).output().unwrap();
        let agents = json_of(&list)["agents"].clone();
        for (id, package) in [("claude", "claude-code"), ("codex", "@openai/codex"), ("gemini", "gemini-cli")] {
            let one = agents.as_array().unwrap().iter().find(|one| one["id"] == id).unwrap();
            assert_eq!(one["installed"], false, "{one}");
            assert!(one["hint"].as_str().unwrap().contains(package), "{one}");
            for verb in ["status", "login", "logout", "models", "mcp", "sessions"] {
                let mut wh = lab.command(WH);
                let output = wh.env("PATH", "/usr/bin:/bin").args(["agents", verb, id]).output().unwrap();
                let said = text(&output.stdout) + &text(&output.stderr);
                assert!(said.contains("not installed") && said.contains(package), "{verb} {id}: {said}");
                assert_eq!(output.status.success(), verb == "status", "{verb} {id}");
            }
        }
        let nobody = wh(lab, &["agents", "status", "nobody"], &[]);
        assert!(nobody.status.code() == Some(2) && text(&nobody.stderr).contains("claude"), "{nobody:?}");
    });
}

#[test]
fn each_agent_is_managed_with_its_own_commands() {
    Lab::inside("space::managing::each_agent_is_managed_with_its_own_commands", |lab| {
        let agents = |arguments: &[&str]| wh(lab, &[&["agents"], arguments, &["--json"]].concat(), &[]);
        for id in ["claude", "codex"] {
            let models = json_of(&agents(&["models", id]))["models"].clone();
            let defaults = models.as_array().unwrap().iter().filter(|one| one["is_default"] == true).count();
            assert_eq!(defaults, 1, "{id}: {models}");
        }
        let none = agents(&["models", "gemini"]);
        assert!(none.status.code() == Some(4) && text(&none.stderr).contains("--model"), "{none:?}");

        for (program, arguments) in [
            ("claude", ["mcp", "add", "desk", "--", "/bin/true"]),
            ("codex", ["mcp", "add", "desk", "--", "/bin/true"]),
            ("gemini", ["mcp", "add", "desk", "/bin/true", "--scope=user"]),
        ] {
            assert_eq!(json_of(&agents(&["mcp", program])), json!({"servers": []}), "{program}");
            let added = lab.command(program).args(arguments).output().unwrap();
            assert!(added.status.success(), "{program}: {added:?}");
            let servers = json_of(&agents(&["mcp", program]))["servers"].clone();
            assert_eq!(servers[0]["name"], "desk", "{program}: {servers}");
        }
        let refused = agents(&["mcp", "gemini", "disable", "nothere"]);
        assert!(!refused.status.success() && text(&refused.stderr).contains("not found"), "{refused:?}");
        let cannot = agents(&["mcp", "codex", "disable", "desk"]);
        assert!(cannot.status.code() == Some(4) && text(&cannot.stderr).contains("no command"), "{cannot:?}");

        for (program, arguments) in [
            ("claude", &["-p", "what is this about"][..]),
            ("codex", &["exec", "--skip-git-repo-check", "what is this about"]),
            ("gemini", &["-m", "gemini-2.5-flash", "-p", "what is this about"]),
        ] {
            assert_eq!(json_of(&agents(&["sessions", program])), json!({"sessions": []}), "{program}");
            let said = lab.command(program).args(arguments).output().unwrap();
            assert!(said.status.success(), "{program}: {said:?}");
            let kept = json_of(&agents(&["sessions", program]))["sessions"].clone();
            assert_eq!(kept.as_array().unwrap().len(), 1, "{program}: {kept}");
            assert_eq!(kept[0]["title"], "what is this about", "{program}: {kept}");
        }

        let status = text(&wh(lab, &["agents", "status", "claude"], &[]).stdout);
        assert!(status.contains("✓ logged in with ANTHROPIC_API_KEY") && status.contains("desk"), "{status}");
        let gemini = wh(lab, &["agents", "login", "gemini"], &KEYS);
        let said = text(&gemini.stdout);
        assert!(gemini.status.code() == Some(4) && said.contains("GEMINI_API_KEY"), "{said}");
        let gemini = wh(lab, &["agents", "logout", "gemini"], &[]);
        assert!(gemini.status.code() == Some(4) && text(&gemini.stdout).contains("has no logout"), "{gemini:?}");
        let codex = text(&wh(lab, &["agents", "logout", "codex"], &[]).stdout);
        assert!(codex.contains("LAB_KEY is still set and keeps you logged in."), "{codex}");
        let offered = text(&wh(lab, &["agents", "mcp", "gemini"], &[]).stdout);
        assert!(offered.contains("/mcp disable NAME"), "{offered}");
        let offered = text(&wh(lab, &["agents", "mcp", "codex"], &[]).stdout);
        assert!(offered.contains("desk") && !offered.contains("/mcp disable"), "{offered}");
        let claude = text(&wh(lab, &["agents", "logout", "claude"], &[]).stdout);
        assert!(claude.contains("ANTHROPIC_API_KEY is still set and keeps you logged in."), "{claude}");
    });
}

#[test]
fn agents_join_a_space_and_resume_saved_sessions() {
    Lab::inside("space::managing::agents_join_a_space_and_resume_saved_sessions", |lab| {
        let wh = Wh::options(WH).space().environment(lab.env()).directory(&lab.project).start(&[]);
        wh.wait(r#"screen_contains "Type a message""#);
        let command = |line: &str| {
            let answer = wh.post("/control/command", json!({ "command": line }));
            assert_eq!(answer.status, 200, "{line}: {}", answer.text());
            let lines = answer.json()["lines"].as_array().unwrap().clone();
            lines.iter().map(|line| line.as_str().unwrap().to_owned()).collect::<Vec<_>>().join("\n")
        };
        let list = command("/agents");
        assert!(list.contains("* demo") && list.contains("logged in with LAB_KEY"), "{list}");
        assert!(command("/status codex").contains("not joined"));
        assert!(command("/models codex").contains("← default"));

        assert_eq!(command("/agent codex"), "Chat goes to codex.");
        let idle = |id: &str| {
            eventually("it is ready", || (state(&wh)["sessions"][id]["status"] == "idle").then_some(()));
        };
        idle("codex");
        assert_eq!(ask(&wh, "hello from outside")["stage"], "finished");
        let said = |from: &str| {
            chats(&wh).into_iter().filter(|(who, _)| who == from).map(|(_, text)| text).collect::<Vec<_>>()
        };
        assert!(said("codex").iter().any(|text| text.contains("hello from outside")), "{:?}", chats(&wh));
        assert_eq!(said("demo"), [""; 0], "chat goes to codex alone");

        let agents = wh.get("/agents").json()["agents"].clone();
        let codex = agents.as_array().unwrap().iter().find(|one| one["id"] == "codex").unwrap().clone();
        assert_eq!((&codex["taking_part"], &codex["account"]), (&json!(true), &json!("LAB_KEY")));
        let status = wh.get("/agents/codex").json();
        assert_eq!(status["agent"], codex);
        let kept = wh.get("/agents/codex/sessions").json()["sessions"].clone();
        assert_eq!(kept[0]["title"], "hello from outside", "{kept}");
        let running = &status["running"];
        assert_eq!((&running["turns"], &running["session"]), (&json!(1), &kept[0]["id"]), "{status}");
        assert!(running["model"].is_string() && running["mode"].is_string(), "{status}");
        let last = state(&wh)["sessions"]["codex"]["lastTurn"].clone();
        assert_eq!(
            (&last["outcome"], &last["tool_calls"], &last["model"]),
            (&json!("completed"), &json!(0), &running["model"])
        );
        assert!(last["duration_ms"].as_u64().unwrap() > 0, "{last}");
        let told = command("/status codex");
        let session = format!("  Session   {} (1 turn)", kept[0]["id"].as_str().unwrap());
        for line in ["Codex Status", "  Auth      ✓ logged in with LAB_KEY", &session, "  MCP       no servers"] {
            assert!(told.lines().any(|one| one == line), "{line} is not in {told}");
        }
        let again = wh.post("/agents/codex/start", json!({ "session": kept[0]["id"] }));
        assert_eq!(again.status, 200, "{}", again.text());
        idle("codex");
        assert_eq!(ask(&wh, "and again")["stage"], "finished");
        let told = lab.model.requests().last().unwrap().body.to_string();
        assert!(told.contains("hello from outside"), "it goes on with the same conversation");

        assert_eq!(state(&wh)["chatTargets"]["effective"], json!(["codex"]));
        assert_eq!(wh.post("/agents/demo/start", json!({})).status, 200);
        assert_eq!(state(&wh)["chatTargets"]["effective"], json!(["demo"]), "as /agent does");

        assert_eq!(wh.get("/agents/nobody").status, 404);
        assert_eq!(wh.post("/agents/codex/start", json!({ "session": "c0" })).status, 404);
        assert_eq!(wh.get("/agents/gemini/models").status, 409);
        let login = wh.post("/agents/claude/login", json!({})).json();
        assert_eq!((&login["pending"], &login["requires_manual_action"]), (&json!(true), &json!(true)), "{login}");
        assert!(login["instructions"].as_str().unwrap().contains("https://claude.com/"), "{login}");
        assert_eq!(wh.post("/agents/claude/login", json!({ "cancel": true })).status, 200);
        assert_eq!(wh.post("/agents/claude/login", json!({ "code": "x" })).status, 409, "it was stopped");
        let logout = wh.post("/agents/gemini/logout", json!({})).json();
        assert_eq!((&logout["success"], &logout["supported"]), (&json!(false), &json!(false)), "{logout}");
    });
}

/// Environment variables that provide a login or its location.
const SECRETS: [&str; 7] = [
    "ANTHROPIC_API_KEY",
    "LAB_KEY",
    "GEMINI_API_KEY",
    "OPENAI_API_KEY",
    "GOOGLE_API_KEY",
    "CODEX_HOME",
    "CLAUDE_CONFIG_DIR",
];

/// Environment without any login: an empty home directory.
fn stranger(lab: &Lab) -> Vec<(String, String)> {
    let home = lab.home.join("empty");
    fs::create_dir_all(&home).unwrap();
    let nothing = SECRETS.map(|name| (name.to_owned(), String::new()));
    lab.env().into_iter().chain(nothing).chain([("HOME".to_owned(), home.to_str().unwrap().to_owned())]).collect()
}

#[test]
fn each_command_works_without_a_login() {
    Lab::inside("space::managing::each_command_works_without_a_login", |lab| {
        let environment = stranger(lab);
        let agents = |verb: &str, id: &str| {
            let mut wh = lab.command(WH);
            let output = wh.envs(environment.clone()).args(["agents", verb, id]).output().unwrap();
            (output.status.code(), text(&output.stdout) + &text(&output.stderr))
        };
        for (id, hint) in [("claude", "`claude auth login`"), ("codex", "`codex login`"), ("gemini", "GEMINI_API_KEY")]
        {
            for (verb, code, wanted) in [
                ("status", 0, &["  Auth      not logged in", hint, "  MCP       no servers"][..]),
                ("mcp", 0, &["  No MCP servers."]),
                ("sessions", 0, &["has no saved conversations for this directory"]),
            ] {
                let (ended, said) = agents(verb, id);
                assert_eq!(ended, Some(code), "{verb} {id}: {said}");
                assert!(wanted.iter().all(|text| said.contains(text)), "{verb} {id}: {said}");
            }
        }
        for id in ["claude", "codex"] {
            let (ended, said) = agents("models", id);
            assert!(ended == Some(0) && said.contains("← default"), "{id}: {said}");
        }
        let (ended, said) = agents("models", "gemini");
        assert!(ended == Some(4) && said.contains("--model MODEL"), "{said}");
        for (id, code, wanted) in [
            ("claude", 0, "✓ Successfully logged out"),
            ("codex", 0, "✓ Not logged in"),
            ("gemini", 4, "Gemini CLI has no logout command: unset GEMINI_API_KEY"),
        ] {
            let (ended, said) = agents("logout", id);
            assert!(
                ended == Some(code) && said.contains(wanted) && !said.contains("keeps you logged in"),
                "{id}: {said}"
            );
        }
        let (ended, said) = agents("login", "gemini");
        assert!(ended == Some(4) && said.contains("Set GEMINI_API_KEY"), "{said}");

        // Browser logins in a space: each shows its URL and is cancelled.
        let mut wh = Wh::options(WH).space().environment(environment).directory(&lab.project).start(&[]);
        wh.wait(r#"screen_contains "Type a message""#);
        for (id, page) in [("claude", "https://claude.com/"), ("codex", "https://auth.openai.com/")] {
            let login = wh.post(&format!("/agents/{id}/login"), json!({})).json();
            assert_eq!((&login["pending"], &login["method"]), (&json!(true), &json!("browser")), "{login}");
            // On a busy machine the URL comes later, as a message in the space.
            eventually("the page is shown", || {
                let said = wh.get("/control/messages?limit=1000").json().to_string();
                (login.to_string().contains(page) || said.contains(page)).then_some(())
            });
            let stopped = wh.post(&format!("/agents/{id}/login"), json!({ "cancel": true }));
            assert_eq!(stopped.status, 200, "{}", stopped.text());
        }
        let login = wh.post("/agents/gemini/login", json!({})).json();
        assert_eq!((&login["pending"], &login["method"]), (&json!(false), &json!("env_var")), "{login}");
        let list = wh.get("/agents").json()["agents"].clone();
        for id in ["claude", "codex", "gemini"] {
            let one = list.as_array().unwrap().iter().find(|one| one["id"] == id).unwrap();
            assert_eq!(one["logged_in"], "no", "{one}");
            let can = &one["capabilities"];
            for ability in ["streaming", "resume", "thinking", "mcp", "session_listing"] {
                assert_eq!(can[ability], true, "{id}: {can}");
            }
            assert_eq!(can["mcp_switching"], id == "gemini", "{id}: {can}");
        }
        wh.signal(nix::sys::signal::Signal::SIGTERM);
        assert!(wh.wait_exit(wh_testkit::CONDITION_TIMEOUT).success());
    });
}

/// MCP server without tools.
const SERVER: &str = r#"
require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  if (id === undefined) return;
  const result = method === "initialize"
    ? { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "desk", version: "1" } }
    : method === "tools/list" ? { tools: [] } : {};
  console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
});
"#;

#[test]
fn a_running_agent_disables_and_enables_its_servers() {
    Lab::inside("space::managing::a_running_agent_disables_and_enables_its_servers", |lab| {
        let script = lab.home.join("desk.js");
        fs::write(&script, SERVER).unwrap();
        let server = ["mcp", "add", "desk", "--", "node", script.to_str().unwrap()];
        let added = lab.command("claude").args(server).output().unwrap();
        assert!(added.status.success(), "{added:?}");
        let wh = Wh::options(WH).space().environment(lab.env()).directory(&lab.project);
        let wh = wh.flags(&["--agent", "claude"]).start(&[]);
        eventually("it is ready", || (state(&wh)["sessions"]["claude"]["status"] == "idle").then_some(()));
        let mcp = |words: &str| {
            let answer = wh.post("/control/command", json!({ "command": format!("/mcp {words}") }));
            assert_eq!(answer.status, 200, "{words}: {}", answer.text());
            answer.json()["lines"].to_string()
        };
        eventually("it is there", || mcp("").contains("desk: connected").then_some(()));
        mcp("disable desk");
        eventually("it is off", || mcp("").contains("desk: disabled").then_some(()));
        mcp("enable desk");
        eventually("it is there again", || mcp("").contains("desk: connected").then_some(()));
    });
}
