//! A space with as long a conversation as is wanted, in wh's own UI, headless.

use wh_testkit::Wh;

use crate::contenders::{Contender, OverHttp};
use crate::content::{COLUMNS, ROWS};
use crate::{Outcome, Setting, process};

/// What wh's composer says when it is empty.
pub const COMPOSER: &str = "Type a message";

/// Messages of which as many bytes are taken as a sample: ten make eleven envelopes, for a tool call has two.
const SAMPLE: usize = 1000;

/// A space whose agent has said so many messages.
pub struct Crowded(OverHttp);

impl Crowded {
    pub fn start(setting: &Setting, messages: u32) -> Outcome<Self> {
        let size = format!("{COLUMNS}x{ROWS}");
        let wh = Wh::options(&setting.wh).space().flags(&["--size", &size]).start(&["--", "--pace", "0"]);
        let mut space = OverHttp::of(wh)?;
        space.until_shown(COMPOSER, std::time::Duration::from_millis(5))?;
        space.post("/message", &format!("{{\"message\":\"/demo crowd {messages}\"}}"))?;
        let condition = format!("message_count > {messages} and idle and screen_stable 200");
        space.post("/control/wait", &format!("{{\"condition\":\"{condition}\",\"timeout\":25000}}"))?;
        Ok(Self(space))
    }

    /// Presses a key. It is answered when the frame that shows its effect is drawn.
    pub fn press(&mut self, key: &str) -> Outcome<()> {
        self.0.press(key)
    }

    /// Types a text, and is answered likewise.
    pub fn type_in(&mut self, text: &str) -> Outcome<()> {
        self.0.type_in(text)
    }

    /// What it takes of the memory.
    pub fn resident(&self) -> Outcome<f64> {
        process::resident(&self.0.processes()?)
    }

    /// The bytes of what 10,000 of its messages say, judged by the newest.
    pub fn bytes_said(&self) -> f64 {
        let envelopes = SAMPLE / 10 * 11;
        let answer = self.0.wh().get(&format!("/control/messages?limit={envelopes}")).json();
        let said = |payload: &str, whole: String| if payload.is_empty() { whole.len() } else { payload.len() };
        let messages = answer["messages"].as_array().into_iter().flatten();
        let bytes: usize = messages
            .map(|message| &message["payload"])
            .map(|payload| said(payload["text"].as_str().unwrap_or_default(), payload.to_string()))
            .sum();
        bytes as f64 * (10_000 / SAMPLE) as f64
    }
}
