//! Sessions across daemon restarts. The daemons are always killed, never stopped.

mod daemon;
mod mute;
mod stop;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use wh_agents::Catalog;
use wh_agents::interface::Agent;
use wh_client::{CreateError, CreateSessionRequest, EndCause, EndOutcome, SessionHandle, SessionManager, Workload};
use wh_core::receipt::ReceiptStage;
use wh_core::space::ParticipantId;
use wh_core::space::command::{CommandAccepted, ConversationCommand};
use wh_core::space::harness::Call;
use wh_core::space::item::{Item, ItemBody, ItemProgress};
use wh_core::space::question::QuestionCloseReason;
use wh_core::space::state::SpaceState;
use wh_core::terminal::{Exit, Size};
use wh_demo::{Demo, DemoOptions};

use super::persist::{self, PersistedContent};
use super::{ManagedSession, RestoreCounts, SessionServices, Sessions, state};
use crate::space::RunningSpace;
use crate::store::{ItemPosition, SessionFilter, Store, StoreError};
use crate::terminal::{ScreenSpec, UiTerminalSpec, host};
use daemon::{DaemonHome, SIZE, eventually, services};
use mute::Mute;

fn notices(items: &[Item]) -> Vec<String> {
    let lines = items.iter().filter_map(|item| match &item.body {
        ItemBody::Notice { lines, .. } => Some(lines.join("\n")),
        _ => None,
    });
    lines.collect()
}

#[test]
fn an_agent_resumes_its_conversation_under_the_same_session_id() {
    let home = DaemonHome::new();
    let (id, before) = home.live(async |life| {
        assert_eq!(life.restored, RestoreCounts::default());
        let session =
            life.create(CreateSessionRequest { team: Some("crew".into()), ..home.wanted("demo", "one") }).await;
        life.turn(&session, "hello there").await;
        life.command(&session, ConversationCommand::Model(None, Some("brief".to_owned()))).await;
        let before = life.written(&session, true).await;
        eventually("the model is written", async || {
            let record = life.store.session(session.id.as_str()).await.unwrap().unwrap();
            record.model.as_deref() == Some("brief")
        })
        .await;
        (session.id.clone(), before)
    });
    let second = home.live(async |life| {
        assert_eq!(life.restored, RestoreCounts { resumed: 1, lost: 0, past: 0 });
        let session = life.session("one");
        assert_eq!((&session.id, session.team.as_str(), session.ended()), (&id, "crew", None));
        let items = life.items(&session).await;
        assert_eq!(items[..before.len()], before[..], "history is as it was");
        assert!(notices(&items).iter().any(|notice| notice.contains("restarted")), "{items:?}");
        let status = life.status(&session).await;
        assert!(status.contains("Model brief") && status.contains("2 entries"), "{status}");
        life.turn(&session, "and again").await;
        assert!(life.status(&session).await.contains("4 entries"));
        life.written(&session, true).await
    });
    home.live(async |life| {
        let session = life.session(&id);
        assert_eq!(life.items(&session).await[..second.len()], second[..]);
        life.turn(&session, "once more").await;
        assert!(life.status(&session).await.contains("6 entries"));
    });
}

#[test]
fn creators_survive_a_restart_and_a_session_knows_that_it_has_created_others() {
    let home = DaemonHome::new();
    let (parent, child) = home.live(async |life| {
        let parent = life.create(home.wanted("demo", "parent")).await;
        assert!(!parent.standing().has_created);
        let child = life
            .create(CreateSessionRequest { creators: vec![parent.id.clone()], ..home.wanted("demo", "child") })
            .await;
        assert!(parent.standing().has_created && !child.standing().has_created);
        (parent.id.clone(), child.id.clone())
    });
    home.live(async |life| {
        let (parent, restored) = (life.session(&parent), life.session(&child));
        assert_eq!(restored.standing().creators, [parent.id.as_str()]);
        assert!(parent.standing().has_created && parent.standing().creators.is_empty());
        assert!(!restored.standing().has_created && !restored.standing().person);
    });
}

