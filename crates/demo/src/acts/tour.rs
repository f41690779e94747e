//! The tour: what the product can show, one thing after the other, in about half a minute. Where it asks, it does not wait
//! for ever: a tour goes on also when nobody answers.

use serde_json::json;
use wh_core::space::harness::Report;

use crate::stage::{Act, Stage};

/// As long as so many words it waits for an answer.
const PATIENCE: u32 = 550;

/// As long as so many words one can look at a thing before the next.
const LOOK: u32 = 200;

impl Stage {
    pub async fn tour(&mut self) -> Act {
        let summary = Some("Showing a guest around.".to_owned());
        self.say(Report::Status { status: "touring".to_owned(), summary }).await?;
        self.said_status = true;
        let welcome = self.chance.pick(&["Welcome aboard!", "Come in, come in!", "Good to see you!"]);
        self.speak(&format!("{welcome} This is a tour. **Esc** ends it at any time.")).await?;
        let stream = self.open().await?;
        self.send(&stream, json!({ "station": "tools" })).await?;
        self.rest(LOOK).await?;

        self.look_around().await?;
        self.rest(LOOK).await?;

        self.send(&stream, json!({ "station": "a change" })).await?;
        self.speak("Now I change a file, and ask first. Answer, or watch me give up.").await?;
        self.edit_a_file(Some(PATIENCE)).await?;
        self.rest(LOOK).await?;

        self.send(&stream, json!({ "station": "a choice" })).await?;
        let words = self.chosen(Some(PATIENCE)).await?;
        self.speak(&words).await?;
        self.rest(LOOK).await?;

        self.send(&stream, json!({ "station": "writing" })).await?;
        self.table().await?;
        self.rest(LOOK).await?;
        self.code().await?;
        self.rest(LOOK).await?;

        self.send(&stream, json!({ "station": "the end" })).await?;
        self.close(&stream).await?;
        let key = self
            .speak("That was the tour. `/demo` lists every station; `/ack` tells me that you have seen this.")
            .await?;
        self.say(Report::WantsAcknowledgement(key)).await
    }
}
