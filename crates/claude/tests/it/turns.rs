//! Tests prompts and their turns.

use std::future::poll_fn;
use std::task::Poll;

use wh_claude::protocol::{InputBlock, UserContent};
use wh_claude::{ClaudeMessage, Error};

use crate::fake::{Fake, soon};

#[tokio::test]
async fn two_prompts_are_two_turns() {
    let fake = Fake::new(
        r#"hello
        expect '"one"'; delta f; words first; words ' and more'; result r1
        expect '"two"'; words second; result r2"#,
    );
    let mut client = fake.client().await;
    let mut turn = soon(client.prompt("one")).await.unwrap();
    let mut kinds = Vec::new();
    while let Some(message) = soon(turn.next()).await {
        kinds.push(match message.unwrap() {
            ClaudeMessage::Stream(_) => "stream",
            ClaudeMessage::Assistant(_) => "assistant",
            ClaudeMessage::Result(_) => "result",
            other => panic!("{other:?}"),
        });
    }
    assert_eq!(kinds, ["stream", "assistant", "assistant", "result"]);
    assert!(soon(turn.next()).await.is_none());
    assert_eq!(soon(soon(client.prompt("two")).await.unwrap().text()).await.unwrap(), "second");
}

#[tokio::test]
async fn a_frame_of_a_kind_that_is_not_known_is_part_of_the_turn() {
    let fake = Fake::new(
        r#"hello
        expect '"one"'
        say '{"type":"system","subtype":"hook_started","hook_name":"Stop"}'
        say '{"type":"from_tomorrow","more":1}'
        say '{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"no id"}]}}'
        result r1"#,
    );
    let mut client = fake.client().await;
    let mut turn = soon(client.prompt("one")).await.unwrap();
    let Some(Ok(ClaudeMessage::Unknown(frame))) = soon(turn.next()).await else { panic!("a system frame") };
    assert_eq!((frame.kind.as_deref(), frame.subtype.as_deref()), (Some("system"), Some("hook_started")));
    assert_eq!(frame.raw.value().unwrap()["hook_name"], "Stop");
    let Some(Ok(ClaudeMessage::Unknown(frame))) = soon(turn.next()).await else { panic!("a frame of another kind") };
    assert_eq!((frame.kind.as_deref(), frame.subtype.as_deref()), (Some("from_tomorrow"), None));
    assert_eq!(soon(turn.text()).await.unwrap(), "no id");
}

#[tokio::test]
async fn the_text_is_all_that_was_said() {
    let fake = Fake::new("hello; expect '\"user\"'; words first; words ' and more'; result r1");
    let mut client = fake.client().await;
    assert_eq!(soon(soon(client.prompt("one")).await.unwrap().text()).await.unwrap(), "first and more");
}

#[tokio::test]
async fn an_abandoned_turn_is_skipped_by_the_next() {
    let fake = Fake::new(
        r#"hello
        expect '"one"'; words first; until_there gate; words more; result r1
        expect '"two"'; words second; result r2"#,
    );
    let mut client = fake.client().await;
    let mut turn = soon(client.prompt("one")).await.unwrap();
    assert!(matches!(soon(turn.next()).await, Some(Ok(ClaudeMessage::Assistant(_)))));
    drop(turn);
    // Claude Code would merge input into the running turn, without a separate result.
    {
        let early = client.prompt("too early");
        tokio::pin!(early);
        assert!(poll_fn(|context| Poll::Ready(early.as_mut().poll(context).is_pending())).await);
    }
    assert_eq!(fake.heard().len(), 2, "nothing was said");
    fake.open("gate");
    assert_eq!(soon(soon(client.prompt("two")).await.unwrap().text()).await.unwrap(), "second");
}

#[tokio::test]
async fn a_turn_that_it_began_itself_does_not_answer_a_prompt() {
    let fake = Fake::new(
        r#"hello
        expect '"one"'; words first; result r1
        words 'a task has ended'; result r1b
        expect '"mcp_status"'; reply '{}'
        expect '"two"'; uuid=${line#*'"uuid":"'}; uuid=${uuid%%'"'*}
        words aside; result aside ',"user_message_uuids":["of-another"]'
        words second; result r2 ",\"user_message_uuids\":[\"$uuid\"]""#,
    );
    let mut client = fake.client().await;
    assert_eq!(soon(soon(client.prompt("one")).await.unwrap().text()).await.unwrap(), "first");
    // Its reply arrives after all messages of the unrequested turn.
    soon(client.mcp_status()).await.unwrap();
    let result = soon(soon(client.prompt("two")).await.unwrap().result()).await.unwrap();
    assert_eq!(result.result.as_deref(), Some("r2"));
}

#[tokio::test]
async fn a_result_that_was_already_read_is_not_reported_as_an_exit() {
    let fake = Fake::new("hello; expect '\"user\"'; result r1");
    let mut client = fake.client().await;
    let mut turn = soon(client.prompt("one")).await.unwrap();
    assert!(matches!(soon(turn.next()).await, Some(Ok(ClaudeMessage::Result(_)))));
    let error = soon(turn.result()).await.unwrap_err();
    assert!(matches!(error, Error::TurnAlreadyRead), "{error}");
    assert!(error.to_string().contains("already read"), "{error}");
}

#[tokio::test]
async fn a_turn_that_is_cut_off_ends_with_the_reason() {
    let fake = Fake::new("hello; expect '\"user\"'; words first; echo 'killed by the weather' >&2; exit 9");
    let mut client = fake.client().await;
    let mut turn = soon(client.prompt("one")).await.unwrap();
    assert!(matches!(soon(turn.next()).await, Some(Ok(ClaudeMessage::Assistant(_)))));
    let error = soon(turn.next()).await.unwrap().unwrap_err();
    let reason = "it exited with 9: killed by the weather";
    assert!(matches!(&error, Error::Disconnected(why) if &**why == reason), "{error}");
    assert!(soon(turn.next()).await.is_none());
    let error = soon(client.prompt("two")).await.unwrap_err();
    assert!(matches!(&error, Error::Disconnected(why) if &**why == reason), "{error}");
}

#[tokio::test]
async fn a_prompt_may_have_pictures() {
    let fake = Fake::new("hello; expect '\"user\"'; result seen");
    let mut client = fake.client().await;
    let source = serde_json::json!({"type": "base64", "media_type": "image/png", "data": "AAAA"});
    let blocks = vec![InputBlock::Text { text: "what is it?".into() }, InputBlock::Image { source: source.clone() }];
    let turn = soon(client.prompt_content(UserContent::Blocks(blocks))).await.unwrap();
    soon(turn.result()).await.unwrap();
    assert_eq!(fake.heard()[1]["message"]["content"][1]["source"], source);
}

#[tokio::test]
async fn a_line_end_in_a_prompt_stays_in_its_line() {
    let fake = Fake::new("hello; expect '\"user\"'; result r");
    let mut client = fake.client().await;
    let text = "one\ntwo\r\n\u{2028}three \"quoted\" \\ back";
    soon(soon(client.prompt(text)).await.unwrap().result()).await.unwrap();
    assert_eq!(fake.heard()[1]["message"]["content"], text);
}
