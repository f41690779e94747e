use wh_core::space::command::ConversationCommand;
use wh_core::space::harness::{Order, Report};
use wh_core::space::item::ItemBody;
use wh_screen::frame::CursorShape;

use crate::stage::Stage;

#[tokio::test]
async fn typed_text_is_shown_with_the_caret_behind_it() {
    let mut stage = Stage::new(80, 24).await;
    assert!(stage.screen().contains("Type a message, / for commands, ? for keys"));
    stage.text("hello 日本").await;
    let row = stage.row("❯ hello 日本");
    assert_eq!(stage.vt.cursor(), (2 + 6 + 4, row));
    let frame = stage.vt.frame();
    let caret = frame.rows[usize::from(row)][12].clone();
    assert!(caret.style.inverse, "{caret:?}");
    // A block cursor on an inverse cell would invert it back.
    assert_eq!((frame.cursor.visible, frame.cursor.shape), (true, CursorShape::Beam));
}

#[tokio::test]
async fn input_counts_as_drawn_with_the_frame_that_shows_the_sent_message() {
    let mut stage = Stage::new(80, 24).await;
    stage.text("hello there").await;
    stage.press(&["enter"]).await;
    assert!(stage.screen().contains("Type a message"), "{}", stage.screen());
    assert!(stage.screen().contains("hello there"), "{}", stage.screen());
    assert!(matches!(stage.order().await, Order::Prompt { text, .. } if text == "hello there"));
    assert_eq!(stage.drawn.borrow().typed, stage.typed);
}

#[tokio::test]
async fn messages_arrive_in_the_order_in_which_they_were_sent() {
    let mut stage = Stage::new(80, 24).await;
    let all: String = (0..20).map(|number| format!("message {number}\r")).collect();
    stage.text(&all).await;
    let said = stage.state(|state| {
        let texts = state.items.iter().filter_map(|item| match &item.body {
            ItemBody::Text { text, .. } => Some(text.clone()),
            _ => None,
        });
        texts.collect::<Vec<_>>()
    });
    let said = said.await;
    // The agent has a queue for some messages; the rest is refused.
    assert!(said.len() > 5);
    for (number, text) in said.iter().enumerate() {
        assert_eq!(*text, format!("message {number}"));
    }
}

#[tokio::test]
async fn help_begins_with_its_title() {
    let mut stage = Stage::new(120, 60).await;
    stage.text("/help\r").await;
    stage.sees("Available Commands").await;
    stage.sees("Commands of demo").await;
}

#[tokio::test]
async fn help_that_does_not_fit_is_shown_from_its_beginning() {
    let mut stage = Stage::new(80, 24).await;
    stage.text("/help\r").await;
    stage.sees("◇ Available Commands").await;
    stage.sees("lines below").await;
    // The help can be scrolled to its end, and a message follows the end again.
    stage.press(&["pagedown"]).await;
    assert!(!stage.screen().contains("Available Commands"), "{}", stage.screen());
    stage.press(&["ctrl+end"]).await;
    stage.sees("Commands of demo").await;
    assert!(!stage.screen().contains("lines below"), "{}", stage.screen());
    stage.text("/ui board open\r/help\r").await;
    stage.resize(120, 40).await;
    stage.sees("◇ Available Commands").await;
    stage.sees("Signal Board").await;
    stage.text("hello\r").await;
    stage.sees("◆ you ❯ hello").await;
}

#[tokio::test]
async fn a_refused_line_leaves_the_composer_and_is_recorded() {
    let mut stage = Stage::new(100, 24).await;
    stage.text("/nonsense at all\r").await;
    stage.sees("◇ /nonsense at all: Unknown command: /nonsense").await;
    assert!(!stage.screen().contains("❯ /nonsense"), "{}", stage.screen());
    // The next line is not appended to it. This one is refused by the space, not by the parser.
    stage.text("/target nobody\r").await;
    stage.sees("◇ /target nobody: ").await;
    let refused = stage.state(|state| {
        let notices = state.items.iter().filter_map(|item| match &item.body {
            ItemBody::Notice { topic, lines, .. } if topic == "refused" => Some(lines.concat()),
            _ => None,
        });
        notices.collect::<Vec<_>>()
    });
    let refused = refused.await;
    assert_eq!(refused.len(), 2, "{refused:?}");
    stage.press(&["up"]).await;
    assert!(stage.screen().contains("❯ /target nobody"), "{}", stage.screen());
    stage.press(&["up"]).await;
    assert!(stage.screen().contains("❯ /nonsense at all"), "{}", stage.screen());
}

