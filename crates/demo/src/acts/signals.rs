//! Tricks that show features other than messages: streams, acknowledgements, statuses, pauses, attachments, and a
//! failed turn.

use serde_json::{Value, json};
use tokio::time::Instant;
use wh_core::space::harness::{HarnessKey, PauseReport, Report};
use wh_core::space::item::{Attachment, ToolKind, ToolResultPart, ToolStatus};

use crate::stage::{ActivePause, DemoStream, DemoTask, TrickResult, TrickStop};
use crate::tools::card;

/// Number of frames that the trick `stream` sends.
const STREAM_TRICK_FRAMES: usize = 12;

/// Time after which the pause of the trick `pause` ends without `/resume`, in multiples of the time per word.
const PAUSE_WORDS: u32 = 250;

impl DemoTask {
    /// Opens a stream. If the trick does not close the stream, it is closed at the end of the turn.
    pub async fn open(&mut self) -> TrickResult<HarnessKey> {
        let key = self.key("stream");
        self.say(Report::StreamOpened(key.clone())).await?;
        self.streams.push(DemoStream { key: key.clone(), of_turn: true });
        Ok(key)
    }

    /// Sends a frame to a stream. Does nothing if the stream is closed.
    pub async fn send(&mut self, key: &HarnessKey, frame: Value) -> TrickResult {
        if self.streams.iter().any(|stream| stream.key == *key) {
            self.say(Report::StreamFrame(key.clone(), frame)).await?;
        }
        Ok(())
    }

    /// Closes a stream. Does nothing if the stream is already closed.
    pub async fn close(&mut self, key: &HarnessKey) -> TrickResult {
        if self.streams.iter().any(|stream| stream.key == *key) {
            self.say(Report::StreamClosed(key.clone())).await?;
            self.streams.retain(|stream| stream.key != *key);
        }
        Ok(())
    }

    pub async fn stream(&mut self) -> TrickResult {
        self.speak(&format!(
            "I open a stream, send {STREAM_TRICK_FRAMES} frames of the log through it, and close it again."
        ))
        .await?;
        let key = self.open().await?;
        for number in 1..=STREAM_TRICK_FRAMES {
            self.wait_words(25).await?;
            let knots = 4 + self.chance.below(5);
            self.send(&key, json!({ "mark": number, "knots": knots })).await?;
        }
        self.close(&key).await?;
        self.speak("The stream is closed.").await.map(drop)
    }

    pub async fn want_acknowledgement(&mut self) -> TrickResult {
        let key = self.speak("Please acknowledge this message with `/ack`.").await?;
        self.say(Report::WantsAcknowledgement(key)).await
    }

    pub async fn tell_status(&mut self) -> TrickResult {
        let summary = self.report_status().await?;
        self.speak(&summary).await.map(drop)
    }

    pub async fn take_a_pause(&mut self) -> TrickResult {
        self.speak("I pause for a moment. `/resume` ends the pause sooner.").await?;
        let timeout = self.options.pace.saturating_mul(PAUSE_WORDS);
        let reason = Some("a demonstration".to_owned());
        self.say(Report::Paused(Some(PauseReport { timeout: Some(timeout), reason }))).await?;
        self.pause = Some(ActivePause { until: Instant::now().checked_add(timeout), of_turn: true });
        self.speak("I am back.").await.map(drop)
    }

    pub async fn attach(&mut self) -> TrickResult {
        let file = |name: &str, media_type: &str, size| Attachment {
            name: name.to_owned(),
            media_type: media_type.to_owned(),
            size,
        };
        let files = vec![file("harbour.png", "image/png", 48_213), file("log.csv", "text/csv", 1_204)];
        let text = "I attach a picture of the harbour and a log. (These are only names; the files do not exist.)";
        self.speak_in(text.split_inclusive(' '), 1, files).await.map(drop)
    }

    pub async fn fail(&mut self) -> TrickResult {
        self.speak("You asked me to fail, so I read a file that does not exist.").await?;
        let call = card("read", "Read missing.txt", ToolKind::Read, json!({ "path": "missing.txt" }));
        let mut shown = self.show(call).await?;
        self.set_status(&mut shown, ToolStatus::Running).await?;
        self.wait_words(20).await?;
        let reason = match self.folder.read("missing.txt") {
            Ok(_) => "missing.txt exists".to_owned(),
            Err(reason) => reason,
        };
        self.finish(shown, ToolStatus::Failed, Some(ToolResultPart::Text(reason.clone()))).await?;
        Err(TrickStop::Failed(format!("this failure is intended: {reason}")))
    }
}
