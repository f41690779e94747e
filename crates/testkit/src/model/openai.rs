//! OpenAI's Responses API as used by Codex: `POST /v1/responses`, with or without streaming.

use axum::Json;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::script::ModelBehaviour;
use super::stream::EventScript;
use super::turn::{ModelReply, ModelToolCall, ModelTurn, ScriptedFailure, fresh_id, strings};

/// Shell tools that Codex offers, depending on its settings, in order of preference.
const SHELLS: [&str; 3] = ["exec_command", "shell_command", "shell"];

/// Extracts the turn from a request. The user's text is the last user message. A tool result after that message means
/// that the message was already answered.
pub(super) fn read(body: &Value) -> ModelTurn {
    let mut turn = ModelTurn::default();
    for item in body["input"].as_array().into_iter().flatten() {
        match item["type"].as_str() {
            Some("message") if item["role"] == "user" => {
                turn.text = strings(&item["content"], "text").collect::<Vec<_>>().join(" ");
                turn.tool_done = false;
            }
            Some("function_call_output" | "custom_tool_call_output" | "local_shell_call_output") => {
                turn.tool_done = true
            }
            _ => {}
        }
    }
    let tools = body["tools"].as_array().into_iter().flatten();
    turn.tools =
        tools.filter_map(|tool| tool["name"].as_str().or_else(|| tool["type"].as_str())).map(str::to_owned).collect();
    turn
}

pub(super) fn answer(body: &Value, turn: &ModelTurn) -> Result<Response, ScriptedFailure> {
    let reply = turn.reply(|behaviour| tool_for(behaviour, &turn.tools))?;
    let id = fresh_id("resp");
    Ok(match body["stream"] == true {
        true => stream(&id, &reply).into_response(),
        false => Json(json!({
            "id": id,
            "object": "response",
            "status": "completed",
            "model": body["model"],
            "output": [item(&reply)],
            "usage": usage(),
        }))
        .into_response(),
    })
}

fn tool_for(behaviour: &ModelBehaviour, offered: &[String]) -> Option<ModelToolCall> {
    let (tool, arguments) = match behaviour {
        ModelBehaviour::Shell(command) => {
            let tool = SHELLS.into_iter().find(|shell| offered.iter().any(|tool| tool == shell))?;
            let arguments = match tool {
                "exec_command" => json!({"cmd": command}),
                "shell_command" => json!({"command": command}),
                _ => json!({"command": ["bash", "-lc", command]}),
            };
            (tool, arguments)
        }
        ModelBehaviour::Call { tool, arguments } => (tool.as_str(), arguments.clone()),
        _ => return None,
    };
    Some(ModelToolCall { tool: tool.to_owned(), arguments })
}

/// Builds the single item of an answer.
fn item(reply: &ModelReply) -> Value {
    match reply {
        ModelReply::Call(call) => json!({
            "type": "function_call",
            "id": fresh_id("fc"),
            "call_id": fresh_id("call"),
            "name": call.tool,
            "arguments": call.arguments.to_string(),
        }),
        ModelReply::Say(speech) => json!({
            "type": "message",
            "id": "m1",
            "role": "assistant",
            "content": [{"type": "output_text", "text": speech.chunks.concat()}],
        }),
    }
}

fn stream(id: &str, reply: &ModelReply) -> EventScript {
    let mut stream = EventScript::default();
    stream.event(&json!({"type": "response.created", "response": {"id": id}}));
    if let ModelReply::Say(speech) = reply {
        let empty = json!({"type": "message", "id": "m1", "role": "assistant", "content": []});
        stream.event(&json!({"type": "response.output_item.added", "output_index": 0, "item": empty}));
        for word in &speech.chunks {
            stream.event(&json!({
                "type": "response.output_text.delta",
                "item_id": "m1",
                "output_index": 0,
                "content_index": 0,
                "delta": word,
            }));
            stream.pause(speech.delay);
        }
    }
    stream.event(&json!({"type": "response.output_item.done", "output_index": 0, "item": item(reply)}));
    stream.event(&json!({"type": "response.completed", "response": {"id": id, "usage": usage()}}));
    stream
}

fn usage() -> Value {
    json!({
        "input_tokens": 1,
        "input_tokens_details": null,
        "output_tokens": 1,
        "output_tokens_details": null,
        "total_tokens": 2,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Value {
        json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
    }

    #[test]
    fn the_last_user_message_counts_and_a_result_after_it_ends_the_turn() {
        let result = json!({"type": "function_call_output", "call_id": "c", "output": "x"});
        let answered = json!({"input": [said("context"), said("tool: ls"), result]});
        assert_eq!(read(&answered), ModelTurn { text: "tool: ls".into(), tools: vec![], tool_done: true });
        let steered = json!({"input": [said("tool: ls"), result, said("stop it")]});
        assert_eq!(read(&steered), ModelTurn { text: "stop it".into(), tools: vec![], tool_done: false });
    }

    #[test]
    fn the_offered_shell_tool_is_used() {
        let shell = ModelBehaviour::Shell("ls".into());
        for (offered, arguments) in [
            ("exec_command", json!({"cmd": "ls"})),
            ("shell_command", json!({"command": "ls"})),
            ("shell", json!({"command": ["bash", "-lc", "ls"]})),
        ] {
            let call = tool_for(&shell, &[offered.to_owned()]).unwrap();
            assert_eq!((call.tool.as_str(), call.arguments), (offered, arguments));
        }
        assert_eq!(tool_for(&shell, &["web_search".to_owned()]), None);
    }
}
