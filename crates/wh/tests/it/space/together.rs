//! Four agents in one space: each answers its own messages, and their questions are answered by id in any order.

use std::path::PathBuf;

use serde_json::{Value, json};
use wh_testkit::wh::Wh;
use wh_testkit::{Lab, eventually};

use super::{answer, chats, finished, option, state};
use crate::WH;

const AGENTS: [&str; 4] = ["demo", "claude", "codex", "gemini"];

/// Sends a message to one agent and returns the request id.
fn tell(wh: &Wh, agent: &str, message: &str) -> String {
    let sent = wh.post("/message", json!({ "message": message, "to": [agent] }));
    assert_eq!(sent.status, 200, "{}", sent.text());
    sent.json()["request_id"].as_str().unwrap().to_owned()
}

/// Returns the messages of this agent.
fn said(wh: &Wh, agent: &str) -> Vec<String> {
    chats(wh).into_iter().filter(|(from, _)| from == agent).map(|(_, text)| text.trim().to_owned()).collect()
}

/// Saves a screenshot if `WH_PICTURES` is set.
fn picture(wh: &Wh, name: &str) {
    if let Some(directory) = std::env::var_os("WH_PICTURES") {
        let shot = wh.get("/control/screenshot.png");
        std::fs::write(PathBuf::from(directory).join(name), &shot.body).unwrap();
    }
}

#[test]
fn four_agents_in_one_space() {
    Lab::inside("space::together::four_agents_in_one_space", |lab| {
        let agents: Vec<&str> = AGENTS.iter().flat_map(|agent| ["--agent", agent]).collect();
        let wh = Wh::options(WH).space().environment(lab.env()).directory(&lab.project);
        let wh = wh.flags(&["--size", "110x58"]).flags(&agents).start(&[]);
        eventually("all of them are ready", || {
            let sessions = state(&wh)["sessions"].clone();
            AGENTS.iter().all(|agent| sessions[agent]["status"] == "idle").then_some(())
        });

        let asked: Vec<String> = AGENTS.iter().map(|agent| tell(&wh, agent, &format!("hello {agent}"))).collect();
        for id in &asked {
            assert_eq!(finished(&wh, id)["stage"], "finished");
        }
        for agent in &AGENTS[1..] {
            assert_eq!(said(&wh, agent), [format!("echo: hello {agent}")]);
        }
        assert!(said(&wh, "demo").iter().any(|text| text.contains("hello demo")), "{:?}", said(&wh, "demo"));
        assert_eq!(lab.model.prompts().len(), 3, "nobody else was asked: {:?}", lab.model.prompts());

        let one = tell(&wh, "claude", "tool: touch of-claude.txt");
        let other = tell(&wh, "gemini", "tool: touch of-gemini.txt");
        let open = eventually("both ask", || {
            let open = wh.get("/control/questions").json()["questions"].as_array().unwrap().clone();
            (open.len() == 2).then_some(open)
        });
        let of = |agent: &str| -> Value { open.iter().find(|question| question["from"] == agent).unwrap().clone() };
        assert!(
            of("claude").to_string().contains("of-claude.txt") && of("gemini").to_string().contains("of-gemini.txt")
        );
        wh.wait(r#"screen_contains "of-claude.txt" and screen_contains "of-gemini.txt""#);
        picture(&wh, "together-asking.png");
        // The last question is answered first, with another option than the others.
        let (last, first) = (&open[1], &open[0]);
        assert_eq!(answer(&wh, last["id"].as_str().unwrap(), &option(last, "reject_once")).status, 200);
        assert_eq!(answer(&wh, first["id"].as_str().unwrap(), &option(first, "allow_once")).status, 200);
        assert_eq!(
            (&finished(&wh, &one)["stage"], &finished(&wh, &other)["stage"]),
            (&json!("finished"), &json!("finished"))
        );
        for (question, made) in [(first, true), (last, false)] {
            let file = format!("of-{}.txt", question["from"].as_str().unwrap());
            assert_eq!(lab.project.join(&file).exists(), made, "{file}");
        }

        wh.wait(r#"screen_contains "◆ claude" and screen_contains "◆ gemini" and idle"#);
        let screen = wh.plain();
        for agent in AGENTS {
            assert!(screen.contains(&format!("◆ {agent}")), "{agent} has its name on the screen:\n{screen}");
        }
        assert!(screen.contains("echo: hello codex"), "{screen}");
        picture(&wh, "together.png");
    });
}
