//! Sessions: stored completely, with unique names among the running ones.

use wh_client::EndCause;
use wh_core::terminal::Exit;

use super::*;

#[tokio::test]
async fn a_session_is_read_as_written_by_the_next_opening() {
    let bench = Bench::new();
    let store = bench.open();
    let bare = SessionRecord {
        kind: SessionKind::Terminal,
        agent: None,
        size: None,
        mode: None,
        resume: None,
        created_at: at(50),
        ended: Some(SessionEnd { at: at(60), how: EndCause::Exited(Exit::Code(1)) }),
        environment: BTreeMap::new(),
        ..record("b", "other")
    };
    store.put_session(record("a", "one")).await.unwrap();
    store.put_session(bare.clone()).await.unwrap();
    store.close().await.unwrap();
    let store = bench.open();
    assert_eq!(store.session("a").await.unwrap(), Some(record("a", "one")));
    assert_eq!(store.session("c").await.unwrap(), None);
    assert_eq!(store.sessions(SessionFilter::default()).await.unwrap(), [bare, record("a", "one")]);
    let live = SessionFilter { live: true, ..SessionFilter::default() };
    assert_eq!(store.sessions(live).await.unwrap(), [record("a", "one")]);
    let elsewhere = SessionFilter { team: Some("elsewhere".to_owned()), live: false };
    assert_eq!(store.sessions(elsewhere).await.unwrap(), []);
}

#[tokio::test]
async fn names_of_running_sessions_are_unique_in_a_team() {
    let store = Bench::new().open();
    store.put_session(record("a", "one")).await.unwrap();
    let taken = StoreError::NameTaken { team: "team".to_owned(), name: "one".to_owned() };
    assert_eq!(store.put_session(record("b", "one")).await, Err(taken.clone()));
    assert_eq!(store.session("b").await.unwrap(), None, "nothing of it was kept");
    store.put_session(SessionRecord { team: "others".to_owned(), ..record("c", "one") }).await.unwrap();
    store
        .change_session("a", |record| record.ended = Some(SessionEnd { at: at(9), how: EndCause::Gone(None) }))
        .await
        .unwrap();
    store.put_session(record("b", "one")).await.unwrap();
    assert_eq!(store.change_session("a", |record| record.ended = None).await, Err(taken), "the name is taken");
}

#[tokio::test]
async fn a_change_applies_to_the_stored_record() {
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
async fn a_change_that_panics_has_no_effect() {
    let store = Bench::new().open();
    store.put_session(record("a", "one")).await.unwrap();
    let error = store.change_session("a", |_| panic!("a caller's mistake")).await.unwrap_err();
    assert_eq!(error, StoreError::Failed("the job panicked".to_owned()));
    assert_eq!(store.session("a").await.unwrap(), Some(record("a", "one")));
    store.put_session(record("b", "two")).await.unwrap();
}

#[tokio::test]
async fn at_the_limit_the_session_that_ended_first_is_removed() {
    let mut bench = Bench::new();
    bench.limits.sessions = 3;
    let store = bench.open();
    for (id, ended) in [("a", None), ("b", Some(20)), ("c", Some(10))] {
        let ended = ended.map(|seconds| SessionEnd { at: at(seconds), how: EndCause::Lost });
        store.put_session(SessionRecord { ended, ..record(id, id) }).await.unwrap();
    }
    let ids = async || store.sessions(SessionFilter::default()).await.unwrap().into_iter().map(|record| record.id);
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
async fn debug_output_hides_the_resume_id() {
    let shown = format!("{:?}", record("a", "one"));
    assert!(shown.contains("ResumeId(…)") && !shown.contains("secret-of-the-provider"), "{shown}");
}
