//! The real agents in their own terminal UI under `wh run`, offline with the scripted model.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};
use wh_testkit::wh::Wh;
use wh_testkit::{Lab, eventually};

use crate::WH;

/// Files of the user into which agents write settings, below the home directory.
const SETTINGS: [&str; 3] = [".claude/settings.json", ".codex/config.toml", ".gemini/settings.json"];

/// Agent under test.
struct TerminalAgent {
    id: &'static str,
    /// Command that leaves the agent.
    quit: &'static str,
}

const CLAUDE: TerminalAgent = TerminalAgent { id: "claude", quit: "/exit" };
const CODEX: TerminalAgent = TerminalAgent { id: "codex", quit: "/quit" };
const GEMINI: TerminalAgent = TerminalAgent { id: "gemini", quit: "/quit" };

impl TerminalAgent {
    fn start(&self, lab: &Lab) -> Wh {
        let wh = Wh::options(WH).environment(lab.env()).directory(&lab.project).flags(&["--size", "100x32"]);
        let wh = wh.start(&["--", self.id]);
        let early = wh.post("/message", json!({ "message": "too early" }));
        assert!(early.status == 503 || early.status == 200, "{}", early.text());
        eventually("the composer is on the screen", || (self.state(&wh)["status"] == "idle").then_some(()));
        wh
    }

    /// Returns the state of the agent.
    fn state(&self, wh: &Wh) -> Value {
        wh.get("/control/state").json()["sessions"][self.id].clone()
    }
}

/// Sends a message. Returns its request id.
fn send(wh: &Wh, message: &str) -> String {
    let answer = wh.post("/message", json!({ "message": message }));
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["request_id"].as_str().unwrap().to_owned()
}

fn receipt(wh: &Wh, id: &str) -> Value {
    wh.get(&format!("/control/receipts/{id}")).json()
}

/// Waits for the final receipt of a message.
fn finished(wh: &Wh, id: &str) -> Value {
    eventually("the message has a final receipt", || {
        let receipt = receipt(wh, id);
        matches!(receipt["stage"].as_str(), Some("finished" | "failed")).then_some(receipt)
    })
}

fn texts(wh: &Wh) -> Vec<(String, String)> {
    let history = wh.get("/history").json();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    history.as_array().unwrap().iter().map(|entry| (text(&entry["role"]), text(&entry["text"]))).collect()
}

/// Returns how often a text is in the conversation that the model received.
fn prompted(lab: &Lab, text: &str) -> usize {
    let requests = lab.model.requests();
    requests.iter().map(|request| request.body.to_string().matches(text).count()).max().unwrap_or_default()
}

fn said(role: &str, text: &str) -> (String, String) {
    (role.to_owned(), text.to_owned())
}

/// Sends a message to an idle agent, and reads the conversation beside its screen.
fn converses(lab: &Lab, agent: &TerminalAgent, wh: &Wh) {
    let first = finished(wh, &send(wh, "hello there"));
    assert_eq!(first["stage"], "finished", "{first}");
    let stages: Vec<&str> =
        first["reached"].as_array().unwrap().iter().map(|one| one["stage"].as_str().unwrap()).collect();
    assert_eq!(stages, ["accepted", "delivered", "submitted", "started", "finished"]);
    assert_eq!(texts(wh)[..2], [said("user", "hello there"), said("model", "echo: hello there")]);
    assert_eq!(prompted(lab, "hello there"), 1);
    let state = agent.state(wh);
    assert!(state["observation"].is_string(), "the state names its evidence: {state}");
}

