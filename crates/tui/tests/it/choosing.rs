//! Lists to choose from: agents, models, modes, conversations.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::{Semaphore, mpsc};
use wh_agents::interface::{
    Agent, AgentFacts, AgentStartError, BoxFuture, Harness, HarnessTaskChannels, Installation, LoginState, ManageError,
    QueryContext, Readiness, ResumeSelector, SavedConversation, StartOptions,
};
use wh_core::space::harness::{AckedOrder, AgentOption, Order, Report, ReportedCapabilities};
use wh_core::space::item::{ItemBody, ToolCall, ToolKind, ToolStatus};

use crate::screens::timeless;
use crate::stage::{Stage, permission};

/// Agent with configurable readiness. The test receives each of its starts.
struct Fake {
    id: &'static str,
    title: &'static str,
    readiness: Readiness,
    /// Permits for its answers to queries.
    leave: Arc<Semaphore>,
    starts: mpsc::Sender<(StartOptions, HarnessTaskChannels)>,
}

impl Agent for Fake {
    fn facts(&self) -> AgentFacts {
        AgentFacts { id: self.id.into(), title: self.title.into(), install_hint: None, login_hint: None }
    }

    fn check<'a>(&'a self, _here: &'a QueryContext) -> BoxFuture<'a, Readiness> {
        Box::pin(async {
            let _leave = self.leave.acquire().await.unwrap();
            self.readiness.clone()
        })
    }

    fn conversations<'a>(
        &'a self,
        here: &'a QueryContext,
    ) -> BoxFuture<'a, Result<Vec<SavedConversation>, ManageError>> {
        let directory = Some(here.directory.clone());
        Box::pin(async move {
            let _leave = self.leave.acquire().await.unwrap();
            let now = SystemTime::now();
            let kept = |name: &str, title: &str, ago: u64| {
                let at = Some(now - Duration::from_secs(ago));
                SavedConversation { name: name.into(), title: title.into(), at, directory: directory.clone() }
            };
            let elsewhere =
                SavedConversation { directory: Some("/tmp".into()), ..kept("c", "Why is the build slow?", 86_400 * 3) };
            Ok(vec![kept("a", "Mend the parser", 30), kept("b", "Name the ships in the harbour", 7300), elsewhere])
        })
    }

    fn start(&self, start: StartOptions) -> BoxFuture<'_, Result<Harness, AgentStartError>> {
        Box::pin(async move {
            let (harness, inside) = Harness::new();
            self.starts.send((start, inside)).await.unwrap();
            Ok(harness)
        })
    }
}

type Starts = mpsc::Receiver<(StartOptions, HarnessTaskChannels)>;

/// Four agents: `demo`, which has joined; one that is ready; one without a login; one that is not installed.
async fn scene(columns: u16, rows: u16) -> (Stage, Arc<Semaphore>, Starts) {
    let leave = Arc::new(Semaphore::new(0));
    let (starts, started) = mpsc::channel(4);
    let there = || Installation::Installed { path: "/bin/fake".into(), version: Some("1.2.3".into()) };
    let readiness =
        |installation, login, hint: Option<&str>| Readiness { installation, login, hint: hint.map(Into::into) };
    let fake = |id, title, readiness| {
        Arc::new(Fake { id, title, readiness, leave: Arc::clone(&leave), starts: starts.clone() }) as Arc<dyn Agent>
    };
    let install = Some("run `npm install -g @example/away`");
    let log_in = Some("run `shut login`, or set SHUT_API_KEY");
    let account = Some("someone@example.org".to_owned());
    let agents = vec![
        fake("away", "Away Code", readiness(Installation::Missing, LoginState::Unknown, install)),
        fake("shut", "Shut CLI", readiness(there(), LoginState::No, log_in)),
        fake("other", "Other Agent", readiness(there(), LoginState::Yes { account }, None)),
        fake("demo", "Demo", readiness(Installation::BuiltIn, LoginState::NotNeeded, None)),
    ];
    (Stage::with_agents(columns, rows, agents).await, leave, started)
}

