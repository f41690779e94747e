//! The HTTP door while it is open, and its entry among the runs.

use std::time::Duration;

use tokio::sync::watch;
use wh_client::Surface;
use wh_doors::http::{self, Conversation};

use crate::control::Control;
use crate::failure::say;
use crate::runtime::Entry;

/// How long those who watch may take to hear that wh is leaving.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// The HTTP door while it is open.
pub struct Opened {
    stop: watch::Sender<bool>,
    served: tokio::task::JoinHandle<()>,
    entry: Option<Entry>,
}

impl Opened {
    /// Opens the door onto a surface, and the conversation that it shows if it shows one.
    pub fn open(control: Control, surface: Surface, conversation: Option<Conversation>, command: Vec<String>) -> Self {
        let (stop, closing) = watch::channel(false);
        let (url, port) = (control.url(), control.address.port());
        let router = http::router(surface, conversation, control.access, closing.clone());
        let served = tokio::spawn(http::serve(control.listener, router, closing));
        let entry = Entry::enter(port, url.clone(), command);
        if let Err(error) = &entry {
            say(&format!("wh: other commands will not find this run: {error}"));
        }
        say(&serde_json::json!({"event": "control-listening", "url": url, "port": port, "pid": std::process::id()})
            .to_string());
        Self { stop, served, entry: entry.ok() }
    }

    /// Closes it, once those who are being answered are.
    pub async fn close(self) {
        drop(self.entry);
        self.stop.send_replace(true);
        let _ = self.served.await;
        // Those who watch are told, too: each holds on to the other end until it is.
        let _ = tokio::time::timeout(LAST_WORDS, self.stop.closed()).await;
    }
}
