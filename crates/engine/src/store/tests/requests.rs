//! Requests: begun once, and remembered as long as promised.

use super::*;

#[tokio::test]
async fn of_concurrent_begins_of_a_request_one_is_new() {
    let bench = Bench::new();
    let store = bench.open();
    let tasks: Vec<_> = (0..64)
        .map(|number| {
            let store = store.clone();
            tokio::spawn(async move { store.begin(key(number % 4), "print", at(1)).await.unwrap() })
        })
        .collect();
    let mut new = 0;
    for task in tasks {
        match task.await.unwrap() {
            BeginOutcome::New => new += 1,
            BeginOutcome::Known(entry) => {
                let known = RequestEntry {
                    fingerprint: "print".to_owned(),
                    at: at(1),
                    epoch: 1,
                    state: RequestState::Pending,
                    receipt: None,
                    queued: false,
                };
                assert_eq!(entry, known);
            }
        }
    }
    assert_eq!(new, 4);
}

#[tokio::test]
async fn every_part_of_the_key_distinguishes_requests() {
    let store = Bench::new().open();
    let first = key("r");
    let others = [
        RequestKey { team: "t".to_owned(), ..first.clone() },
        RequestKey { session: "s".to_owned(), ..first.clone() },
        RequestKey { agent: "a".to_owned(), ..first.clone() },
        RequestKey { request: "q".to_owned(), ..first.clone() },
    ];
    assert_eq!(store.begin(first, "", at(1)).await.unwrap(), BeginOutcome::New);
    for other in others {
        assert_eq!(store.begin(other, "", at(1)).await.unwrap(), BeginOutcome::New);
    }
}

#[tokio::test]
async fn the_first_result_is_final() {
    let store = Bench::new().open();
    store.begin(key("r"), "print", at(1)).await.unwrap();
    store.finish(key("r"), "ok", Some("said".to_owned()), at(2)).await.unwrap();
    store.finish(key("r"), "ok", Some("again".to_owned()), at(3)).await.unwrap();
    let error = store.finish(key("r"), "rejected", None, at(3)).await.unwrap_err();
    assert_eq!(error, StoreError::Settled { request: "r".to_owned(), state: "\"ok\"".to_owned() });
    let done = RequestState::Done { result: "ok".to_owned(), detail: Some("said".to_owned()), at: at(2) };
    assert_eq!(store.lookup(key("r")).await.unwrap().unwrap().state, done);
    let error = store.finish(key("never"), "ok", None, at(3)).await.unwrap_err();
    assert_eq!(error, StoreError::NoSuchRequest("never".to_owned()));
}

#[tokio::test]
async fn only_a_pending_request_can_be_withdrawn() {
    let store = Bench::new().open();
    store.begin(key("r"), "", at(1)).await.unwrap();
    assert!(store.undo(key("r")).await.unwrap());
    assert!(!store.undo(key("r")).await.unwrap());
    assert_eq!(store.begin(key("r"), "", at(1)).await.unwrap(), BeginOutcome::New);
    store.finish(key("r"), "ok", None, at(2)).await.unwrap();
    assert!(!store.undo(key("r")).await.unwrap());
    assert!(store.lookup(key("r")).await.unwrap().is_some());
}

#[tokio::test]
async fn a_pending_request_is_cut_off_by_the_next_opening() {
    let bench = Bench::new();
    let store = bench.open();
    store.begin(key("pending"), "print", at(1)).await.unwrap();
    store.begin(key("done"), "", at(1)).await.unwrap();
    store.finish(key("done"), "ok", None, at(2)).await.unwrap();
    store.close().await.unwrap();

    let store = bench.open();
    assert_eq!(store.opening(), &OpenedStore { epoch: 2, cut_off: 1, set_aside: None });
    assert_eq!(store.cut_off(10).await.unwrap(), [key("pending")]);
    let known = RequestEntry {
        fingerprint: "print".to_owned(),
        at: at(1),
        epoch: 1,
        state: RequestState::CutOff { epoch: 2 },
        receipt: None,
        queued: false,
    };
    assert_eq!(store.begin(key("pending"), "print", at(9)).await.unwrap(), BeginOutcome::Known(known.clone()));
    assert!(!store.undo(key("pending")).await.unwrap());
    assert!(matches!(store.finish(key("pending"), "ok", None, at(9)).await, Err(StoreError::Settled { .. })));
    store.close().await.unwrap();

    let store = bench.open();
    assert_eq!(store.opening(), &OpenedStore { epoch: 3, cut_off: 0, set_aside: None });
    assert_eq!(store.cut_off(10).await.unwrap(), []);
    assert_eq!(store.lookup(key("pending")).await.unwrap(), Some(known));
}

