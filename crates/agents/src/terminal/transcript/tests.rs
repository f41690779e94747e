//! Tests with recorded transcripts of the real agents. A file `NAME.facts` states the expected facts of `NAME.jsonl`,
//! one per line.

use std::collections::HashMap;
use std::path::PathBuf;

use proptest::prelude::*;
use wh_core::space::harness::Report;
use wh_core::space::item::{ItemBody, ToolResultPart};

use super::*;

const RECORDINGS: [(&str, TranscriptFormat); 12] = [
    ("claude-main", TranscriptFormat::Claude),
    ("claude-cleared", TranscriptFormat::Claude),
    ("claude-continued", TranscriptFormat::Claude),
    ("claude-hooks", TranscriptFormat::Claude),
    ("claude-subagent", TranscriptFormat::Claude),
    ("codex-main", TranscriptFormat::Codex),
    ("codex-new", TranscriptFormat::Codex),
    ("codex-interrupts", TranscriptFormat::Codex),
    ("gemini-main", TranscriptFormat::Gemini),
    ("gemini-cleared", TranscriptFormat::Gemini),
    ("gemini-resumed", TranscriptFormat::Gemini),
    ("gemini-copied", TranscriptFormat::Gemini),
];

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/terminal/fixtures").join(name)
}

fn recording(name: &str) -> String {
    std::fs::read_to_string(fixture(&format!("{name}.jsonl"))).unwrap()
}

fn facts_of(format: TranscriptFormat, text: &str) -> Vec<TranscriptFact> {
    let mut reader = format.reader();
    let mut facts: Vec<TranscriptFact> = text.lines().flat_map(|line| reader.line(line.as_bytes())).collect();
    facts.extend(reader.end());
    facts
}

/// Describes a fact in one line. Item keys are numbered in the order of their appearance.
fn described(fact: &TranscriptFact, keys: &mut HashMap<String, usize>) -> String {
    let mut number = |key: &String| {
        let next = keys.len() + 1;
        *keys.entry(key.clone()).or_insert(next)
    };
    match fact {
        TranscriptFact::Prompt { text, id, queued } => {
            let (id, queued) = (if id.is_some() { "" } else { " without id" }, if *queued { " queued" } else { "" });
            format!("prompt{queued}{id} {text:?}")
        }
        TranscriptFact::Report(Report::Item { key, body, done }) => {
            let done = if *done { "" } else { " …" };
            let content = match body {
                ItemBody::Text { text, .. } => format!("text {text:?}"),
                ItemBody::Thought { text, .. } => format!("thought {text:?}"),
                ItemBody::Tool(call) => {
                    let output = call.output.iter().map(|part| match part {
                        ToolResultPart::Text(text) => format!("{text:?}"),
                        ToolResultPart::Diff { path, old, new } => format!("{path} {old:?} → {new:?}"),
                    });
                    let output: Vec<String> = output.collect();
                    format!("{} {:?} {:?} {:?} {}", call.name, call.kind, call.status, call.title, output.join(", "))
                }
                other => format!("{other:?}"),
            };
            format!("  {}{done} {}", number(key), content.trim_end())
        }
        TranscriptFact::Report(other) => format!("  {other:?}"),
        TranscriptFact::ToolWaits { name, .. } => format!("  waits {name}"),
        TranscriptFact::ToolDone { .. } => "  done".to_owned(),
        other => format!("{other:?}"),
    }
}

fn descriptions(facts: &[TranscriptFact]) -> String {
    let mut keys = HashMap::new();
    facts.iter().map(|fact| format!("{}\n", described(fact, &mut keys))).collect()
}

#[test]
fn recorded_conversations_give_the_expected_facts() {
    for (name, format) in RECORDINGS {
        let actual = descriptions(&facts_of(format, &recording(name)));
        let expected = fixture(&format!("{name}.facts"));
        if std::env::var_os("WH_WRITE_FACTS").is_some() {
            std::fs::write(&expected, &actual).unwrap();
        }
        let expected = std::fs::read_to_string(&expected).unwrap_or_default();
        for (number, (actual, expected)) in actual.lines().zip(expected.lines()).enumerate() {
            assert_eq!(actual, expected, "{name}.facts, line {}", number + 1);
        }
        assert_eq!(actual.lines().count(), expected.lines().count(), "{name}.facts");
    }
}

#[test]
fn every_item_of_a_recorded_conversation_is_completed() {
    for (name, format) in RECORDINGS {
        let mut open: HashMap<String, bool> = HashMap::new();
        for fact in facts_of(format, &recording(name)) {
            if let TranscriptFact::Report(Report::Item { key, done, .. }) = fact {
                let before = open.insert(key.clone(), done);
                assert!(before != Some(true) || done, "{name}: {key} was already complete");
            }
        }
        assert!(open.values().all(|done| *done), "{name}: {open:?}");
    }
}