#[test]
fn work_in_progress_is_cut_off_and_no_secret_is_shown() {
    let home = DaemonHome::new();
    let (id, name) = home.live(async |life| {
        let session = life.create(home.wanted("demo", "one")).await;
        life.say(&session, "/demo ask").await;
        eventually("it asks", async || life.look(&session, |state| state.questions().count() > 0).await).await;
        life.written(&session, true).await;
        let record = life.store.session(session.id.as_str()).await.unwrap().unwrap();
        assert!(!format!("{record:?}").contains("do-not-write-me"), "{record:?}");
        (session.id.clone(), record.resume.unwrap().reveal().to_owned())
    });
    home.live(async |life| {
        let session = life.session(&id);
        let items = life.items(&session).await;
        assert!(items.iter().all(|item| item.progress != ItemProgress::Growing));
        let closings = items.iter().filter_map(|item| match &item.body {
            ItemBody::Question { closing, .. } => Some(closing.clone()),
            _ => None,
        });
        assert_eq!(closings.collect::<Vec<_>>(), [Some(QuestionCloseReason::Withdrawn)]);
        assert!(notices(&items).iter().any(|notice| notice.contains("withdrawn")));
        life.turn(&session, "hello").await;
        let shown = life.look(&session, |state| format!("{state:?}")).await;
        assert!(shown.contains("hello") && !shown.contains(&name));
        // Items that were cut off are stored as such.
        let all = life.written(&session, true).await;
        assert!(all.iter().any(|item| matches!(&item.body, ItemBody::Question { closing: Some(_), .. })));
    });
    let arrived = std::fs::read_to_string(home.state().join(format!("wheelhouse/demo/{name}.prompts.jsonl"))).unwrap();
    assert_eq!(arrived.lines().count(), 2, "nothing was sent twice: {arrived}");
}

#[test]
fn a_session_that_cannot_be_resumed_has_ended_and_can_still_be_read() {
    let home = DaemonHome::new();
    let (id, before, name) = home.live(async |life| {
        let session = life.create(home.wanted("demo", "one")).await;
        life.turn(&session, "hello").await;
        let before = life.written(&session, true).await;
        let record = life.store.session(session.id.as_str()).await.unwrap().unwrap();
        (session.id.clone(), before, record.resume.unwrap().reveal().to_owned())
    });
    std::fs::remove_dir_all(home.state().join("wheelhouse/demo")).unwrap();
    let (ending, after) = home.live(async |life| {
        assert_eq!(life.restored, RestoreCounts { resumed: 0, lost: 1, past: 0 });
        let session = life.session(&id);
        let Some((EndCause::Gone(Some(why)), _)) = session.ended() else { panic!("{:?}", session.ended()) };
        assert!(why.contains("Demo has no conversation"), "{why}");
        assert!(!why.contains(&name), "{why}");
        let items = life.items(&session).await;
        assert_eq!(items[..before.len()], before[..]);
        assert!(notices(&items).last().unwrap().contains(&why));
        assert!(session.surface.as_ref().unwrap().facts().await.is_ok(), "its screen can be read");
        let said = session.conversation.as_ref().unwrap();
        let refused = ConversationCommand::say("hello?".to_owned(), None);
        assert!(said.space.command(said.me.clone(), None, refused).await.unwrap().is_err());
        assert_eq!(life.create(home.wanted("demo", "one")).await.name(), "one", "its name is free");
        (session.ended().unwrap().0, life.written(&session, true).await)
    });
    home.live(async |life| {
        assert_eq!((life.restored.past, life.restored.resumed), (1, 1));
        let session = life.session(&id);
        assert_eq!(session.ended().unwrap().0, ending);
        assert_eq!(life.items(&session).await, after, "nothing is added to an ended session");
        assert!(session.surface.as_ref().unwrap().facts().await.is_ok());
        assert_ne!(life.session("one").id, id, "a running session comes first under its name");
    });
}

