//! History: items by id and in order, the end of the raw output, and buffered writes.

use wh_testkit::deadline::CONDITION_TIMEOUT;

use super::*;

fn item(id: impl ToString, seq: u64, json: &str) -> StoredItem {
    StoredItem { id: id.to_string(), seq, json: json.to_owned() }
}

async fn with_session(bench: &Bench) -> Store {
    let store = bench.open();
    store.put_session(record("s", "one")).await.unwrap();
    store
}

async fn all(store: &Store) -> Vec<StoredItem> {
    store.items_from("s", ItemPosition::START, 1000).await.unwrap().items
}

#[tokio::test]
async fn an_item_replaces_an_older_one_with_the_same_id() {
    let bench = Bench::new();
    let store = with_session(&bench).await;
    store.append_items("s", vec![item("b", 2, "2"), item("a", 1, "1")]).await.unwrap();
    store.append_items("s", vec![item("a", 7, "new"), item("c", 3, "3")]).await.unwrap();
    assert_eq!(all(&store).await, [item("a", 1, "new"), item("b", 2, "2"), item("c", 3, "3")]);
    store.close().await.unwrap();
    assert_eq!(all(&bench.open()).await.len(), 3);
}

#[tokio::test]
async fn items_are_read_in_complete_pages_from_either_end() {
    let bench = Bench::new();
    let store = with_session(&bench).await;
    // Two items of each number, so that a page may end between them.
    let items: Vec<StoredItem> = (0..25).map(|number| item(number, number / 2, "x")).collect();
    store.append_items("s", items.clone()).await.unwrap();
    let (mut onwards, mut place) = (Vec::new(), Some(ItemPosition::START));
    while let Some(from) = place {
        let page = store.items_from("s", from, 3).await.unwrap();
        assert!(page.items.len() <= 3);
        onwards.extend(page.items);
        place = page.next;
    }
    assert_eq!(onwards, items);
    let (mut back, mut place) = (Vec::new(), Some(ItemPosition::END));
    while let Some(to) = place {
        let page = store.items_before("s", to, 4).await.unwrap();
        back.splice(0..0, page.items);
        place = page.next;
    }
    assert_eq!(back, items);
    assert_eq!(store.items_from("s", ItemPosition::before(11), 2).await.unwrap().items, items[22..24]);
    assert_eq!(
        store.items_from("nowhere", ItemPosition::START, 1).await,
        Err(StoreError::NoSuchSession("nowhere".to_owned()))
    );
}

#[tokio::test]
async fn a_page_of_large_items_ends_early_and_can_be_continued() {
    let bench = Bench::new();
    let store = with_session(&bench).await;
    let large = "x".repeat(3 << 20);
    for number in 0..3 {
        store.append_items("s", vec![item(number, number, &large)]).await.unwrap();
    }
    let page = store.items_from("s", ItemPosition::START, 3).await.unwrap();
    assert_eq!(page.items.len(), 2);
    let page = store.items_from("s", page.next.unwrap(), 3).await.unwrap();
    assert_eq!((page.items.len(), page.next), (1, None));
}

#[tokio::test]
async fn beyond_the_limits_the_first_items_are_removed() {
    let mut bench = Bench::new();
    bench.limits.history_items = 5;
    bench.limits.history_bytes = 100;
    let store = with_session(&bench).await;
    store.append_items("s", (0..8).map(|number| item(number, number, "x")).collect()).await.unwrap();
    assert!(all(&store).await.into_iter().map(|item| item.seq).eq(3..8));
    store.append_items("s", vec![item(5, 5, &"y".repeat(95))]).await.unwrap();
    assert!(all(&store).await.into_iter().map(|item| item.seq).eq(5..8), "96 bytes and twice 2 are left");
    let error = store.append_items("s", vec![item(9, 9, &"y".repeat(100))]).await.unwrap_err();
    assert_eq!(error, StoreError::TooLarge { what: "the item", size: 101, most: 100 });
}

#[tokio::test]
async fn buffered_history_is_written_without_a_flush() {
    let bench = Bench::new();
    let store = with_session(&bench).await;
    // Observed in the file, because a query would trigger the write.
    let log = bench.directory().join(format!("{DATABASE_FILE}-wal"));
    let before = std::fs::metadata(&log).unwrap().len();
    for round in 0..50 {
        store.append_later("s", vec![item("a", 1, &round.to_string())]).unwrap();
    }
    store.add_output_later("s", b"shown").unwrap();
    let grown = move || (std::fs::metadata(&log).unwrap().len() > before).then_some(());
    tokio::task::spawn_blocking(move || {
        wh_testkit::deadline::eventually_within(CONDITION_TIMEOUT, "it is written", grown)
    })
    .await
    .unwrap();
    assert_eq!(all(&store).await, [item("a", 1, "49")]);
    assert_eq!(store.screen("s").await.unwrap(), b"shown");
}

