//! Agents invited into a running space.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use tokio::sync::mpsc;
use wh_agents::Catalog;
use wh_agents::interface::{
    Agent, AgentFacts, AgentStartError, BoxFuture, Harness, HarnessTaskChannels, Installation, LoginState, ManageError,
    QueryContext, Readiness, ResumeSelector, SavedConversation, StartOptions,
};
use wh_agents::manage::{LaunchSpec, LoginAction};
use wh_core::receipt::ReceiptStage;
use wh_core::space::command::{ConversationCommand, SpaceRefusal};
use wh_core::space::event::Activity;
use wh_core::space::harness::{Call, Order, Report, ReportedCapabilities};
use wh_core::space::roster::{AgentReply, AgentRequest, LoginMethod, LoginStatus, RunningCard, conversation_id};

use super::super::{Roster, RunningSpace};
use super::{me, until};

/// An agent that passes each start to the test.
struct Fake {
    checks: Mutex<u32>,
    starts: mpsc::Sender<(StartOptions, HarnessTaskChannels)>,
}

impl Agent for Fake {
    fn facts(&self) -> AgentFacts {
        AgentFacts { id: "fake".into(), title: "Fake".into(), install_hint: None, login_hint: None }
    }

    fn check<'a>(&'a self, _here: &'a QueryContext) -> BoxFuture<'a, Readiness> {
        *self.checks.lock().unwrap() += 1;
        let installation = Installation::Installed { path: "/bin/fake".into(), version: Some("1.2".into()) };
        let login = LoginState::Yes { account: Some("someone".into()) };
        Box::pin(async move { Readiness { installation, login, hint: None } })
    }

    fn conversations<'a>(
        &'a self,
        here: &'a QueryContext,
    ) -> BoxFuture<'a, Result<Vec<SavedConversation>, ManageError>> {
        let directory = Some(here.directory.clone());
        let kept = |name: &str| SavedConversation {
            name: name.into(),
            title: format!("about {name}"),
            at: Some(SystemTime::UNIX_EPOCH),
            directory: directory.clone(),
        };
        let both = vec![kept("secret-1"), kept("secret-2")];
        Box::pin(async move { Ok(both) })
    }

    fn start(&self, start: StartOptions) -> BoxFuture<'_, Result<Harness, AgentStartError>> {
        Box::pin(async move {
            let (harness, inside) = Harness::new();
            self.starts.send((start, inside)).await.unwrap();
            Ok(harness)
        })
    }
}

fn running() -> (RunningSpace, mpsc::Receiver<(StartOptions, HarnessTaskChannels)>, Arc<Fake>) {
    let (starts, started) = mpsc::channel(8);
    let fake = Arc::new(Fake { checks: Mutex::new(0), starts });
    let catalog = Catalog::of(vec![Arc::clone(&fake) as Arc<dyn Agent>, Arc::new(wh_demo::Demo::default())]);
    let start = StartOptions { may_skip_permissions: true, ..StartOptions::new("/somewhere") };
    (RunningSpace::with_roster("test", me(), Roster { catalog, start }), started, fake)
}

async fn ready(inside: &HarnessTaskChannels) {
    inside.reports.send(Report::Ready(ReportedCapabilities::default())).await.unwrap();
}

/// Ends once its order channel is closed.
fn end_when_closed(mut inside: HarnessTaskChannels) {
    tokio::spawn(async move {
        while inside.orders.recv().await.is_some() {}
        let _ = inside.reports.send(Report::Gone(Some("its pipe broke".into()))).await;
    });
}

#[tokio::test]
async fn the_agents_are_listed_with_their_readiness_and_presence() {
    let (running, mut started, fake) = running();
    let cards = running.space.agents().await;
    assert_eq!(cards.iter().map(|card| card.id.as_str()).collect::<Vec<_>>(), ["fake", "demo"]);
    assert_eq!((cards[0].version.as_deref(), cards[0].joined), (Some("1.2"), false));
    assert_eq!(cards[0].login, LoginState::Yes { account: Some("someone".into()) });
    assert_eq!(cards[1].login, LoginState::NotNeeded);
    running.space.invite("fake", None).await.unwrap();
    let (_, _inside) = started.recv().await.unwrap();
    assert!(running.space.agents().await[0].joined);
    assert_eq!(*fake.checks.lock().unwrap(), 1, "readiness is cached");
}

