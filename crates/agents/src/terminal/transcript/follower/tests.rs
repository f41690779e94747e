use std::fs::{self, OpenOptions};
use std::io::Write;
use std::time::Duration;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

const EVENT_TIMEOUT: Duration = Duration::from_secs(60);

fn line(text: &str) -> FollowEvent {
    FollowEvent::Line(text.as_bytes().to_vec())
}

fn append(path: &Path, text: &str) {
    let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

async fn next(follower: &mut TranscriptFollower) -> FollowEvent {
    tokio::time::timeout(EVENT_TIMEOUT, follower.next()).await.expect("an event before the timeout")
}

/// Polls the follower once and asserts that it waits.
async fn assert_waits(follower: &mut TranscriptFollower) {
    tokio::select! {
        biased;
        event = follower.next() => panic!("{event:?}"),
        () = std::future::ready(()) => {}
    }
}

fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    (folder, path)
}

#[tokio::test]
async fn a_line_is_returned_when_its_end_is_written() {
    let (_folder, path) = folder();
    append(&path, "{\"a\":");
    let mut follower = TranscriptFollower::from_start(&path).unwrap();
    assert_eq!(next(&mut follower).await, FollowEvent::Opened);
    assert_waits(&mut follower).await;
    append(&path, "1}");
    assert_waits(&mut follower).await;
    append(&path, "\n\n{}\n{");
    assert_eq!(next(&mut follower).await, line("{\"a\":1}"));
    assert_eq!(next(&mut follower).await, line("{}"), "an empty line is left out");
    assert_waits(&mut follower).await;
}

#[tokio::test]
async fn a_waiting_follower_notices_a_line() {
    let (_folder, path) = folder();
    append(&path, "");
    let mut follower = TranscriptFollower::from_start(&path).unwrap();
    assert_eq!(next(&mut follower).await, FollowEvent::Opened);
    let waiting = tokio::spawn(async move {
        let first = next(&mut follower).await;
        (first, next(&mut follower).await)
    });
    append(&path, "one\n");
    append(&path, "two\n");
    assert_eq!(waiting.await.unwrap(), (line("one"), line("two")));
}

#[tokio::test]
async fn a_file_in_directories_that_do_not_exist_yet_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("2026/11/a.jsonl");
    let mut follower = TranscriptFollower::from_end(&path).unwrap();
    assert_waits(&mut follower).await;
    fs::create_dir(folder.path().join("2026")).unwrap();
    assert_waits(&mut follower).await;
    fs::create_dir(folder.path().join("2026/11")).unwrap();
    append(&path, "one\n");
    assert_eq!(next(&mut follower).await, FollowEvent::Opened);
    assert_eq!(next(&mut follower).await, line("one"), "all of a new file is new");
}

#[tokio::test]
async fn a_replaced_file_is_read_to_its_end_and_then_the_new_file() {
    let (folder, path) = folder();
    append(&path, "one\n");
    let mut follower = TranscriptFollower::from_start(&path).unwrap();
    assert_eq!(next(&mut follower).await, FollowEvent::Opened);
    append(&path, "two\nthr");
    let other = folder.path().join("b.jsonl");
    append(&other, "new\n");
    fs::rename(&other, &path).unwrap();
    assert_eq!(next(&mut follower).await, line("one"));
    assert_eq!(next(&mut follower).await, line("two"));
    assert_eq!(next(&mut follower).await, FollowEvent::Skipped { bytes: 3 });
    assert_eq!(next(&mut follower).await, FollowEvent::Opened);
    assert_eq!(next(&mut follower).await, line("new"));
    append(&path, "more\n");
    assert_eq!(next(&mut follower).await, line("more"));
}

#[tokio::test]
async fn a_truncated_file_is_read_from_its_start() {
    let (_folder, path) = folder();
    append(&path, "one\ntwo\n");
    let mut follower = TranscriptFollower::from_end(&path).unwrap();
    assert_eq!(next(&mut follower).await, FollowEvent::Opened);
    assert_waits(&mut follower).await;
    fs::write(&path, "new\n").unwrap();
    assert_eq!(next(&mut follower).await, FollowEvent::Opened);
    assert_eq!(next(&mut follower).await, line("new"));
}

#[tokio::test]
async fn a_deleted_file_is_gone_until_it_is_created_again() {
    let (_folder, path) = folder();
    append(&path, "one\n");
    let mut follower = TranscriptFollower::from_start(&path).unwrap();
    assert_eq!(next(&mut follower).await, FollowEvent::Opened);
    assert_eq!(next(&mut follower).await, line("one"));
    assert_waits(&mut follower).await;
    fs::remove_file(&path).unwrap();
    assert_eq!(next(&mut follower).await, FollowEvent::Gone);
    assert_waits(&mut follower).await;
    append(&path, "again\n");
    assert_eq!(next(&mut follower).await, FollowEvent::Opened);
    assert_eq!(next(&mut follower).await, line("again"));
}

