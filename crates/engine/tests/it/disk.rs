//! Disks that are full, fail, or are read-only. Each needs a mount namespace; where that is not available, the tests
//! report it.

use std::path::Path;
use std::time::UNIX_EPOCH;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigHandler, Signal, signal};
use wh_engine::store::{BeginOutcome, Store, StoreError};
use wh_testkit::disk::inside;

use super::key;

async fn begin(store: &Store, name: impl ToString) -> Result<BeginOutcome, StoreError> {
    store.begin(key(name), "x".repeat(200), UNIX_EPOCH).await
}

/// Begins requests concurrently until some are refused. Returns those that were begun, and those that were refused.
async fn until_refused(store: &Store, prefix: &str) -> (Vec<String>, Vec<(String, StoreError)>) {
    let (mut begun, mut refused) = (Vec::new(), Vec::new());
    for round in 0..10_000 {
        let names: Vec<String> = (0..16).map(|number| format!("{prefix}-{round}-{number}")).collect();
        let tasks: Vec<_> = names
            .into_iter()
            .map(|name| {
                let store = store.clone();
                tokio::spawn(async move { (begin(&store, &name).await, name) })
            })
            .collect();
        for task in tasks {
            match task.await.unwrap() {
                (Ok(said), name) => {
                    assert_eq!(said, BeginOutcome::New, "{name}");
                    begun.push(name);
                }
                (Err(error), name) => refused.push((name, error)),
            }
        }
        if !refused.is_empty() {
            return (begun, refused);
        }
    }
    panic!("nothing was refused");
}

async fn exactly(store: &Store, begun: &[String], refused: &[(String, StoreError)]) {
    for name in begun {
        assert!(store.lookup(key(name)).await.unwrap().is_some(), "{name} was begun");
    }
    for (name, error) in refused {
        assert_eq!(store.lookup(key(name)).await.unwrap(), None, "{name} was refused: {error}");
    }
}

async fn recovers(store: &Store, begun: &[String], refused: &[(String, StoreError)]) {
    exactly(store, begun, refused).await;
    for (name, _) in refused {
        assert_eq!(begin(store, name).await, Ok(BeginOutcome::New), "{name} is begun once there is room");
    }
}

/// Checks the requests in the next opening.
async fn there(directory: &Path, begun: &[String], refused: &[(String, StoreError)]) {
    let store = Store::open(directory).unwrap();
    assert_eq!(store.opening().set_aside, None);
    for name in begun.iter().chain(refused.iter().map(|(name, _)| name)) {
        assert!(store.lookup(key(name)).await.unwrap().is_some(), "{name}");
    }
    store.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_refuses_exactly_what_does_not_fit_and_the_store_recovers() {
    let name = "disk::a_full_disk_refuses_exactly_what_does_not_fit_and_the_store_recovers";
    let Some(disk) = inside(name, "size=3m,mode=700") else { return };
    // Removed later, to give the log room to be checkpointed.
    let ballast = disk.join("ballast");
    std::fs::write(&ballast, vec![1; 1 << 20]).unwrap();
    let store = Store::open(disk.join("store")).unwrap();
    let (begun, refused) = until_refused(&store, "one").await;
    assert!(begun.len() > 100, "{}", begun.len());
    assert!(refused.iter().all(|(_, error)| *error == StoreError::DiskFull), "{refused:?}");
    exactly(&store, &begun, &refused).await;
    std::fs::remove_file(&ballast).unwrap();
    recovers(&store, &begun, &refused).await;
    store.close().await.unwrap();
    there(&disk.join("store"), &begun, &refused).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_that_says_no_is_said_and_the_store_recovers() {
    let name = "disk::a_disk_that_says_no_is_said_and_the_store_recovers";
    let Some(disk) = inside(name, "size=64m,mode=700") else { return };
    // SAFETY: a signal is set to be ignored; no handler runs.
    unsafe { signal(Signal::SIGXFSZ, SigHandler::SigIgn).unwrap() };
    let store = Store::open(disk.join("store")).unwrap();
    // Limits the size of files, so that writes fail with another error than a full disk.
    let (_, hard) = getrlimit(Resource::RLIMIT_FSIZE).unwrap();
    setrlimit(Resource::RLIMIT_FSIZE, 1 << 20, hard).unwrap();
    let (begun, refused) = until_refused(&store, "one").await;
    setrlimit(Resource::RLIMIT_FSIZE, hard, hard).unwrap();
    assert!(refused.iter().all(|(_, error)| matches!(error, StoreError::Failed(_))), "{refused:?}");
    recovers(&store, &begun, &refused).await;
    store.close().await.unwrap();
    there(&disk.join("store"), &begun, &refused).await;
}

#[test]
fn a_disk_that_cannot_be_written_is_named() {
    let name = "disk::a_disk_that_cannot_be_written_is_named";
    let Some(disk) = inside(name, "ro,mode=700") else { return };
    for directory in [disk.clone(), disk.join("store")] {
        let error = Store::open(&directory).err().expect("nothing can be made there").to_string();
        assert!(error.contains("for the store") && error.contains("Read-only file system"), "{error}");
        assert!(error.contains(disk.to_str().unwrap()), "{error}");
    }
}