#[tokio::test]
async fn an_invited_agent_uses_the_directory_of_the_space_and_resumes_its_conversation() {
    let (running, mut started, _) = running();
    let kept = running.space.conversations("fake").await.unwrap();
    assert_eq!(kept[1].title, "about secret-2");
    assert_eq!(kept[1].id, conversation_id("fake", "secret-2"), "what the agent calls it stays inside");
    running.space.invite("fake", Some(kept[1].id.clone())).await.unwrap();
    let (start, inside) = started.recv().await.unwrap();
    assert_eq!(start.resume, Some(ResumeSelector::Named("secret-2".into())));
    assert!(start.may_skip_permissions && start.directory == std::path::Path::new("/somewhere"));
    ready(&inside).await;
    let mut mirror = running.space.mirror().await.unwrap();
    until(&mut mirror, |mirror| mirror.state().activity(&"fake".into()) == Some(&Activity::Idle)).await;
}

#[tokio::test]
async fn a_conversation_already_in_the_space_is_not_replayed() {
    let (running, mut started, _) = running();
    running.space.invite("fake", Some(conversation_id("fake", "secret-1"))).await.unwrap();
    let (start, first) = started.recv().await.unwrap();
    assert!(start.reports_history, "it was held elsewhere");
    ready(&first).await;
    first.reports.send(Report::ResumeId(Some("secret-1".into()))).await.unwrap();
    let mut mirror = running.space.mirror().await.unwrap();
    until(&mut mirror, |mirror| mirror.state().activity(&"fake".into()) == Some(&Activity::Idle)).await;
    let mut kept = running.resume_ids.clone();
    kept.wait_for(|kept| kept.contains_key(&"fake".into())).await.unwrap();
    end_when_closed(first);
    for (name, recalls) in [("secret-1", false), ("secret-2", true)] {
        running.space.invite("fake", Some(conversation_id("fake", name))).await.unwrap();
        let (start, next) = started.recv().await.unwrap();
        assert_eq!(start.reports_history, recalls, "{name}");
        ready(&next).await;
        end_when_closed(next);
    }
}

#[tokio::test]
async fn an_agent_in_the_space_is_restarted_to_resume_a_conversation() {
    let (running, mut started, _) = running();
    running.space.invite("fake", None).await.unwrap();
    let (_, first) = started.recv().await.unwrap();
    ready(&first).await;
    let late = first.reports.clone();
    end_when_closed(first);
    running.space.invite("fake", None).await.unwrap();
    assert!(started.try_recv().is_err(), "without a conversation it stays as it is");
    running.space.invite("fake", Some(conversation_id("fake", "secret-1"))).await.unwrap();
    let (start, second) = started.recv().await.unwrap();
    assert_eq!(start.resume, Some(ResumeSelector::Named("secret-1".into())));
    let _ = late.send(Report::Notice(wh_core::space::item::NoticeLevel::Error, "from the grave".into())).await;
    ready(&second).await;
    let mut mirror = running.space.mirror().await.unwrap();
    until(&mut mirror, |mirror| mirror.state().activity(&"fake".into()) == Some(&Activity::Idle)).await;
    let said = format!("{:?}", mirror.state().items.iter().collect::<Vec<_>>());
    assert!(!said.contains("from the grave") && !said.contains("its pipe broke"), "{said}");
    mirror.state().check().unwrap();
}

#[tokio::test]
async fn an_ended_agent_can_be_invited_again() {
    let (running, mut started, _) = running();
    running.space.invite("fake", None).await.unwrap();
    let (_, first) = started.recv().await.unwrap();
    drop(first);
    let mut mirror = running.space.mirror().await.unwrap();
    until(&mut mirror, |mirror| matches!(mirror.state().activity(&"fake".into()), Some(Activity::Gone(_)))).await;
    running.space.invite("fake", None).await.unwrap();
    let (_, mut second) = started.recv().await.unwrap();
    ready(&second).await;
    until(&mut mirror, |mirror| mirror.state().activity(&"fake".into()) == Some(&Activity::Idle)).await;
    running.space.command(me(), None, super::say("hello again")).await.unwrap().unwrap();
    let order = tokio::time::timeout(Duration::from_secs(30), second.orders.recv()).await.unwrap();
    assert!(matches!(order, Some(Order::Prompt { .. })), "{order:?}");
}

#[tokio::test]
async fn an_unknown_agent_or_conversation_is_refused() {
    let (running, _started, _) = running();
    let nobody = running.space.invite("nobody", None).await;
    assert_eq!(nobody, Err(SpaceRefusal::NoSuchAgent("nobody".into())));
    let lost = running.space.invite("fake", Some("c0".into())).await;
    assert_eq!(lost, Err(SpaceRefusal::NoSuchConversation("fake".into(), "c0".into())));
    let none = running.space.conversations("demo").await.unwrap_err().to_string();
    assert_eq!(none, "Demo cannot list conversations");
}

/// An agent whose commands are small scripts.
struct Scripted(LoginAction, Mutex<LoginState>);

impl Agent for Scripted {
    fn facts(&self) -> AgentFacts {
        AgentFacts { id: "scripted".into(), title: "Scripted".into(), install_hint: None, login_hint: None }
    }

