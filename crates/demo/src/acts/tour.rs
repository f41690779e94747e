//! Tour of the product's features, which takes about half a minute. The questions have a timeout, so the tour also ends
//! if nobody answers.

use serde_json::json;
use wh_core::space::harness::Report;

use crate::stage::{DemoTask, TrickResult};

/// Timeout of a question, in multiples of the time per word.
const ANSWER_TIMEOUT_WORDS: u32 = 550;

/// Pause between two parts of the tour, in multiples of the time per word.
const STATION_PAUSE_WORDS: u32 = 200;

impl DemoTask {
    pub async fn tour(&mut self) -> TrickResult {
        let summary = Some("Showing a guest around.".to_owned());
        self.say(Report::Status { status: "touring".to_owned(), summary }).await?;
        self.status_reported = true;
        let welcome = self.chance.pick(&["Welcome aboard!", "Come in, come in!", "Good to see you!"]);
        self.speak(&format!("{welcome} This is a tour. **Esc** ends it at any time.")).await?;
        let stream = self.open().await?;
        self.send(&stream, json!({ "station": "tools" })).await?;
        self.wait_words(STATION_PAUSE_WORDS).await?;

        self.look_around().await?;
        self.wait_words(STATION_PAUSE_WORDS).await?;

        self.send(&stream, json!({ "station": "a change" })).await?;
        self.speak("Now I change a file, and ask first. If you do not answer, the tour continues after a while.")
            .await?;
        self.edit_a_file(Some(ANSWER_TIMEOUT_WORDS)).await?;
        self.wait_words(STATION_PAUSE_WORDS).await?;

        self.send(&stream, json!({ "station": "a choice" })).await?;
        let words = self.chosen(Some(ANSWER_TIMEOUT_WORDS)).await?;
        self.speak(&words).await?;
        self.wait_words(STATION_PAUSE_WORDS).await?;

        self.send(&stream, json!({ "station": "writing" })).await?;
        self.table().await?;
        self.wait_words(STATION_PAUSE_WORDS).await?;
        self.code().await?;
        self.wait_words(STATION_PAUSE_WORDS).await?;

        self.send(&stream, json!({ "station": "the end" })).await?;
        self.close(&stream).await?;
        let key = self
            .speak("That was the tour. `/demo` lists all tricks. Please acknowledge this message with `/ack`.")
            .await?;
        self.say(Report::WantsAcknowledgement(key)).await
    }
}
