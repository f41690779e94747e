//! The scripted model with requests of the three vendors' clients.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};

use serde_json::{Value, json};
use wh_testkit::ScriptedModel;
use wh_testkit::http::{TestRequest, TestResponse};
use wh_testkit::model::StreamEnd;

fn post(model: &ScriptedModel, path: &str, body: &Value) -> TestResponse {
    TestRequest::post_json(path, body).send(model.port()).expect("the model answers")
}

/// Returns the JSON data of each event of a stream.
fn events(response: &TestResponse) -> Vec<Value> {
    assert_eq!(response.header("content-type"), Some("text/event-stream"), "{}", response.text());
    let text = response.text();
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|data| serde_json::from_str(data).expect("an event is JSON")).collect()
}

/// Concatenates all strings at a JSON pointer.
fn joined(events: &[Value], pointer: &str) -> String {
    events.iter().filter_map(|event| event.pointer(pointer)?.as_str()).collect()
}

mod anthropic {
    use super::*;

    pub(super) fn asked(text: &str, stream: bool) -> Value {
        json!({
            "model": "claude-x",
            "stream": stream,
            "messages": [{"role": "user", "content": [{"type": "text", "text": text}]}],
            "tools": [{"name": "Bash"}, {"name": "Write"}, {"name": "AskUserQuestion"}],
        })
    }

    fn said(model: &ScriptedModel, text: &str) -> Vec<Value> {
        events(&post(model, "/v1/messages?beta=true", &asked(text, true)))
    }

    #[test]
    fn a_text_is_echoed_in_a_whole_stream() {
        let events = said(&ScriptedModel::start(), "hello there");
        let types: Vec<_> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
        assert_eq!(
            types,
            [
                "message_start",
                "content_block_start",
                "content_block_delta",
                "content_block_delta",
                "content_block_stop",
                "message_delta",
                "message_stop"
            ]
        );
        assert_eq!(joined(&events, "/delta/text"), "echo: hello there");
        assert_eq!(joined(&events, "/delta/stop_reason"), "end_turn");
    }

    #[test]
    fn tools_are_asked_for() {
        let model = ScriptedModel::start_on(0, "/project".as_ref());
        for (text, tool, key, value) in [
            ("tool: ls -l", "Bash", "/command", "ls -l"),
            ("edit: a.txt hi", "Write", "/file_path", "/project/a.txt"),
            ("ask: which?", "AskUserQuestion", "/questions/0/question", "which?"),
            (r#"call: Bash {"command": "pwd"}"#, "Bash", "/command", "pwd"),
        ] {
            let events = said(&model, text);
            assert_eq!(joined(&events, "/content_block/name"), tool);
            let input: Value = serde_json::from_str(&joined(&events, "/delta/partial_json")).unwrap();
            assert_eq!(input.pointer(key), Some(&json!(value)), "{text}");
            assert_eq!(joined(&events, "/delta/stop_reason"), "tool_use");
        }
        assert_eq!(model.prompts()[0], "tool: ls -l");
    }

    #[test]
    fn thoughts_come_before_the_answer() {
        let events = said(&ScriptedModel::start(), "think: deep thoughts");
        assert_eq!(joined(&events, "/delta/thinking"), "deep thoughts ");
        assert_eq!(joined(&events, "/delta/text"), "echo: think: deep thoughts");
        assert_eq!(events.iter().filter(|event| event["type"] == "content_block_stop").count(), 2);
    }

    #[test]
    fn an_answer_without_a_stream_is_one_message() {
        let model = ScriptedModel::start();
        let message = post(&model, "/v1/messages", &asked("hello", false)).json();
        assert_eq!(message["content"], json!([{"type": "text", "text": "echo: hello"}]));
        let counted = post(&model, "/v1/messages/count_tokens?beta=true", &asked("hello", false)).json();
        assert_eq!(counted, json!({"input_tokens": 10}));
        assert_eq!(model.prompts(), ["hello"]);
    }

    #[test]
    fn slow_and_big_answers_have_their_length() {
        let model = ScriptedModel::start();
        assert_eq!(joined(&said(&model, "slow: 3"), "/delta/text"), "word0 word1 word2 ");
        assert_eq!(joined(&said(&model, "big: 300"), "/delta/text").len(), 300 * 1024);
    }

    #[test]
    fn a_failure_is_an_http_status() {
        let response = post(&ScriptedModel::start(), "/v1/messages", &asked("fail: 529", true));
        assert_eq!((response.status, response.json()["type"].as_str()), (529, Some("error")));
    }
}

mod openai {
    use super::*;

    pub(super) fn asked(text: &str) -> Value {
        json!({
            "model": "gpt-x",
            "stream": true,
            "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}],
            "tools": [{"type": "function", "name": "exec_command"}, {"type": "web_search"}],
        })
    }

    fn said(text: &str) -> Vec<Value> {
        events(&post(&ScriptedModel::start(), "/v1/responses", &asked(text)))
    }

    #[test]
    fn a_text_is_echoed() {
        let events = said("hello there");
        assert_eq!(joined(&events, "/delta"), "echo: hello there");
        assert_eq!(joined(&events, "/item/content/0/text"), "echo: hello there");
        assert_eq!(events.last().unwrap()["type"], "response.completed");
    }