    fn check<'a>(&'a self, _here: &'a QueryContext) -> BoxFuture<'a, Readiness> {
        let login = self.1.lock().unwrap().clone();
        Box::pin(async move { Readiness { installation: Installation::BuiltIn, login, hint: None } })
    }

    fn login_way<'a>(&'a self, _here: &'a QueryContext) -> BoxFuture<'a, Result<LoginAction, ManageError>> {
        Box::pin(async { Ok(self.0.clone()) })
    }

    fn start(&self, _start: StartOptions) -> BoxFuture<'_, Result<Harness, AgentStartError>> {
        Box::pin(async { Ok(Harness::new().0) })
    }
}

fn scripted(script: &str) -> (RunningSpace, Arc<Scripted>) {
    let mut launch = LaunchSpec::new("sh");
    launch.arguments = vec!["-c".into(), script.into()];
    let way = LoginAction::Command { launch, method: LoginMethod::Browser };
    let agent = Arc::new(Scripted(way, Mutex::new(LoginState::No)));
    let catalog = Catalog::of(vec![Arc::clone(&agent) as Arc<dyn Agent>]);
    (RunningSpace::with_roster("test", me(), Roster { catalog, start: StartOptions::new("/") }), agent)
}

fn notices(mirror: &wh_client::Mirror) -> String {
    let lines = mirror.state().items.iter().filter_map(|item| match &item.body {
        wh_core::space::item::ItemBody::Notice { lines, .. } => Some(lines.join("\n")),
        _ => None,
    });
    lines.collect::<Vec<_>>().join("\n")
}

