//! The real agents managed, offline: who is logged in, their models, MCP servers and conversations; by `wh agents`, by
//! `wh doctor`, and in a space through the door.

use std::fs;
use std::process::Output;

use serde_json::{Value, json};
use wh_testkit::wh::Wh;
use wh_testkit::{Lab, eventually};

use super::{ask, chats, state};
use crate::WH;

/// The three keys of the lab.
const KEYS: [&str; 3] = ["ANTHROPIC_API_KEY", "LAB_KEY", "GEMINI_API_KEY"];

/// `wh ARGS` in the lab, without these variables.
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

/// What the doctor says of the three: installed, logged in, by what.
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
fn who_is_logged_in_is_told_by_what_would_be_used() {
    Lab::inside("space::managing::who_is_logged_in_is_told_by_what_would_be_used", |lab| {
        let by = |login: &str, account: Value| (json!(true), login.to_owned(), account);
        let keys = KEYS.map(|key| by("yes", json!(key)));
        assert_eq!(doctor(lab, &[]), keys, "by the variables");
        assert_eq!(doctor(lab, &KEYS), ["no", "no", "no"].map(|no| by(no, Value::Null)), "by nothing");

        // Files in the place of variables.
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
fn who_is_logged_in_is_told_as_of_the_directory() {
    Lab::inside("space::managing::who_is_logged_in_is_told_as_of_the_directory", |lab| {
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
fn what_is_not_installed_is_said_with_what_to_run() {
    Lab::inside("space::managing::what_is_not_installed_is_said_with_what_to_run", |lab| {
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
fn each_is_asked_by_its_own_commands() {
    Lab::inside("space::managing::each_is_asked_by_its_own_commands", |lab| {
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
        assert!(status.contains("✓ logged in by ANTHROPIC_API_KEY") && status.contains("desk"), "{status}");
        let gemini = wh(lab, &["agents", "login", "gemini"], &KEYS);
        let said = text(&gemini.stdout);
        assert!(gemini.status.code() == Some(4) && said.contains("GEMINI_API_KEY"), "{said}");
        let gemini = wh(lab, &["agents", "logout", "gemini"], &[]);
        assert!(gemini.status.code() == Some(4) && text(&gemini.stdout).contains("has no logout"), "{gemini:?}");
        let claude = text(&wh(lab, &["agents", "logout", "claude"], &[]).stdout);
        assert!(claude.contains("ANTHROPIC_API_KEY is set, and still logs in."), "{claude}");
    });
}

#[test]
fn agents_come_into_a_space_and_go_on_with_what_they_keep() {
    Lab::inside("space::managing::agents_come_into_a_space_and_go_on_with_what_they_keep", |lab| {
        let wh = Wh::options(WH).space().environment(lab.env()).directory(&lab.project).start(&[]);
        wh.wait(r#"screen_contains "Type a message""#);
        let command = |line: &str| {
            let answer = wh.post("/control/command", json!({ "command": line }));
            assert_eq!(answer.status, 200, "{line}: {}", answer.text());
            let lines = answer.json()["lines"].as_array().unwrap().clone();
            lines.iter().map(|line| line.as_str().unwrap().to_owned()).collect::<Vec<_>>().join("\n")
        };
        let list = command("/agents");
        assert!(list.contains("* demo") && list.contains("logged in by LAB_KEY"), "{list}");
        assert!(command("/status codex").contains("does not take part"));
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
        assert_eq!(wh.get("/agents/codex").json()["agent"], codex);
        let kept = wh.get("/agents/codex/sessions").json()["sessions"].clone();
        assert_eq!(kept[0]["title"], "hello from outside", "{kept}");
        let again = wh.post("/agents/codex/start", json!({ "session": kept[0]["id"] }));
        assert_eq!(again.status, 200, "{}", again.text());
        idle("codex");
        assert_eq!(ask(&wh, "and again")["stage"], "finished");
        let told = lab.model.requests().last().unwrap().body.to_string();
        assert!(told.contains("hello from outside"), "it goes on with the same conversation");

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
