//! Misbehaving agents in all three protocols: wh keeps running with bounded memory, reports the problem, and the next
//! message is answered.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use tempfile::TempDir;
use wh_testkit::tools::present;
use wh_testkit::wh::Wh;

use super::{chats, finished, state};
use crate::WH;

const AGENT: &str = include_str!("hostile/agent.py");

/// Maximum memory of wh in bytes: its base memory and a line of 64 MiB that is read, decoded and copied once. An agent
/// that sends 100 MB must not exceed it.
const MOST_MEMORY: u64 = 320 * 1024 * 1024;

/// Space with a misbehaving agent, and its directory.
struct Hostile {
    wh: Wh,
    agent: &'static str,
    _directory: TempDir,
}

impl Hostile {
    fn new(agent: &'static str) -> Option<Self> {
        Self::with(agent, &[])
    }

    fn with(agent: &'static str, environment: &[(&str, &str)]) -> Option<Self> {
        if !present(&["python3"]) {
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join(agent);
        fs::write(&program, AGENT).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let path = format!("{}:{}", directory.path().display(), std::env::var("PATH").unwrap_or_default());
        let wh = Wh::options(WH).space().env("PATH", path).env("HOME", directory.path().display());
        let wh = environment.iter().fold(wh, |wh, (name, value)| wh.env(name, value));
        let wh = wh.directory(directory.path()).flags(&["--agent", agent]).start(&[]);
        wh.wait(r#"screen_contains "Type a message""#);
        Some(Self { wh, agent, _directory: directory })
    }

    /// Requests one misbehaviour. Returns the receipt and the agent's text of that turn.
    fn ask(&self, scenario: &str) -> (Value, Vec<String>) {
        let before = chats(&self.wh).len();
        let sent = self.wh.post("/message", json!({ "message": scenario }));
        assert_eq!(sent.status, 200, "{scenario}: {}", sent.text());
        let receipt = finished(&self.wh, sent.json()["request_id"].as_str().unwrap());
        let said = chats(&self.wh).into_iter().skip(before).filter(|(from, _)| from == self.agent);
        (receipt, said.map(|(_, text)| text).collect())
    }

    /// Checks that the turn of the misbehaviour and the next one end normally.
    #[track_caller]
    fn survives(&self, scenario: &str, said: &[&str]) {
        let (receipt, words) = self.ask(scenario);
        assert_eq!(
            (receipt["stage"].as_str(), &words[..]),
            (Some("finished"), &said.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>()[..]),
            "{scenario}: {receipt}"
        );
        self.answers();
    }

    #[track_caller]
    fn answers(&self) {
        let (receipt, words) = self.ask("hello");
        assert_eq!((receipt["stage"].as_str(), &words[..]), (Some("finished"), &["fine".to_owned()][..]), "{receipt}");
    }

    /// Returns the system messages of wh.
    fn notices(&self) -> String {
        let messages = state(&self.wh)["messages"].clone();
        let all = messages
            .as_array()
            .unwrap()
            .iter()
            .filter(|one| one["kind"].as_str().is_some_and(|kind| kind.starts_with("system/")));
        all.map(|one| format!("{}\n", one["payload"])).collect()
    }

    /// Returns the peak memory of wh.
    fn memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.wh.pid())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }

    #[track_caller]
    fn is_within_bounds(&self) {
        let memory = self.memory();
        let _ = writeln!(std::io::stdout(), "with {}, wh took {} MB at most", self.agent, memory / 1_000_000);
        assert!(memory < MOST_MEMORY, "wh took {} MB", memory / 1_000_000);
    }
}

fn unknown_messages(agent: &'static str) {
    let Some(hostile) = Hostile::new(agent) else { return };
    hostile.survives("unknown", &["fine"]);
    hostile.survives("never asked", &["fine"]);
    hostile.survives("twice", &["fine"]);
    hostile.survives("malformed", &["fine"]);
    let said = hostile.notices();
    assert!(said.contains("unreadable") || said.contains("skipped"), "{said}");
    hostile.is_within_bounds();
}

fn exit_within_a_line(agent: &'static str) {
    let Some(hostile) = Hostile::new(agent) else { return };
    hostile.answers();
    let (receipt, _) = hostile.ask("half");
    assert_eq!(receipt["stage"], "failed");
    assert!(receipt["reason"].as_str().unwrap().contains("exited with 3"), "{receipt}");
    hostile.answers();
}

fn oversized_messages(agent: &'static str) {
    let Some(hostile) = Hostile::new(agent) else { return };
    hostile.survives("huge", &["fine"]);
    assert!(hostile.notices().contains("100"), "it says how long it was: {}", hostile.notices());
    let shown = |scenario: &str, whole: &str| {
        let (receipt, said) = hostile.ask(scenario);
        assert_eq!((receipt["stage"].as_str(), said.len()), (Some("finished"), 1), "{scenario}: {receipt}");
        assert_eq!(said[0].len(), 200_000, "{scenario}");
        let notice = format!("200 KB of {whole} shown");
        assert!(hostile.notices().contains(&notice), "{scenario}: {}", hostile.notices());
        hostile.answers();
    };
    shown("large", "20 MB");
    shown("flood", "100 MB");
    hostile.survives("tool", &["fine"]);
    hostile.is_within_bounds();

    let wh = &hostile.wh;
    wh.wait(r#"screen_contains "… 50 KB of 30 MB shown; full text: wh output i""#);
    let body = wh.get("/control/messages?kind=mcp/response&limit=1").json();
    let id = body["messages"][0]["id"].as_str().unwrap().trim_end_matches(".end").to_owned();
    let last = wh.get(&format!("/control/items/{id}/output?offset=29999990")).json();
    assert_eq!((last["text"].as_str(), last["next"].clone()), (Some("  2999999\n"), Value::Null), "all of it is there");
}

#[test]
fn output_before_the_handshake_is_bounded() {
    for agent in ["gemini", "codex", "claude"] {
        let Some(hostile) = Hostile::with(agent, &[("FLOOD_FIRST", "1500")]) else { return };
        let (receipt, words) = hostile.ask("hello");
        // Incomplete tool calls are listed at the end of the turn.
        let answer = words.iter().find(|word| *word == "fine").map(String::as_str);
        assert_eq!((receipt["stage"].as_str(), answer), (Some("finished"), Some("fine")));
        let memory = hostile.memory();
        assert!(memory < 100_000_000, "with {agent}, wh took {} MB of 150", memory / 1_000_000);
    }
}

macro_rules! for_every_protocol {
    ($($scenario:ident),*) => { $(
        mod $scenario {
            #[test]
            fn in_the_agent_client_protocol() {
                super::$scenario("gemini");
            }

            #[test]
            fn in_codexs_app_server() {
                super::$scenario("codex");
            }

            #[test]
            fn in_claudes_stream_json() {
                super::$scenario("claude");
            }
        }
    )* };
}

for_every_protocol!(unknown_messages, exit_within_a_line, oversized_messages);
