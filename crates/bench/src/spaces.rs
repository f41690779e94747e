//! Headless spaces with conversations of a given length.

use wh_testkit::Wh;

use crate::contenders::{Contender, WhContender};
use crate::content::{COLUMNS, ROWS};
use crate::{BenchConfig, BenchResult, process};

/// Placeholder of wh's empty composer.
pub const COMPOSER: &str = "Type a message";

/// Number of messages whose size is measured. Every tenth message is a tool call with two envelopes, so ten messages
/// have eleven envelopes.
const SAMPLE_MESSAGES: usize = 1000;

/// A space with a conversation of a given number of messages.
pub struct FilledSpace(WhContender);

impl FilledSpace {
    pub fn start(config: &BenchConfig, messages: u32) -> BenchResult<Self> {
        let size = format!("{COLUMNS}x{ROWS}");
        let wh = Wh::options(&config.wh).space().flags(&["--size", &size]).start(&["--", "--pace", "0"]);
        let mut space = WhContender::of(wh)?;
        space.wait_for_text(COMPOSER, std::time::Duration::from_millis(5))?;
        space.post("/message", &format!("{{\"message\":\"/demo crowd {messages}\"}}"))?;
        let condition = format!("message_count > {messages} and idle and screen_stable 200");
        space.post("/control/wait", &format!("{{\"condition\":\"{condition}\",\"timeout\":25000}}"))?;
        Ok(Self(space))
    }

    /// Presses a key, and waits until wh has drawn the resulting frame.
    pub fn press(&mut self, key: &str) -> BenchResult<()> {
        self.0.press(key)
    }

    /// Types a text, and waits until wh has drawn the resulting frame.
    pub fn type_in(&mut self, text: &str) -> BenchResult<()> {
        self.0.type_in(text)
    }

    /// Returns the resident memory in bytes.
    pub fn resident(&self) -> BenchResult<f64> {
        process::resident(&self.0.processes()?)
    }

    /// Returns the size in bytes of the content of 10,000 messages, extrapolated from the newest 1,000 messages.
    pub fn content_bytes(&self) -> f64 {
        let envelopes = SAMPLE_MESSAGES / 10 * 11;
        let answer = self.0.wh().get(&format!("/control/messages?limit={envelopes}")).json();
        let content_length =
            |payload: &str, whole: String| if payload.is_empty() { whole.len() } else { payload.len() };
        let messages = answer["messages"].as_array().into_iter().flatten();
        let bytes: usize = messages
            .map(|message| &message["payload"])
            .map(|payload| content_length(payload["text"].as_str().unwrap_or_default(), payload.to_string()))
            .sum();
        bytes as f64 * (10_000 / SAMPLE_MESSAGES) as f64
    }
}
