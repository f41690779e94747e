//! Lines that are not frames, truncated or malicious.

use proptest::{collection::vec, prelude::*, sample::Index};
use serde_json::{Map, Value, json};
use wh_wire::claude::{ClaudeMessage, ContentBlock, Delta, Incoming, StreamEvent, decode};

use super::{captured, unknown};

#[test]
fn lines_that_are_not_objects_are_noise() {
    for line in
        ["", "\n", " \r\n", "[SandboxDebug] started", "null", "[{}]", "\"{}\"", "5", "warning: {}", "\u{feff}{}"]
    {
        assert_eq!(decode(line.as_bytes()).unwrap(), Incoming::Noise, "{line:?}");
    }
    assert_eq!(decode(b"\xff\xfe\x00").unwrap(), Incoming::Noise);
}

#[test]
fn a_truncated_line_is_an_error_with_a_position() {
    let error = decode(br#"{"type":"keep_alive""#).unwrap_err();
    assert_eq!(error.column, 20);
    assert!(
        error.to_string().starts_with("the agent sent a line that is not valid JSON: EOF while parsing an object"),
        "{error}"
    );
    assert!(decode(br#"{"type":"keep_alive"}{"type":"keep_alive"}"#).is_err());
    assert!(decode(b"{").is_err());
}

#[test]
fn deep_nesting_neither_overflows_nor_loses_the_frame() {
    for depth in [127, 128, 129, 200_000] {
        let deep = "[".repeat(depth) + &"]".repeat(depth);
        let line = format!(r#"{{"type":"new","deep":{deep}}}"#);
        assert_eq!(unknown(decode(line.as_bytes()).unwrap()).raw.text(), line);
        let line = format!(r#"{{"deep":{deep},"type":"keep_alive"}}"#);
        assert!(matches!(
            decode(line.as_bytes()).unwrap(),
            Incoming::KeepAlive | Incoming::Message(ClaudeMessage::Unknown(_))
        ));
        let line = format!(
            r#"{{"type":"control_request","request_id":"q","request":{{"subtype":"can_use_tool","tool_name":"t","input":{deep}}}}}"#
        );
        assert!(matches!(decode(line.as_bytes()).unwrap(), Incoming::Ask(ask) if ask.request_id == "q"));
    }
    let objects = r#"{"a":"#.repeat(200_000);
    assert!(decode(objects.as_bytes()).is_err());
}

#[test]
fn an_unpaired_surrogate_does_not_lose_the_frame() {
    let line = r#"{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\ud83d"}}}"#;
    let Incoming::Message(ClaudeMessage::Stream(stream)) = decode(line.as_bytes()).unwrap() else { panic!("no event") };
    assert_eq!(stream.event, StreamEvent::BlockDelta { index: 0, delta: Delta::Text("a\u{fffd}".to_owned()) });

    let line = r#"{"type":"control_request","request_id":"q","request":{"subtype":"can_use_tool","tool_name":"t","input":{"a":"\udc00"}}}"#;
    assert!(!format!("{:?}", decode(line.as_bytes()).unwrap()).contains("Unknown"));

    let line = r#"{"type":"user","message":{"role":"user","content":"hi"},"tool_use_result":{"a":"\ud800"}}"#;
    let Incoming::Message(ClaudeMessage::User(user)) = decode(line.as_bytes()).unwrap() else { panic!("no user") };
    assert_eq!(user.tool_use_result.unwrap().value(), Some(json!({"a": "\u{fffd}"})));

    let kept = unknown(decode(br#"{"type":"new","text":"\udfff","\ud800":1}"#).unwrap());
    assert_eq!((kept.kind.as_deref(), kept.raw.value().unwrap()["text"].as_str()), (Some("new"), Some("\u{fffd}")));
}

#[test]
fn invalid_utf8_does_not_lose_the_frame() {
    let line = b"{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"a\xffb\"}}";
    let Incoming::Message(ClaudeMessage::User(user)) = decode(line).unwrap() else { panic!("no user") };
    assert_eq!(user.content, [ContentBlock::Text("a\u{fffd}b".to_owned())]);
}

#[test]
fn huge_numbers_do_not_lose_the_frame() {
    let line = br#"{"type":"new","n":1e999,"m":-0.0,"k":123456789012345678901234567890}"#;
    assert_eq!(unknown(decode(line).unwrap()).kind.as_deref(), Some("new"));
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".*".prop_map(Value::from),
        prop::sample::select(WORDS).prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 48, 6, |inner| {
        prop_oneof![vec(inner.clone(), 0..6).prop_map(Value::from), any_object(inner).prop_map(Value::from)]
    })
}

fn any_object(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    let key = prop_oneof![".*", prop::sample::select(WORDS).prop_map(str::to_owned)];
    vec((key, value), 0..6).prop_map(Map::from_iter)
}

const WORDS: &[&str] = &[
    "type",
    "subtype",
    "request",
    "response",
    "request_id",
    "message",
    "content",
    "id",
    "event",
    "delta",
    "index",
    "text",
    "assistant",
    "user",
    "result",
    "system",
    "stream_event",
    "control_request",
    "control_response",
    "keep_alive",
    "control_cancel_request",
    "can_use_tool",
    "tool_name",
    "input",
    "success",
    "error",
    "init",
    "session_id",
    "usage",
    "content_block_delta",
    "text_delta",
    "tool_result",
    "tool_use_id",
    "permission_suggestions",
    "hook_callback",
];

/// Generates captured lines with bytes replaced, removed, duplicated or truncated.
fn mutated() -> impl Strategy<Value = Vec<u8>> {
    (any::<Index>(), vec((any::<Index>(), 0..4u8, any::<u8>()), 0..8)).prop_map(|(line, changes)| {
        let lines = captured();
        let mut line = lines[line.index(lines.len())].1.as_bytes().to_vec();
        for (at, change, byte) in changes {
            let at = at.index(line.len().max(1)).min(line.len().saturating_sub(1));
            match change {
                _ if line.is_empty() => {}
                0 => line[at] = byte,
                1 => drop(line.remove(at)),
                2 => line.extend_from_within(at..),
                _ => line.truncate(at),
            }
        }
        line
    })
}

proptest! {
    #[test]
    fn any_bytes_are_taken(line in vec(any::<u8>(), 0..512)) {
        let _ = decode(&line);
    }

    #[test]
    fn any_bytes_that_begin_as_a_frame_are_taken(mut line in vec(any::<u8>(), 0..512)) {
        line.insert(0, b'{');
        let _ = decode(&line);
    }

    #[test]
    fn changed_captures_are_taken(line in mutated()) {
        let good = serde_json::from_slice::<Map<String, Value>>(&line).is_ok();
        prop_assert!(decode(&line).is_ok() || !good);
    }

    #[test]
    fn valid_objects_are_never_an_error_and_never_lost(object in any_object(any_json())) {
        let line = serde_json::to_string(&object).unwrap();
        match decode(line.as_bytes()) {
            Ok(Incoming::Message(ClaudeMessage::Unknown(unknown))) => prop_assert_eq!(unknown.raw.text(), line),
            Ok(Incoming::Noise) | Err(_) => prop_assert!(false, "lost: {}", line),
            Ok(_) => {}
        }
    }
}