#[test]
fn a_history_contains_prompts_and_items_only() {
    let facts = facts_of(TranscriptFormat::Codex, &recording("codex-new"));
    let history: Vec<Report> = facts.into_iter().filter_map(TranscriptFact::into_history).collect();
    let [Report::EarlierPrompt(prompt), Report::Item { body: ItemBody::Text { text, .. }, done: true, .. }] =
        &history[..]
    else {
        panic!("{history:?}");
    };
    assert_eq!((prompt.as_str(), text.as_str()), ("hello after new", "echo: hello after new"));
}

#[test]
fn a_resumed_conversation_is_history_up_to_the_new_prompt() {
    for (name, format) in [("claude-main", TranscriptFormat::Claude), ("codex-main", TranscriptFormat::Codex)] {
        let (history, current) = split_history(facts_of(format, &recording(name)), Some("after resume"));
        assert!(history.contains(&Report::EarlierPrompt("after compact".to_owned())), "{name}: {history:?}");
        assert!(!history.contains(&Report::EarlierPrompt("after resume".to_owned())), "{name}: {history:?}");
        assert!(current[..2].contains(&TranscriptFact::TurnBegan), "{name}: {current:?}");
        assert_eq!(current.last(), Some(&TranscriptFact::TurnEnded(TranscriptEnd::Completed)), "{name}");
        let (history, current) = split_history(facts_of(format, &recording(name)), None);
        assert!(history.contains(&Report::EarlierPrompt("after resume".to_owned())) && current.is_empty(), "{name}");
    }
}

#[test]
fn a_turn_of_codex_whose_process_was_ended_is_interrupted() {
    let event = r#"{"type":"event_msg","payload":{"type":"task_started","turn_id":"t"}}"#;
    let facts = facts_of(TranscriptFormat::Codex, &[event, event].join("\n"));
    let ended = TranscriptFact::TurnEnded(TranscriptEnd::Interrupted);
    assert_eq!(facts, [TranscriptFact::TurnBegan, ended, TranscriptFact::TurnBegan]);
}

#[test]
fn a_line_that_is_no_record_is_unknown() {
    for format in [TranscriptFormat::Claude, TranscriptFormat::Codex, TranscriptFormat::Gemini] {
        let mut reader = format.reader();
        for line in [&b"{"[..], b"\xff\xfe", b"[]", b"null", b"{}", b"{\"type\": \"new-kind\"}"] {
            assert_eq!(reader.line(line), [TranscriptFact::Unknown], "{format:?} {line:?}");
        }
    }
}

#[test]
fn a_text_with_an_unpaired_surrogate_is_translated() {
    let line = br#"{"type":"user","promptSource":"typed","message":{"role":"user","content":"cut \ud83d"}}"#;
    let facts = TranscriptFormat::Claude.reader().line(line);
    assert!(matches!(&facts[0], TranscriptFact::Prompt { text, .. } if text == "cut \u{fffd}"), "{facts:?}");
}

#[test]
fn a_prompt_that_looks_like_a_mark_of_the_agent_is_a_prompt() {
    for text in ["[Request interrupted by user]", "<command-name>/clear</command-name>", "Caveat: none", "! ls"] {
        let message = serde_json::json!({"role": "user", "content": text});
        let line = serde_json::json!({"type": "user", "promptSource": "typed", "message": message}).to_string();
        let facts = TranscriptFormat::Claude.reader().line(line.as_bytes());
        assert!(matches!(&facts[0], TranscriptFact::Prompt { text: prompt, .. } if prompt == text), "{facts:?}");
    }
}

#[test]
fn a_retry_of_claude_code_is_a_warning() {
    let line = serde_json::json!({"type": "system", "subtype": "api_error", "error": {"status": 529},
        "retryInMs": 1500.0, "retryAttempt": 2, "maxRetries": 10});
    let facts = TranscriptFormat::Claude.reader().line(line.to_string().as_bytes());
    let text = "the model answered with HTTP 529; attempt 2 of 10 in 1.5 s".to_owned();
    assert_eq!(facts, [TranscriptFact::Report(Report::Notice(wh_core::space::item::NoticeLevel::Warning, text))]);
}

