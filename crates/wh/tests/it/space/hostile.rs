//! Agents that mean no good, in the three protocols that wh speaks: whatever they say, wh goes on, holds no more than so
//! much of it, says what happened, and the next message is answered.

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

/// What wh may ever take, in bytes: a line of at most 64 MiB, read, decoded and copied once, and what it takes anyway.
/// An agent that says 100 MB at once, or bit by bit, may not make it take more.
const MOST_MEMORY: u64 = 320 * 1024 * 1024;

/// A space with an agent that means no good, and the directory that it is in.
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

    /// Asks for a deed; its receipt, and what the agent said in that turn.
    fn ask(&self, deed: &str) -> (Value, Vec<String>) {
        let before = chats(&self.wh).len();
        let sent = self.wh.post("/message", json!({ "message": deed }));
        assert_eq!(sent.status, 200, "{deed}: {}", sent.text());
        let receipt = finished(&self.wh, sent.json()["request_id"].as_str().unwrap());
        let said = chats(&self.wh).into_iter().skip(before).filter(|(from, _)| from == self.agent);
        (receipt, said.map(|(_, text)| text).collect())
    }

    /// After the deed the turn ends as it should, and so does the next one.
    #[track_caller]
    fn survives(&self, deed: &str, said: &[&str]) {
        let (receipt, words) = self.ask(deed);
        assert_eq!(
            (receipt["stage"].as_str(), &words[..]),
            (Some("finished"), &said.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>()[..]),
            "{deed}: {receipt}"
        );
        self.answers();
    }

    #[track_caller]
    fn answers(&self) {
        let (receipt, words) = self.ask("hello");
        assert_eq!((receipt["stage"].as_str(), &words[..]), (Some("finished"), &["fine".to_owned()][..]), "{receipt}");
    }

    /// What wh itself said.
    fn notices(&self) -> String {
        let messages = state(&self.wh)["messages"].clone();
        let all = messages
            .as_array()
            .unwrap()
            .iter()
            .filter(|one| one["kind"].as_str().is_some_and(|kind| kind.starts_with("system/")));
        all.map(|one| format!("{}\n", one["payload"])).collect()
    }

    /// What wh has taken at most.
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

fn says_what_nobody_knows(agent: &'static str) {
    let Some(hostile) = Hostile::new(agent) else { return };
    hostile.survives("unknown", &["fine"]);
    hostile.survives("never asked", &["fine"]);
    hostile.survives("twice", &["fine"]);
    hostile.survives("malformed", &["fine"]);
    let said = hostile.notices();
    assert!(said.contains("cannot be read") || said.contains("passed over"), "{said}");
    hostile.is_within_bounds();
}

fn dies_in_the_middle_of_a_line(agent: &'static str) {
    let Some(hostile) = Hostile::new(agent) else { return };
    hostile.answers();
    let (receipt, _) = hostile.ask("half");
    assert_eq!(receipt["stage"], "failed");
    assert!(receipt["reason"].as_str().unwrap().contains("exited with 3"), "{receipt}");
    hostile.answers();
}

fn says_too_much(agent: &'static str) {
    let Some(hostile) = Hostile::new(agent) else { return };
    hostile.survives("huge", &["fine"]);
    assert!(hostile.notices().contains("100"), "it says how long it was: {}", hostile.notices());
    let shown = |deed: &str, whole: &str| {
        let (receipt, said) = hostile.ask(deed);
        assert_eq!((receipt["stage"].as_str(), said.len()), (Some("finished"), 1), "{deed}: {receipt}");
        assert_eq!(said[0].len(), 200_000, "{deed}");
        let notice = format!("200 KB of {whole} shown");
        assert!(hostile.notices().contains(&notice), "{deed}: {}", hostile.notices());
        hostile.answers();
    };
    shown("large", "20 MB");
    shown("flood", "100 MB");
    hostile.survives("tool", &["fine"]);
    hostile.is_within_bounds();

    let wh = &hostile.wh;
    wh.wait(r#"screen_contains "… 50 KB of 30 MB shown; all of it: wh output i""#);
    let body = wh.get("/control/messages?kind=mcp/response&limit=1").json();
    let id = body["messages"][0]["id"].as_str().unwrap().trim_end_matches(".end").to_owned();
    let last = wh.get(&format!("/control/items/{id}/output?offset=29999990")).json();
    assert_eq!((last["text"].as_str(), last["next"].clone()), (Some("  2999999\n"), Value::Null), "all of it is there");
}

#[test]
fn what_is_said_before_an_agent_can_be_used_is_bounded() {
    for agent in ["gemini", "codex", "claude"] {
        let Some(hostile) = Hostile::with(agent, &[("FLOOD_FIRST", "1500")]) else { return };
        let (receipt, words) = hostile.ask("hello");
        // What was never completed is listed at the end of the turn.
        let answer = words.iter().find(|word| *word == "fine").map(String::as_str);
        assert_eq!((receipt["stage"].as_str(), answer), (Some("finished"), Some("fine")));
        let memory = hostile.memory();
        assert!(memory < 100_000_000, "with {agent}, wh took {} MB of 150", memory / 1_000_000);
    }
}

macro_rules! for_every_protocol {
    ($($deed:ident),*) => { $(
        mod $deed {
            #[test]
            fn in_the_agent_client_protocol() {
                super::$deed("gemini");
            }

            #[test]
            fn in_codexs_app_server() {
                super::$deed("codex");
            }

            #[test]
            fn in_claudes_stream_json() {
                super::$deed("claude");
            }
        }
    )* };
}

for_every_protocol!(says_what_nobody_knows, dies_in_the_middle_of_a_line, says_too_much);
