//! Tests of Claude Code's protocol.

mod captures;
mod frames;
mod garbage;
mod outgoing;

use serde_json::Value;
use wh_wire::claude::{ClaudeMessage, Incoming, UnknownFrame, decode};

/// Returns the lines of both captures; true for lines of the agent.
fn captured() -> Vec<(bool, &'static str)> {
    [include_str!("../wires/claude-control-1.wire"), include_str!("../wires/claude-control-2.wire")]
        .into_iter()
        .flat_map(str::lines)
        .map(|line| match line.split_at(3) {
            ("<- ", frame) => (true, frame),
            ("-> ", frame) => (false, frame),
            _ => panic!("no direction: {line}"),
        })
        .collect()
}

fn read(frame: Value) -> Incoming {
    decode(frame.to_string().as_bytes()).unwrap()
}

fn unknown(incoming: Incoming) -> UnknownFrame {
    match incoming {
        Incoming::Message(ClaudeMessage::Unknown(unknown)) => *unknown,
        known => panic!("known: {known:?}"),
    }
}