#[test]
fn a_session_without_a_resume_id_restarts_if_empty_and_is_lost_otherwise() {
    let home = DaemonHome::new();
    let (silent, spoken) = home.live(async |life| {
        let silent = life.create(home.wanted("mute", "silent")).await;
        let spoken = life.create(home.wanted("mute", "spoken")).await;
        life.turn(&spoken, "hello").await;
        life.written(&silent, false).await;
        life.written(&spoken, false).await;
        (silent.id.clone(), spoken.id.clone())
    });
    home.live(async |life| {
        assert_eq!(life.restored, RestoreCounts { resumed: 1, lost: 1, past: 0 });
        let (silent, spoken) = (life.session(&silent), life.session(&spoken));
        assert_eq!(silent.ended(), None);
        life.turn(&silent, "hello").await;
        assert_eq!(spoken.ended().unwrap().0, EndCause::Lost);
        let items = life.items(&spoken).await;
        assert!(items.iter().any(|item| matches!(&item.body, ItemBody::Text { text, .. } if text == "hello")));
        let all: Vec<_> = life.sessions.sessions().iter().map(|one| one.name()).collect();
        assert_eq!(all, ["silent", "spoken"], "in the order in which they were made");
    });
}

#[test]
fn a_session_with_a_fresh_conversation_is_restarted() {
    let home = DaemonHome::new();
    let id = home.live(async |life| {
        let session = life.create(home.wanted("mute", "one")).await;
        life.turn(&session, "call me secret").await;
        life.written(&session, true).await;
        life.command(&session, ConversationCommand::Call(None, Call::Restart)).await;
        life.written(&session, false).await;
        session.id.clone()
    });
    home.live(async |life| {
        assert_eq!(life.restored.resumed, 1);
        let session = life.session(&id);
        life.turn(&session, "hello").await;
        assert!(life.items(&session).await.len() > 5, "earlier items are still shown");
    });
}

#[test]
fn the_last_screen_of_a_terminal_survives_a_restart() {
    let home = DaemonHome::new();
    let (id, raw) = home.live(async |life| {
        // A hosted terminal in place of a program's; it is persisted the same way.
        let wanted =
            CreateSessionRequest { workload: Workload::Program(vec!["sh".into()]), ..home.wanted("demo", "shell") };
        let running = RunningSpace::start("test", "human".into());
        let spec = UiTerminalSpec {
            command: vec!["sh".into()],
            size: SIZE,
            attended: false,
            screen: Some(ScreenSpec { history_lines: 100, log_characters: 4000 }),
            recording: None,
            space: running.space,
            ledger: None,
        };
        let (hosted, mut program) = host(spec).await.unwrap();
        let mut session =
            SessionHandle::new("t1".into(), &wanted, "default".into(), SystemTime::now(), state::new("shell".into()));
        session.surface = Some(hosted.surface.clone());
        persist::store_new(&life.store, &session, &wanted, &[]).await.unwrap();
        let session = Arc::new(session);
        let written =
            persist::spawn_writer(life.store.clone(), Arc::clone(&session), PersistedContent::Terminal(hosted.surface));
        assert!(life.sessions.add(ManagedSession { session, live: None, written: Some(written) }).is_ok());
        for line in ["one\r\n", "\x1b[31mtwo\x1b[m\r\n", "three"] {
            program.line.write_all(line.as_bytes()).await.unwrap();
            let word = line.trim_end().trim_start_matches("\x1b[31m").trim_end_matches("\x1b[m").to_owned();
            eventually("the screen is written", async || {
                let page = life.store.items_from("t1", ItemPosition::START, 1).await.unwrap();
                page.items.iter().any(|row| row.json.contains(&word))
            })
            .await;
        }
        ("t1".to_owned(), life.store.screen("t1").await.unwrap())
    });
    assert_eq!(String::from_utf8(raw).unwrap(), "one\r\n\x1b[31mtwo\x1b[m\r\nthree", "each byte once");
    for past in [0, 1] {
        home.live(async |life| {
            assert_eq!((life.restored.past, life.restored.lost), (past, 1 - past));
            let session = life.session(&id);
            assert_eq!(session.ended().unwrap().0, EndCause::Lost);
            assert!(session.surface.is_none());
            let screen = session.last_screen.clone().unwrap();
            assert!(screen.starts_with("one\ntwo\nthree"), "{screen:?}");
        });
    }
}