#[tokio::test]
async fn an_envelope_in_json_is_posted_or_refused_by_its_kind() {
    let mut stage = Stage::new(100, 24).await;
    stage.text("{\"kind\":\"custom/thing\"}\r").await;
    stage.sees("custom/thing: unknown kind").await;
    stage.no_longer_sees("❯ {").await;
    stage.text("{\"kind\":\"participant/status\",\"payload\":{\"status\":\"away\"}}\r").await;
    stage.no_longer_sees("❯ {").await;
    let kinds = stage.state(|state| {
        let acts = state.items.iter().filter_map(|item| match &item.body {
            ItemBody::Act { kind, .. } => Some(kind.clone()),
            _ => None,
        });
        acts.collect::<Vec<_>>()
    });
    assert!(kinds.await.contains(&"participant/status".to_owned()));
}

#[tokio::test]
async fn commands_of_wh_and_of_the_agent_are_completed() {
    let mut stage = Stage::new(100, 30).await;
    stage.text("/tri").await;
    stage.sees("Does a trick").await;
    stage.press(&["tab"]).await;
    stage.sees("❯ /trick").await;
    stage.no_longer_sees("Does a trick").await;
    stage.press(&["ctrl+u"]).await;
    stage.text("/pause ").await;
    stage.sees("PARTICIPANT [SECONDS] [REASON]").await;
    stage.press(&["tab"]).await;
    stage.sees("❯ /pause demo").await;
}

#[tokio::test]
async fn files_are_completed() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("wonderful.txt"), "").unwrap();
    let directory = folder.path().to_owned();
    let mut stage = Stage::with(100, 30, |options| options.directory = directory).await;
    stage.text("see @won").await;
    stage.sees("wonderful.txt").await;
    stage.press(&["tab"]).await;
    stage.sees("❯ see @wonderful.txt").await;
}

#[tokio::test]
async fn a_chosen_target_is_a_badge() {
    let mut stage = Stage::new(100, 24).await;
    stage.text("/target demo\r").await;
    stage.sees("→ demo").await;
    stage.text("/target none\r").await;
    stage.no_longer_sees(" → demo ").await;
}

#[tokio::test]
async fn escape_clears_the_composer_and_undo_restores_it() {
    let mut stage = Stage::new(80, 24).await;
    stage.text("precious").await;
    stage.press(&["escape"]).await;
    assert!(!stage.screen().contains("precious"));
    stage.press(&["ctrl+z"]).await;
    assert!(stage.screen().contains("❯ precious"));
}

#[tokio::test]
async fn escape_interrupts_a_busy_agent_and_keeps_the_draft() {
    let mut stage = Stage::new(80, 24).await;
    stage.begin("work").await;
    stage.sees("demo works").await;
    stage.text("draft").await;
    stage.press(&["escape"]).await;
    assert_eq!(stage.order().await, Order::Interrupt);
    assert!(stage.screen().contains("❯ draft"));
}

#[tokio::test]
async fn a_message_of_another_client_keeps_the_draft() {
    let mut stage = Stage::new(80, 24).await;
    stage.text("draft").await;
    let say = ConversationCommand::say("from elsewhere", None);
    stage.space.command("human".into(), None, say).await.unwrap().unwrap();
    stage.sees("from elsewhere").await;
    assert!(stage.screen().contains("❯ draft"));
}

#[tokio::test]
async fn the_keys_are_listed_and_typing_closes_the_list() {
    let mut stage = Stage::new(100, 50).await;
    stage.text("?").await;
    assert!(stage.screen().contains("Keys of wh"), "{}", stage.screen());
    stage.press(&["escape"]).await;
    assert!(!stage.screen().contains("Keys of wh"));
    stage.press(&["f1"]).await;
    stage.text("x").await;
    assert!(!stage.screen().contains("Keys of wh"));
    assert!(stage.screen().contains("❯ x"));
    stage.text("?").await;
    assert!(stage.screen().contains("❯ x?"));
}

#[tokio::test]
async fn the_end_of_an_agent_is_reported() {
    let mut stage = Stage::new(100, 24).await;
    stage.report(Report::Gone(Some("it crashed".into()))).await;
    stage.sees("demo is gone: it crashed").await;
}
