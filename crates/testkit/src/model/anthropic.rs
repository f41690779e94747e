//! Anthropic's Messages API, as Claude Code uses it: `POST /v1/messages`, streamed or not.

use std::path::Path;
use std::time::Duration;

use axum::Json;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::script::Behaviour;
use super::stream::Stream;
use super::turn::{Failure, Reply, Speech, ToolCall, Turn, fresh_id, strings};

/// The pause after each word of a thought.
const THINKING: Duration = Duration::from_millis(20);

/// The user's text is the last text block of the last user message (messages of role `system` may follow it) that is not
/// one of the reminders which Claude Code adds.
pub(super) fn read(body: &Value) -> Turn {
    let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let last = messages.iter().rfind(|message| message["role"] == "user");
    let content = last.map_or(&Value::Null, |message| &message["content"]);
    let text = match content {
        Value::String(text) => Some(text.as_str()),
        blocks => strings(blocks, "text").filter(|text| !text.contains("<system-reminder>")).last(),
    };
    Turn {
        text: text.unwrap_or_default().to_owned(),
        tools: strings(&body["tools"], "name").map(str::to_owned).collect(),
        tool_done: strings(content, "type").any(|block| block == "tool_result"),
    }
}

pub(super) fn answer(body: &Value, turn: &Turn, project: &Path) -> Result<Response, Failure> {
    let reply = turn.reply(|behaviour| tool_for(behaviour, project))?;
    Ok(match body["stream"] == true {
        true => stream(body, &reply).into_response(),
        false => Json(whole(body, &reply)).into_response(),
    })
}

fn tool_for(behaviour: &Behaviour, project: &Path) -> Option<ToolCall> {
    let (tool, arguments) = match behaviour {
        Behaviour::Shell(command) => ("Bash", json!({"command": command, "description": "run it"})),
        Behaviour::Write { path, text } => ("Write", json!({"file_path": project.join(path), "content": text})),
        Behaviour::Ask(question) => ("AskUserQuestion", choice(question)),
        Behaviour::Call { tool, arguments } => (tool.as_str(), arguments.clone()),
        _ => return None,
    };
    Some(ToolCall { tool: tool.to_owned(), arguments })
}

fn choice(question: &str) -> Value {
    json!({"questions": [{
        "question": question,
        "header": "Choice",
        "multiSelect": false,
        "options": [
            {"label": "Red", "description": "the first"},
            {"label": "Blue", "description": "the second"},
        ],
    }]})
}

/// The message without its content.
fn message(body: &Value) -> Value {
    json!({
        "id": fresh_id("msg"),
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [],
        "stop_reason": null,
        "stop_sequence": null,
        "usage": {"input_tokens": 5, "output_tokens": 1},
    })
}

fn whole(body: &Value, reply: &Reply) -> Value {
    let (content, stop) = match reply {
        Reply::Call(call) => (
            json!([{"type": "tool_use", "id": fresh_id("toolu"), "name": call.tool, "input": call.arguments}]),
            "tool_use",
        ),
        Reply::Say(speech) => (json!([{"type": "text", "text": speech.words.concat()}]), "end_turn"),
    };
    let mut message = message(body);
    message["content"] = content;
    message["stop_reason"] = stop.into();
    message
}

fn stream(body: &Value, reply: &Reply) -> Stream {
    let mut stream = Stream::default();
    stream.event(&json!({"type": "message_start", "message": message(body)}));
    let stop = match reply {
        Reply::Call(call) => {
            tool_use(&mut stream, call);
            "tool_use"
        }
        Reply::Say(speech) => {
            text(&mut stream, speech);
            "end_turn"
        }
    };
    stream.event(&json!({
        "type": "message_delta",
        "delta": {"stop_reason": stop, "stop_sequence": null},
        "usage": {"output_tokens": 7},
    }));
    stream.event(&json!({"type": "message_stop"}));
    stream
}

fn tool_use(stream: &mut Stream, call: &ToolCall) {
    let block = json!({"type": "tool_use", "id": fresh_id("toolu"), "name": call.tool, "input": {}});
    let delta = json!({"type": "input_json_delta", "partial_json": call.arguments.to_string()});
    Block::open(stream, 0, block).delta(delta, Duration::ZERO).close();
}

fn text(stream: &mut Stream, speech: &Speech) {
    let mut index = 0;
    if let Some(thought) = &speech.thought {
        let mut block = Block::open(stream, index, json!({"type": "thinking", "thinking": "", "signature": ""}));
        for word in thought.split_whitespace() {
            block = block.delta(json!({"type": "thinking_delta", "thinking": format!("{word} ")}), THINKING);
        }
        block.delta(json!({"type": "signature_delta", "signature": "sig"}), Duration::ZERO).close();
        index += 1;
    }
    let mut block = Block::open(stream, index, json!({"type": "text", "text": ""}));
    for word in &speech.words {
        block = block.delta(json!({"type": "text_delta", "text": word}), speech.pace);
    }
    block.close();
}

/// A content block that is being streamed.
struct Block<'a> {
    stream: &'a mut Stream,
    index: usize,
}

impl<'a> Block<'a> {
    fn open(stream: &'a mut Stream, index: usize, block: Value) -> Self {
        stream.event(&json!({"type": "content_block_start", "index": index, "content_block": block}));
        Self { stream, index }
    }

    fn delta(self, delta: Value, pace: Duration) -> Self {
        self.stream.event(&json!({"type": "content_block_delta", "index": self.index, "delta": delta}));
        self.stream.pause(pace);
        self
    }

    fn close(self) {
        self.stream.event(&json!({"type": "content_block_stop", "index": self.index}));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_the_users_own_and_not_a_reminder() {
        let turn = read(&json!({
            "messages": [
                {"role": "user", "content": [
                    {"type": "text", "text": "hello"},
                    {"type": "text", "text": "<system-reminder>be good</system-reminder>"},
                ]},
                {"role": "system", "content": "more"},
            ],
            "tools": [{"name": "Bash"}],
        }));
        assert_eq!(turn, Turn { text: "hello".into(), tools: vec!["Bash".into()], tool_done: false });
    }

    #[test]
    fn a_tool_result_is_seen_and_plain_content_is_read() {
        let result = json!({"messages": [{"role": "user", "content": [{"type": "tool_result", "content": "x"}]}]});
        assert!(read(&result).tool_done);
        let plain = json!({"messages": [{"role": "user", "content": "hi"}]});
        assert_eq!(read(&plain).text, "hi");
        assert_eq!(read(&Value::Null), Turn::default());
    }

    #[test]
    fn a_path_is_taken_from_the_project() {
        let write = Behaviour::Write { path: "a.txt".into(), text: "hi".into() };
        let call = tool_for(&write, Path::new("/project")).unwrap();
        assert_eq!(call.arguments, json!({"file_path": "/project/a.txt", "content": "hi"}));
    }
}
