use wh_core::space::command::ConversationCommand;
use wh_core::space::harness::Order;
use wh_core::space::question::{Answer, OptionMeaning, Question, QuestionDetail, QuestionKind, QuestionOption};

use crate::stage::{Stage, answered, permission};

fn command() -> Vec<QuestionDetail> {
    vec![QuestionDetail::Command("rm -rf build".into())]
}

#[tokio::test]
async fn a_digit_answers() {
    let mut stage = Stage::new(80, 24).await;
    stage.begin("go").await;
    stage.ask("q1", permission("Run this command?", command())).await;
    stage.sees("Run this command?").await;
    assert!(stage.screen().contains("$ rm -rf build"));
    stage.text("3").await;
    assert!(!stage.screen().contains("Yes, this once"), "{}", stage.screen());
    assert_eq!(answered(stage.order().await), ("q1".into(), Some("no".into()), None));
}

#[tokio::test]
async fn arrows_and_enter_answer() {
    let mut stage = Stage::new(80, 24).await;
    stage.begin("go").await;
    stage.ask("q1", permission("Run this command?", command())).await;
    stage.sees("❯ 1 Yes, this once").await;
    stage.press(&["down", "enter"]).await;
    assert_eq!(answered(stage.order().await), ("q1".into(), Some("always".into()), None));
}

#[tokio::test]
async fn a_click_answers() {
    let mut stage = Stage::new(80, 24).await;
    stage.begin("go").await;
    stage.ask("q1", permission("Run this command?", command())).await;
    stage.sees("Run this command?").await;
    let row = stage.row("3 No");
    stage.click(8, row).await;
    assert_eq!(answered(stage.order().await), ("q1".into(), Some("no".into()), None));
}

#[tokio::test]
async fn questions_are_asked_one_after_another() {
    let mut stage = Stage::new(80, 24).await;
    stage.begin("go").await;
    for key in ["one", "two", "three"] {
        stage.ask(key, permission(&format!("Question {key}?"), vec![])).await;
    }
    stage.sees("1 of 3").await;
    for key in ["one", "two", "three"] {
        stage.sees(&format!("│ Question {key}?")).await;
        stage.no_longer_sees("until you stop typing").await;
        stage.text("1").await;
        assert_eq!(answered(stage.order().await).0, key);
    }
    stage.no_longer_sees("asks ─").await;
}

#[tokio::test]
async fn an_answer_to_one_question_does_not_answer_the_next() {
    let mut stage = Stage::new(80, 24).await;
    stage.begin("go").await;
    for key in ["one", "two", "three", "four"] {
        stage.ask(key, permission(&format!("Question {key}?"), vec![])).await;
    }
    stage.sees("1 of 4").await;
    // The first question is answered by another client, so the Enter for it comes too late.
    let question = stage.state(|state| state.questions().next().unwrap().id.clone()).await;
    let answer = Answer { option: Some("no".into()), text: None };
    stage
        .space
        .command("other".into(), None, ConversationCommand::Answer { question, answer, decision: None })
        .await
        .unwrap()
        .unwrap();
    stage.sees("│ Question two?").await;
    assert_eq!(answered(stage.order().await).0, "one");
    assert!(!stage.screen().contains("❯ 1"), "nothing is highlighted:\n{}", stage.screen());
    stage.press(&["enter"]).await;
    stage.sees("1 of 3").await;
    // After a pause, input is for this question. Of two digits the first one answers, and the second is dropped.
    stage.no_longer_sees("until you stop typing").await;
    stage.text("33").await;
    assert_eq!(answered(stage.order().await), ("two".into(), Some("no".into()), None));
    stage.sees("│ Question three?").await;
    stage.no_longer_sees("until you stop typing").await;
    stage.press(&["enter"]).await;
    stage.sees("Choose by number").await;
    stage.press(&["down", "enter"]).await;
    assert_eq!(answered(stage.order().await), ("three".into(), Some("once".into()), None));
    stage.sees("│ Question four?").await;
    stage.no_longer_sees("until you stop typing").await;
    stage.text("3").await;
    assert_eq!(answered(stage.order().await), ("four".into(), Some("no".into()), None));
}

#[tokio::test]
async fn a_permanent_answer_is_not_preselected() {
    let mut stage = Stage::new(80, 24).await;
    stage.begin("go").await;
    let mut question = permission("Sure?", vec![]);
    question.options.swap(0, 1);
    stage.ask("q1", question).await;
    stage.sees("Sure?").await;
    assert!(!stage.screen().contains("❯ 1"));
    stage.press(&["enter"]).await;
    stage.sees("Choose by number").await;
    stage.press(&["down", "down", "enter"]).await;
    assert_eq!(answered(stage.order().await).1, Some("once".into()));
}

#[tokio::test]
async fn the_draft_waits_behind_a_question() {
    let mut stage = Stage::new(80, 24).await;
    stage.begin("go").await;
    stage.text("my draft").await;
    // Typing is protected for a moment; Tab moves to the question.
    stage.ask("q1", permission("Sure?", vec![])).await;
    stage.sees("Sure?").await;
    assert!(stage.screen().contains("you are typing"), "{}", stage.screen());
    stage.text(" 1").await;
    assert!(stage.screen().contains("❯ my draft 1"));
    stage.press(&["tab"]).await;
    assert!(!stage.screen().contains("you are typing"));
    stage.text("1").await;
    assert_eq!(answered(stage.order().await).1, Some("once".into()));
    assert!(stage.screen().contains("❯ my draft 1"), "{}", stage.screen());
}

