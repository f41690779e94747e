//! Tests logins, modes and models.

use serde_json::json;
use wh_core::space::harness::AgentOption;

use super::*;

fn ids(named: &[AgentOption]) -> Vec<&str> {
    named.iter().map(|one| one.id.as_str()).collect()
}

async fn ready(run: &mut Run) -> wh_core::space::harness::ReportedCapabilities {
    match run.until(|report| matches!(report, Report::Ready(_))).await.pop() {
        Some(Report::Ready(capabilities)) => capabilities,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_login_that_is_there_is_used() {
    let script = r#"
        next; reply "$HELLO"; next; fail -32000 "log in first"
        next; reply '{}'; next; reply "$SESSION"; rest"#;
    let mut run = Run::new(script).await;
    ready(&mut run).await;
    let heard = run.heard();
    assert_eq!((&heard[2]["method"], &heard[2]["params"]["methodId"]), (&json!("authenticate"), &json!("key")));
    run.end().await;
}

#[tokio::test]
async fn without_a_login_the_error_says_what_to_do() {
    let script = r#"next; reply "$HELLO"; next; fail -32000 "log in first"; next; fail -32000 "no key"; rest"#;
    let run = Run::new(script).await;
    assert_eq!(run.gone().await.as_deref(), Some("log in first; say please"));
    let run = Run::new("next; echo 'no wheels' >&2; exit 3").await;
    assert_eq!(run.gone().await.as_deref(), Some("it exited with 3: no wheels"));
    let run = Run::new(r#"next; reply '{"protocolVersion":2}'; rest"#).await;
    assert!(run.gone().await.unwrap().contains("version 2"));
}

#[tokio::test]
async fn choices_are_answered_in_any_order() {
    let script = r#"
        hello; for i in 1 2; do next; case $line in *set_model*) model=$id;; *) mode=$id;; esac; done
        id=$model; reply '{}'; id=$mode; fail -32602 "not now"
        next; say "[MODE] plan"; reply '{}'; rest"#;
    let mut run = Run::new(script).await;
    let first = ready(&mut run).await;
    assert_eq!((ids(&first.modes), ids(&first.models)), (vec!["ask", "plan"], vec!["small", "large"]));
    run.order(Order::SetMode("plan".to_owned())).await;
    run.order(Order::SetModel("large".to_owned())).await;
    let mut reports = run.until(|report| matches!(report, Report::Ready(_))).await;
    reports.extend(run.until(|report| matches!(report, Report::Ready(_))).await);
    let Some(Report::Ready(last)) = reports.last() else { panic!("{reports:?}") };
    assert_eq!((last.mode.as_deref(), last.model.as_deref()), (Some("ask"), Some("large")));
    assert!(warnings(&reports)[0].contains("not now"));
    run.order(Order::SetMode("plan".to_owned())).await;
    let last = ready(&mut run).await;
    assert_eq!(last.mode.as_deref(), Some("plan"));
    run.end().await;
}

#[tokio::test]
async fn a_mode_that_skips_permissions_is_hidden_and_refused() {
    let wild = |start: &mut StartOptions| start.mode = Some("wild".to_owned());
    let mut start = StartOptions::new("/");
    wild(&mut start);
    let refused = started(fake(), start).await.unwrap_err();
    assert!(matches!(&refused, AgentStartError::SkipsPermissions { mode, .. } if mode == "wild"));
    assert_eq!(refused.hint(), Some(ALLOW_SKIPPING));

    let mut run = Run::new("hello; rest").await;
    assert_eq!(ids(&ready(&mut run).await.modes), ["ask", "plan"]);
    run.order(Order::SetMode("wild".to_owned())).await;
    let reports = run.until(|report| matches!(report, Report::Notice(..))).await;
    assert!(warnings(&reports)[0].contains("--allow-skipping-permissions"));
    run.end().await;

    let allowed = |start: &mut StartOptions| {
        wild(start);
        start.may_skip_permissions = true;
    };
    let mut run = Run::with("hello; next; reply '{}'; rest", allowed).await;
    let capabilities = ready(&mut run).await;
    assert_eq!((ids(&capabilities.modes), capabilities.mode.as_deref()), (vec!["ask", "plan", "wild"], Some("wild")));
    assert_eq!(run.heard()[2]["params"]["modeId"], "wild");
    run.end().await;
}

#[tokio::test]
async fn a_session_that_starts_in_a_skipping_mode_is_switched_back() {
    let script =
        r#"SESSION=${SESSION/'"currentModeId":"ask"'/'"currentModeId":"wild"'}; hello; next; reply '{}'; rest"#;
    let mut run = Run::new(script).await;
    assert_eq!(ready(&mut run).await.mode.as_deref(), Some("ask"));
    assert_eq!(run.heard()[2]["params"]["modeId"], "ask");
    let reports = run.until(|report| matches!(report, Report::Notice(..))).await;
    assert!(warnings(&reports)[0].contains("wild"));
    run.end().await;
}

#[tokio::test]
async fn an_unknown_mode_or_model_ends_the_agent_with_an_error() {
    let run = Run::with("hello; rest", |start| start.mode = Some("odd".to_owned())).await;
    let why = run.gone().await.unwrap();
    assert!(why.contains("odd") && why.contains("available: ask, plan") && !why.contains("wild"), "{why}");
    let run =
        Run::with(r#"hello; next; fail -32602 "no such"; rest"#, |start| start.model = Some("huge".to_owned())).await;
    assert!(run.gone().await.unwrap().contains("no such"));
}

#[tokio::test]
async fn a_skipping_mode_that_the_agent_enters_is_left() {
    let wild = r#""currentValue":"wild","options":[{"value":"ask"},{"value":"plan"},{"value":"wild"}]"#;
    let option = format!(
        r#"{{"sessionUpdate":"config_option_update","configOptions":[{{"id":"mode","category":"mode",{wild}}}]}}"#
    );
    for news in [r#"{"sessionUpdate":"current_mode_update","currentModeId":"wild"}"#, &option] {
        let script = format!("hello; next; update '{news}'; next; reply '{{}}'; rest");
        let mut run = Run::new(&script).await;
        ready(&mut run).await;
        run.prompt("go").await;
        let reports = run.until(|report| matches!(report, Report::Notice(..))).await;
        let [warning] = warnings(&reports)[..] else { panic!("{reports:?}") };
        assert!(warning.contains("wild") && warning.contains("--allow-skipping-permissions"), "{warning}");
        assert_eq!(ready(&mut run).await.mode.as_deref(), Some("ask"), "{news}");
        let heard = run.heard();
        assert_eq!((&heard[3]["method"], &heard[3]["params"]["modeId"]), (&json!("session/set_mode"), &json!("ask")));
        run.end().await;

        let script = format!("hello; next; update '{news}'; reply '{{}}'; rest");
        let mut run = Run::with(&script, |start| start.may_skip_permissions = true).await;
        ready(&mut run).await;
        run.prompt("go").await;
        assert_eq!(ready(&mut run).await.mode.as_deref(), Some("wild"), "whoever may is let");
        run.ended().await;
        assert_eq!(run.heard().len(), 3, "and is told nothing");
        run.end().await;
    }
}

#[tokio::test]
async fn an_agent_that_stays_in_a_mode_without_permissions_is_ended() {
    let news = r#"{"sessionUpdate":"current_mode_update","currentModeId":"wild"}"#;
    let script = format!("hello; next; update '{news}'; next; fail -32602 'not today'; rest");
    let mut run = Run::new(&script).await;
    ready(&mut run).await;
    run.prompt("go").await;
    let why = run.gone().await.unwrap();
    assert!(why.contains("wild") && why.contains("not today"), "{why}");
}
