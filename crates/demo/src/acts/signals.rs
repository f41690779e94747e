//! Tricks beside the conversation: streams, acknowledgements, statuses, pauses, attachments, and failing.

use serde_json::{Value, json};
use tokio::time::Instant;
use wh_core::space::harness::{Key, PauseReport, Report};
use wh_core::space::item::{Attachment, Output, ToolKind, ToolStatus};

use crate::stage::{Act, Pause, Stage, Stop, Stream};
use crate::tools::card;

/// Frames of the stream trick.
const FRAMES: usize = 12;

/// As long as so many words is the pause that it takes by itself.
const PAUSE: u32 = 250;

impl Stage {
    /// Opens a stream that is closed with the turn, at the latest.
    pub async fn open(&mut self) -> Act<Key> {
        let key = self.key("stream");
        self.say(Report::StreamOpened(key.clone())).await?;
        self.streams.push(Stream { key: key.clone(), of_turn: true });
        Ok(key)
    }

    /// Sends a frame, if the stream is still open.
    pub async fn send(&mut self, key: &Key, frame: Value) -> Act {
        if self.streams.iter().any(|stream| stream.key == *key) {
            self.say(Report::StreamFrame(key.clone(), frame)).await?;
        }
        Ok(())
    }

    /// Closes a stream, unless somebody did.
    pub async fn close(&mut self, key: &Key) -> Act {
        if self.streams.iter().any(|stream| stream.key == *key) {
            self.say(Report::StreamClosed(key.clone())).await?;
            self.streams.retain(|stream| stream.key != *key);
        }
        Ok(())
    }

    pub async fn stream(&mut self) -> Act {
        self.speak(&format!("I open a stream, send {FRAMES} frames of the log through it, and close it again."))
            .await?;
        let key = self.open().await?;
        for number in 1..=FRAMES {
            self.rest(25).await?;
            let knots = 4 + self.chance.below(5);
            self.send(&key, json!({ "mark": number, "knots": knots })).await?;
        }
        self.close(&key).await?;
        self.speak("The stream is closed.").await.map(drop)
    }

    pub async fn want_acknowledgement(&mut self) -> Act {
        let key = self.speak("I would like to know that you have seen this. `/ack` tells me.").await?;
        self.say(Report::WantsAcknowledgement(key)).await
    }

    pub async fn tell_status(&mut self) -> Act {
        let summary = self.report_status().await?;
        self.speak(&format!("I am well. {summary}")).await.map(drop)
    }

    pub async fn take_a_pause(&mut self) -> Act {
        self.speak("I take a short pause. `/resume` calls me back sooner.").await?;
        let timeout = self.options.pace.saturating_mul(PAUSE);
        let reason = Some("a demonstration".to_owned());
        self.say(Report::Paused(Some(PauseReport { timeout: Some(timeout), reason }))).await?;
        self.pause = Some(Pause { until: Instant::now().checked_add(timeout), of_turn: true });
        self.speak("Here I am again.").await.map(drop)
    }

    pub async fn attach(&mut self) -> Act {
        let file = |name: &str, media_type: &str, size| Attachment {
            name: name.to_owned(),
            media_type: media_type.to_owned(),
            size,
        };
        let files = vec![file("harbour.png", "image/png", 48_213), file("log.csv", "text/csv", 1_204)];
        let text = "A picture of the harbour and the log, attached. (Names only: there is nothing in them.)";
        self.speak_in(text.split_inclusive(' '), 1, files).await.map(drop)
    }

    pub async fn fail(&mut self) -> Act {
        self.speak("You asked me to fail, so I open a door that is not there.").await?;
        let call = card("read", "Read door.txt", ToolKind::Read, json!({ "path": "door.txt" }));
        let mut shown = self.show(call).await?;
        self.fare(&mut shown, ToolStatus::Running).await?;
        self.rest(20).await?;
        let reason = match self.folder.read("door.txt") {
            Ok(_) => "door.txt is there after all".to_owned(),
            Err(reason) => reason,
        };
        self.finish(shown, ToolStatus::Failed, Some(Output::Text(reason.clone()))).await?;
        Err(Stop::Failed(format!("as you asked: {reason}")))
    }
}
