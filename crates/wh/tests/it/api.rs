//! The examples of `wh-api`, and the client against a real run and a real daemon session.

#[path = "../../../api/examples/send_message.rs"]
mod prompt;
#[path = "../../../api/examples/terminal.rs"]
mod terminal;

use std::time::Duration;

use wh_api::wire::control::{EventBody, StreamBody};
use wh_api::{Address, Client, Error, EventOptions, Frames, Routes, ScreenQuery, blocking};
use wh_testkit::{CONDITION_TIMEOUT, Wh};

use crate::WH;

fn client(wh: &Wh) -> Client {
    let records = wh.runtime_dir().join("wheelhouse");
    Client::builder(Address::local(wh.port())).records(Some(records)).build().unwrap()
}

fn blocking_client(wh: &Wh) -> blocking::Client {
    let records = wh.runtime_dir().join("wheelhouse");
    Client::builder(Address::local(wh.port())).records(Some(records)).blocking().unwrap()
}

#[test]
fn the_example_that_drives_a_terminal_program_works() {
    let mut wh = Wh::start(WH, &["--", "sh"]);
    let (screen, code) = terminal::drive(&blocking_client(&wh)).unwrap();
    assert!(screen.lines().any(|line| line == "42"), "{screen}");
    assert_eq!((code, wh.wait_exit(CONDITION_TIMEOUT).code()), (3, Some(3)));
    // Later calls fail in the same way.
    let error = blocking_client(&wh).send_text("more").unwrap_err();
    assert_eq!(error.exit().map(|exit| exit.code), Some(3), "{error}");
}

#[test]
fn the_example_that_prompts_an_agent_works() {
    let wh = Wh::options(WH).space().start(&[]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (said, receipt) = runtime.block_on(prompt::prompt(&client(&wh), "hello", "first")).unwrap();
    assert!(!said.is_empty());
    assert_eq!((receipt.request_id.as_str(), receipt.stage.as_str()), ("first", "finished"));
}

#[test]
fn a_stream_of_events_resumes_from_its_cursor_and_ends_with_the_run() {
    let mut wh = Wh::start(WH, &["--", "sh", "-c", "read line; exit 4"]);
    let client = blocking_client(&wh);
    let mut events = client.events(EventOptions::new().frames(Frames::Plain));
    assert!(matches!(events.next(), Some(Ok(StreamBody::Snapshot { .. }))));
    let cursor = events.cursor().unwrap().to_owned();
    drop(events);
    client.mark(&wh_wire::control::MarkBody { label: "here".to_owned(), request_id: None }).unwrap();
    client.send_key("enter").unwrap();
    let events = client.events(EventOptions::new().after(cursor));
    let (mut seen, mut last) = (Vec::new(), None);
    for message in events {
        match message {
            Ok(StreamBody::Event { event, .. }) => seen.push(event),
            Ok(_) => {}
            Err(error) => last = Some(error),
        }
    }
    assert!(seen.iter().any(|event| matches!(event, EventBody::Marked { label } if label == "here")), "{seen:?}");
    assert!(matches!(seen.last(), Some(EventBody::Exited { code: 4, .. })), "{seen:?}");
    assert!(matches!(&last, Some(Error::Ended(run)) if run.exit().is_some_and(|exit| exit.code == 4)), "{last:?}");
    wh.wait_exit(CONDITION_TIMEOUT);
}

#[test]
fn responses_have_their_types() {
    let wh = Wh::start(WH, &["--", "sh", "-c", "printf ready; read line"]);
    let client = blocking_client(&wh);
    assert!(client.health().unwrap().ok);
    assert!(client.wait("screen_contains 'ready'", Some(CONDITION_TIMEOUT)).unwrap().matched);
    assert!(!client.wait("screen_contains 'never'", Some(Duration::from_millis(10))).unwrap().matched);
    let screen = client.screen(ScreenQuery { history: true, cells: true, now: true }).unwrap();
    assert!(screen.plain.starts_with("ready") && screen.cells.is_some() && screen.scrollback.raw.is_some());
    assert!(client.state().unwrap().session.is_some_and(|session| session.exit.is_none()));
    assert!(client.metrics().unwrap().contains("wh_frames_total"));
    assert!(client.screenshot_png(1).unwrap().starts_with(b"\x89PNG"));
    assert!(client.openapi().unwrap()["paths"].is_object());
    let refused = client.send_key("entre").unwrap_err();
    assert_eq!(refused.error_response().map(|refusal| refusal.status), Some(400), "{refused}");
}