/// Leaves a draft of a person alone while a message waits.
fn spares_a_draft(lab: &Lab, agent: &TerminalAgent, wh: &Wh) {
    wh.text("half a thought");
    wh.wait(r#"screen_contains "half a thought""#);
    let waiting = send(wh, "after the draft");
    eventually("the state names the draft", || {
        let (state, receipt) = (agent.state(wh), receipt(wh, &waiting));
        assert_eq!(receipt["stage"], "accepted", "{state} {receipt}");
        (state["waitsFor"] == "a draft is in the composer").then_some(())
    });
    assert_eq!(receipt(wh, &waiting)["stage"], "accepted");
    assert_eq!(prompted(lab, "half a thought"), 0);
    for _ in 0.."half a thought".len() {
        wh.key("backspace");
    }
    assert_eq!(finished(wh, &waiting)["stage"], "finished");
    assert_eq!((prompted(lab, "after the draft"), prompted(lab, "half a thought")), (1, 0));
}

/// Answers a question by its id while a message waits, and text for the dialog is refused.
fn answers_by_id(lab: &Lab, wh: &Wh, option: &str, granted: bool) {
    let witness = format!("witness-{option}");
    let asking = send(wh, &format!("tool: touch {witness}"));
    let question =
        eventually("a question is open", || wh.get("/control/questions").json()["questions"].get(0).cloned());
    assert_eq!(
        wh.get("/control/state").json()["sessions"].as_object().unwrap().values().next().unwrap()["status"],
        "waiting"
    );
    let waiting = send(wh, &format!("yes please {option}"));
    let refused = wh.post("/control/send_input", json!({ "text": "y" }));
    assert_eq!((refused.status, refused.json()["code"].as_str()), (409, Some("question_open")));
    assert!(!lab.project.join(&witness).exists(), "nothing has answered the question");
    let wanted = |one: &&Value| one["kind"].as_str() == Some(option);
    let chosen = question["options"].as_array().unwrap().iter().find(wanted).expect("the option is there");
    let answer = json!({ "id": question["id"], "option": chosen["id"] });
    let answered = wh.post("/control/answer", answer);
    assert_eq!(answered.status, 200, "{}", answered.text());
    finished(wh, &asking);
    assert_eq!(finished(wh, &waiting)["stage"], "finished");
    assert_eq!(prompted(lab, &format!("yes please {option}")), 1);
    assert_eq!(lab.project.join(&witness).exists(), granted);
}

/// Interrupts a turn, and sends the next message at once.
fn interrupts(lab: &Lab, wh: &Wh) {
    let slow = send(wh, "slow: 600");
    wh.wait(r#"screen_contains "word3""#);
    let interrupted = wh.post("/control/interrupt", json!({}));
    assert_eq!(interrupted.status, 200, "{}", interrupted.text());
    let next = send(wh, "please continue");
    let end = finished(wh, &slow);
    assert_eq!((end["stage"].as_str(), end["code"].as_str()), (Some("failed"), Some("cancelled")), "{end}");
    assert_eq!(finished(wh, &next)["stage"], "finished");
    assert_eq!(prompted(lab, "please continue"), 1);
}

fn leaves(agent: &TerminalAgent, mut wh: Wh) {
    wh.text(agent.quit);
    wh.wait(&format!("screen_contains {:?}", agent.quit));
    wh.key("enter");
    assert!(wh.ended(Duration::from_secs(60)).is_some(), "the agent has left");
}

fn works(test_name: &str, agent: &TerminalAgent, asks: bool) {
    Lab::inside(test_name, |lab| {
        let wh = agent.start(lab);
        converses(lab, agent, &wh);
        spares_a_draft(lab, agent, &wh);
        if asks {
            answers_by_id(lab, &wh, "allow_once", true);
            answers_by_id(lab, &wh, "reject_once", false);
        }
        interrupts(lab, &wh);
        leaves(agent, wh);
        // The agents write settings of their own, but none that calls wh.
        for path in SETTINGS {
            let written = fs::read_to_string(lab.home.join(path)).unwrap_or_default();
            assert!(!written.contains("hook"), "{path}: {written}");
        }
    });
}

#[test]
fn claude_is_driven_through_its_own_screen() {
    works("terminal_agents::claude_is_driven_through_its_own_screen", &CLAUDE, true);
}

#[test]
fn codex_is_driven_through_its_own_screen() {
    works("terminal_agents::codex_is_driven_through_its_own_screen", &CODEX, false);
}

#[test]
fn gemini_is_driven_through_its_own_screen() {
    works("terminal_agents::gemini_is_driven_through_its_own_screen", &GEMINI, true);
}
