//! The same action over different interfaces gives the same events and transcript.

use serde_json::{Value, json};
use wh_testkit::http::TestRequest;
use wh_testkit::wh::Wh;
use wh_testkit::{Tmux, eventually};

use super::{finished, option, question, say, space};
use crate::WH;

/// Returns the conversation without values that differ between runs.
fn conversation(wh: &Wh) -> Vec<Value> {
    let body = wh.get("/control/messages?limit=1000").json();
    let normal = |message: &Value| {
        let mut message = message.clone();
        (message["receivedAt"], message["ts"]) = (Value::Null, Value::Null);
        message
    };
    body["messages"].as_array().unwrap().iter().map(normal).collect()
}

/// Returns the transcript on the screen: the rows above the composer without times.
fn transcript(screen: &str) -> Vec<String> {
    let time = regex::Regex::new(r"\d\d:\d\d(:\d\d)?").unwrap();
    let spent = regex::Regex::new(r"\d+(\.\d+)?(ms|s)\b").unwrap();
    let lines = screen.lines().take_while(|line| !line.contains("Type a message"));
    let normal = |line: &str| spent.replace_all(&time.replace_all(line, "--:--"), "-s").trim_end().to_owned();
    let mut lines: Vec<String> = lines.map(normal).collect();
    while lines.last().is_some_and(|line| line.is_empty() || line.chars().all(|one| "─▔╭╮╰╯ ".contains(one)))
    {
        lines.pop();
    }
    lines
}

fn settle(wh: &Wh) {
    wh.wait("no_pending_operations and not reasoning_active");
    eventually("the agent is idle", || (super::state(wh)["sessions"]["demo"]["status"] == "idle").then_some(()));
    wh.wait("screen_stable 300");
}

#[test]
fn a_message_is_the_same_by_send_input_and_by_post() {
    let (typed, posted) = (space(), space());
    say(&typed, "hello there");
    posted.post("/message", json!({ "message": "hello there", "request_id": "one" }));
    finished(&posted, "one");
    settle(&typed);
    settle(&posted);
    assert_eq!(conversation(&typed), conversation(&posted));
    assert_eq!(transcript(&typed.plain()), transcript(&posted.plain()));
}

#[test]
fn an_answer_is_the_same_by_typing_and_by_id() {
    let (typed, answered) = (space(), space());
    for wh in [&typed, &answered] {
        wh.post("/message", json!({ "message": "/demo edit" }));
        let asked = question(wh);
        wh.wait(&format!("screen_contains {}", asked["title"]));
    }
    typed.key("1");
    let asked = question(&answered);
    super::answer(&answered, asked["id"].as_str().unwrap(), &option(&asked, "allow_once"));
    settle(&typed);
    settle(&answered);
    assert_eq!(conversation(&typed), conversation(&answered));
    assert_eq!(transcript(&typed.plain()), transcript(&answered.plain()));
}

#[test]
fn a_message_is_the_same_from_the_keyboard() {
    if !wh_testkit::tools::present(&["tmux"]) {
        return;
    }
    let typed = space();
    say(&typed, "hello there");
    settle(&typed);
    let runtime = tempfile::tempdir().unwrap();
    let directory = runtime.path().display().to_string();
    let command = format!("XDG_RUNTIME_DIR={directory} {WH} --control-port 0 -- --seed 7 --pace 0 2> {directory}/said");
    let tmux = Tmux::start(120, 40, &["bash", "--norc", "-c", &command]);
    tmux.wait_for("Type a message");
    tmux.send_text("hello there");
    tmux.wait_for("hello there");
    tmux.send_keys(&["Enter"]);
    let port = eventually("the port is said", || {
        let said = std::fs::read_to_string(runtime.path().join("said")).ok()?;
        let line: Value = said.lines().find_map(|line| serde_json::from_str(line).ok())?;
        line["port"].as_u64()
    });
    let get = |path: &str| TestRequest::get(path).send(u16::try_from(port).unwrap()).unwrap().json();
    let mine = eventually("the conversation is the same", || {
        let body = get("/control/messages?limit=1000");
        let mut mine = body["messages"].as_array().unwrap().clone();
        mine.iter_mut().for_each(|message| (message["receivedAt"], message["ts"]) = (Value::Null, Value::Null));
        (mine.len() == conversation(&typed).len()).then_some(mine)
    });
    assert_eq!(mine, conversation(&typed));
}
