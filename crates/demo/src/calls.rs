//! Calls of the demo agent, such as pausing, forgetting, opening a stream or using a tool. The agent executes a call
//! immediately, even during a turn.

use serde_json::{Value, json};
use tokio::time::Instant;
use wh_core::space::harness::{Call, PauseReport, Report};
use wh_core::space::item::ItemBody;

use super::stage::{ActivePause, DemoStream, DemoTask, TrickResult, TrickStop};
use super::tools;

/// Maximum number of streams that are open at the same time.
const MAX_DEMO_STREAMS: usize = 16;

impl DemoTask {
    /// Executes a call and reports the result. If the call is a restart during a turn, the turn is interrupted.
    pub async fn call(&mut self, id: u64, call: Call) -> TrickResult {
        let restarts = call == Call::Restart;
        let result = self.execute(call).await?;
        self.put(Report::Called(id, result)).await?;
        if restarts && self.is_working() { Err(TrickStop::Interrupted) } else { Ok(()) }
    }

    async fn execute(&mut self, call: Call) -> TrickResult<Result<Value, String>> {
        let words = match call {
            Call::Pause { timeout, reason } => {
                // A timeout that is too long for `Instant` counts as no timeout.
                let until = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
                self.pause = Some(ActivePause { until, of_turn: false });
                self.put(Report::Paused(Some(PauseReport { timeout, reason }))).await?;
                "Paused.".to_owned()
            }
            Call::Resume => {
                let words = if self.end_pause().await? { "Resumed." } else { "The agent is not paused." };
                words.to_owned()
            }
            Call::ReportStatus => self.report_status().await?,
            Call::Forget { newest, count } => {
                let (gone, end) =
                    (self.memory.forget(newest, count.unwrap_or(1)), if newest { "newest" } else { "oldest" });
                self.save();
                self.put(Report::Usage(self.memory.usage())).await?;
                format!("Forgot {gone} of the {end} entries; {} left.", self.memory.len())
            }
            Call::Clear => {
                let gone = self.memory.forget(true, u64::MAX);
                self.save();
                self.put(Report::Usage(self.memory.usage())).await?;
                format!("Forgot all entries ({gone}).")
            }
            Call::Compact { tokens } => {
                let before = self.memory.tokens();
                self.memory.compact(tokens);
                self.save();
                self.put(Report::Usage(self.memory.usage())).await?;
                format!("Compacted from {before} to {} tokens.", self.memory.tokens())
            }
            Call::Restart => {
                self.restart().await?;
                "Restarted.".to_owned()
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

    /// Reports the current status, and returns a sentence that describes it.
    pub async fn report_status(&mut self) -> TrickResult<String> {
        let status = match (self.pause.is_some(), self.is_working()) {
            (true, _) => "paused",
            (false, true) => "working",
            (false, false) => "idle",
        };
        self.status_reported = self.is_working();
        let summary = format!(
            "Model {}, mode {}; {} entries in the context, {} streams open.",
            self.character.model.id(),
            self.character.mode.id(),
            self.memory.len(),
            self.streams.len(),
        );
        self.put(Report::Status { status: status.to_owned(), summary: Some(summary.clone()) }).await?;
        Ok(summary)
    }

    async fn restart(&mut self) -> TrickResult {
        self.character = self.initial_character;
        self.allowed.clear();
        self.memory.forget(true, u64::MAX);
        self.folder.remove();
        self.start_conversation().await?;
        for stream in std::mem::take(&mut self.streams) {
            self.put(Report::StreamClosed(stream.key)).await?;
        }
        self.end_pause().await?;
        self.put(Report::Usage(self.memory.usage())).await?;
        self.put(Report::Ready(self.capabilities())).await
    }

    /// Opens a stream that receives frames about the agent's activity until a client closes the stream.
    async fn open_for(&mut self, description: Option<String>) -> TrickResult<Result<Value, String>> {
        if self.streams.len() >= MAX_DEMO_STREAMS {
            return Ok(Err(format!("{MAX_DEMO_STREAMS} streams are already open; close one first")));
        }
        let key = self.key("stream");
        self.put(Report::StreamOpened(key.clone())).await?;
        self.streams.push(DemoStream { key: key.clone(), of_turn: false });
        let about = description.unwrap_or_else(|| "activity of the demo agent".to_owned());
        for frame in [json!({ "about": about }), json!({ "model": self.character.model.id() })] {
            self.put(Report::StreamFrame(key.clone(), frame)).await?;
        }
        Ok(Ok(json!("Opened.")))
    }

    /// Uses a tool for a client. No permission is requested, because the client itself made the call.
    async fn use_tool(&mut self, name: &str, arguments: Value) -> TrickResult<Result<Value, String>> {
        let key = self.key("tool");
        let (card, result) = tools::use_tool(&mut self.folder, self.character.mode, name, arguments);
        if let Some(card) = card {
            self.put(Report::Item { key, body: ItemBody::Tool(card), done: true }).await?;
        }
        Ok(result.map(Value::String))
    }
}