fn able() -> Report {
    let named = |id: &str, title: &str| AgentOption { id: id.into(), title: title.into() };
    Report::Ready(ReportedCapabilities {
        interrupts: true,
        models: vec![
            named("opus", "Opus: for hard things"),
            named("sonnet", "Sonnet: for most things"),
            named("haiku", "Haiku: quick"),
        ],
        model: Some("sonnet".into()),
        modes: vec![named("ask", "Asks first"), named("edit", "Edits"), named("plan", "Changes nothing")],
        mode: Some("ask".into()),
        ..ReportedCapabilities::default()
    })
}

#[tokio::test]
async fn the_status_bar_has_the_model_and_the_mode_of_the_addressed_agent() {
    let mut stage = Stage::new(80, 24).await;
    stage.report(able()).await;
    stage.sees("demo sonnet (ask)").await;
}

#[tokio::test]
async fn shift_tab_selects_the_next_mode_without_waiting_for_the_agent() {
    let mut stage = Stage::new(80, 24).await;
    stage.report(able()).await;
    stage.sees("sonnet (ask)").await;
    stage.press(&["shift+tab"]).await;
    assert_eq!(stage.order().await, Order::SetMode("edit".into()));
    assert!(!stage.screen().contains("demo: mode edit."), "it has not agreed yet");
    stage.report(Report::Acked(AckedOrder::Mode("edit".into()), Ok(()))).await;
    stage.sees("demo: mode edit.").await;
    stage.press(&["shift+tab"]).await;
    assert_eq!(stage.order().await, Order::SetMode("plan".into()));
    stage.press(&["shift+tab"]).await;
    assert_eq!(stage.order().await, Order::SetMode("ask".into()));
    let said = stage.state(|state| state.items.len()).await;
    stage.press(&["shift+tab"]).await;
    assert_eq!(stage.state(|state| state.items.len()).await, said, "the conversation is not filled with it");
}

#[tokio::test]
async fn without_modes_and_models_there_is_nothing_to_choose() {
    let mut stage = Stage::new(80, 24).await;
    stage.press(&["shift+tab"]).await;
    stage.sees("demo has no modes to choose from").await;
    stage.press(&["f7"]).await;
    stage.sees("There are no models to choose from").await;
}

#[tokio::test]
async fn a_model_is_chosen_from_a_list_that_typing_filters() {
    let mut stage = Stage::new(80, 24).await;
    stage.report(able()).await;
    stage.sees("sonnet (ask)").await;
    stage.text("/model\r").await;
    stage.sees("Models of demo").await;
    insta::assert_snapshot!(timeless(&stage));
    stage.text("qui").await;
    stage.no_longer_sees("opus").await;
    stage.press(&["enter"]).await;
    assert_eq!(stage.order().await, Order::SetModel("haiku".into()));
    stage.report(Report::Acked(AckedOrder::Model("haiku".into()), Ok(()))).await;
    stage.sees("demo: model haiku.").await;
    assert!(!stage.screen().contains("Models of demo"));
}

#[tokio::test]
async fn a_list_is_closed_by_esc_and_by_its_own_key_and_the_draft_is_kept() {
    let mut stage = Stage::new(80, 24).await;
    stage.report(able()).await;
    stage.sees("sonnet (ask)").await;
    stage.text("my draft").await;
    for leaves in ["escape", "f7", "ctrl+c"] {
        stage.press(&["f7"]).await;
        stage.sees("Models of demo").await;
        stage.text("x").await;
        stage.press(&[leaves]).await;
        stage.no_longer_sees("Models of demo").await;
        stage.sees("❯ my draft").await;
    }
    assert!(stage.agent.orders.try_recv().is_err(), "nothing was chosen");
}

#[tokio::test]
async fn a_row_is_clicked_and_modes_have_a_list_too() {
    let mut stage = Stage::new(80, 24).await;
    stage.report(able()).await;
    stage.sees("sonnet (ask)").await;
    stage.text("/mode\r").await;
    stage.sees("Modes of demo").await;
    let row = stage.row("Changes nothing");
    stage.click(20, row).await;
    assert_eq!(stage.order().await, Order::SetMode("plan".into()));
}