    #[test]
    fn the_shell_is_asked_for() {
        let events = said("tool: ls -l");
        assert_eq!(joined(&events, "/item/name"), "exec_command");
        assert_eq!(joined(&events, "/item/arguments"), r#"{"cmd":"ls -l"}"#);
    }

    #[test]
    fn the_result_of_a_tool_ends_the_turn() {
        let mut body = asked("tool: ls");
        let result = json!({"type": "function_call_output", "call_id": "c", "output": "x"});
        body["input"].as_array_mut().unwrap().push(result);
        let model = ScriptedModel::start();
        let events = events(&post(&model, "/v1/responses", &body));
        assert_eq!(joined(&events, "/delta"), "tool done");
        assert!(model.prompts().is_empty());
    }

    #[test]
    fn a_compressed_body_is_refused_with_a_reason() {
        let model = ScriptedModel::start();
        let request = TestRequest::post("/v1/responses", [0x28, 0xb5, 0x2f, 0xfd]).header("Content-Encoding", "zstd");
        let response = request.send(model.port()).unwrap();
        assert_eq!(response.status, 415);
        assert!(response.text().contains("does not support zstd"), "{}", response.text());
        assert_eq!(model.requests()[0].header("content-encoding"), Some("zstd"));
    }

    #[test]
    fn a_chunked_body_is_read() {
        let model = ScriptedModel::start();
        let request = TestRequest::post("/v1/responses", asked("hi").to_string()).chunked();
        let events = events(&request.send(model.port()).unwrap());
        assert_eq!(joined(&events, "/delta"), "echo: hi");
    }
}

mod gemini {
    use super::*;

    pub(super) const STREAM: &str = "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse";
    const WHOLE: &str = "/v1beta/models/gemini-2.5-flash:generateContent";
    const TEXT: &str = "/candidates/0/content/parts/0/text";

    pub(super) fn asked(text: &str) -> Value {
        json!({
            "contents": [{"role": "user", "parts": [{"text": text}]}],
            "tools": [{"functionDeclarations": [{"name": "run_shell_command"}]}],
        })
    }

    #[test]
    fn a_text_is_echoed_and_the_last_chunk_says_so() {
        let events = events(&post(&ScriptedModel::start(), STREAM, &asked("hello there")));
        assert_eq!(joined(&events, TEXT), "echo: hello there");
        let reasons: Vec<_> = events.iter().map(|event| &event["candidates"][0]["finishReason"]).collect();
        assert_eq!(reasons, [&Value::Null, &json!("STOP")]);
    }

    #[test]
    fn the_shell_is_asked_for() {
        let events = events(&post(&ScriptedModel::start(), STREAM, &asked("tool: ls")));
        let call = &events[0]["candidates"][0]["content"]["parts"][0]["functionCall"];
        assert_eq!((&call["name"], &call["args"]["command"]), (&json!("run_shell_command"), &json!("ls")));
    }

    #[test]
    fn an_answer_without_a_stream_is_one_chunk() {
        let answer = post(&ScriptedModel::start(), WHOLE, &asked("hello")).json();
        assert_eq!(answer.pointer(TEXT), Some(&json!("echo: hello")));
    }
}

#[test]
fn other_requests_get_a_valid_response() {
    let model = ScriptedModel::start();
    let port = model.port();
    assert_eq!(TestRequest::new("HEAD", "/").send(port).unwrap().status, 200);
    let list = TestRequest::get("/v1/models").send(port).unwrap().json();
    assert_eq!(list, json!({"data": [], "models": []}));
    assert_eq!(post(&model, "/api/event_logging", &json!([])).json(), json!({"ok": true}));
    assert_eq!(model.requests().len(), 3);
}

#[test]
fn a_model_stops_during_an_answer() {
    let model = ScriptedModel::start();
    let body = json!({"stream": true, "messages": [{"role": "user", "content": "slow: 100000"}]});
    let port = model.port();
    let client = std::thread::spawn(move || TestRequest::post_json("/v1/messages", &body).send(port));
    wh_testkit::eventually("the request is in", || model.requests().pop());
    drop(model);
    assert!(client.join().unwrap().is_err(), "the stream was cut");
}

/// Reads the first bytes of a streamed answer and returns the open connection.
fn begun(model: &ScriptedModel, path: &str, body: &Value) -> TcpStream {
    let mut connection = TcpStream::connect((Ipv4Addr::LOCALHOST, model.port())).unwrap();
    let body = body.to_string();
    let head = format!("POST {path} HTTP/1.1\r\nHost: model\r\nContent-Length: {}\r\n\r\n", body.len());
    connection.write_all(format!("{head}{body}").as_bytes()).unwrap();
    connection.read_exact(&mut [0; 64]).unwrap();
    connection
}

#[test]
fn a_stream_is_logged_as_complete_or_as_cut() {
    let model = ScriptedModel::start();
    for name in ["anthropic", "openai", "gemini"] {
        let (whole, cut) = (format!("whole-{name}"), format!("cut-{name}"));
        let asked = |order: &str| match name {
            "anthropic" => ("/v1/messages", anthropic::asked(order, true)),
            "openai" => ("/v1/responses", openai::asked(order)),
            _ => (gemini::STREAM, gemini::asked(order)),
        };
        let end = |words: &str| match &model.streams(words)[..] {
            [stream] => stream.end,
            streams => panic!("one stream and not {streams:?}"),
        };
        let (path, body) = asked(&format!("slow: 2 {whole}"));
        assert_eq!(post(&model, path, &body).status, 200);
        assert!(matches!(end(&whole), Some(StreamEnd::Complete(_))), "{name}");
        let (path, body) = asked(&format!("slow: 600 {cut}"));
        let connection = begun(&model, path, &body);
        assert_eq!(end(&cut), None, "{name}");
        drop(connection);
        let end = wh_testkit::eventually("the model sees that the client is gone", || end(&cut));
        assert!(matches!(end, StreamEnd::Cut(_)), "{name}");
    }
    model.discard_requests();
    assert_eq!((model.requests().len(), model.streams("").len()), (0, 6));
}