#[tokio::test]
async fn a_deleted_directory_may_return() {
    let folder = tempfile::tempdir().unwrap();
    let chats = folder.path().join("chats");
    fs::create_dir(&chats).unwrap();
    let path = chats.join("a.jsonl");
    append(&path, "one\n");
    let mut follower = TranscriptFollower::from_end(&path).unwrap();
    assert_eq!(next(&mut follower).await, FollowEvent::Opened);
    fs::remove_dir_all(&chats).unwrap();
    assert_eq!(next(&mut follower).await, FollowEvent::Gone);
    fs::create_dir(&chats).unwrap();
    assert_waits(&mut follower).await;
    append(&path, "again\n");
    assert_eq!(next(&mut follower).await, FollowEvent::Opened);
    assert_eq!(next(&mut follower).await, line("again"));
}

#[tokio::test]
async fn from_the_end_an_unfinished_line_is_returned_whole() {
    let (_folder, path) = folder();
    append(&path, "one\ntwo\nthr");
    let mut follower = TranscriptFollower::from_end(&path).unwrap();
    append(&path, "ee\n");
    assert_eq!(next(&mut follower).await, FollowEvent::Opened);
    assert_eq!(next(&mut follower).await, line("three"));
    let mut tail = TranscriptFollower::from_tail(&path, 8).unwrap();
    assert_eq!(next(&mut tail).await, FollowEvent::Opened);
    assert_eq!(next(&mut tail).await, line("two"), "the line with the byte at the offset");
    let mut offset = TranscriptFollower::from_offset(&path, 4).unwrap();
    assert_eq!(next(&mut offset).await, FollowEvent::Opened);
    assert_eq!(next(&mut offset).await, line("two"));
}

#[tokio::test]
async fn a_long_file_is_opened_without_reading_it() {
    const LONG: u64 = 100 << 20;
    let (_folder, path) = folder();
    File::create(&path).unwrap().set_len(LONG).unwrap();
    append(&path, "\none\ntwo\n");
    let mut follower = TranscriptFollower::from_end(&path).unwrap();
    assert_eq!(next(&mut follower).await, FollowEvent::Opened);
    assert_eq!(follower.open.as_ref().unwrap().offset, LONG + 9);
    let mut tail = TranscriptFollower::from_tail(&path, 6).unwrap();
    assert_eq!(next(&mut tail).await, FollowEvent::Opened);
    assert_eq!((next(&mut tail).await, next(&mut tail).await), (line("one"), line("two")));
    let mut inside = TranscriptFollower::from_offset(&path, LONG - 5).unwrap();
    assert_eq!(next(&mut inside).await, FollowEvent::Opened);
    assert_eq!(next(&mut inside).await, FollowEvent::Skipped { bytes: 5 }, "the rest of a line over the limit");
    assert_eq!(next(&mut inside).await, line("one"));
}

#[tokio::test]
async fn a_line_over_the_limit_is_skipped_and_counted() {
    let (_folder, path) = folder();
    append(&path, &format!("one\n{}\ntwo\n{}", "x".repeat(300_000), "y".repeat(100)));
    let mut follower = TranscriptFollower::new(path.clone(), FirstPosition::Start, 64).unwrap();
    assert_eq!(next(&mut follower).await, FollowEvent::Opened);
    assert_eq!(next(&mut follower).await, line("one"));
    assert_eq!(next(&mut follower).await, FollowEvent::Skipped { bytes: 300_000 });
    assert_eq!(next(&mut follower).await, line("two"));
    assert_waits(&mut follower).await;
    fs::remove_file(&path).unwrap();
    assert_eq!(next(&mut follower).await, FollowEvent::Skipped { bytes: 100 });
    assert_eq!(next(&mut follower).await, FollowEvent::Gone);
}

#[tokio::test]
async fn a_cancelled_wait_loses_nothing() {
    let (_folder, path) = folder();
    let mut follower = TranscriptFollower::from_start(&path).unwrap();
    let mut received = Vec::new();
    let writer = std::thread::spawn(move || (0..500).for_each(|number| append(&path, &format!("{number}\n"))));
    while received.len() < 500 {
        tokio::select! {
            biased;
            event = follower.next() => match event {
                FollowEvent::Line(line) => received.push(String::from_utf8(line).unwrap()),
                other => assert_eq!(other, FollowEvent::Opened),
            },
            () = tokio::task::yield_now() => {}
        }
    }
    writer.join().unwrap();
    assert_eq!(received, (0..500).map(|number| number.to_string()).collect::<Vec<_>>());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn any_split_into_writes_gives_the_same_lines(
        text in "([a-z]{0,6}\n){0,20}",
        sizes in proptest::collection::vec(1usize..9, 1..20),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
        let _entered = runtime.enter();
        let (_folder, path) = folder();
        let mut follower = TranscriptFollower::from_start(&path).unwrap();
        let (mut lines, mut rest) = (Vec::new(), &text[..]);
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, after) = rest.split_at((*size).min(rest.len()));
            append(&path, piece);
            rest = after;
            while let Some(event) = follower.try_next() {
                if let FollowEvent::Line(line) = event {
                    lines.push(String::from_utf8(line).unwrap());
                }
            }
        }
        prop_assert_eq!(lines, text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect::<Vec<_>>());
    }
}
