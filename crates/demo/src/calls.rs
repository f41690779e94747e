//! What the demo agent does when it is called: pauses, forgets, opens streams, uses a tool. Each is done at once, also in the
//! middle of a turn.

use serde_json::{Value, json};
use tokio::time::Instant;
use wh_core::space::harness::{Call, PauseReport, Report};
use wh_core::space::item::Body;

use super::stage::{Act, Pause, Stage, Stop, Stream};
use super::tools;

/// Streams that may be open. Beyond that none is opened.
const MOST_STREAMS: usize = 16;

impl Stage {
    /// Carries a call out, and says what came of it.
    pub async fn call(&mut self, id: u64, call: Call) -> Act {
        let restarts = call == Call::Restart;
        let result = self.carry_out(call).await?;
        self.put(Report::Called(id, result)).await?;
        // Who begins anew does not go on with what it was doing.
        if restarts && self.is_working() { Err(Stop::Interrupted) } else { Ok(()) }
    }

    async fn carry_out(&mut self, call: Call) -> Act<Result<Value, String>> {
        let words = match call {
            Call::Pause { timeout, reason } => {
                // A moment too far away to be told is never.
                let until = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
                self.pause = Some(Pause { until, of_turn: false });
                self.put(Report::Paused(Some(PauseReport { timeout, reason }))).await?;
                "Paused.".to_owned()
            }
            Call::Resume => {
                let words = if self.go_on().await? { "Going on." } else { "It was not paused." };
                words.to_owned()
            }
            Call::ReportStatus => self.report_status().await?,
            Call::Forget { newest, count } => {
                let (gone, end) =
                    (self.memory.forget(newest, count.unwrap_or(1)), if newest { "newest" } else { "oldest" });
                self.keep();
                self.put(Report::Usage(self.memory.usage())).await?;
                format!("Forgot the {end} {gone}; {} left.", self.memory.len())
            }
            Call::Clear => {
                let gone = self.memory.forget(true, u64::MAX);
                self.keep();
                self.put(Report::Usage(self.memory.usage())).await?;
                format!("Forgot all {gone}.")
            }
            Call::Compact { tokens } => {
                let before = self.memory.tokens();
                self.memory.compact(tokens);
                self.keep();
                self.put(Report::Usage(self.memory.usage())).await?;
                format!("From {before} tokens to {}.", self.memory.tokens())
            }
            Call::Restart => {
                self.begin_anew().await?;
                "Began anew.".to_owned()
            }
            Call::OpenStream { description } => return self.open_for(description).await,
            Call::CloseStream(key) => {
                let Some(place) = self.streams.iter().position(|stream| stream.key == key) else {
                    return Ok(Err(format!("no stream {key:?} is open")));
                };
                self.streams.remove(place);
                self.put(Report::StreamClosed(key)).await?;
                "Closed.".to_owned()
            }
            Call::UseTool { name, arguments } => return self.use_tool(&name, arguments).await,
            Call::Other { name, .. } => {
                return Ok(Err(format!("demo has no call {name:?}; it has {}", self.capabilities().calls.join(", "))));
            }
        };
        Ok(Ok(Value::String(words)))
    }

    /// Says how it is, and returns that in a sentence.
    pub async fn report_status(&mut self) -> Act<String> {
        let status = match (self.pause.is_some(), self.is_working()) {
            (true, _) => "paused",
            (false, true) => "working",
            (false, false) => "idle",
        };
        self.said_status = self.is_working();
        let summary = format!(
            "Model {}, mode {}; {} entries remembered, {} streams open.",
            self.character.model.id(),
            self.character.mode.id(),
            self.memory.len(),
            self.streams.len(),
        );
        self.put(Report::Status { status: status.to_owned(), summary: Some(summary.clone()) }).await?;
        Ok(summary)
    }

    async fn begin_anew(&mut self) -> Act {
        self.character = self.beginning;
        self.allowed.clear();
        self.memory.forget(true, u64::MAX);
        self.folder.remove();
        self.turn_the_page().await?;
        for stream in std::mem::take(&mut self.streams) {
            self.put(Report::StreamClosed(stream.key)).await?;
        }
        self.go_on().await?;
        self.put(Report::Usage(self.memory.usage())).await?;
        self.put(Report::Ready(self.capabilities())).await
    }

    /// Opens a stream that tells what it does, until somebody closes it.
    async fn open_for(&mut self, description: Option<String>) -> Act<Result<Value, String>> {
        if self.streams.len() >= MOST_STREAMS {
            return Ok(Err(format!("{MOST_STREAMS} streams are open already; close one first")));
        }
        let key = self.key("stream");
        self.put(Report::StreamOpened(key.clone())).await?;
        self.streams.push(Stream { key: key.clone(), of_turn: false });
        let about = description.unwrap_or_else(|| "what the demo agent does".to_owned());
        for frame in [json!({ "about": about }), json!({ "model": self.character.model.id() })] {
            self.put(Report::StreamFrame(key.clone(), frame)).await?;
        }
        Ok(Ok(json!("Opened.")))
    }

    /// Uses a tool for somebody. Who calls it has said yes by that.
    async fn use_tool(&mut self, name: &str, arguments: Value) -> Act<Result<Value, String>> {
        let key = self.key("tool");
        let (card, result) = tools::used(&mut self.folder, self.character.mode, name, arguments);
        if let Some(card) = card {
            self.put(Report::Item { key, body: Body::Tool(card), done: true }).await?;
        }
        Ok(result.map(Value::String))
    }
}