#[test]
fn an_idempotency_key_creates_one_session_across_restarts() {
    let home = DaemonHome::new();
    let keyed =
        |name: &str| CreateSessionRequest { idempotency_key: Some("wish-1".to_owned()), ..home.wanted("demo", name) };
    let id = home.live(async |life| {
        let (one, other) = tokio::join!(life.sessions.create(keyed("one")), life.sessions.create(keyed("one")));
        let (one, other) = (one.unwrap(), other.unwrap());
        // Concurrent creates; either may be first.
        assert_eq!(one.session.id, other.session.id);
        assert_ne!(one.duplicate, other.duplicate);
        life.turn(&one.session, "hello").await;
        life.written(&one.session, true).await;
        one.session.id.clone()
    });
    home.live(async |life| {
        let again = life.sessions.create(keyed("one")).await.unwrap();
        assert_eq!((again.duplicate, &again.session.id), (true, &id));
        life.sessions.end(&id, false).await;
        life.written(&again.session, true).await;
    });
    home.live(async |life| {
        let past = life.sessions.create(keyed("one")).await.unwrap();
        assert!(past.duplicate && past.session.ended().is_some());
        let wrong = CreateSessionRequest { idempotency_key: Some("x".repeat(1000)), ..home.wanted("demo", "two") };
        assert!(matches!(life.sessions.create(wrong).await, Err(CreateError::InvalidIdempotencyKey(_))));
        assert!(matches!(life.sessions.create(keyed("two")).await, Err(CreateError::IdempotencyKeyReused(_))));
        let crew = CreateSessionRequest { team: Some("crew".to_owned()), ..keyed("two") };
        assert!(!life.sessions.create(crew).await.unwrap().duplicate, "each team has its own keys");
        let nowhere = CreateSessionRequest { team: Some("../nowhere".to_owned()), ..home.wanted("demo", "three") };
        assert!(matches!(life.sessions.create(nowhere).await, Err(CreateError::NoSuchTeam(_))));
    });
}

#[test]
fn a_session_is_listed_even_if_its_creator_gave_up() {
    let home = DaemonHome::new();
    home.live(async |life| {
        for number in 0..20 {
            let mut making = life.sessions.create(home.wanted("demo", &format!("s{number}")));
            // Started, and dropped at varying moments.
            let _ = tokio::time::timeout(Duration::from_micros(number * 300), &mut making).await;
            drop(making);
        }
        eventually("all of them are there", async || life.sessions.sessions().len() == 20).await;
    });
}

#[test]
fn a_forgotten_session_is_dropped() {
    let home = DaemonHome::new();
    home.live(async |life| {
        let session = life.create(home.wanted("demo", "one")).await;
        life.turn(&session, "hello").await;
        let watched = Arc::downgrade(&session);
        life.sessions.end(&session.id, false).await;
        assert!(life.sessions.forget(&session.id).await);
        drop(session);
        eventually("nobody holds it", async || watched.upgrade().is_none()).await;
    });
}

#[test]
fn an_end_that_cannot_be_stored_is_not_reported_as_ended() {
    let home = DaemonHome::new();
    home.live(async |life| {
        let session = life.create(home.wanted("demo", "one")).await;
        life.written(&session, true).await;
        life.store.clone().close().await.unwrap();
        let outcome = life.sessions.end(&session.id, false).await;
        assert!(
            matches!(&outcome, EndOutcome::NotStored(why) if *why == StoreError::Closed.to_string()),
            "{outcome:?}"
        );
    });
    home.live(async |life| assert_eq!(life.restored.resumed, 1));
}

#[test]
fn an_end_that_can_never_be_stored_is_attempted_once() {
    let home = DaemonHome::new();
    home.live(async |life| {
        let (removed, closed) =
            (life.create(home.wanted("demo", "one")).await, life.create(home.wanted("demo", "two")).await);
        let outcomes: Vec<_> = life.sessions.entries().iter().map(|entry| entry.written.clone().unwrap()).collect();
        assert!(life.store.remove_session(removed.id.as_str()).await.unwrap());
        life.sessions.end(&removed.id, false).await;
        life.store.clone().close().await.unwrap();
        life.sessions.end(&closed.id, false).await;
        for (mut outcome, error) in
            outcomes.into_iter().zip([StoreError::NoSuchSession(removed.id.clone()), StoreError::Closed])
        {
            assert_eq!(*outcome.wait_for(Option::is_some).await.unwrap(), Some(Err(error)));
            assert!(outcome.changed().await.is_err(), "the task has ended");
        }
    });
}

