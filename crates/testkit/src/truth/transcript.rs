//! Prompts in the transcripts that the agents write themselves. Independent of the translators of wh.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use serde_json::Value;

use crate::Lab;
use crate::interrupts::LabAgent;

/// Returns the user's prompts in the transcripts that were written since `begun`.
pub(super) fn prompts(lab: &Lab, agent: LabAgent, begun: SystemTime) -> Vec<String> {
    let root = lab.home.join(match agent {
        LabAgent::Claude => ".claude/projects",
        LabAgent::Codex => ".codex/sessions",
        LabAgent::Gemini => ".gemini/tmp",
    });
    let mut found = Vec::new();
    collect(&root, begun, &mut |line| found.extend(prompt(agent, line)));
    found
}

fn collect(directory: &Path, begun: SystemTime, read: &mut impl FnMut(&Value)) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, begun, read);
            continue;
        }
        let is_new = entry.metadata().and_then(|data| data.modified()).is_ok_and(|modified| modified >= begun);
        if is_new && path.extension().is_some_and(|extension| extension == "jsonl") {
            let text = fs::read(&path).unwrap_or_default();
            text.split(|byte| *byte == b'\n')
                .filter_map(|line| serde_json::from_slice(line).ok())
                .for_each(|line| read(&line));
        }
    }
}

fn prompt(agent: LabAgent, line: &Value) -> Option<String> {
    let content = match agent {
        LabAgent::Claude if line["type"] == "user" && line["isMeta"] != true => &line["message"]["content"],
        LabAgent::Codex if line["type"] == "event_msg" && line["payload"]["type"] == "user_message" => {
            &line["payload"]["message"]
        }
        LabAgent::Gemini if line["type"] == "user" => &line["content"],
        _ => return None,
    };
    match content {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => {
            let texts: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
            (!texts.is_empty()).then(|| texts.concat())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_transcript_has_its_own_form_of_a_prompt() {
        let claude = json!({"type": "user", "message": {"content": [{"type": "text", "text": "hi"}]}});
        let codex = json!({"type": "event_msg", "payload": {"type": "user_message", "message": "hi"}});
        let gemini = json!({"type": "user", "content": [{"text": "h"}, {"text": "i"}]});
        for (agent, line) in [(LabAgent::Claude, claude), (LabAgent::Codex, codex), (LabAgent::Gemini, gemini)] {
            assert_eq!(prompt(agent, &line).as_deref(), Some("hi"));
        }
        let result = json!({"type": "user", "message": {"content": [{"type": "tool_result", "content": "x"}]}});
        assert_eq!(prompt(LabAgent::Claude, &result), None);
    }
}
