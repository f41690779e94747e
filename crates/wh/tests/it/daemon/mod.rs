//! The daemon with its doors, as its users have it: the real binary, a real socket, several shells.

mod clock;
mod crowds;
mod damage;
mod deaf;
mod doors;
mod ended;
mod examples;
mod house;
mod http;
mod inside;
mod intruders;
mod lasting;
mod once;
mod real;
mod references;
mod restart;
mod sender;
mod shells;
mod silent;
mod socket;
mod specs;
mod stalled;
mod stop;
mod teams;
mod terminal_interrupts;
mod unread;
mod unseen;

use serde_json::{Value, json};
use wh_testkit::tools;

use house::{House, Session};

/// A moment so many seconds from now, as messages say it.
fn moment(seconds: i64) -> String {
    let now = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(seconds);
    now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// False, and said, where a test cannot act as another user, which it does with python.
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

/// A bash script that speaks the Agent Client Protocol. `first` runs at its start, `then` once it has a session.
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

/// What every control message to this session has; a test adds the rest.
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

/// A text for this session.
fn stdin(session: &Session, request_id: &str, text: &str) -> Value {
    with(message(session, request_id), json!({ "type": "control.stdin.request", "content": text }))
}

/// An object with these fields added or replaced; null takes one away.
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
