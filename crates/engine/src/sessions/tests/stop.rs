//! Stopping a daemon: the next one resumes agents, unless their sessions were ended.

use super::*;
use crate::sessions::RestorePreview;

#[test]
fn a_stop_keeps_agent_sessions_unless_it_ends_them() {
    let home = DaemonHome::new();
    let id = home.live(async |life| {
        let session = life.create(home.wanted("demo", "one")).await;
        life.turn(&session, "hello before").await;
        life.written(&session, true).await;
        // Cut off in the middle of a turn, as by a kill.
        life.say(&session, "/demo ask").await;
        eventually("it asks", async || life.look(&session, |state| state.questions().count() == 1).await).await;
        life.sessions.stop(false).await;
        assert_eq!(session.ended().unwrap().0, EndCause::Suspended);
        assert!(life.sessions.create(home.wanted("demo", "late")).await.is_err(), "no more are made");
        session.id.clone()
    });
    let preview = RestorePreview::read(&home.state().join("store")).unwrap().unwrap();
    assert_eq!(preview, RestorePreview { restorable: vec!["one".to_owned()], ..RestorePreview::default() });
    home.live(async |life| {
        assert_eq!(life.restored, RestoreCounts { resumed: 1, lost: 0, past: 0 });
        let session = life.session(&id);
        life.turn(&session, "hello after").await;
        let items = life.items(&session).await;
        let said =
            |words: &str| items.iter().any(|item| matches!(&item.body, ItemBody::Text { text, .. } if text == words));
        assert!(said("hello before") && said("hello after"));
        assert!(notices(&items).iter().any(|notice| notice.contains("restarted")), "{:?}", notices(&items));
        life.sessions.stop(true).await;
        assert_eq!(session.ended().unwrap().0, EndCause::Gone(None));
    });
    let preview = RestorePreview::read(&home.state().join("store")).unwrap().unwrap();
    assert_eq!(preview, RestorePreview { ended: 1, ..RestorePreview::default() });
    home.live(async |life| assert_eq!(life.restored, RestoreCounts { resumed: 0, lost: 0, past: 1 }));
}

#[test]
fn a_stop_during_a_restore_keeps_the_unrestored_sessions() {
    let home = DaemonHome::new();
    home.live(async |life| {
        for number in 0..6 {
            life.create(home.wanted("mute", &format!("s{number}"))).await;
        }
    });
    let stopped_early = |end_sessions: bool| {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let store = Store::open(home.state().join("store")).unwrap();
        runtime.block_on(async {
            let sessions = Sessions::new(services(store.clone()));
            let pending = sessions.begin_restore().await.unwrap();
            sessions.stop(end_sessions).await;
            assert_eq!(sessions.finish_restore(pending).await.resumed, 0, "it is too late");
        });
        runtime.block_on(store.close()).unwrap();
    };
    stopped_early(false);
    home.live(async |life| assert_eq!(life.restored, RestoreCounts { resumed: 6, lost: 0, past: 0 }));
    stopped_early(true);
    home.live(async |life| assert_eq!(life.restored, RestoreCounts { resumed: 0, lost: 0, past: 6 }));
}