#[test]
fn names_and_ends_are_stored_and_forgotten_sessions_are_removed() {
    let home = DaemonHome::new();
    let (renamed, ended) = home.live(async |life| {
        let (one, other) = tokio::join!(
            life.sessions.create(home.wanted("demo", "one")),
            life.sessions.create(home.wanted("demo", "one"))
        );
        let taken = [&one, &other].iter().filter(|made| matches!(made, Err(CreateError::NameTaken(_)))).count();
        assert_eq!(taken, 1, "one of two gets the name");
        let renamed = one.or(other).unwrap().session;
        life.sessions.rename(&renamed.id, "two").unwrap();
        // A released name is free at once, whatever the store knows by then.
        let mut ended = life.create(home.wanted("demo", "one")).await;
        for _ in 0..8 {
            assert_eq!(life.sessions.end(&ended.id, false).await, EndOutcome::Ended);
            assert!(life.sessions.forget(&ended.id).await);
            ended = life.create(home.wanted("demo", "one")).await;
        }
        assert_eq!(life.sessions.end(&ended.id, false).await, EndOutcome::Ended);
        let another = life.create(home.wanted("demo", "one")).await;
        life.sessions.rename(&another.id, "three").unwrap();
        assert_eq!(life.sessions.end(&another.id, false).await, EndOutcome::Ended);
        assert!(life.sessions.forget(&another.id).await);
        eventually("name and end are written", async || {
            let all = life.store.sessions(SessionFilter::default()).await.unwrap();
            all.iter().any(|one| one.name == "two" && one.resume.is_some()) && all.iter().any(|one| one.ended.is_some())
        })
        .await;
        (renamed.id.clone(), ended.id.clone())
    });
    home.live(async |life| {
        assert_eq!(life.restored, RestoreCounts { resumed: 1, lost: 0, past: 1 });
        assert_eq!(life.session(&renamed).name(), "two");
        assert_eq!(life.session(&ended).ended().unwrap().0, EndCause::Gone(None));
        assert!(life.sessions.forget(&ended).await);
        life.sessions.stop(true).await;
    });
    home.live(async |life| {
        assert_eq!(life.restored, RestoreCounts { resumed: 0, lost: 0, past: 1 }, "an ended session is not restored");
        assert!(life.sessions.session(&ended).is_none());
        assert!(!matches!(life.session(&renamed).ended().unwrap().0, EndCause::Exited(Exit::Code(_)) | EndCause::Lost));
    });
}

#[test]
fn a_stored_session_is_always_either_listed_or_being_restored() {
    let home = DaemonHome::new();
    let ids: Vec<String> = home.live(async |life| {
        let mut ids = Vec::new();
        for number in 0..6 {
            ids.push(life.create(home.wanted("mute", &format!("s{number}"))).await.id.clone());
        }
        ids
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let store = Store::open(home.state().join("store")).unwrap();
    runtime.block_on(async {
        let sessions = Sessions::new(services(store.clone()));
        assert!(!sessions.is_restoring(&ids[0]), "the store was not read yet");
        let pending = sessions.begin_restore().await.unwrap();
        assert_eq!(sessions.restoring(), ["s0", "s1", "s2", "s3", "s4", "s5"]);
        assert!(matches!(sessions.create(home.wanted("mute", "s1")).await, Err(CreateError::NameTaken(_))));
        let restoring = tokio::spawn({
            let sessions = Arc::clone(&sessions);
            async move { sessions.finish_restore(pending).await }
        });
        let mut looked = 0;
        while looked == 0 || !restoring.is_finished() {
            for id in &ids {
                // In the order in which a message is resolved.
                let returning = sessions.is_restoring(id.as_str());
                assert!(sessions.session_by_id(id).is_some() || returning, "{id} is neither listed nor being restored");
            }
            assert!(!sessions.is_restoring("another"));
            looked += 1;
            tokio::task::yield_now().await;
        }
        assert_eq!(restoring.await.unwrap().resumed, ids.len());
        assert!(ids.iter().all(|id| !sessions.is_restoring(id) && sessions.session_by_id(id).is_some()));
    });
}
