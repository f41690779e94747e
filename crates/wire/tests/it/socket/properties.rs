use proptest::prelude::*;
use serde_json::{Map, Value, json};
use wh_wire::socket::{
    AnswerDecision, ContentRef, ControlAction, ControlAnswer, ControlContent, ControlKey, ControlMeta, ControlRequest,
    ControlStdin, SocketCommand, SocketRequest,
};

fn word() -> impl Strategy<Value = String> {
    "[^\\x00]{1,12}"
}

fn action() -> impl Strategy<Value = ControlAction> {
    let reference = (word(), any::<u64>(), word(), word(), proptest::option::of(word())).prop_map(
        |(path, size_bytes, sha256, mime, expires_at)| {
            ControlContent::Reference(ContentRef { path, size_bytes, sha256, mime, expires_at })
        },
    );
    let content = prop_oneof![any::<String>().prop_map(ControlContent::Inline), reference];
    let stdin = (content, any::<bool>(), proptest::option::of(any::<String>()))
        .prop_map(|(content, interrupt, preview)| ControlAction::Stdin(ControlStdin { content, interrupt, preview }));
    let chosen = prop_oneof![
        word().prop_map(|option| (Some(option), None)),
        prop_oneof![Just(AnswerDecision::Approve), Just(AnswerDecision::Reject)]
            .prop_map(|decision| (None, Some(decision))),
    ];
    let answer = prop_oneof![
        (word(), chosen, proptest::option::of(word()))
            .prop_map(|(id, (option, decision), text)| (id, option, decision, text)),
        (word(), word()).prop_map(|(id, text)| (id, None, None, Some(text))),
    ]
    .prop_map(|(question_id, option, decision, text)| {
        ControlAction::Answer(ControlAnswer { question_id, option, decision, text })
    });
    prop_oneof![4 => stdin, 1 => Just(ControlAction::Interrupt), 2 => answer]
}

fn request() -> impl Strategy<Value = ControlRequest> {
    let meta = (proptest::option::of(any::<u64>()), proptest::option::of(word()))
        .prop_map(|(retry_count, retry_of)| ControlMeta { retry_count, retry_of, ..ControlMeta::default() });
    ((word(), word(), word(), word()), word(), word(), action(), meta).prop_map(
        |((team, session_id, agent_id, request_id), sender, sent_at, action, meta)| ControlRequest {
            key: ControlKey { team, session_id, agent_id, request_id },
            sender,
            sent_at,
            action,
            meta,
        },
    )
}

/// Generates fields of a control message with arbitrary values.
fn strange() -> impl Strategy<Value = Value> {
    let field = prop::sample::select(vec![
        "type",
        "action",
        "v",
        "request_id",
        "team",
        "session_id",
        "agent_id",
        "sender",
        "sent_at",
        "content",
        "payload",
        "content_ref",
        "content_encoding",
        "interrupt",
        "signal",
        "meta",
        "question_id",
        "elicitation_id",
        "decision",
        "option",
        "text",
    ]);
    let value = prop_oneof![
        Just(json!(null)),
        Just(json!(1)),
        Just(json!(2.5)),
        Just(json!(true)),
        Just(json!([])),
        Just(json!({})),
        Just(json!("stdin")),
        Just(json!("control.stdin.request")),
        Just(json!("interrupt")),
        Just(json!("answer")),
        any::<String>().prop_map(|text| json!(text)),
    ];
    proptest::collection::vec((field, value), 0..20).prop_map(|fields| {
        Value::Object(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>())
    })
}

proptest! {
    #[test]
    fn encoding_and_decoding_round_trip(request in request()) {
        prop_assert_eq!(ControlRequest::decode(&request.encode()), Ok(request));
    }

    #[test]
    fn either_form_decodes_like_both(request in request()) {
        for without in ["type", "action"] {
            let mut payload = request.encode();
            payload.as_object_mut().unwrap().remove(without);
            prop_assert_eq!(ControlRequest::decode(&payload), Ok(request.clone()));
        }
    }

    #[test]
    fn any_payload_is_a_message_or_a_problem_with_a_description(payload in strange()) {
        if let Err(problem) = ControlRequest::decode(&payload) {
            prop_assert!(!problem.reason.to_string().is_empty());
            prop_assert_eq!(problem.ack("now").is_some(), problem.kind.is_some());
        }
        let request = SocketRequest::new("r", "control", payload);
        prop_assert!(matches!(SocketCommand::read(&request), Ok(SocketCommand::Control(_))));
    }

    #[test]
    fn any_bytes_are_a_request_or_a_response_to_send(line in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Err(response) = SocketRequest::decode(&line) {
            prop_assert_eq!(response.encode().iter().filter(|byte| **byte == b'\n').count(), 1);
        }
    }
}