#[tokio::test]
async fn agents_are_listed_at_once_and_then_with_their_details() {
    let (mut stage, leave, _started) = scene(80, 24).await;
    stage.press(&["f6"]).await;
    stage.sees("loading…").await;
    assert!(stage.screen().contains("chat goes here"), "joined agents are known:\n{}", stage.screen());
    leave.add_permits(100);
    stage.sees("Away Code").await;
    stage.no_longer_sees("loading…").await;
    insta::assert_snapshot!(timeless(&stage));
    assert!(stage.is_quiet_for(Duration::from_millis(600)).await, "the spinner has stopped");
}

#[tokio::test]
async fn agents_that_cannot_be_used_have_a_hint() {
    let (mut stage, leave, mut started) = scene(120, 40).await;
    leave.add_permits(100);
    stage.text("/agent\r").await;
    stage.sees("Away Code").await;
    stage.text("away").await;
    stage.sees("Away Code is not installed: run `npm install -g @example/away`.").await;
    stage.press(&["enter", "enter"]).await;
    stage.sees("Away Code is not installed").await;
    stage.press(&["ctrl+u"]).await;
    stage.text("shut").await;
    stage.press(&["enter"]).await;
    stage.sees("Shut CLI is not logged in: run `shut login`, or set SHUT_API_KEY.").await;
    stage.sees("Press Enter again to start it anyway.").await;
    assert!(started.try_recv().is_err(), "nothing was started");
    stage.press(&["enter"]).await;
    assert!(started.recv().await.is_some());
}

#[tokio::test]
async fn an_agent_is_started_and_addressed_while_the_others_stay() {
    let (mut stage, leave, mut started) = scene(80, 24).await;
    leave.add_permits(100);
    stage.press(&["f6"]).await;
    stage.sees("Other Agent").await;
    stage.text("other").await;
    stage.press(&["enter"]).await;
    let (start, mut other) = started.recv().await.unwrap();
    assert_eq!(start.resume, None);
    other.reports.send(able()).await.unwrap();
    stage.sees("Chat goes to other.").await;
    stage.sees("other sonnet (ask)").await;
    stage.text("hello\r").await;
    let order = other.orders.recv().await.unwrap();
    assert!(matches!(&order, Order::Prompt { text, .. } if text == "hello"), "{order:?}");
    assert!(stage.agent.orders.try_recv().is_err(), "the other agent receives nothing");
    // And back, without a new session.
    stage.text("/agent demo\r").await;
    stage.sees("Chat goes to demo.").await;
    stage.text("again\r").await;
    let order = stage.order().await;
    assert!(matches!(&order, Order::Prompt { text, .. } if text == "again"), "{order:?}");
    assert!(started.try_recv().is_err());
}

#[tokio::test]
async fn with_several_agents_a_model_is_chosen_after_an_agent() {
    let (mut stage, leave, mut started) = scene(120, 24).await;
    leave.add_permits(100);
    stage.text("/agent other\r").await;
    let (_, other) = started.recv().await.unwrap();
    other.reports.send(able()).await.unwrap();
    stage.sees("Chat goes to other.").await;
    stage.text("/target none\r").await;
    stage.sees("Chat goes to everybody.").await;
    stage.press(&["f7"]).await;
    stage.sees("Chat goes to demo and other; choose one agent with F6 or /agent first").await;
}

#[tokio::test]
async fn a_conversation_is_resumed() {
    let (mut stage, leave, mut started) = scene(80, 24).await;
    stage.text("/agent other\r").await;
    let (_, other) = started.recv().await.unwrap();
    other.reports.send(able()).await.unwrap();
    stage.sees("Chat goes to other.").await;
    stage.sees("other sonnet").await;
    stage.text("/sessions\r").await;
    stage.sees("loading…").await;
    leave.add_permits(100);
    stage.sees("Mend the parser").await;
    stage.press(&["end"]).await;
    stage.sees("Directory: /tmp").await;
    insta::assert_snapshot!(timeless(&stage));
    stage.press(&["home"]).await;
    stage.text("harbour").await;
    stage.press(&["enter"]).await;
    obedient(other);
    let (start, _again) = started.recv().await.unwrap();
    assert_eq!(start.resume, Some(ResumeSelector::Named("b".into())));
}