async fn log_in(running: &RunningSpace) -> LoginStatus {
    match running.space.manage(Some("scripted"), AgentRequest::LogIn).await.unwrap() {
        AgentReply::LoggedIn { done, .. } => done,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_login_shows_its_page_takes_the_code_and_ends_in_the_space() {
    let (running, agent) = scripted("echo open https://page.example/x >&2; read code; test $code = 42");
    assert_eq!(running.space.agents().await[0].login, LoginState::No);
    let done = log_in(&running).await;
    assert!(done.pending && done.instructions.unwrap().contains("https://page.example/x"));
    *agent.1.lock().unwrap() = LoginState::Yes { account: Some("someone".into()) };
    running.space.manage(Some("scripted"), AgentRequest::SubmitLoginCode("42".into())).await.unwrap();
    let mut mirror = running.space.mirror().await.unwrap();
    until(&mut mirror, |mirror| notices(mirror).contains("✓ Logged in with someone.")).await;
    let account = Some("someone".to_owned());
    assert_eq!(
        running.space.agents().await[0].login,
        LoginState::Yes { account },
        "a login discards the cached readiness"
    );
}

#[tokio::test]
async fn a_login_without_an_address_is_answered_soon_and_its_end_is_told_in_the_space() {
    let folder = tempfile::tempdir().unwrap();
    let (page, go) = (folder.path().join("page"), folder.path().join("go"));
    let script = format!(
        "echo waiting for a browser; until test -e {}; do sleep 0.05; done; echo https://page.example/x; until test -e {}; do sleep 0.05; done",
        page.display(),
        go.display()
    );
    let (running, agent) = scripted(&script);
    let login = ConversationCommand::Manage(Some("scripted".into()), AgentRequest::LogIn);
    let done = running.space.command(me(), None, login).await.unwrap().unwrap();
    assert_eq!(done.receipt.stage, ReceiptStage::Finished);
    assert_eq!(done.lines[1..3], ["  Opening browser…", "  waiting for a browser"], "{:?}", done.lines);
    let mut mirror = running.space.mirror().await.unwrap();
    std::fs::write(page, "").unwrap();
    until(&mut mirror, |mirror| notices(mirror).contains("visit https://page.example/x")).await;
    *agent.1.lock().unwrap() = LoginState::Unknown;
    std::fs::write(go, "").unwrap();
    until(&mut mirror, |mirror| notices(mirror).contains("✓ Logged in.")).await;
    let none = running.space.manage(Some("scripted"), AgentRequest::SubmitLoginCode("x".into())).await;
    assert!(none.is_err(), "it is over: {none:?}");
}

#[tokio::test]
async fn a_login_that_fails_says_why_and_one_that_is_stopped_is_gone() {
    let (running, _) = scripted("echo no way >&2; exit 1");
    let done = log_in(&running).await;
    assert_eq!((done.success, done.message.as_deref()), (false, Some("no way")));
    let none = running.space.manage(Some("scripted"), AgentRequest::CancelLogin).await;
    assert!(none.is_err(), "it is over: {none:?}");
    let (running, _) = scripted("echo https://page.example/x; exec sleep 1000");
    assert!(log_in(&running).await.pending);
    assert!(log_in(&running).await.pending, "another takes its place");
    running.space.manage(Some("scripted"), AgentRequest::CancelLogin).await.unwrap();
    let told = running.space.manage(Some("scripted"), AgentRequest::SubmitLoginCode("x".into())).await;
    assert!(told.unwrap_err().to_string().contains("no login with scripted is in progress"));
}

#[tokio::test]
async fn unsupported_queries_are_refused_with_a_reason() {
    let (running, _, _) = running();
    let refused = |told: Result<AgentReply, SpaceRefusal>| told.unwrap_err().to_string();
    let models = running.space.manage(Some("fake"), AgentRequest::Models).await;
    assert!(refused(models).contains("--model MODEL"));
    let mcp = running.space.manage(Some("demo"), AgentRequest::Mcp).await;
    assert_eq!(refused(mcp), "MCP servers are not available with Demo");
    let off = AgentRequest::SwitchMcp { server: "x".into(), on: false };
    assert!(refused(running.space.manage(Some("demo"), off).await).contains("no command"));
    let Ok(AgentReply::LoggedOut { done, .. }) = running.space.manage(Some("demo"), AgentRequest::LogOut).await else {
        panic!()
    };
    assert!(!done.supported && !done.success);
    let Ok(AgentReply::LoggedIn { done, .. }) = running.space.manage(Some("demo"), AgentRequest::LogIn).await else {
        panic!()
    };
    assert!(done.success && done.message.unwrap().contains("no login"));
    let Ok(AgentReply::Status(status)) = running.space.manage(Some("demo"), AgentRequest::Status).await else {
        panic!()
    };
    assert!(status.mcp.is_err() && status.about[0].0 == "OS");
    let Ok(AgentReply::Models { models, .. }) = running.space.manage(Some("demo"), AgentRequest::Models).await else {
        panic!()
    };
    assert!(models.len() == 3 && models[0].is_default);
    assert_eq!(
        running.space.manage(Some("nobody"), AgentRequest::Mcp).await,
        Err(SpaceRefusal::NoSuchAgent("nobody".into()))
    );
}

#[tokio::test]
async fn the_status_of_a_running_agent_has_its_model_mode_conversation_and_turns() {
    let (running, mut started, _) = running();
    let Ok(AgentReply::Status(status)) = running.space.manage(Some("fake"), AgentRequest::Status).await else {
        panic!()
    };
    assert_eq!(status.running, None);
    running.space.invite("fake", None).await.unwrap();
    let (_, mut inside) = started.recv().await.unwrap();
    let able = ReportedCapabilities {
        model: Some("big".into()),
        mode: Some("plan".into()),
        calls: vec!["status".into()],
        ..ReportedCapabilities::default()
    };
    inside.reports.send(Report::Ready(able)).await.unwrap();
    inside.reports.send(Report::ResumeId(Some("secret-1".into()))).await.unwrap();
    running.space.command(me(), None, super::say("hello")).await.unwrap().unwrap();
    assert!(matches!(inside.orders.recv().await, Some(Order::Prompt { .. })));
    let Ok(AgentReply::Status(status)) = running.space.manage(Some("fake"), AgentRequest::Status).await else {
        panic!()
    };
    let conversation = Some(conversation_id("fake", "secret-1"));
    let card = RunningCard { model: Some("big".into()), mode: Some("plan".into()), conversation, turns: 1 };
    assert_eq!(status.running, Some(card));
    let asked = tokio::spawn({
        let space = running.space.clone();
        async move { space.command(me(), None, ConversationCommand::Call(Some("fake".into()), Call::ReportStatus)).await }
    });
    let Some(Order::Call { id, .. }) = inside.orders.recv().await else { panic!() };
    inside.reports.send(Report::Called(id, Ok("I am well".into()))).await.unwrap();
    let lines = asked.await.unwrap().unwrap().unwrap().lines;
    assert_eq!(lines[..3], ["I am well", "Fake Status", "  Version   1.2"]);
    assert!(lines.contains(&"  Model     big".to_owned()), "{lines:?}");
}

#[tokio::test]
async fn a_slash_command_adds_an_agent_and_makes_it_the_chat_target() {
    let (running, mut started, _) = running();
    let invite = ConversationCommand::Manage(Some("fake".into()), AgentRequest::Invite);
    let done = running.space.command(me(), None, invite).await.unwrap().unwrap();
    assert_eq!(done.lines, ["Chat goes to fake."]);
    let (_, _inside) = started.recv().await.unwrap();
    let targets = running.space.watch().await.unwrap().state.targets.effective().map(<[_]>::to_vec);
    assert_eq!(targets, Some(vec!["fake".into()]));
    let list = running
        .space
        .command(me(), None, ConversationCommand::Manage(None, AgentRequest::Agents))
        .await
        .unwrap()
        .unwrap();
    assert!(list.lines[1].starts_with("* fake"), "{:?}", list.lines);
}