#[tokio::test]
async fn a_request_is_remembered_for_its_time_from_when_it_was_settled() {
    let bench = Bench::new();
    let (store, time) = (bench.open(), bench.limits.remembered);
    store.begin(key("r"), "", at(1)).await.unwrap();
    bench.wait(time * 3);
    assert!(store.lookup(key("r")).await.unwrap().is_some(), "what is being carried out does not expire");
    store.finish(key("r"), "ok", None, at(2)).await.unwrap();
    bench.wait(time - Duration::from_millis(1));
    assert!(store.lookup(key("r")).await.unwrap().is_some());
    bench.wait(Duration::from_millis(1));
    assert_eq!(store.begin(key("r"), "", at(3)).await.unwrap(), BeginOutcome::New);
}

#[tokio::test]
async fn neither_the_wall_clock_nor_a_pause_between_openings_makes_a_request_older() {
    let bench = Bench::new();
    let store = bench.open();
    bench.wait(Duration::from_secs(1000));
    for (request, moment) in [("past", at(0)), ("future", at(1 << 34))] {
        store.begin(key(request), "", moment).await.unwrap();
        store.finish(key(request), "ok", None, moment).await.unwrap();
    }
    bench.wait(bench.limits.remembered / 2);
    store.close().await.unwrap();
    // Another opening starts the monotonic clock at zero; the wall clock may have advanced by years.
    let store = bench.open();
    bench.wait(bench.limits.remembered / 2 - Duration::from_millis(1));
    for request in ["past", "future"] {
        assert!(store.lookup(key(request)).await.unwrap().is_some(), "{request}");
    }
    bench.wait(Duration::from_millis(1));
    assert_eq!(store.lookup(key("past")).await.unwrap(), None, "time was written down at the close");
    // The wall clock was ahead when it began: its message will be fresh again when the clock gets there.
    assert!(store.lookup(key("future")).await.unwrap().is_some());
    // Enough requests to trigger a sweep.
    for request in 0..300 {
        store.begin(key(request), "", at(3)).await.unwrap();
    }
    assert!(store.lookup(key("future")).await.unwrap().is_some());
}

#[tokio::test]
async fn a_clock_that_was_far_ahead_does_not_fill_the_store_permanently() {
    let mut bench = Bench::new();
    bench.limits.requests = 3;
    let store = bench.open();
    for request in 0..3 {
        store.begin(key(request), "", at(1 << 34)).await.unwrap();
        store.finish(key(request), "ok", None, at(1 << 34)).await.unwrap();
    }
    let full = Err(StoreError::Full { what: "requests", most: 3 });
    assert_eq!(store.begin(key("new"), "", at(1)).await, full, "nothing is forgotten early");
    bench.wait(bench.limits.remembered);
    assert_eq!(store.begin(key("new"), "", at(1)).await.unwrap(), BeginOutcome::New);
}

#[tokio::test]
async fn a_full_store_refuses_and_forgets_nothing_early() {
    let mut bench = Bench::new();
    bench.limits.requests = 3;
    let store = bench.open();
    for request in 0..3 {
        store.begin(key(request), "", at(1)).await.unwrap();
    }
    let full = Err(StoreError::Full { what: "requests", most: 3 });
    store.finish(key(0), "ok", None, at(1)).await.unwrap();
    assert_eq!(store.begin(key(3), "", at(1)).await, full);
    assert!(
        matches!(store.begin(key(0), "", at(1)).await, Ok(BeginOutcome::Known(_))),
        "those who are known are answered"
    );
    bench.wait(bench.limits.remembered);
    assert_eq!(store.begin(key(3), "", at(1)).await.unwrap(), BeginOutcome::New);
    assert_eq!(store.begin(key(4), "", at(1)).await, full, "two are pending, and one is new");
    assert!(store.undo(key(1)).await.unwrap());
    assert_eq!(store.begin(key(4), "", at(1)).await.unwrap(), BeginOutcome::New);
    store.close().await.unwrap();
    let store = bench.open();
    assert_eq!(store.begin(key(5), "", at(1)).await, full, "the count is known in the next life");
}

#[tokio::test]
async fn expired_requests_are_removed_while_new_ones_begin() {
    let bench = Bench::new();
    let store = bench.open();
    for request in 0..300 {
        store.begin(key(request), "", at(1)).await.unwrap();
        store.finish(key(request), "ok", None, at(1)).await.unwrap();
    }
    bench.wait(bench.limits.remembered);
    for request in 1000..1300 {
        store.begin(key(request), "", at(1)).await.unwrap();
    }
    let kept = store.queue().run(queue::HistoryAccess::Nothing, |database| Ok(database.counts.requests)).await.unwrap();
    assert_eq!(kept, 300);
}

