//! The daemon and its interfaces end to end: the real binary, a real socket, several shells.

mod authorization;
mod clock;
mod damage;
mod durability;
mod ended;
mod examples;
mod http;
mod inside;
mod once;
mod real;
mod references;
mod request_ids;
mod resource_limits;
mod restart;
mod sender;
mod shells;
mod silent;
mod socket;
mod specs;
mod stalled;
mod stalled_agent;
mod stop;
mod teams;
mod terminal_interrupts;
mod test_daemon;
mod unread;
mod unseen;

use serde_json::{Value, json};
use wh_testkit::tools;

use test_daemon::{Session, TestDaemon};

/// Formats the time `seconds` from now for a message.
fn moment(seconds: i64) -> String {
    let now = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(seconds);
    now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// False, with a notice, if the test cannot act as another user. Needs python.
#[track_caller]
fn can_be_another_user() -> bool {
    if !tools::present(&["python3"]) {
        return false;
    }
    let is_root = nix::unistd::geteuid().is_root();
    if !is_root {
        tools::skip("only root can be another user", true);
    }
    is_root
}

/// Bash script of an Agent Client Protocol agent. `first` runs at its start, `then` once it has a session.
fn acp_agent(first: &str, then: &str) -> String {
    format!(
        r#"#!/bin/bash
{first}
reply() {{ echo "{{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":$1}}"; }}
while read -r line; do
  id=; [[ $line =~ \"id\":([0-9]+) ]] && id=${{BASH_REMATCH[1]}}
  case $line in
    *'"initialize"'*) reply '{{"protocolVersion":1}}';;
    *'"session/new"'*) reply '{{"sessionId":"s"}}'
      {then};;
  esac
done
"#
    )
}

/// Returns the common fields of a control message to this session.
fn message(session: &Session, request_id: &str) -> Value {
    json!({
        "v": 1,
        "request_id": request_id,
        "team": session.team,
        "session_id": session.id,
        "agent_id": session.agent_id,
        "sender": "local",
        "sent_at": moment(0),
    })
}

/// Returns a text message to this session.
fn stdin(session: &Session, request_id: &str, text: &str) -> Value {
    with(message(session, request_id), json!({ "type": "control.stdin.request", "content": text }))
}

/// Adds or replaces fields of an object. Null removes a field.
fn with(mut message: Value, fields: Value) -> Value {
    for (name, value) in fields.as_object().expect("fields").clone() {
        if value.is_null() {
            message.as_object_mut().expect("a message").remove(&name);
        } else {
            message[name] = value;
        }
    }
    message
}
