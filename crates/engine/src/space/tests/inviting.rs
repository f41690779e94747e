//! Agents that are invited into a space that runs.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use tokio::sync::mpsc;
use wh_agents::Catalog;
use wh_agents::port::{
    Agent, AgentFacts, BoxFuture, Harness, Inside, Installation, Kept, Login, ManageError, Readiness, Resume, Start,
    StartError, Surroundings,
};
use wh_core::space::command::Refusal;
use wh_core::space::event::Activity;
use wh_core::space::harness::{Capabilities, Named, Report};
use wh_core::space::roster::{LoginState, conversation_id};

use super::super::{Roster, RunningSpace};
use super::{me, until};

/// An agent of which every start is handed to the test.
struct Fake {
    checks: Mutex<u32>,
    starts: mpsc::Sender<(Start, Inside)>,
}

impl Agent for Fake {
    fn facts(&self) -> AgentFacts {
        AgentFacts { id: "fake".into(), title: "Fake".into(), install_hint: None, login_hint: None }
    }

    fn check(&self) -> BoxFuture<'_, Readiness> {
        *self.checks.lock().unwrap() += 1;
        let installation = Installation::Installed { path: "/bin/fake".into(), version: Some("1.2".into()) };
        let login = Login::Yes { account: Some("someone".into()) };
        Box::pin(async move { Readiness { installation, login, hint: None } })
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<Named>, StartError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn conversations<'a>(&'a self, here: &'a Surroundings) -> BoxFuture<'a, Result<Vec<Kept>, ManageError>> {
        let directory = Some(here.directory.clone());
        let kept = |name: &str| Kept {
            name: name.into(),
            title: format!("about {name}"),
            at: Some(SystemTime::UNIX_EPOCH),
            directory: directory.clone(),
        };
        let both = vec![kept("secret-1"), kept("secret-2")];
        Box::pin(async move { Ok(both) })
    }

    fn start(&self, start: Start) -> BoxFuture<'_, Result<Harness, StartError>> {
        Box::pin(async move {
            let (harness, inside) = Harness::new();
            self.starts.send((start, inside)).await.unwrap();
            Ok(harness)
        })
    }
}

fn running() -> (RunningSpace, mpsc::Receiver<(Start, Inside)>, Arc<Fake>) {
    let (starts, started) = mpsc::channel(8);
    let fake = Arc::new(Fake { checks: Mutex::new(0), starts });
    let catalog = Catalog::of(vec![Arc::clone(&fake) as Arc<dyn Agent>, Arc::new(wh_agents::demo::Demo::default())]);
    let start = Start { may_skip_permissions: true, ..Start::new("/somewhere") };
    (RunningSpace::with_roster("test", me(), Roster { catalog, start }), started, fake)
}

async fn ready(inside: &Inside) {
    inside.reports.send(Report::Ready(Capabilities::default())).await.unwrap();
}

/// Ends as an agent does that is told nothing any more.
fn obedient(mut inside: Inside) {
    tokio::spawn(async move {
        while inside.orders.recv().await.is_some() {}
        let _ = inside.reports.send(Report::Gone(Some("its pipe broke".into()))).await;
    });
}

#[tokio::test]
async fn the_agents_are_listed_with_what_they_say_of_themselves_and_who_takes_part() {
    let (running, mut started, fake) = running();
    let cards = running.space.agents().await;
    assert_eq!(cards.iter().map(|card| card.id.as_str()).collect::<Vec<_>>(), ["fake", "demo"]);
    assert_eq!((cards[0].version.as_deref(), cards[0].taking_part), (Some("1.2"), false));
    assert_eq!(cards[0].login, LoginState::Yes { account: Some("someone".into()) });
    assert_eq!(cards[1].login, LoginState::NotNeeded);
    running.space.invite("fake", None).await.unwrap();
    let (_, _inside) = started.recv().await.unwrap();
    assert!(running.space.agents().await[0].taking_part);
    assert_eq!(*fake.checks.lock().unwrap(), 1, "what it said not long ago is believed");
}

#[tokio::test]
async fn who_is_invited_works_where_the_space_does_and_goes_on_with_a_conversation_of_its_own() {
    let (running, mut started, _) = running();
    let kept = running.space.conversations("fake").await.unwrap();
    assert_eq!(kept[1].title, "about secret-2");
    assert_eq!(kept[1].id, conversation_id("fake", "secret-2"), "what the agent calls it stays inside");
    running.space.invite("fake", Some(kept[1].id.clone())).await.unwrap();
    let (start, inside) = started.recv().await.unwrap();
    assert_eq!(start.resume, Some(Resume::Named("secret-2".into())));
    assert!(start.may_skip_permissions && start.directory == std::path::Path::new("/somewhere"));
    ready(&inside).await;
    let mut mirror = running.space.mirror().await.unwrap();
    until(&mut mirror, |mirror| mirror.state().activity(&"fake".into()) == Some(&Activity::Idle)).await;
}

#[tokio::test]
async fn one_that_takes_part_is_ended_and_begins_again_with_the_conversation() {
    let (running, mut started, _) = running();
    running.space.invite("fake", None).await.unwrap();
    let (_, first) = started.recv().await.unwrap();
    ready(&first).await;
    let late = first.reports.clone();
    obedient(first);
    running.space.invite("fake", None).await.unwrap();
    assert!(started.try_recv().is_err(), "without a conversation it stays as it is");
    running.space.invite("fake", Some(conversation_id("fake", "secret-1"))).await.unwrap();
    let (start, second) = started.recv().await.unwrap();
    assert_eq!(start.resume, Some(Resume::Named("secret-1".into())));
    let _ = late.send(Report::Notice(wh_core::space::item::Level::Error, "from the grave".into())).await;
    ready(&second).await;
    let mut mirror = running.space.mirror().await.unwrap();
    until(&mut mirror, |mirror| mirror.state().activity(&"fake".into()) == Some(&Activity::Idle)).await;
    let said = format!("{:?}", mirror.state().items.iter().collect::<Vec<_>>());
    assert!(!said.contains("from the grave") && !said.contains("its pipe broke"), "{said}");
    mirror.state().check().unwrap();
}

#[tokio::test]
async fn one_that_has_gone_comes_back_and_answers() {
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
    assert!(matches!(order, Some(wh_core::space::harness::Order::Prompt { .. })), "{order:?}");
}

#[tokio::test]
async fn what_there_is_not_is_refused_with_what_to_do() {
    let (running, _started, _) = running();
    let nobody = running.space.invite("nobody", None).await;
    assert_eq!(nobody, Err(Refusal::NoSuchAgent("nobody".into())));
    let lost = running.space.invite("fake", Some("c0".into())).await;
    assert_eq!(lost, Err(Refusal::NoSuchConversation("fake".into(), "c0".into())));
    let none = running.space.conversations("demo").await.unwrap_err().to_string();
    assert_eq!(none, "Demo lists no conversations");
}
