//! Opening: exclusive use, damage, and configuration.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use rusqlite::Connection;

use super::*;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn refused(directory: &Path) -> StoreError {
    Store::open(directory).err().expect("it cannot be opened")
}

#[tokio::test]
async fn a_missing_directory_is_created_private() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join("a/b");
    let store = Store::open(&directory).unwrap();
    store.begin(key(1), "", at(1)).await.unwrap();
    assert_eq!(mode(&directory), 0o700);
    for file in fs::read_dir(&directory).unwrap() {
        let path = file.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
    assert!(directory.join("wheelhouse.db-wal").exists());
}

#[tokio::test]
async fn a_second_engine_gets_the_process_id_of_the_first() {
    let bench = Bench::new();
    let store = bench.open();
    let error = refused(&bench.directory());
    assert_eq!(error, StoreError::Taken { directory: bench.directory(), pid: Some(std::process::id()) });
    assert!(error.to_string().contains(&format!("in use by process {}", std::process::id())), "{error}");
    store.close().await.unwrap();
    Store::open(bench.directory()).unwrap();
}

#[tokio::test]
async fn the_pragmas_are_set() {
    let bench = Bench::new();
    let store = bench.open();
    let said = store
        .queue()
        .run(queue::HistoryAccess::Nothing, |database| {
            let ask = |pragma: &str| -> Result<String, StoreError> {
                let value = database.connection.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get(0))?;
                Ok(match value {
                    rusqlite::types::Value::Integer(number) => number.to_string(),
                    rusqlite::types::Value::Text(text) => text,
                    other => format!("{other:?}"),
                })
            };
            ["journal_mode", "synchronous", "locking_mode", "temp_store", "trusted_schema"]
                .map(|pragma| ask(pragma).map(|value| format!("{pragma} {value}")))
                .into_iter()
                .collect::<Result<Vec<_>, _>>()
        })
        .await
        .unwrap();
    let stated = ["journal_mode wal", "synchronous 2", "locking_mode exclusive", "temp_store 2", "trusted_schema 0"];
    assert_eq!(said, stated);
}

#[test]
fn a_directory_that_cannot_be_used_is_named_with_the_reason() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("file");
    fs::write(&file, "").unwrap();
    let error = refused(&file).to_string();
    assert!(error.starts_with(&format!("cannot use {} for the store: ", file.display())), "{error}");

    let open = home.path().join("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, Permissions::from_mode(0o755)).unwrap();
    let error = refused(&open).to_string();
    assert!(error.contains("(mode 755)") && error.contains("chmod 700"), "{error}");

    let linked = home.path().join("linked");
    fs::create_dir(&linked).unwrap();
    fs::set_permissions(&linked, Permissions::from_mode(0o700)).unwrap();
    std::os::unix::fs::symlink(&file, linked.join(DATABASE_FILE)).unwrap();
    assert!(matches!(refused(&linked), StoreError::Unusable { .. }));
    assert_eq!(fs::read(&file).unwrap(), b"", "what the link points to was not touched");
}

#[tokio::test]
async fn a_damaged_file_is_set_aside_and_a_new_one_created() {
    let bench = Bench::new();
    let store = bench.open();
    for request in 0..200 {
        store.begin(key(request), "x".repeat(200), at(1)).await.unwrap();
    }
    store.close().await.unwrap();
    let path = bench.directory().join(DATABASE_FILE);
    let mut bytes = fs::read(&path).unwrap();
    let size = bytes.len();
    assert!(size > 40_000, "{size}");
    bytes[20_000..40_000].fill(0xAA);
    fs::write(&path, &bytes).unwrap();

    let store = bench.open();
    let (aside, why) = store.opening().set_aside.clone().expect("it was set aside");
    assert!(!why.is_empty());
    assert_eq!(fs::read(&aside).unwrap(), bytes, "nothing of it is lost");
    let name = aside.file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with("wheelhouse.db.damaged-20") && name.ends_with('Z'), "{name}");
    assert_eq!(store.begin(key(1), "", at(1)).await.unwrap(), BeginOutcome::New);
    store.close().await.unwrap();

    fs::write(&path, "this is no database, and never was one".repeat(100)).unwrap();
    let store = bench.open();
    let (second, _) = store.opening().set_aside.clone().expect("it was set aside");
    assert_ne!(second, aside);
    store.close().await.unwrap();
    assert_eq!(bench.open().opening().set_aside, None);
}

#[tokio::test]
async fn a_newer_or_foreign_file_is_not_changed() {
    let bench = Bench::new();
    bench.open().close().await.unwrap();
    let path = bench.directory().join(DATABASE_FILE);
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let error = refused(&bench.directory());
    assert!(matches!(error, StoreError::Newer { found: 99, known: 2, .. }), "{error}");

    fs::remove_file(&path).unwrap();
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE theirs (x)").unwrap();
    let before = fs::read(&path).unwrap();
    let error = refused(&bench.directory()).to_string();
    assert!(error.contains("another program"), "{error}");
    let theirs = Connection::open(&path).unwrap();
    assert!(theirs.prepare("SELECT x FROM theirs").is_ok());
    assert_eq!(before.len(), fs::metadata(&path).unwrap().len() as usize);
}

#[tokio::test]
async fn on_a_full_file_only_jobs_that_do_not_fit_fail() {
    let bench = Bench::new();
    let store = bench.open();
    store.put_session(record("s", "one")).await.unwrap();
    let limit = async |pages: i64| {
        let set = move |database: &mut Database| {
            let now: i64 = database.connection.query_row("PRAGMA page_count", [], |row| row.get(0))?;
            let most = format!("PRAGMA max_page_count = {}", now + pages);
            Ok(database.connection.query_row(&most, [], |row| row.get::<_, i64>(0))?)
        };
        store.queue().run(queue::HistoryAccess::Nothing, set).await.unwrap()
    };
    limit(3).await;
    let large = |id: &str| vec![StoredItem { id: id.to_owned(), seq: 1, json: "x".repeat(100_000) }];
    let (small, too_large, other) = tokio::join!(
        store.begin(key("before"), "", at(1)),
        store.append_items("s", large("large")),
        store.begin(key("after"), "", at(1)),
    );
    assert_eq!((small, too_large, other), (Ok(BeginOutcome::New), Err(StoreError::DiskFull), Ok(BeginOutcome::New)));
    store.append_later("s", large("later")).unwrap();
    assert_eq!(store.flush().await, Err(StoreError::DiskFull));
    assert_eq!(store.items_from("s", ItemPosition::START, 10).await.unwrap().items, [], "nothing is half done");
    limit(1000).await;
    store.append_items("s", large("again")).await.unwrap();
    let kept = store.items_from("s", ItemPosition::START, 10).await.unwrap().items;
    assert!(kept.iter().map(|item| item.id.as_str()).eq(["later", "again"]), "what waited was not lost");
}
