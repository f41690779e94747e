//! The scripted model: a server on loopback that speaks just enough of three vendors' APIs for the real agent CLIs to run
//! a turn. What the last user text asks for picks what it does:
//!
//! | text | what the model does |
//! |---|---|
//! | `tool: CMD` | asks for the agent's shell tool with CMD, and says `tool done` when the result is in |
//! | `edit: PATH TEXT` | asks for the agent's file-writing tool (Claude, Gemini) |
//! | `ask: Q` | asks the user a question with two options, Red and Blue (Claude) |
//! | `think: TEXT` | thinks TEXT (Claude), then answers |
//! | `call: TOOL {json}` | calls that tool, an MCP tool for example, where the agent offers it |
//! | `slow: N` | streams N words, ten a second |
//! | `fast: N` | streams N words at once |
//! | `big: N` | streams N KiB of text at once |
//! | `fail: CODE` | answers with that HTTP status |
//! | anything else | `echo: ` and the last 200 characters of the text |
//!
//! A tool that the agent does not offer is not asked for: the text is echoed.

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

pub use log::{Logged, PromptStream, StreamEnd};

use log::Log;

/// A running model. Its drop ends it, streams that are under way included.
pub struct Model {
    port: u16,
    log: Log,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Model {
    /// Starts on a port that is free. Paths after `edit:` go to the agent as they stand.
    pub fn start() -> Self {
        Self::start_on(0, Path::new(""))
    }

    /// Starts on that port, 0 meaning any. A relative path after `edit:` is taken from `project`.
    pub fn start_on(port: u16, project: &Path) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).expect("the port of the model is free");
        let port = listener.local_addr().expect("a bound socket has an address").port();
        let log = Log::default();
        let (stop, stopped) = oneshot::channel();
        let app = server::app(log.clone(), project.to_owned());
        let thread = std::thread::Builder::new()
            .name("model".to_owned())
            .spawn(move || server::serve(listener, app, stopped))
            .expect("a thread for the model");
        Self { port, log, stop: Some(stop), thread: Some(thread) }
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its address, without a slash at the end.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Every request so far, in the order of arrival.
    pub fn requests(&self) -> Vec<Logged> {
        self.log.all()
    }

    /// The user text of each request so far that opened a turn: what the user sent, once for each time that the agent
    /// brought it up. Requests with a tool's result, and those of an agent on its own account (a title, say), are not in it.
    pub fn prompts(&self) -> Vec<String> {
        self.log.prompts()
    }

    /// The streamed answers so far to prompts that contain `words`, in the order of arrival.
    pub fn streams(&self, words: &str) -> Vec<PromptStream> {
        self.log.streams(words)
    }

    /// Drops the requests so far, not the streams. A request holds its whole conversation: those of a long trial take
    /// hundreds of megabytes.
    pub fn discard_requests(&self) {
        self.log.discard_requests();
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        drop(self.stop.take());
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            eprintln!("the model panicked");
        }
    }
}
