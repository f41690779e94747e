//! Configuration of the terminal UI, which does not change while the UI runs.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::mpsc;
use wh_core::space::ParticipantId;

use crate::bell::BellSetting;
use crate::keymap::KeyMap;
use crate::theme::Theme;

/// Configuration of [`run`](crate::run()).
#[derive(Debug, Clone)]
pub struct TuiOptions {
    /// Participant on whose behalf the UI sends requests.
    pub me: ParticipantId,
    pub theme: Theme,
    pub keys: Arc<KeyMap>,
    /// Events for which the UI rings the terminal bell.
    pub bell: BellSetting,
    /// Display name of the agent that is started together with the UI, if there is one.
    pub agent: Option<String>,
    /// Base directory: `@` completes file names in this directory, and displayed paths are relative to it.
    pub directory: PathBuf,
    /// Version of `wh`, shown in the welcome text.
    pub version: String,
    /// Port of the HTTP API, shown in the status bar; `None` if the API is disabled.
    pub control_port: Option<u16>,
    /// Channel for requests to quit. If set, quitting sends a request and the UI continues. The caller decides whether
    /// to end the UI, because other clients may still be attached.
    pub quit_requests: Option<mpsc::Sender<()>>,
}

impl TuiOptions {
    /// Creates the default options for this participant.
    #[must_use]
    pub fn new(me: ParticipantId) -> Self {
        Self {
            me,
            theme: Theme::dark(),
            keys: Arc::default(),
            bell: BellSetting::default(),
            agent: None,
            directory: PathBuf::from("."),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            control_port: None,
            quit_requests: None,
        }
    }
}
