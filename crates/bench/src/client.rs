//! API client of the benchmark, with detailed errors.

use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use wh_api::{Address, Client, Error, HttpRequest, blocking};
use wh_testkit::Wh;

use crate::BenchResult;

/// Timeout for a response of the server.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// Opens a client for a port, with one persistent connection. `records` is the directory in which wh stores a record of
/// each ended run.
pub fn open(port: u16, records: Option<PathBuf>) -> BenchResult<blocking::Client> {
    Ok(Client::builder(Address::local(port)).timeout(ANSWER_TIMEOUT).records(records).blocking()?)
}

/// Opens a client for a wh process of the benchmark.
pub fn of(wh: &Wh) -> BenchResult<blocking::Client> {
    open(wh.port(), Some(wh.runtime_dir().join("wheelhouse")))
}

/// Sends a request and returns the body of the response. Fails unless the status is 200. If the program has exited, the
/// error contains its exit code and its last screen.
pub fn ask(client: &blocking::Client, request: &HttpRequest) -> BenchResult<Bytes> {
    match client.send(request) {
        Ok(answer) if answer.status == 200 => Ok(answer.body),
        Ok(answer) => {
            Err(format!("{} failed with status {}: {}", request.target(), answer.status, answer.text()).into())
        }
        Err(error) => Err(describe_error(&error).into()),
    }
}

/// Formats an error. Appends the last screen of the program if the run has ended.
pub fn describe_error(error: &Error) -> String {
    let screen = match error {
        Error::Ended(run) => run.screen.as_ref(),
        _ => None,
    };
    match screen {
        Some(screen) => format!("{error}; its last screen:\n{}", screen.plain.trim_end()),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_end_of_a_program_is_reported_with_its_exit_code_and_its_last_screen() {
        let screen = json!({
            "raw": "", "plain": "$ make\nout of memory\n\n", "lines": [], "width": 80, "height": 3,
            "cursor": {"x": 0, "y": 0, "visible": true, "style": "block", "blinking": false},
            "last_frame": "", "frames_rendered": 1, "scrollback": {"buffer_size": 0, "truncated": false},
            "title": null, "alternate_screen": false, "hash": "",
            "modes": {
                "application_cursor": false, "application_keypad": false, "bracketed_paste": false,
                "focus_events": false, "mouse": "off", "mouse_encoding": "legacy", "kitty_keyboard": 0,
                "modify_other_keys": 0
            }
        });
        let mut state = serde_json::to_value(wh_api::wire::control::ClientState::default()).unwrap();
        state["session"] = json!({
            "id": "s", "command": ["make"], "status": "exited", "evidence": "process", "since": "", "pid": null,
            "exit": {"code": 2, "signal": null}, "openWaits": 0, "queuedInput": 0
        });
        let run = json!({
            "pid": 1, "process_start": 1, "port": 1, "url": "http://x", "command": ["make"], "started_at": "",
            "version": "", "ended_at": "", "state": state, "screen": screen
        });
        let error = Error::Ended(serde_json::from_value(run).unwrap());
        assert_eq!(
            describe_error(&error),
            "make at http://x has ended with code 2; its last screen:\n$ make\nout of memory"
        );
    }
}
