//! Tests of the demo agent's questions.

use wh_core::space::item::ToolStatus;
use wh_core::space::question::{OptionMeaning, QuestionDetail, QuestionKind};

use super::*;

#[tokio::test(start_paused = true)]
async fn a_permission_offers_once_always_and_no() {
    let mut rig = Rig::new(timeless());
    let all = rig.turn("/demo run", agreeable).await;
    let [question] = questions(&all)[..] else { panic!("it asks once") };
    assert_eq!(question.kind, QuestionKind::Permission);
    assert!(question.details.contains(&QuestionDetail::Command("make check".to_owned())));
    let meanings: Vec<OptionMeaning> = question.options.iter().map(|option| option.meaning).collect();
    assert_eq!(meanings, [OptionMeaning::AllowOnce, OptionMeaning::AllowAlways, OptionMeaning::RejectOnce]);
    assert_eq!(cards(&all).last().unwrap().status, ToolStatus::Completed);
}

#[tokio::test(start_paused = true)]
async fn an_answer_for_once_is_asked_again_and_a_permanent_one_is_not() {
    for trick in ["/demo ask", "/demo run", "/demo edit"] {
        let mut rig = Rig::new(timeless());
        assert_eq!(questions(&rig.turn(trick, |_| option("allow_once")).await).len(), 1);
        assert_eq!(questions(&rig.turn(trick, |_| option("allow_always")).await).len(), 1);
        assert_eq!(questions(&rig.turn(trick, agreeable).await).len(), 0);
        rig.call(Call::Restart).await.1.unwrap();
        assert_eq!(questions(&rig.turn(trick, agreeable).await).len(), 1, "a restart forgets it");
    }
}

#[tokio::test(start_paused = true)]
async fn a_reason_for_a_no_is_repeated() {
    let no = |_: &Question| Answer { option: Some("reject".to_owned()), text: Some("not on a Sunday".to_owned()) };
    for trick in ["/demo ask", "/demo run", "/demo edit"] {
        let mut rig = Rig::new(timeless());
        let all = rig.turn(trick, no).await;
        assert!(texts(&all).contains("“not on a Sunday”"), "{trick}");
        assert!(cards(&all).iter().all(|card| card.status == ToolStatus::Denied), "{trick}");
    }
}

#[tokio::test(start_paused = true)]
async fn text_without_a_choice_and_invalid_answers_are_rejections() {
    for answer in [words("use another file"), option("maybe"), Answer::default()] {
        let mut rig = Rig::new(timeless());
        let all = rig.turn("/demo run", |_| answer.clone()).await;
        assert_eq!(cards(&all).last().unwrap().status, ToolStatus::Denied);
        assert_eq!(texts(&all).contains("use another file"), answer.text.is_some());
    }
}

#[tokio::test(start_paused = true)]
async fn the_mode_decides_what_is_asked() {
    let mut rig = Rig::new(timeless());
    rig.order(Order::SetMode("edit".to_owned())).await;
    assert_eq!(questions(&rig.turn("/demo edit", agreeable).await).len(), 0);
    assert_eq!(questions(&rig.turn("/demo run", agreeable).await).len(), 1);
    rig.order(Order::SetMode("plan".to_owned())).await;
    for trick in ["/demo edit", "/demo run"] {
        let all = rig.turn(trick, agreeable).await;
        assert_eq!(questions(&all).len(), 0);
        assert_eq!(cards(&all).last().unwrap().status, ToolStatus::Denied);
    }
}

#[tokio::test(start_paused = true)]
async fn choices_and_texts_are_repeated() {
    let mut rig = Rig::new(timeless());
    assert!(texts(&rig.turn("/demo choose", |_| option("blue")).await).contains("**Deep blue**"));
    assert!(texts(&rig.turn("/demo choose", |_| words("pink")).await).contains("**pink**"));
    assert!(texts(&rig.turn("/demo text", |_| words("Tern")).await).contains("“Tern”"));
}

#[tokio::test(start_paused = true)]
async fn several_questions_are_open_at_once_and_answered_in_any_order() {
    let mut rig = Rig::new(timeless());
    rig.prompt("/demo many").await;
    let mut open = Vec::new();
    while open.len() < 3 {
        if let Some(Report::Asked { key, question }) = rig.next().await {
            open.push((key, question));
        }
    }
    for (question, asked) in open.into_iter().rev() {
        let answer = agreeable(&asked);
        rig.order(Order::Answer { question, answer }).await;
    }
    let all = rig.until(|report| matches!(report, Report::Ended(..))).await;
    let said = texts(&all);
    assert!(said.contains("**Yes.**") && said.contains("**Red lead**") && said.contains("**Tern**"), "{said}");
}

#[tokio::test(start_paused = true)]
async fn only_the_first_answer_counts_and_late_ones_are_ignored() {
    let mut rig = Rig::new(timeless());
    rig.prompt("/demo many").await;
    let mut keys = Vec::new();
    while keys.len() < 3 {
        if let Some(Report::Asked { key, .. }) = rig.next().await {
            keys.push(key);
        }
    }
    for answer in [option("red"), option("blue")] {
        rig.order(Order::Answer { question: keys[1].clone(), answer }).await;
    }
    rig.order(Order::Answer { question: "nothing".to_owned(), answer: option("red") }).await;
    rig.order(Order::Answer { question: keys[0].clone(), answer: option("reject") }).await;
    rig.order(Order::Answer { question: keys[2].clone(), answer: words("Tern") }).await;
    let said = texts(&rig.until(|report| matches!(report, Report::Ended(..))).await);
    assert!(said.contains("**Red lead**") && !said.contains("Deep blue"), "{said}");
    rig.order(Order::Answer { question: keys[2].clone(), answer: words("late") }).await;
    assert_eq!(*outcome(&rig.turn("hello", agreeable).await), TurnOutcome::Completed);
}
