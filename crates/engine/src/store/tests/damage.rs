//! Every kind of damage is detected, and damaged files are kept. A crash is not damage. An orderly shutdown leaves one
//! complete file.

use std::collections::BTreeMap;
use std::fs;

use super::*;

/// Files of a store with their content, by their suffix after the database's name; without the lock.
fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let named = entries.filter_map(|path| {
        let name = path.file_name()?.to_str()?.strip_prefix(DATABASE_FILE)?.to_owned();
        Some((name, fs::read(path).unwrap()))
    });
    named.collect()
}

/// Files of a store with a session and 200 requests, after an orderly shutdown or after a kill.
async fn left(killed: bool) -> BTreeMap<String, Vec<u8>> {
    let bench = Bench::new();
    let mut store = bench.open();
    store.put_session(record("s", "one")).await.unwrap();
    if killed {
        // Ensures that the database itself has pages.
        store.close().await.unwrap();
        store = bench.open();
    }
    for request in 0..200 {
        store.begin(key(request), "x".repeat(200), at(1)).await.unwrap();
    }
    if !killed {
        store.close().await.unwrap();
    }
    files(&bench.directory())
}

/// Creates a directory with these files.
fn placed(files: &BTreeMap<String, Vec<u8>>) -> Bench {
    let bench = Bench::new();
    std::os::unix::fs::DirBuilderExt::mode(&mut fs::DirBuilder::new(), 0o700).create(bench.directory()).unwrap();
    for (name, content) in files {
        fs::write(bench.directory().join(format!("{DATABASE_FILE}{name}")), content).unwrap();
    }
    bench
}

#[tokio::test]
async fn damage_is_detected_and_the_files_are_kept() {
    let (whole, killed) = (left(false).await, left(true).await);
    assert!(whole[""].len() > 60_000 && killed["-wal"].len() > 60_000);
    let changed = |files: &BTreeMap<String, Vec<u8>>, name: &str, change: &dyn Fn(&mut Vec<u8>)| {
        let mut files = files.clone();
        change(files.get_mut(name).unwrap());
        files
    };
    let cases = [
        ("flipped bytes", changed(&whole, "", &|file| file[20_000..40_000].iter_mut().for_each(|byte| *byte ^= 0x55))),
        ("flipped, with a log", changed(&killed, "", &|file| file[4096..].iter_mut().for_each(|byte| *byte ^= 0x55))),
        ("a header of another kind", changed(&whole, "", &|file| file[..16].fill(b'x'))),
        ("a page size of its own", changed(&whole, "", &|file| file[16..18].fill(7))),
        ("half", changed(&whole, "", &|file| file.truncate(file.len() / 2))),
        ("one page", changed(&whole, "", &|file| file.truncate(4096))),
        ("a hundred bytes", changed(&whole, "", &|file| file.truncate(100))),
        ("one byte", changed(&whole, "", &|file| file.truncate(1))),
        ("empty", changed(&whole, "", &|file| file.clear())),
        ("empty, with a log", changed(&killed, "", &|file| file.clear())),
        ("a garbage log", changed(&killed, "-wal", &|log| *log = b"garbage ".repeat(9000))),
        ("a log of zeros", changed(&killed, "-wal", &|log| log.fill(0))),
        ("a flipped byte in the log", changed(&killed, "-wal", &|log| log[9000] ^= 1)),
        (
            "only the log",
            killed.iter().filter(|(name, _)| !name.is_empty()).map(|(n, c)| (n.clone(), c.clone())).collect(),
        ),
        (
            "a session of no kind",
            changed(&whole, "", &|file| {
                let at = file.windows(14).position(|window| window == b"teamoneagentcl").unwrap();
                file[at + 7..at + 12].copy_from_slice(b"agfnt");
            }),
        ),
    ];
    for (what, damaged) in cases {
        let bench = placed(&damaged);
        assert!(
            matches!(
                StoreReader::read(&bench.directory()).and_then(|reader| match reader {
                    Some(reader) => reader.sessions().map(drop),
                    None => Err(StoreError::Corrupt("nothing".to_owned())),
                }),
                Err(StoreError::Corrupt(_))
            ) || what.starts_with("flipped"),
            "{what}: the reader detects it"
        );
        assert_eq!(files(&bench.directory()), damaged, "{what}: the reader changes nothing");
        let store = bench.open();
        let (aside, why) = store.opening().set_aside.clone().unwrap_or_else(|| panic!("{what} is not detected"));
        assert!(!why.is_empty(), "{what}");
        let kept = files(&bench.directory());
        let aside = aside.file_name().unwrap().to_str().unwrap().strip_prefix(DATABASE_FILE).unwrap().to_owned();
        let aside = aside.strip_suffix("-wal").unwrap_or(&aside);
        for (name, content) in &damaged {
            assert_eq!(kept.get(&format!("{aside}{name}")), Some(content), "{what}: {name:?} is kept as it was");
        }
        assert_eq!(damaged_files(&bench.directory()).len(), 1, "{what}");
        assert_eq!(store.sessions(SessionFilter::default()).await.unwrap(), []);
        store.close().await.unwrap();
        let store = bench.open();
        assert_eq!(store.opening().set_aside, None, "{what}: the new one is sound");
        store.close().await.unwrap();
    }
}