#[tokio::test]
async fn long_results_are_refused_and_long_details_truncated() {
    let store = Bench::new().open();
    store.begin(key("r"), "", at(1)).await.unwrap();
    let error = store.finish(key("r"), "x".repeat(65), None, at(1)).await.unwrap_err();
    assert_eq!(error, StoreError::TooLarge { what: "the result", size: 65, most: 64 });
    store.finish(key("r"), "ok", Some("é".repeat(4000)), at(1)).await.unwrap();
    let RequestState::Done { detail: Some(detail), .. } = store.lookup(key("r")).await.unwrap().unwrap().state else {
        panic!("it is done");
    };
    assert!(detail.len() <= 4096 && detail.len() > 4080 && detail.ends_with("é…"), "{}", detail.len());
    let error = store.begin(key("x".repeat(3000)), "", at(1)).await.unwrap_err();
    assert!(matches!(error, StoreError::TooLarge { most: 2048, .. }), "{error}");
}

#[tokio::test]
async fn a_failed_job_does_not_affect_others() {
    let mut bench = Bench::new();
    bench.limits.requests = 10;
    let store = bench.open();
    let tasks: Vec<_> = (0..30)
        .map(|number| {
            let store = store.clone();
            tokio::spawn(async move { store.begin(key(number), "", at(1)).await })
        })
        .collect();
    let mut begun = Vec::new();
    for (number, task) in tasks.into_iter().enumerate() {
        match task.await.unwrap() {
            Ok(BeginOutcome::New) => begun.push(number),
            Err(StoreError::Full { .. }) => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(begun.len(), 10);
    for number in 0..30 {
        assert_eq!(store.lookup(key(number)).await.unwrap().is_some(), begun.contains(&number), "{number}");
    }
}

#[tokio::test]
async fn a_request_whose_receipt_is_not_final_does_not_expire_and_its_newest_receipt_stays() {
    let bench = Bench::new();
    let (store, time) = (bench.open(), bench.limits.remembered);
    store.begin(key("r"), "", at(1)).await.unwrap();
    store.settle(key("r"), "ok", None, Some("delivered".to_owned()), true, at(2)).await.unwrap();
    bench.wait(time * 3);
    assert!(store.lookup(key("r")).await.unwrap().is_some(), "its turn still runs");
    store.note_receipt(key("r"), "finished".to_owned()).await.unwrap();
    store.settle(key("r"), "ok", None, Some("delivered".to_owned()), true, at(3)).await.unwrap();
    bench.wait(time - Duration::from_millis(1));
    assert_eq!(store.lookup(key("r")).await.unwrap().unwrap().receipt.as_deref(), Some("finished"));
    bench.wait(Duration::from_millis(1));
    assert_eq!(store.lookup(key("r")).await.unwrap(), None);
}

#[tokio::test]
async fn queued_messages_of_living_sessions_wait_in_order_and_others_are_cut_off() {
    let bench = Bench::new();
    let store = bench.open();
    store.put_session(record("session", "one")).await.unwrap();
    let gone = RequestKey { session: "gone".to_owned(), ..key("lost") };
    for one in [key("first"), key("second"), key("urgent"), gone.clone()] {
        let first = one.request == "urgent";
        store.begin(one.clone(), "", at(1)).await.unwrap();
        store.enqueue(one.clone(), one.request.clone(), first).await.unwrap();
    }
    store.close().await.unwrap();
    let store = bench.open();
    assert!(store.lookup(key("first")).await.unwrap().unwrap().queued);
    assert_eq!(store.lookup(gone).await.unwrap().unwrap().state, RequestState::CutOff { epoch: 2 });
    let messages = store.queued("team", "session", "agent").await.unwrap();
    assert_eq!(messages, ["urgent", "first", "second"]);
}

#[tokio::test]
async fn a_message_goes_ahead_of_those_that_went_ahead_before_a_restart() {
    let bench = Bench::new();
    let store = bench.open();
    store.put_session(record("session", "one")).await.unwrap();
    let enqueue = async |store: &Store, name: &str| {
        store.begin(key(name), "", at(1)).await.unwrap();
        store.enqueue(key(name), name.to_owned(), true).await.unwrap();
    };
    enqueue(&store, "early").await;
    enqueue(&store, "later").await;
    store.close().await.unwrap();
    let store = bench.open();
    enqueue(&store, "latest").await;
    assert_eq!(store.queued("team", "session", "agent").await.unwrap(), ["latest", "later", "early"]);
}
