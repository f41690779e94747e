//! What is known before anything is shown.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::mpsc;
use wh_core::space::ParticipantId;

use crate::bell::Bell;
use crate::keymap::KeyMap;
use crate::theme::Theme;

/// How a space is shown, and to whom.
#[derive(Debug, Clone)]
pub struct Options {
    /// Who looks at it, and asks for things.
    pub me: ParticipantId,
    /// The colours.
    pub theme: Theme,
    /// The key bindings.
    pub keys: Arc<KeyMap>,
    /// When the terminal's bell rings.
    pub bell: Bell,
    /// What the agent is called by people, if there is one from the beginning.
    pub agent: Option<String>,
    /// Where `@` looks for files.
    pub directory: PathBuf,
    /// Of wh.
    pub version: String,
    /// The port of the HTTP door, if it is open.
    pub door: Option<u16>,
    /// Where to say that the person wants to leave, if others stay: the UI then goes on.
    pub stays: Option<mpsc::Sender<()>>,
}

impl Options {
    /// For this person, with nothing else known.
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
            door: None,
            stays: None,
        }
    }
}
