//! Configuration of the terminal UI, fixed at its start.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::mpsc;
use wh_core::space::ParticipantId;

use crate::bell::Bell;
use crate::keymap::KeyMap;
use crate::theme::Theme;

/// Configuration of [`run`](crate::run()).
#[derive(Debug, Clone)]
pub struct TuiOptions {
    /// Participant on whose behalf the UI sends requests.
    pub me: ParticipantId,
    pub theme: Theme,
    pub keys: Arc<KeyMap>,
    /// Events that ring the terminal's bell.
    pub bell: Bell,
    /// Display name of the agent that the UI starts with, if there is one.
    pub agent: Option<String>,
    /// Directory in which `@` completes file names.
    pub directory: PathBuf,
    /// Version of `wh`.
    pub version: String,
    /// Port of the HTTP API, if it is enabled.
    pub control_port: Option<u16>,
    /// Receives requests to quit. If set, the UI does not end by itself: the caller decides, because other clients may
    /// stay.
    pub quit_requests: Option<mpsc::Sender<()>>,
}

impl TuiOptions {
    /// Default options for this participant.
    #[must_use]
    pub fn new(me: ParticipantId) -> Self {
        Self {
            me,
            theme: Theme::dark(),
            keys: Arc::default(),
            bell: Bell::default(),
            agent: None,
            directory: PathBuf::from("."),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            control_port: None,
            quit_requests: None,
        }
    }
}
