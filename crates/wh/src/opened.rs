//! The HTTP door while it is open, and its entry among the runs.

use std::time::Duration;

use tokio::sync::watch;
use wh_client::Surface;
use wh_doors::http::{self, Conversation, Usage};

use crate::control::Control;
use crate::failure::say;
use crate::finished;
use crate::runtime::Entry;
use crate::signals::Signals;

/// How long those who watch may take to hear that wh is leaving.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// How long the API stays open after the program's end for a client that has used it lately and has not read the end.
const END_GRACE: Duration = Duration::from_secs(2);

/// A client that has used the API within this time may want to read the end.
const USED_LATELY: Duration = Duration::from_secs(10);

/// Limit for the last look at the screen.
const SNAPSHOT_TIMEOUT: Duration = Duration::from_secs(1);

/// How long the API stays open after the program's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stay {
    /// Not at all: wh was asked to end, or a person waits for their terminal.
    No,
    /// For this long, as `--linger` says.
    For(Duration),
    /// Until a client that has used it lately has read the end, for [`END_GRACE`] at most.
    UntilRead,
}

/// The HTTP door while it is open.
pub struct Opened {
    stop: watch::Sender<bool>,
    served: tokio::task::JoinHandle<()>,
    entry: Option<Entry>,
    surface: Surface,
    usage: Usage,
    has_token: bool,
}

impl Opened {
    /// Opens the door onto a surface, and the conversation that it shows if it shows one.
    pub fn open(control: Control, surface: Surface, conversation: Option<Conversation>, command: Vec<String>) -> Self {
        let (stop, closing) = watch::channel(false);
        let (url, port) = (control.url(), control.address.port());
        let (usage, has_token) = (Usage::default(), control.access.token.is_some());
        let router = http::router(surface.clone(), conversation, control.access, closing.clone(), usage.clone());
        let served = tokio::spawn(http::serve(control.listener, router, closing));
        let entry = Entry::enter(port, url.clone(), command);
        if let Err(error) = &entry {
            say(&format!("wh: other commands will not find this run: {error}"));
        }
        say(&serde_json::json!({"event": "control-listening", "url": url, "port": port, "pid": std::process::id()})
            .to_string());
        Self { stop, served, entry: entry.ok(), surface, usage, has_token }
    }

    /// Closes the API, once those who are being answered are. The program has ended; its record is kept before.
    pub async fn close(self, stay: Stay, signals: &mut Signals) {
        self.keep_record().await;
        match stay {
            Stay::UntilRead if self.usage.within(USED_LATELY) => tokio::select! {
                () = tokio::time::sleep(END_GRACE) => {}
                () = self.usage.end_read() => {}
                () = signals.next() => {}
            },
            Stay::For(time) => tokio::select! {
                () = tokio::time::sleep(time) => {}
                () = signals.next() => {}
            },
            Stay::No | Stay::UntilRead => {}
        }
        drop(self.entry);
        self.stop.send_replace(true);
        let _ = self.served.await;
        // Those who watch are told, too: each holds on to the other end until it is.
        let _ = tokio::time::timeout(LAST_WORDS, self.stop.closed()).await;
    }

    /// Leaves the end of this run for commands that come later.
    async fn keep_record(&self) {
        let Some(entry) = &self.entry else { return };
        let snapshot = tokio::time::timeout(SNAPSHOT_TIMEOUT, http::snapshot(&self.surface)).await;
        let Ok(Ok((state, screen))) = snapshot else { return };
        if let Err(error) = finished::keep(entry.run(), state, (!self.has_token).then_some(screen)) {
            tracing::debug!(%error, "the end of this run is not kept");
        }
    }
}
