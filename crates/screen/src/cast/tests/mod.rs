mod reading;
mod showing;
mod writing;

use std::time::Duration;

use super::*;

fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

fn size(columns: u16, rows: u16) -> Size {
    Size { columns, rows }
}

fn small() -> CastHeader {
    CastHeader::new(size(80, 24))
}

fn full() -> CastHeader {
    CastHeader {
        size: size(120, 40),
        timestamp: Some(1_504_467_315),
        idle_limit: Some(seconds(2.5)),
        command: Some("sh -c \"ls\"".to_owned()),
        title: Some("Demo \u{9b}1m é".to_owned()),
        terminal_type: Some("xterm-256color".to_owned()),
        terminal_version: Some("wh 0.1.0".to_owned()),
        environment: [("SHELL".to_owned(), "/bin/zsh".to_owned())].into(),
        tags: vec!["demo".to_owned(), "日本".to_owned()],
    }
}

/// Returns a complete recording as text.
fn write(format: CastFormat, header: CastHeader, events: &[(Duration, CastEvent<'_>)]) -> String {
    let mut writer = CastWriter::new(format, header);
    let mut bytes = writer.header();
    for (at, event) in events {
        bytes.extend(writer.event(*at, *event));
    }
    bytes.extend(writer.finish(events.last().map_or(Duration::ZERO, |(at, _)| *at)));
    String::from_utf8(bytes).expect("a recording is text")
}

fn read(text: &str) -> Cast {
    Cast::parse(text.as_bytes()).expect("a recording")
}

fn output(at: f64, text: &str) -> TimedEvent {
    TimedEvent { at: seconds(at), content: EventContent::Output(text.to_owned()) }
}