/// Ends the agent when it receives no more orders.
fn obedient(mut inside: HarnessTaskChannels) {
    tokio::spawn(async move {
        while inside.orders.recv().await.is_some() {}
        let _ = inside.reports.send(Report::Gone(None)).await;
    });
}

#[tokio::test]
async fn a_failed_query_is_reported() {
    let mut stage = Stage::new(80, 24).await;
    stage.press(&["f8"]).await;
    // No agent can be invited into this space, as in a session of the daemon.
    stage.sees("a session keeps the agent it was created with").await;
    stage.press(&["escape"]).await;
    stage.text("/agent nobody\r").await;
    stage.sees("─ Agents ─").await;
    stage.sees("a session keeps the agent it was created with").await;
}

#[tokio::test]
async fn a_question_opens_behind_a_list() {
    let mut stage = Stage::new(80, 24).await;
    stage.report(able()).await;
    stage.sees("sonnet (ask)").await;
    stage.begin("go").await;
    stage.press(&["f7"]).await;
    stage.sees("Models of demo").await;
    stage.ask("q", permission("Sure?", vec![])).await;
    stage.sees("1 question").await;
    stage.text("1").await;
    assert!(stage.agent.orders.try_recv().is_err(), "it was for the list");
    stage.press(&["escape"]).await;
    stage.sees("Sure?").await;
    stage.text("1").await;
    assert!(matches!(stage.order().await, Order::Answer { .. }));
}

#[tokio::test]
async fn a_list_fits_a_small_screen_and_a_large_one() {
    let (mut stage, leave, _started) = scene(80, 24).await;
    leave.add_permits(100);
    stage.resize(40, 10).await;
    stage.press(&["f6"]).await;
    stage.sees("Agents").await;
    stage.sees("❯ ● demo").await;
    stage.resize(200, 60).await;
    stage.sees("not installed").await;
}

#[tokio::test]
async fn each_agent_has_its_own_part_of_the_tool_sidebar_and_the_addressed_one_is_first() {
    let (mut stage, leave, mut started) = scene(120, 30).await;
    leave.add_permits(100);
    let call = |name: &str| {
        let (name, title, input) = (name.to_owned(), String::new(), serde_json::json!({ "path": "a.rs" }));
        let (kind, status) = (ToolKind::Read, ToolStatus::Completed);
        let body = ItemBody::Tool(ToolCall { name, title, kind, input, status, output: vec![] });
        Report::Item { key: "1".into(), body, done: true }
    };
    stage.report(call("look")).await;
    stage.text("/agent other\r").await;
    let (_, other) = started.recv().await.unwrap();
    other.reports.send(able()).await.unwrap();
    other.reports.send(call("see")).await.unwrap();
    stage.sees("Chat goes to other.").await;
    stage.sees("✓ see a.rs").await;
    stage.sees("✓ look a.rs").await;
    stage.until("the addressed agent", |stage| stage.row("✓ see a.rs") < stage.row("✓ look a.rs")).await;
}

#[tokio::test]
async fn an_agent_that_ends_is_reported_and_not_confused_with_another() {
    let (mut stage, leave, mut started) = scene(80, 24).await;
    leave.add_permits(100);
    stage.report(able()).await;
    stage.sees("demo sonnet (ask)").await;
    stage.text("/agent other\r").await;
    let (_, other) = started.recv().await.unwrap();
    stage.sees("Chat goes to other.").await;
    let reason = "nobody is logged in; run `other login`".to_owned();
    other.reports.send(Report::Gone(Some(reason))).await.unwrap();
    stage.sees("run `other login`").await;
    stage.sees("other is not in the space (F6: agents)").await;
    assert!(!stage.lines().last().unwrap().contains("sonnet"), "{}", stage.screen());
    stage.text("/agent demo\r").await;
    stage.sees("demo sonnet (ask)").await;
}
