//! Trick that sends a large number of short, distinct messages without pauses.

use serde_json::json;
use wh_core::space::harness::Report;
use wh_core::space::item::{ItemBody, ToolCall, ToolKind, ToolResultPart, ToolStatus};

use crate::memory::tokens;
use crate::stage::{DemoTask, TrickResult};
use crate::tools::card;

const SIGHTS: [&str; 6] = ["a gull", "a buoy", "two sails far off", "a seal", "nothing but water", "a drifting barrel"];

const WEATHER: [&str; 4] = ["calm", "a light breeze", "rain from the west", "fog"];

impl DemoTask {
    /// Sends this number of complete messages without growing them word by word. Every tenth message is a tool call
    /// instead.
    pub async fn crowd(&mut self, messages: u32) -> TrickResult {
        for number in 1..=messages {
            let (sight, weather) = (self.chance.pick(&SIGHTS), self.chance.pick(&WEATHER));
            let (kind, body) = match number % 10 {
                0 => ("tool", ItemBody::Tool(look_out(number, sight))),
                _ => {
                    let text = entry(number, sight, weather);
                    self.memory.spend(tokens(&text));
                    ("text", ItemBody::Text { text, attachments: Vec::new() })
                }
            };
            let key = self.key(kind);
            self.say(Report::Item { key, body, done: true }).await?;
        }
        Ok(())
    }
}

fn entry(number: u32, sight: &str, weather: &str) -> String {
    match number % 10 {
        3 => format!("**Mark {number}**: {sight}, *{weather}*, `course {}`.", number % 360),
        6 => format!("Mark {number}:\n\n- {sight}\n- {weather}\n- and so on"),
        _ => format!("At mark {number} we saw {sight}. The weather: {weather}."),
    }
}

fn look_out(number: u32, sight: &str) -> ToolCall {
    let title = format!("Look out at mark {number}");
    ToolCall {
        status: ToolStatus::Completed,
        output: vec![ToolResultPart::Text(format!("{sight}\n"))],
        ..card("search", &title, ToolKind::Search, json!({ "text": sight }))
    }
}
