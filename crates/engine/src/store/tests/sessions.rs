//! Sessions: kept whole, and named once among the living.

use wh_client::Ending;
use wh_core::terminal::Exit;

use super::*;

#[tokio::test]
async fn a_session_is_the_same_when_read_in_another_life() {
    let bench = Bench::new();
    let store = bench.open();
    let bare = SessionRecord {
        kind: SessionKind::Terminal,
        agent: None,
        size: None,
        mode: None,
        resume: None,
        created_at: at(50),
        ended: Some(Ended { at: at(60), how: Ending::Exited(Exit::Code(1)) }),
        environment: BTreeMap::new(),
        ..record("b", "other")
    };
    store.put_session(record("a", "one")).await.unwrap();
    store.put_session(bare.clone()).await.unwrap();
    store.close().await.unwrap();
    let store = bench.open();
    assert_eq!(store.session("a").await.unwrap(), Some(record("a", "one")));
    assert_eq!(store.session("c").await.unwrap(), None);
    assert_eq!(store.sessions(Which::default()).await.unwrap(), [bare, record("a", "one")]);
    let live = Which { live: true, ..Which::default() };
    assert_eq!(store.sessions(live).await.unwrap(), [record("a", "one")]);
    let elsewhere = Which { team: Some("elsewhere".to_owned()), live: false };
    assert_eq!(store.sessions(elsewhere).await.unwrap(), []);
}

#[tokio::test]
async fn of_the_living_in_a_team_one_has_a_name() {
    let store = Bench::new().open();
    store.put_session(record("a", "one")).await.unwrap();
    let taken = StoreError::NameTaken { team: "team".to_owned(), name: "one".to_owned() };
    assert_eq!(store.put_session(record("b", "one")).await, Err(taken.clone()));
    assert_eq!(store.session("b").await.unwrap(), None, "nothing of it was kept");
    store.put_session(SessionRecord { team: "others".to_owned(), ..record("c", "one") }).await.unwrap();
    store
        .change_session("a", |record| record.ended = Some(Ended { at: at(9), how: Ending::Gone(None) }))
        .await
        .unwrap();
    store.put_session(record("b", "one")).await.unwrap();
    assert_eq!(store.change_session("a", |record| record.ended = None).await, Err(taken), "it cannot come back so");
}

#[tokio::test]
async fn a_change_is_made_to_what_is_kept_and_leaves_the_rest() {
    let store = Bench::new().open();
    store.put_session(record("a", "one")).await.unwrap();
    let changes = (0..20).map(|_| {
        store.change_session("a", |record| {
            record.creators.push("parent".to_owned());
            record.id = "another".to_owned();
        })
    });
    let changes: Vec<_> = changes.collect();
    for change in changes {
        change.await.unwrap();
    }
    let expected = SessionRecord { creators: vec!["parent".to_owned(); 20], ..record("a", "one") };
    assert_eq!(store.session("a").await.unwrap(), Some(expected));
    assert_eq!(store.change_session("b", |_| ()).await, Err(StoreError::NoSuchSession("b".to_owned())));
}

#[tokio::test]
async fn a_change_that_panics_changes_nothing_and_the_store_goes_on() {
    let store = Bench::new().open();
    store.put_session(record("a", "one")).await.unwrap();
    let error = store.change_session("a", |_| panic!("a caller's mistake")).await.unwrap_err();
    assert_eq!(error, StoreError::Failed("the job panicked".to_owned()));
    assert_eq!(store.session("a").await.unwrap(), Some(record("a", "one")));
    store.put_session(record("b", "two")).await.unwrap();
}

#[tokio::test]
async fn when_there_are_too_many_the_one_that_ended_first_goes_and_never_a_living_one() {
    let mut bench = Bench::new();
    bench.limits.sessions = 3;
    let store = bench.open();
    for (id, ended) in [("a", None), ("b", Some(20)), ("c", Some(10))] {
        let ended = ended.map(|seconds| Ended { at: at(seconds), how: Ending::Lost });
        store.put_session(SessionRecord { ended, ..record(id, id) }).await.unwrap();
    }
    let ids = async || store.sessions(Which::default()).await.unwrap().into_iter().map(|record| record.id);
    store.put_session(record("d", "d")).await.unwrap();
    assert!(ids().await.eq(["a", "b", "d"]));
    store.put_session(record("e", "e")).await.unwrap();
    let error = store.put_session(record("f", "f")).await.unwrap_err();
    assert!(matches!(error, StoreError::Full { most: 3, .. }), "{error}");
    assert!(ids().await.eq(["a", "d", "e"]));
    assert!(store.remove_session("d").await.unwrap());
    assert!(!store.remove_session("d").await.unwrap());
    store.put_session(record("f", "f")).await.unwrap();
}

#[tokio::test]
async fn what_a_provider_calls_it_is_not_shown() {
    let shown = format!("{:?}", record("a", "one"));
    assert!(shown.contains("Resume(…)") && !shown.contains("secret-of-the-provider"), "{shown}");
}