#[test]
fn a_codex_transcript_of_an_earlier_version_is_translated() {
    let event = |payload: serde_json::Value| serde_json::json!({"type": "event_msg", "payload": payload}).to_string();
    let lines = [
        serde_json::json!({"type": "session_meta", "payload": {"id": "s", "source": "cli"}}).to_string(),
        event(serde_json::json!({"type": "task_started", "turn_id": "t"})),
        event(serde_json::json!({"type": "user_message", "message": "hi"})),
        event(serde_json::json!({"type": "agent_reasoning", "text": "hm"})),
        event(serde_json::json!({"type": "agent_message", "message": "ho"})),
        event(serde_json::json!({"type": "task_complete", "turn_id": "t"})),
    ];
    let facts = descriptions(&facts_of(TranscriptFormat::Codex, &lines.join("\n")));
    let expected = "SessionId(\"s\")\nTurnBegan\nprompt without id \"hi\"\n  1 thought \"hm\"\n  2 text \"ho\"\n\
                    TurnEnded(Completed)\n";
    assert_eq!(facts, expected);
}

#[test]
fn a_compressed_conversation_of_gemini_is_compacted_once() {
    let text = "<state_snapshot>\nall of it\n</state_snapshot>";
    let messages = serde_json::json!([{"id": "1", "type": "user", "content": [{"text": text}]}]);
    let line = serde_json::json!({"$set": {"messages": messages}}).to_string();
    let facts = facts_of(TranscriptFormat::Gemini, &[line.clone(), line].join("\n"));
    assert_eq!(facts.iter().filter(|fact| **fact == TranscriptFact::Compacted).count(), 1, "{facts:?}");
}

#[test]
fn a_subagent_of_codex_or_gemini_states_no_facts() {
    let codex = [
        r#"{"type":"session_meta","payload":{"id":"s","source":{"subagent":"review"}}}"#,
        r#"{"type":"event_msg","payload":{"type":"task_started","turn_id":"t"}}"#,
    ];
    assert_eq!(facts_of(TranscriptFormat::Codex, &codex.join("\n")), []);
    let gemini = [
        r#"{"sessionId":"s","kind":"subagent"}"#,
        r#"{"id":"1","type":"user","timestamp":"2026-11-19T10:00:00Z","content":[{"text":"x"}]}"#,
    ];
    assert_eq!(facts_of(TranscriptFormat::Gemini, &gemini.join("\n")), []);
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    let names = prop::sample::select(vec![
        "type",
        "payload",
        "message",
        "content",
        "id",
        "uuid",
        "role",
        "text",
        "item",
        "changes",
        "toolCalls",
        "result",
        "status",
        "name",
        "arguments",
        "call_id",
        "output",
        "$set",
        "messages",
        "timestamp",
        "attachment",
        "subtype",
        "turn_id",
        "thoughts",
        "error",
        "sessionId",
        "parsed_cmd",
        "command",
        "promptSource",
    ]);
    let words = prop::sample::select(vec![
        "user",
        "assistant",
        "system",
        "attachment",
        "event_msg",
        "response_item",
        "session_meta",
        "item_completed",
        "task_started",
        "task_complete",
        "turn_aborted",
        "function_call",
        "function_call_output",
        "custom_tool_call",
        "gemini",
        "info",
        "error",
        "CommandExecution",
        "FileChange",
        "AgentMessage",
        "Reasoning",
        "UserMessage",
        "tool_use",
        "tool_result",
        "text",
        "update_plan",
        "apply_patch",
        "exec_command",
        "turn_duration",
        "x",
        "",
        "queued_command",
        "2026-11-19T10:00:00Z",
        "{\"cmd\": [1]}",
    ]);
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(serde_json::Value::from),
        any::<i64>().prop_map(serde_json::Value::from),
        words.prop_map(serde_json::Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
            proptest::collection::hash_map(names.clone(), inner, 0..6).prop_map(|fields| {
                serde_json::Value::Object(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
            }),
        ]
    })
}

proptest! {
    #[test]
    fn any_lines_are_translated_without_a_panic(values in proptest::collection::vec(json(), 1..12)) {
        for format in [TranscriptFormat::Claude, TranscriptFormat::Codex, TranscriptFormat::Gemini] {
            let mut reader = format.reader();
            for value in &values {
                reader.line(value.to_string().as_bytes());
            }
            reader.end();
        }
    }

    #[test]
    fn a_damaged_recording_is_translated_without_a_panic(
        which in 0..RECORDINGS.len(),
        cuts in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
    ) {
        let (name, format) = RECORDINGS[which];
        let mut bytes = recording(name).into_bytes();
        for (place, byte) in cuts {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        let mut reader = format.reader();
        let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let unknown = lines.flat_map(|line| reader.line(line)).filter(|fact| *fact == TranscriptFact::Unknown).count();
        prop_assert!(unknown <= 40, "{unknown} unknown lines");
    }
}
