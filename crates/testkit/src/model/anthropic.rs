//! Anthropic's Messages API as used by Claude Code: `POST /v1/messages`, with or without streaming.

use std::path::Path;
use std::time::Duration;

use axum::Json;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::script::ModelBehaviour;
use super::stream::EventScript;
use super::turn::{ModelReply, ModelToolCall, ModelTurn, ScriptedFailure, TextReply, fresh_id, strings};

/// Delay after each word of reasoning.
const THOUGHT_WORD_DELAY: Duration = Duration::from_millis(20);

/// Extracts the turn from a request. The user's text is the last text block of the last user message, ignoring
/// reminders that Claude Code adds. Messages with role `system` may follow that message.
pub(super) fn read(body: &Value) -> ModelTurn {
    let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let last = messages.iter().rfind(|message| message["role"] == "user");
    let content = last.map_or(&Value::Null, |message| &message["content"]);
    let text = match content {
        Value::String(text) => Some(text.as_str()),
        blocks => strings(blocks, "text").filter(|text| !text.contains("<system-reminder>")).last(),
    };
    ModelTurn {
        text: text.unwrap_or_default().to_owned(),
        tools: strings(&body["tools"], "name").map(str::to_owned).collect(),
        tool_done: strings(content, "type").any(|block| block == "tool_result"),
    }
}

pub(super) fn answer(body: &Value, turn: &ModelTurn, project: &Path) -> Result<Response, ScriptedFailure> {
    let reply = turn.reply(|behaviour| tool_for(behaviour, project))?;
    Ok(match body["stream"] == true {
        true => stream(body, &reply).into_response(),
        false => Json(whole(body, &reply)).into_response(),
    })
}

fn tool_for(behaviour: &ModelBehaviour, project: &Path) -> Option<ModelToolCall> {
    let (tool, arguments) = match behaviour {
        ModelBehaviour::Shell(command) => ("Bash", json!({"command": command, "description": "run it"})),
        ModelBehaviour::Write { path, text } => ("Write", json!({"file_path": project.join(path), "content": text})),
        ModelBehaviour::Ask(question) => ("AskUserQuestion", choice(question)),
        ModelBehaviour::Call { tool, arguments } => (tool.as_str(), arguments.clone()),
        _ => return None,
    };
    Some(ModelToolCall { tool: tool.to_owned(), arguments })
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

/// Builds an assistant message with empty content.
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

fn whole(body: &Value, reply: &ModelReply) -> Value {
    let (content, stop) = match reply {
        ModelReply::Call(call) => (
            json!([{"type": "tool_use", "id": fresh_id("toolu"), "name": call.tool, "input": call.arguments}]),
            "tool_use",
        ),
        ModelReply::Say(speech) => (json!([{"type": "text", "text": speech.chunks.concat()}]), "end_turn"),
    };
    let mut message = message(body);
    message["content"] = content;
    message["stop_reason"] = stop.into();
    message
}

fn stream(body: &Value, reply: &ModelReply) -> EventScript {
    let mut stream = EventScript::default();
    stream.event(&json!({"type": "message_start", "message": message(body)}));
    let stop = match reply {
        ModelReply::Call(call) => {
            tool_use(&mut stream, call);
            "tool_use"
        }
        ModelReply::Say(speech) => {
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

fn tool_use(stream: &mut EventScript, call: &ModelToolCall) {
    let block = json!({"type": "tool_use", "id": fresh_id("toolu"), "name": call.tool, "input": {}});
    let delta = json!({"type": "input_json_delta", "partial_json": call.arguments.to_string()});
    StreamedBlock::open(stream, 0, block).delta(delta, Duration::ZERO).close();
}

fn text(stream: &mut EventScript, speech: &TextReply) {
    let mut index = 0;
    if let Some(thought) = &speech.thought {
        let mut block =
            StreamedBlock::open(stream, index, json!({"type": "thinking", "thinking": "", "signature": ""}));
        for word in thought.split_whitespace() {
            block = block.delta(json!({"type": "thinking_delta", "thinking": format!("{word} ")}), THOUGHT_WORD_DELAY);
        }
        block.delta(json!({"type": "signature_delta", "signature": "sig"}), Duration::ZERO).close();
        index += 1;
    }
    let mut block = StreamedBlock::open(stream, index, json!({"type": "text", "text": ""}));
    for word in &speech.chunks {
        block = block.delta(json!({"type": "text_delta", "text": word}), speech.delay);
    }
    block.close();
}

/// Content block that is being streamed.
struct StreamedBlock<'a> {
    stream: &'a mut EventScript,
    index: usize,
}

impl<'a> StreamedBlock<'a> {
    fn open(stream: &'a mut EventScript, index: usize, block: Value) -> Self {
        stream.event(&json!({"type": "content_block_start", "index": index, "content_block": block}));
        Self { stream, index }
    }

    fn delta(self, delta: Value, delay: Duration) -> Self {
        self.stream.event(&json!({"type": "content_block_delta", "index": self.index, "delta": delta}));
        self.stream.pause(delay);
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
    fn reminders_are_not_part_of_the_user_text() {
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
        assert_eq!(turn, ModelTurn { text: "hello".into(), tools: vec!["Bash".into()], tool_done: false });
    }

    #[test]
    fn a_tool_result_is_seen_and_plain_content_is_read() {
        let result = json!({"messages": [{"role": "user", "content": [{"type": "tool_result", "content": "x"}]}]});
        assert!(read(&result).tool_done);
        let plain = json!({"messages": [{"role": "user", "content": "hi"}]});
        assert_eq!(read(&plain).text, "hi");
        assert_eq!(read(&Value::Null), ModelTurn::default());
    }

    #[test]
    fn a_path_is_taken_from_the_project() {
        let write = ModelBehaviour::Write { path: "a.txt".into(), text: "hi".into() };
        let call = tool_for(&write, Path::new("/project")).unwrap();
        assert_eq!(call.arguments, json!({"file_path": "/project/a.txt", "content": "hi"}));
    }
}
