//! The HTTP API of a running process, and its entry in the runtime directory.

use std::time::Duration;

use tokio::sync::watch;
use wh_client::Surface;
use wh_server::http::{self, ApiUsage, Conversation};

use crate::ended_runs;
use crate::failure::print_to_stderr;
use crate::http_options::ApiListener;
use crate::runtime::RunEntry;
use crate::signals::ExitSignals;

/// Timeout for open streams to close at shutdown.
const STREAM_CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Maximum time that the API stays open after the program's exit for an active client that has not read the exit
/// status.
const EXIT_READ_GRACE: Duration = Duration::from_secs(2);

/// Time after the last request during which a client counts as active.
const ACTIVE_CLIENT_WINDOW: Duration = Duration::from_secs(10);

/// Timeout for reading the last screen.
const SNAPSHOT_TIMEOUT: Duration = Duration::from_secs(1);

/// Time that the API stays open after the program's exit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LingerTime {
    /// Closes at once, because a signal ended wh or a user waits for the terminal.
    No,
    /// Stays open for the time of `--linger`.
    For(Duration),
    /// Stays open until an active client has read the exit status, at most [`EXIT_READ_GRACE`]. Closes at once if no
    /// client is active.
    UntilRead,
}

/// HTTP API that is being served.
pub struct RunningApi {
    stop: watch::Sender<bool>,
    served: tokio::task::JoinHandle<()>,
    entry: Option<RunEntry>,
    surface: Surface,
    usage: ApiUsage,
    has_token: bool,
}

impl RunningApi {
    /// Serves the API of a terminal. `conversation` is the conversation that the terminal shows; `None` for a terminal
    /// program.
    pub fn open(
        control: ApiListener,
        surface: Surface,
        conversation: Option<Conversation>,
        command: Vec<String>,
    ) -> Self {
        let (stop, closing) = watch::channel(false);
        let (url, port) = (control.url(), control.address.port());
        let (usage, has_token) = (ApiUsage::default(), control.access.token.is_some());
        let router = http::router(surface.clone(), conversation, control.access, closing.clone(), usage.clone());
        let served = tokio::spawn(http::serve(control.listener, router, closing));
        let entry = RunEntry::enter(port, url.clone(), command);
        if let Err(error) = &entry {
            print_to_stderr(&format!("wh: other commands will not find this run: {error}"));
        }
        print_to_stderr(
            &serde_json::json!({"event": "control-listening", "url": url, "port": port, "pid": std::process::id()})
                .to_string(),
        );
        Self { stop, served, entry: entry.ok(), surface, usage, has_token }
    }

    /// Saves the record of the ended run, waits for `linger`, and closes the API after open requests are answered.
    pub async fn close(self, linger: LingerTime, signals: &mut ExitSignals) {
        self.save_record().await;
        match linger {
            LingerTime::UntilRead if self.usage.within(ACTIVE_CLIENT_WINDOW) => tokio::select! {
                () = tokio::time::sleep(EXIT_READ_GRACE) => {}
                () = self.usage.end_read() => {}
                () = signals.next() => {}
            },
            LingerTime::For(time) => tokio::select! {
                () = tokio::time::sleep(time) => {}
                () = signals.next() => {}
            },
            LingerTime::No | LingerTime::UntilRead => {}
        }
        drop(self.entry);
        self.stop.send_replace(true);
        let _ = self.served.await;
        // Each open stream holds a receiver of `stop` until the stream has ended.
        let _ = tokio::time::timeout(STREAM_CLOSE_TIMEOUT, self.stop.closed()).await;
    }

    /// Saves the record of this run for later commands.
    async fn save_record(&self) {
        let Some(entry) = &self.entry else { return };
        let snapshot = tokio::time::timeout(SNAPSHOT_TIMEOUT, http::snapshot(&self.surface)).await;
        let Ok(Ok((state, screen))) = snapshot else { return };
        if let Err(error) = ended_runs::save(entry.run(), state, (!self.has_token).then_some(screen)) {
            tracing::debug!(%error, "cannot save the record of this run");
        }
    }
}
