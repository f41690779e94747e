//! A daemon with jumps of the wall clock and the monotonic clock.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use wh_testkit::tools;

use super::{Session, TestDaemon, message, moment, with};

/// Preloaded library that shifts both clocks by the seconds in a file.
const SHIM: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int clock_gettime(clockid_t which, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(which, now);
    const char *path = getenv("WH_TEST_CLOCKS");
    long long wall = 0, steady = 0;
    FILE *file = path ? fopen(path, "re") : NULL;
    if (file) {
        if (fscanf(file, "%lld %lld", &wall, &steady) != 2) wall = steady = 0;
        fclose(file);
    }
    if (which == CLOCK_REALTIME) now->tv_sec += wall;
    if (which == CLOCK_MONOTONIC) now->tv_sec += steady;
    return result;
}
"#;

struct Clocks(PathBuf);

impl Clocks {
    /// Shifts both clocks atomically by these seconds.
    fn set(&self, wall: i64, steady: i64) {
        let new = self.0.with_extension("new");
        fs::write(&new, format!("{wall} {steady}\n")).unwrap();
        fs::rename(new, &self.0).unwrap();
    }
}

/// Builds the library. `None` if that is not possible.
fn shim(folder: &Path) -> Option<PathBuf> {
    if !tools::present(&["cc"]) {
        return None;
    }
    let (source, made) = (folder.join("clocks.c"), folder.join("clocks.so"));
    fs::write(&source, SHIM).unwrap();
    let output =
        Command::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).arg(&made).arg(&source).arg("-ldl").output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(made)
}

fn said(session: &Session, request_id: &str, ahead: i64) -> Value {
    let fields = json!({ "type": "control.stdin.request", "content": request_id, "sent_at": moment(ahead) });
    with(message(session, request_id), fields)
}

#[test]
fn clock_jumps_neither_repeat_nor_lose_messages() {
    let folder = tempfile::tempdir().unwrap();
    let Some(shim) = shim(folder.path()) else { return };
    let clocks = Clocks(folder.path().join("clocks"));
    clocks.set(3600, 0);
    let daemon = TestDaemon::with([
        ("LD_PRELOAD".to_owned(), shim.display().to_string()),
        ("WH_TEST_CLOCKS".to_owned(), clocks.0.display().to_string()),
    ]);
    let session = daemon.demo("a", 0);
    let answered = |payload: &Value| {
        let ack = daemon.control(payload);
        (ack["result"].as_str().unwrap().to_owned(), ack["duplicate"] == true, ack["error"].clone())
    };
    let ok = |duplicate| ("ok".to_owned(), duplicate, Value::Null);
    let refused = |error: &str| ("rejected".to_owned(), false, json!(error));
    // One hour ahead, like the sender's clock.
    let early = said(&session, "early", 3600);
    assert_eq!(answered(&early), ok(false));
    daemon.receipt(&session, "early");
    // The clock is corrected. Earlier messages are now in the future.
    clocks.set(0, 0);
    assert_eq!(answered(&early), refused("clock_skew"));
    let plain = said(&session, "plain", 0);
    assert_eq!(answered(&plain), ok(false));
    daemon.receipt(&session, "plain");
    // An hour passes on both clocks, longer than the dedupe window. The first message is valid again and still
    // remembered.
    clocks.set(3600, 3600);
    assert_eq!(answered(&early), ok(true));
    assert_eq!(answered(&plain), refused("too_old"));
    // An hour back, twice. A new message is in the future, and accepted with the same id once the clock is right.
    clocks.set(-3600, 3600);
    let late = said(&session, "late", 0);
    assert_eq!(answered(&late), refused("clock_skew"));
    clocks.set(0, 3600);
    assert_eq!(answered(&late), ok(false));
    assert_eq!(answered(&late), ok(true));
    daemon.receipt(&session, "late");
    let heard = daemon.chats(&session).into_iter().filter(|(from, _)| from == "local").map(|(_, text)| text);
    assert_eq!(heard.collect::<Vec<_>>(), ["early", "plain", "late"], "each once");
}