#[tokio::test]
async fn buffered_history_is_written_before_later_writes_and_reads() {
    let bench = Bench::new();
    let store = with_session(&bench).await;
    for round in 0..20 {
        store.append_later("s", vec![item("a", 1, "older"), item(format!("l{round}"), 2, "")]).unwrap();
        store.append_items("s", vec![item("a", 1, "newer")]).await.unwrap();
        assert_eq!(all(&store).await[0].json, "newer", "round {round}");
        store.append_later("s", vec![item("a", 1, "newest")]).unwrap();
        assert_eq!(all(&store).await[0].json, "newest", "round {round}");
    }
    store.set_screen_later("s", b"old").unwrap();
    store.set_screen("s", b"new".to_vec()).await.unwrap();
    assert_eq!(store.screen("s").await.unwrap(), b"new");
}

#[tokio::test]
async fn buffered_history_is_durable_after_a_flush_and_after_a_close() {
    let bench = Bench::new();
    let store = with_session(&bench).await;
    store.append_later("s", vec![item("a", 1, "1")]).unwrap();
    store.append_later("nowhere", vec![item("a", 1, "1")]).unwrap();
    store.flush().await.unwrap();
    store.append_later("s", vec![item("b", 2, "2")]).unwrap();
    let other = store.clone();
    store.close().await.unwrap();
    assert_eq!(other.append_later("s", vec![item("c", 3, "3")]), Err(StoreError::Closed));
    assert_eq!(other.flush().await, Err(StoreError::Closed));
    assert_eq!(all(&bench.open()).await, [item("a", 1, "1"), item("b", 2, "2")]);
}

#[tokio::test]
async fn the_end_of_raw_output_is_stored() {
    let mut bench = Bench::new();
    bench.limits.output = 10;
    let store = with_session(&bench).await;
    let mut shown = Vec::new();
    for piece in ["abc", "defgh", "", "i", "jklmno", "p", "0123456789ABCDEF", "g", "hi"] {
        store.add_output_later("s", piece.as_bytes()).unwrap();
        store.flush().await.unwrap();
        shown.extend_from_slice(piece.as_bytes());
        let end = &shown[shown.len().saturating_sub(10)..];
        assert_eq!(String::from_utf8(store.screen("s").await.unwrap()).unwrap(), String::from_utf8_lossy(end));
    }
    let pieces = store
        .queue()
        .run(queue::HistoryAccess::Nothing, |database| {
            Ok(database
                .connection
                .query_row("SELECT sum(octet_length(bytes)) FROM outputs", [], |row| row.get::<_, i64>(0))?)
        })
        .await
        .unwrap();
    assert!(pieces <= 20, "output beyond the limit is removed: {pieces}");
    store.set_screen("s", b"anew".to_vec()).await.unwrap();
    assert_eq!(store.screen("s").await.unwrap(), b"anew");
}

#[tokio::test]
async fn the_history_of_a_removed_session_is_removed() {
    let bench = Bench::new();
    let store = with_session(&bench).await;
    store.append_items("s", (0..1200).map(|number| item(number, number, "x")).collect()).await.unwrap();
    store.set_screen("s", b"shown".to_vec()).await.unwrap();
    store.append_later("s", vec![item("late", 1, "x")]).unwrap();
    store.remove_session("s").await.unwrap();
    assert_eq!(store.screen("s").await, Err(StoreError::NoSuchSession("s".to_owned())));
    store.put_session(record("s", "one")).await.unwrap();
    assert_eq!(all(&store).await, [], "a new session with the same id has an empty history");
    let deadline = Instant::now() + CONDITION_TIMEOUT;
    loop {
        let left = store
            .queue()
            .run(queue::HistoryAccess::Nothing, |database| {
                let count = "SELECT (SELECT count(*) FROM items) + (SELECT count(*) FROM outputs)
                             + (SELECT count(*) FROM histories)";
                Ok(database.connection.query_row(count, [], |row| row.get::<_, i64>(0))?)
            })
            .await
            .unwrap();
        if left == 1 {
            break;
        }
        assert!(Instant::now() < deadline, "{left} rows are left");
    }
}

#[tokio::test]
async fn too_much_buffered_history_is_refused() {
    let mut bench = Bench::new();
    bench.limits.waiting = 1000;
    let store = with_session(&bench).await;
    let large = |id: &str| vec![item(id, 1, &"x".repeat(600))];
    store.append_later("s", large("a")).unwrap();
    // The thread may have taken the first write already; then the third exceeds the limit.
    let outcomes = [store.append_later("s", large("b")), store.append_later("s", large("c"))];
    assert!(outcomes.contains(&Err(StoreError::Behind { most: 1000 })), "{outcomes:?}");
    store.flush().await.unwrap();
    store.append_later("s", large("d")).unwrap();
}
