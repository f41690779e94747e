use super::*;
use wh_pipe::link::LinkEvent;

/// Starts a program that runs a bash script.
async fn peer(script: &str) -> (RpcLink, RpcEvents) {
    let mut launch = LaunchSpec::new("bash");
    launch.arguments = vec!["-c".into(), script.into()];
    start(&launch, JsonRpc { names_version: true }).await.unwrap()
}

#[tokio::test]
async fn both_sides_ask_with_ids_of_their_own() {
    let script = r#"
        read -r first
        echo '{"jsonrpc":"2.0","id":0,"method":"ask/me","params":{"n":1}}'
        read -r answer
        echo "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"heard\":$answer}}"
        read -r"#;
    let (peer, mut events) = peer(script).await;
    let asking = tokio::spawn({
        let peer = peer.clone();
        async move { request(&peer, "start", json!({})).await }
    });
    let Some(LinkEvent::Message(RpcIncoming::Request { id, method, params })) = events.next().await else {
        panic!("a request")
    };
    assert_eq!((&id, method.as_str(), &params["n"]), (&json!(0), "ask/me", &json!(1)));
    let answer = |result: &str| peer.send(RpcFrame::Answer { id: id.clone(), result: json!(result) });
    assert_eq!(answer("yes").await, Ok(true));
    assert_eq!(answer("again").await, Ok(false), "it is answered once");
    let heard = asking.await.unwrap().unwrap();
    assert_eq!(heard["heard"], json!({"jsonrpc": "2.0", "id": 0, "result": "yes"}));
    peer.close();
    assert!(matches!(events.next().await, Some(LinkEvent::Closed(closed)) if closed.requested));
}

#[tokio::test]
async fn an_error_is_returned_and_an_unknown_method_is_refused() {
    let script = r#"
        read -r first
        echo '{"id":0,"error":{"code":-32000,"message":"log in first","data":{"how":"x"}}}'
        echo '{"id":"a","method":"what/ever"}'
        read -r refusal
        echo "{\"method\":\"heard\",\"params\":$refusal}"
        read -r"#;
    let (peer, mut events) = peer(script).await;
    let refused = request(&peer, "start", json!({})).await.unwrap_err();
    let expected =
        RpcError::Refused { code: -32000, message: "log in first".to_owned(), data: Some(json!({"how": "x"})) };
    assert_eq!(refused, expected);
    let Some(LinkEvent::Message(RpcIncoming::Request { id, method, .. })) = events.next().await else {
        panic!("a request")
    };
    assert_eq!(peer.send(RpcFrame::unknown(id, &method)).await, Ok(true));
    let Some(LinkEvent::Message(RpcIncoming::Notification { params, .. })) = events.next().await else {
        panic!("a notification")
    };
    assert_eq!((&params["id"], &params["error"]["code"]), (&json!("a"), &json!(METHOD_NOT_FOUND)));
}

#[tokio::test]
async fn all_pending_requests_fail_when_the_program_exits() {
    let (peer, mut events) = peer("read -r one; read -r two; echo 'out of wheels' >&2; exit 3").await;
    let requests: Vec<_> = ["one", "two"]
        .map(|method| {
            let peer = peer.clone();
            tokio::spawn(async move { request(&peer, method, json!({})).await })
        })
        .into();
    for request in requests {
        let Err(RpcError::Gone(reason)) = request.await.unwrap() else { panic!("it is gone") };
        assert_eq!(&*reason, "it exited with 3: out of wheels");
    }
    assert!(matches!(events.next().await, Some(LinkEvent::Closed(closed)) if !closed.requested));
    assert!(matches!(request(&peer, "three", json!({})).await, Err(RpcError::Gone(_))));
}

#[tokio::test]
async fn a_reply_arrives_without_reading_earlier_events() {
    let script = r#"
        read -r first
        for i in $(seq 2000); do echo '{"method":"noise","params":{}}'; done
        echo '{"id":0,"result":"behind it all"}'
        read -r"#;
    let (peer, mut events) = peer(script).await;
    assert_eq!(request(&peer, "start", json!({})).await, Ok(json!("behind it all")));
    for _ in 0..2000 {
        assert!(matches!(events.next().await, Some(LinkEvent::Message(RpcIncoming::Notification { .. }))));
    }
}

#[tokio::test]
async fn an_invalid_line_is_reported_and_the_rest_continues() {
    let mut launch = LaunchSpec::new("bash");
    let script = r#"printf '{"method":"%0200d"}\n' 1; echo '{broken'; echo 'words'; echo '{"method":"good"}'; read -r"#;
    launch.arguments = vec!["-c".into(), script.into()];
    let (_link, mut events) = Link::start(&launch, JsonRpc { names_version: true }, 100).await.unwrap();
    assert!(matches!(events.next().await, Some(LinkEvent::Skipped { bytes: 213 })));
    assert!(matches!(events.next().await, Some(LinkEvent::Message(RpcIncoming::Unreadable(_)))));
    let good = events.next().await;
    assert!(matches!(good, Some(LinkEvent::Message(RpcIncoming::Notification { method, .. })) if method == "good"));
}
