//! Google's Gemini API as used by Gemini CLI: `POST …:streamGenerateContent` and `…:generateContent`.

use std::path::Path;

use axum::Json;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::script::ModelBehaviour;
use super::stream::EventScript;
use super::turn::{ModelReply, ModelToolCall, ModelTurn, ScriptedFailure, strings};

/// Extracts the turn from a request. The user's text is the last text in the last content.
pub(super) fn read(body: &Value) -> ModelTurn {
    let last = body["contents"].as_array().and_then(|contents| contents.last());
    let parts = last.map_or(&Value::Null, |content| &content["parts"]);
    let tools = body["tools"].as_array().into_iter().flatten();
    ModelTurn {
        text: strings(parts, "text").filter(|text| !text.is_empty()).last().unwrap_or_default().to_owned(),
        tools: tools.flat_map(|tool| strings(&tool["functionDeclarations"], "name")).map(str::to_owned).collect(),
        tool_done: parts.as_array().into_iter().flatten().any(|part| !part["functionResponse"].is_null()),
    }
}

pub(super) fn answer(
    body: &Value,
    turn: &ModelTurn,
    project: &Path,
    stream: bool,
) -> Result<Response, ScriptedFailure> {
    let reply = turn.reply(|behaviour| tool_for(behaviour, project))?;
    Ok(match stream {
        true => streamed(reply).into_response(),
        false => Json(whole(body, &reply)).into_response(),
    })
}

fn tool_for(behaviour: &ModelBehaviour, project: &Path) -> Option<ModelToolCall> {
    let (tool, arguments) = match behaviour {
        ModelBehaviour::Shell(command) => ("run_shell_command", json!({"command": command, "description": "run it"})),
        ModelBehaviour::Write { path, text } => {
            ("write_file", json!({"file_path": project.join(path), "content": text}))
        }
        ModelBehaviour::Call { tool, arguments } => (tool.as_str(), arguments.clone()),
        _ => return None,
    };
    Some(ModelToolCall { tool: tool.to_owned(), arguments })
}

fn function_call(call: &ModelToolCall) -> Value {
    json!({"functionCall": {"name": call.tool, "args": call.arguments}})
}

fn whole(body: &Value, reply: &ModelReply) -> Value {
    let part = match reply {
        _ if wants_json(body) => json!({"text": verdict().to_string()}),
        ModelReply::Call(call) => function_call(call),
        ModelReply::Say(speech) => json!({"text": speech.chunks.concat()}),
    };
    chunk(part, true)
}

fn streamed(reply: ModelReply) -> EventScript {
    let mut stream = EventScript::default();
    match reply {
        ModelReply::Call(call) => stream.data(&chunk(function_call(&call), true)),
        ModelReply::Say(speech) => {
            // Gemini CLI treats an answer without a finish reason as an error, so an empty answer has one chunk.
            let last = speech.chunks.len().saturating_sub(1);
            let words = if speech.chunks.is_empty() { vec![String::new()] } else { speech.chunks };
            for (index, word) in words.iter().enumerate() {
                stream.data(&chunk(json!({"text": word}), index == last));
                // There is no delay after the last chunk, because a client may close the connection as soon as it has
                // received that chunk.
                if index != last {
                    stream.pause(speech.delay);
                }
            }
        }
    }
    stream
}

fn chunk(part: Value, last: bool) -> Value {
    let mut candidate = json!({"content": {"role": "model", "parts": [part]}, "index": 0});
    if last {
        candidate["finishReason"] = "STOP".into();
    }
    let usage = json!({"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2});
    json!({"candidates": [candidate], "usageMetadata": usage})
}

/// Returns true for a request that demands a JSON answer. Gemini CLI sends such requests on its own, to choose a model
/// and to decide who speaks next.
fn wants_json(body: &Value) -> bool {
    let config = &body["generationConfig"];
    !config["responseJsonSchema"].is_null() || !config["responseSchema"].is_null()
}

/// Returns a JSON answer that is valid for both kinds of [`wants_json`] requests.
fn verdict() -> Value {
    json!({
        "reasoning": "simple",
        "model_choice": "flash",
        "complexity_reasoning": "x",
        "complexity_score": 1,
        "next_speaker": "user",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_text_of_the_last_content_counts() {
        let turn = read(&json!({
            "contents": [
                {"role": "user", "parts": [{"text": "context"}]},
                {"role": "user", "parts": [{"text": "more"}, {"text": "hello"}, {"text": ""}]},
            ],
            "tools": [{"functionDeclarations": [{"name": "a"}, {"name": "b"}]}, {"googleSearch": {}}],
        }));
        assert_eq!(turn, ModelTurn { text: "hello".into(), tools: vec!["a".into(), "b".into()], tool_done: false });
        assert_eq!(read(&Value::Null), ModelTurn::default());
    }

    #[test]
    fn a_function_response_ends_the_turn() {
        let body = json!({"contents": [{"role": "user", "parts": [{"functionResponse": {"name": "a"}}]}]});
        assert!(read(&body).tool_done);
    }

    #[test]
    fn a_question_with_a_schema_gets_json() {
        let body = json!({"generationConfig": {"responseJsonSchema": {}}});
        let reply = ModelTurn::default().reply(|_| None).unwrap();
        let text = whole(&body, &reply)["candidates"][0]["content"]["parts"][0]["text"].clone();
        assert_eq!(serde_json::from_str::<Value>(text.as_str().unwrap()).unwrap(), verdict());
    }
}