#[tokio::test]
async fn a_kill_is_not_damage_and_the_reader_includes_the_log() {
    let killed = left(true).await;
    let mut torn = killed.clone();
    let log = torn.get_mut("-wal").unwrap();
    log.truncate(log.len() - 1000);
    // A kill during the creation of the database.
    let begun = BTreeMap::from([(".new".to_owned(), Vec::new()), (".new-wal".to_owned(), vec![7; 100])]);
    for (files_left, sessions) in [(&killed, 1), (&torn, 1), (&begun, 0)] {
        let bench = placed(files_left);
        let reader = StoreReader::read(&bench.directory()).unwrap();
        let seen = reader.map_or(Vec::new(), |reader| reader.sessions().unwrap());
        assert_eq!(seen.len(), sessions);
        assert_eq!(&files(&bench.directory()), files_left, "the reader changes nothing");
        let store = bench.open();
        assert_eq!(store.opening().set_aside, None);
        assert_eq!(store.sessions(SessionFilter::default()).await.unwrap(), seen);
        let known = store.lookup(key(198)).await.unwrap().is_some();
        assert_eq!(known, sessions == 1);
        store.close().await.unwrap();
    }
}

#[tokio::test]
async fn a_log_without_a_commit_is_emptied() {
    let mut begun = left(false).await;
    let log = left(true).await.remove("-wal").unwrap();
    // A kill during the first transaction of a new log: its header and half a frame.
    begun.insert("-wal".to_owned(), log[..1000].to_vec());
    let bench = placed(&begun);
    let store = bench.open();
    assert_eq!(store.opening().set_aside, None);
    assert_eq!(store.sessions(SessionFilter::default()).await.unwrap().len(), 1);
    let log = files(&bench.directory()).remove("-wal").unwrap_or_default();
    assert_ne!(log.get(16..24), begun["-wal"].get(16..24), "the old log is gone");
    store.close().await.unwrap();
}

#[tokio::test]
async fn after_an_orderly_shutdown_the_file_alone_is_complete() {
    let whole = left(false).await;
    assert_eq!(whole.keys().map(String::as_str).collect::<Vec<_>>(), [""], "there is no log left");
    let bench = placed(&whole);
    let store = bench.open();
    assert_eq!(store.sessions(SessionFilter::default()).await.unwrap(), [record("s", "one")]);
    for request in 0..200 {
        assert!(store.lookup(key(request)).await.unwrap().is_some(), "{request}");
    }
}