#[tokio::test]
async fn input_that_is_no_answer_is_dropped_with_a_hint() {
    let mut stage = Stage::new(80, 24).await;
    stage.begin("go").await;
    stage.ask("q1", permission("Sure?", vec![])).await;
    stage.sees("Sure?").await;
    stage.text("hello").await;
    assert!(stage.screen().contains("Choose by number"), "{}", stage.screen());
    assert!(!stage.screen().contains("hello"));
}

#[tokio::test]
async fn free_text_is_an_answer_if_the_question_accepts_it() {
    let mut stage = Stage::new(80, 24).await;
    stage.begin("go").await;
    let red = QuestionOption { id: "red".into(), label: "Red".into(), meaning: OptionMeaning::Other };
    let question = Question {
        kind: QuestionKind::Choice,
        title: "Which colour?".into(),
        details: vec![QuestionDetail::Text("Any will do.".into())],
        options: vec![red],
        accepts_text: true,
        preselects: true,
    };
    stage.ask("q1", question).await;
    stage.sees("Reply with text").await;
    stage.text("blue 1").await;
    assert!(stage.screen().contains("❯ blue 1"));
    let row = stage.row("❯ blue 1");
    assert_eq!(stage.vt.cursor().1, row);
    stage.press(&["enter"]).await;
    assert_eq!(answered(stage.order().await), ("q1".into(), None, Some("blue 1".into())));
}

#[tokio::test]
async fn a_question_without_options_is_answered_with_text() {
    let mut stage = Stage::new(80, 24).await;
    stage.begin("go").await;
    let question = Question {
        kind: QuestionKind::Text,
        title: "What is your name?".into(),
        details: vec![],
        options: vec![],
        accepts_text: true,
        preselects: true,
    };
    stage.ask("q1", question).await;
    stage.sees("What is your name?").await;
    stage.text("1 Ada\r").await;
    assert_eq!(answered(stage.order().await), ("q1".into(), None, Some("1 Ada".into())));
}

#[tokio::test]
async fn a_secret_is_masked() {
    let mut stage = Stage::new(80, 24).await;
    stage.begin("go").await;
    let question = Question {
        kind: QuestionKind::Secret,
        title: "Your password?".into(),
        details: vec![],
        options: vec![],
        accepts_text: true,
        preselects: true,
    };
    stage.ask("q1", question).await;
    stage.sees("Your password?").await;
    stage.text("hunter2").await;
    stage.sees("•••••••").await;
    assert!(!stage.screen().contains("hunter"), "{}", stage.screen());
    stage.press(&["enter"]).await;
    assert_eq!(answered(stage.order().await), ("q1".into(), None, Some("hunter2".into())));
    stage.sees("(not shown)").await;
    assert!(!stage.screen().contains("hunter"), "{}", stage.screen());
}

#[tokio::test]
async fn escape_interrupts_and_does_not_answer() {
    let mut stage = Stage::new(80, 24).await;
    stage.begin("go").await;
    stage.ask("q1", permission("Sure?", vec![])).await;
    stage.sees("Sure?").await;
    stage.press(&["escape"]).await;
    assert_eq!(stage.order().await, Order::Interrupt);
}

#[tokio::test]
async fn the_options_are_always_visible_on_a_small_screen() {
    let mut stage = Stage::new(60, 16).await;
    stage.begin("go").await;
    let long: String = (0..200).map(|number| format!("line {number}\n")).collect();
    stage
        .ask(
            "q1",
            permission("May I write all of this into that file over there, please?", vec![QuestionDetail::Text(long)]),
        )
        .await;
    stage.sees("3 No").await;
    let screen = stage.screen();
    for text in ["demo asks", "1 Yes, this once", "2 Yes, from now on", "line 0", "more · Ctrl+O: full text"] {
        assert!(screen.contains(text), "{text} is not in\n{screen}");
    }
    stage.press(&["pagedown"]).await;
    assert!(!stage.screen().contains("line 0 "));
    assert!(stage.screen().contains("3 No"), "{}", stage.screen());
    // The wheel scrolls, too.
    let row = stage.row("line ");
    stage.text(&format!("\x1b[<65;5;{}M", row)).await;
    assert!(stage.screen().contains("3 No"));
    stage.press(&["end"]).await;
    stage.text("1").await;
    assert_eq!(answered(stage.order().await).1, Some("once".into()));
}

#[tokio::test]
async fn a_question_answered_by_another_client_is_closed() {
    let mut stage = Stage::new(80, 24).await;
    stage.begin("go").await;
    stage.ask("q1", permission("Sure?", vec![])).await;
    stage.sees("1 Yes, this once").await;
    let question = stage.state(|state| state.questions().next().unwrap().id.clone()).await;
    let answer = Answer { option: Some("no".into()), text: None };
    stage
        .space
        .command("other".into(), None, ConversationCommand::Answer { question, answer, decision: None })
        .await
        .unwrap()
        .unwrap();
    stage.no_longer_sees("1 Yes, this once").await;
}

#[tokio::test]
async fn a_small_dialog_shows_the_changed_lines_before_the_context() {
    let mut stage = Stage::new(60, 16).await;
    stage.begin("go").await;
    let old = "use std;\n\n/// Greets.\nfn greet() {\n    one();\n    two();\n}\n";
    let diff = |new: &str| QuestionDetail::Diff { path: "src/a.rs".into(), old: Some(old.into()), new: new.into() };
    stage.ask("q1", permission("Change src/a.rs?", vec![diff(&old.replace("two()", "three()"))])).await;
    stage.sees("6 -     two();").await;
    stage.sees("6 +     three();").await;
    assert!(stage.screen().contains("❯ 1 Yes, this once"), "everything is seen:\n{}", stage.screen());
    // With enough room, the context is shown.
    stage.resize(80, 30).await;
    stage.sees("3   /// Greets.").await;
    stage.sees("7   }").await;
}
