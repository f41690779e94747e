//! Records a session as an asciicast. A separate thread writes the file, because disks can be slow. Each event is
//! written with a single call: a crash leaves no partial line and loses no written event.

use std::fs::File;
use std::io::{self, Write};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};
use wh_core::terminal::Size;
use wh_screen::cast::{CastEvent, CastFormat, CastHeader, CastWriter};

/// Maximum number of events queued for the disk. When the queue is full, the program waits, so that the recording has
/// no gaps.
const MAX_QUEUED_RECORDS: usize = 256;

/// Destination, format and content of a recording.
#[derive(Debug)]
pub struct RecordingSpec {
    /// Empty file that the recording is written to.
    pub file: File,
    pub format: CastFormat,
    /// Header of the recording. The size in the header is replaced by the size of the terminal.
    pub header: CastHeader,
    /// True if typed input is recorded too.
    pub input: bool,
}

pub(super) enum RecordedEvent {
    Output(Bytes),
    Input(Bytes),
    Resize(Size),
    Mark(String),
    Exit(i32),
}

pub(super) struct Recorder {
    events: mpsc::Sender<(Duration, RecordedEvent)>,
    started: Instant,
    input: bool,
}

impl Recorder {
    /// Starts the recording thread. The returned channel receives the thread's result after the recorder is dropped and
    /// all events are written.
    pub fn start(spec: RecordingSpec, size: Size, started: Instant) -> (Self, oneshot::Receiver<io::Result<()>>) {
        let (events, receiver) = mpsc::channel(MAX_QUEUED_RECORDS);
        let (result_sender, result) = oneshot::channel();
        let input = spec.input;
        thread::spawn(move || {
            let _ = result_sender.send(write(spec, size, receiver));
        });
        (Self { events, started, input }, result)
    }

    /// Records an event at the current time. After a write error, all events are dropped, and the thread's result is
    /// the error.
    pub async fn record(&self, event: RecordedEvent) {
        if self.input || !matches!(event, RecordedEvent::Input(_)) {
            let _ = self.events.send((self.started.elapsed(), event)).await;
        }
    }
}

fn write(spec: RecordingSpec, size: Size, mut events: mpsc::Receiver<(Duration, RecordedEvent)>) -> io::Result<()> {
    let mut file = spec.file;
    let mut writer = CastWriter::new(spec.format, CastHeader { size, ..spec.header });
    file.write_all(&writer.header())?;
    let mut last = Duration::ZERO;
    while let Some((at, event)) = events.blocking_recv() {
        last = at;
        let lines = match &event {
            RecordedEvent::Output(bytes) => writer.event(at, CastEvent::Output(bytes)),
            RecordedEvent::Input(bytes) => writer.event(at, CastEvent::Input(bytes)),
            RecordedEvent::Resize(size) => writer.event(at, CastEvent::Resize(*size)),
            RecordedEvent::Mark(label) => writer.event(at, CastEvent::Mark(label)),
            RecordedEvent::Exit(code) => writer.event(at, CastEvent::Exit(*code)),
        };
        file.write_all(&lines)?;
    }
    file.write_all(&writer.finish(last))?;
    file.sync_all()
}
