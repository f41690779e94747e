//! Second instances of the real Claude Code and Codex, named in `agents.toml`.

use std::fs;

use serde_json::json;
use wh_testkit::wh::Wh;
use wh_testkit::{Lab, eventually};

use super::{ask, chats};
use crate::WH;

/// Starts a space with the agent that a file adds.
fn space(lab: &Lab, agent: &str, file: &str) -> Wh {
    let path = lab.home.join("agents.toml");
    fs::write(&path, file).unwrap();
    let wh = Wh::options(WH).space().environment(lab.env()).directory(&lab.project);
    let wh = wh.env("WH_AGENTS_FILE", path.display()).flags(&["--agent", agent]).start(&[]);
    wh.wait(r#"screen_contains "Type a message""#);
    wh
}

#[test]
fn a_second_claude_code_has_its_own_name_and_arguments() {
    Lab::inside("space::doubled::a_second_claude_code_has_its_own_name_and_arguments", |lab| {
        let file = "[agents.work]\nprotocol = \"claude\"\ntitle = \"Claude at work\"\n\
                    arguments = [\"--append-system-prompt\", \"The wheel of ${HOME} turns.\"]\n";
        let wh = space(lab, "work", file);
        assert_eq!(ask(&wh, "hello there")["stage"], "finished");
        assert!(chats(&wh).contains(&("work".to_owned(), "echo: hello there".to_owned())), "{:?}", chats(&wh));
        let words = format!("The wheel of {} turns.", lab.home.display());
        assert!(lab.model.requests().iter().any(|request| request.body.to_string().contains(&words)));
        let answer = wh.post("/control/command", json!({ "command": "/status" }));
        assert_eq!(answer.status, 200, "{}", answer.text());
        let said = eventually("it tells how it stands", || {
            let said = wh.get("/control/messages?limit=1000").json().to_string();
            said.contains("logged in with").then_some(said)
        });
        assert!(said.contains("Claude Code"), "{said}");
    });
}

#[test]
fn a_second_codex_has_its_own_name_and_program() {
    Lab::inside("space::doubled::a_second_codex_has_its_own_name_and_program", |lab| {
        let program = lab.clis.join("node_modules/.bin/codex");
        let file = format!(
            "[agents.second]\nprotocol = \"codex\"\ncommand = [\"not-this-one\", {:?}]\n",
            program.display().to_string()
        );
        let wh = space(lab, "second", &file);
        assert_eq!(ask(&wh, "hello there")["stage"], "finished");
        assert!(chats(&wh).contains(&("second".to_owned(), "echo: hello there".to_owned())), "{:?}", chats(&wh));
    });
}
