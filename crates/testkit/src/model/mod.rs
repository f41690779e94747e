//! Scripted model: a loopback server that implements enough of three vendors' APIs for the real agent CLIs to run a
//! turn. A keyword in the last user text selects the behaviour:
//!
//! | text | behaviour |
//! |---|---|
//! | `tool: CMD` | calls the agent's shell tool with CMD, and answers `tool done` to the result |
//! | `edit: PATH TEXT` | calls the agent's tool that writes files (Claude, Gemini) |
//! | `ask: Q` | asks the user a question with two options, Red and Blue (Claude) |
//! | `think: TEXT` | streams TEXT as reasoning (Claude), then answers |
//! | `call: TOOL {json}` | calls this tool, for example an MCP tool, if the agent offers it |
//! | `slow: N` | streams N words, ten per second |
//! | `fast: N` | streams N words without delay |
//! | `big: N` | streams N KiB of text without delay |
//! | `fail: CODE` | responds with this HTTP status |
//! | anything else | `echo: ` and the last 200 characters of the text |
//!
//! If the agent does not offer the tool, the text is echoed.

mod anthropic;
mod gemini;
mod log;
mod openai;
pub mod script;
mod server;
mod stream;
mod turn;

use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::thread::JoinHandle;

use tokio::sync::oneshot;

pub use log::{AnswerStream, LoggedRequest, StreamEnd};

use log::ModelLog;

/// Running scripted model. Dropping it stops the server and its open streams.
pub struct ScriptedModel {
    port: u16,
    log: ModelLog,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ScriptedModel {
    /// Starts the model on a free port. Paths after `edit:` are passed to the agent unchanged.
    pub fn start() -> Self {
        Self::start_on(0, Path::new(""))
    }

    /// Starts the model on a port; 0 selects a free port. Relative paths after `edit:` are resolved in `project`.
    pub fn start_on(port: u16, project: &Path) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).expect("the port of the model can be bound");
        let port = listener.local_addr().expect("a bound socket has an address").port();
        let log = ModelLog::default();
        let (stop, stopped) = oneshot::channel();
        let app = server::app(log.clone(), project.to_owned());
        let thread = std::thread::Builder::new()
            .name("model".to_owned())
            .spawn(move || server::serve(listener, app, stopped))
            .expect("a thread can be started");
        Self { port, log, stop: Some(stop), thread: Some(thread) }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the URL of the server without a trailing slash.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Returns the logged requests that were not discarded, in order of arrival.
    pub fn requests(&self) -> Vec<LoggedRequest> {
        self.log.all()
    }

    /// Returns the user text of each logged request that started a turn and was not discarded. Requests with tool
    /// results and requests that an agent makes itself, for example for a title, are not included.
    pub fn prompts(&self) -> Vec<String> {
        self.log.prompts()
    }

    /// Returns the streamed answers so far to prompts that contain `text`, in order of arrival.
    pub fn streams(&self, text: &str) -> Vec<AnswerStream> {
        self.log.streams(text)
    }

    /// Discards the logged requests but not the streams. Each request contains its whole conversation; a long trial
    /// would need hundreds of megabytes.
    pub fn discard_requests(&self) {
        self.log.discard_requests();
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        drop(self.stop.take());
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            eprintln!("the scripted model panicked");
        }
    }
}
