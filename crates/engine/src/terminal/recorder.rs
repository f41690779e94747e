//! Writes a session down as an asciicast. A thread of its own owns the file, since disks may be slow; each event is one
//! write, so that a crash of ours cuts no line and loses nothing that was written.

use std::fs::File;
use std::io::{self, Write};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};
use wh_core::terminal::Size;
use wh_screen::cast::{Event, Format, Header, Writer};

/// Events that may wait for the disk. Beyond that the program waits: a recording has no holes.
const WAITING: usize = 256;

/// What to write down, and where.
#[derive(Debug)]
pub struct RecordingSpec {
    /// The file, empty.
    pub file: File,
    /// The version of asciicast.
    pub format: Format,
    /// What stands at its head; the size is filled in.
    pub header: Header,
    /// Whether what is typed is written down too.
    pub input: bool,
}

/// What happened, to be written down.
pub(super) enum Take {
    Output(Bytes),
    Input(Bytes),
    Resize(Size),
    Mark(String),
    Exit(i32),
}

pub(super) struct Recorder {
    takes: mpsc::Sender<(Duration, Take)>,
    started: Instant,
    input: bool,
}

impl Recorder {
    /// Starts writing. How it ended is told when the recorder is dropped and all is written.
    pub fn start(spec: RecordingSpec, size: Size, started: Instant) -> (Self, oneshot::Receiver<io::Result<()>>) {
        let (takes, receiver) = mpsc::channel(WAITING);
        let (tell, told) = oneshot::channel();
        let input = spec.input;
        thread::spawn(move || {
            let _ = tell.send(write(spec, size, receiver));
        });
        (Self { takes, started, input }, told)
    }

    /// Writes down what happened now. After a failure there is nobody to take it, and that is told at the end.
    pub async fn record(&self, take: Take) {
        if self.input || !matches!(take, Take::Input(_)) {
            let _ = self.takes.send((self.started.elapsed(), take)).await;
        }
    }
}

fn write(spec: RecordingSpec, size: Size, mut takes: mpsc::Receiver<(Duration, Take)>) -> io::Result<()> {
    let mut file = spec.file;
    let mut writer = Writer::new(spec.format, Header { size, ..spec.header });
    file.write_all(&writer.header())?;
    let mut last = Duration::ZERO;
    while let Some((at, take)) = takes.blocking_recv() {
        last = at;
        let lines = match &take {
            Take::Output(bytes) => writer.event(at, Event::Output(bytes)),
            Take::Input(bytes) => writer.event(at, Event::Input(bytes)),
            Take::Resize(size) => writer.event(at, Event::Resize(*size)),
            Take::Mark(label) => writer.event(at, Event::Mark(label)),
            Take::Exit(code) => writer.event(at, Event::Exit(*code)),
        };
        file.write_all(&lines)?;
    }
    file.write_all(&writer.finish(last))?;
    file.sync_all()
}
