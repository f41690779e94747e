//! Routes of the API, one method each, for both clients. Specified in `docs/agent-cli-access.md` and by `GET
//! /openapi.json`.

use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;
use wh_wire::control::{
    AgentConversationsBody, AgentLoginBody, AgentLoginRequest, AgentLogoutBody, AgentMcpBody, AgentModelsBody,
    AgentStartRequest, AgentStartedBody, AgentStatusBody, AgentsBody, AnswerRequest, ClientState, CommandRequest,
    DoneBody, HealthBody, InterruptRequest, LastScreenBody, MarkBody, MessagesBody, NewSessionRequest, OutputBody,
    QuestionsBody, ReceiptBody, RenameRequest, ResizeBody, ScreenBody, SendInputBody, SentBody, SessionSummary,
    SessionsBody, SignalBody, WaitBody, WaitRequest,
};
use wh_wire::remote::{HistoryEntry, MessageBody, MessageRequest};

use crate::address::percent_encoded;
use crate::request::{HttpRequest, TypedRequest};

/// Timeout that the server applies if a wait request contains no timeout.
const DEFAULT_WAIT_TIMEOUT: Duration = Duration::from_secs(5);

/// Time that is allowed for starting an agent, in addition to the client's timeout.
const AGENT_START_TIMEOUT: Duration = Duration::from_secs(120);

/// Time that is allowed for ending a session, in addition to the client's timeout.
const END_REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// Filters of [`Routes::messages`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MessagesQuery {
    /// Maximum number of messages. Without `since`, selects the newest messages, otherwise the first messages after
    /// `since`.
    pub limit: Option<u32>,
    /// Kind of the messages; `None` selects all kinds.
    pub kind: Option<String>,
    /// Sender of the messages; `None` selects all senders.
    pub from: Option<String>,
    /// Time after which the messages were added (ISO 8601); `None` selects messages of any time.
    pub since: Option<String>,
}

/// Options of [`Routes::screen`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ScreenQuery {
    /// Includes the raw output that the server has stored.
    pub history: bool,
    /// Includes every cell of the screen, with its colours and attributes.
    pub cells: bool,
    /// Returns the current screen without waiting for a complete frame.
    pub now: bool,
}

/// Options of [`Routes::end_session`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EndQuery {
    /// Kills the program immediately.
    pub now: bool,
    /// Deletes the session and its history from the daemon.
    pub forget: bool,
}

/// Routes of the API, implemented by [`Client`](crate::Client) and [`blocking::Client`](crate::blocking::Client). The
/// paths `/control/…` apply to a run. A client created with `in_session` adds the path prefix of its session.
pub trait Routes {
    /// Return type of the methods: a `Result` for the synchronous client, a future of a `Result` for the asynchronous
    /// client.
    type Response<'a, T: 'a>
    where
        Self: 'a;

    /// Sends a typed request.
    fn call<T: Send + 'static>(&self, call: TypedRequest<T>) -> Self::Response<'_, T>;

    /// Checks that the server is running. `GET /control/health`.
    fn health(&self) -> Self::Response<'_, HealthBody> {
        self.call(TypedRequest::get("/control/health"))
    }

    /// Returns the current screen. `GET /control/screen`.
    fn screen(&self, query: ScreenQuery) -> Self::Response<'_, ScreenBody> {
        let request = HttpRequest::get("/control/screen")
            .query_if("history", query.history.then_some(1))
            .query_if("format", query.cells.then_some("cells"))
            .query_if("now", query.now.then_some(1));
        self.call(TypedRequest::json(request))
    }

    /// Returns a PNG image of the screen, with `scale` pixels per point (1 or 2). `GET /control/screenshot.png`.
    fn screenshot_png(&self, scale: u8) -> Self::Response<'_, Bytes> {
        self.call(TypedRequest::bytes(HttpRequest::get("/control/screenshot.png").query("scale", scale)))
    }

    /// Returns an SVG image of the screen. `GET /control/screenshot.svg`.
    fn screenshot_svg(&self) -> Self::Response<'_, Bytes> {
        self.call(TypedRequest::bytes(HttpRequest::get("/control/screenshot.svg")))
    }

    /// Returns the complete state of the run or session. `GET /control/state`.
    fn state(&self) -> Self::Response<'_, ClientState> {
        self.call(TypedRequest::get("/control/state"))
    }

    /// Returns messages of the conversation. `GET /control/messages`.
    fn messages(&self, query: &MessagesQuery) -> Self::Response<'_, MessagesBody> {
        let request = HttpRequest::get("/control/messages")
            .query_if("limit", query.limit)
            .query_if("kind", query.kind.as_ref())
            .query_if("from", query.from.as_ref())
            .query_if("since", query.since.as_ref());
        self.call(TypedRequest::json(request))
    }

    /// Returns metrics in the Prometheus text format. `GET /control/metrics`.
    fn metrics(&self) -> Self::Response<'_, String> {
        self.call(TypedRequest::text(HttpRequest::get("/control/metrics")))
    }

    /// Returns the OpenAPI description of the API. `GET /openapi.json`.
    fn openapi(&self) -> Self::Response<'_, Value> {
        self.call(TypedRequest::get("/openapi.json"))
    }

    /// Sends text, a paste, keys and a mouse event as one command. `POST /control/send_input`.
    fn send_input(&self, input: &SendInputBody) -> Self::Response<'_, SentBody> {
        self.call(TypedRequest::post("/control/send_input", input))
    }

    /// Types text, byte for byte.
    fn send_text(&self, text: &str) -> Self::Response<'_, SentBody> {
        self.send_input(&SendInputBody { text: Some(text.to_owned()), ..SendInputBody::default() })
    }

    /// Presses a key given by name, for example `enter`, `ctrl+c` or `shift+tab`.
    fn send_key(&self, key: &str) -> Self::Response<'_, SentBody> {
        self.send_input(&SendInputBody { key: Some(key.to_owned()), ..SendInputBody::default() })
    }

    /// Waits on the server until a condition is true. A timeout is a normal response, see [`WaitBody::matched`]. `POST
    /// /control/wait`.
    fn wait(&self, condition: &str, timeout: Option<Duration>) -> Self::Response<'_, WaitBody> {
        let milliseconds = timeout.map(|timeout| u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX));
        let body = WaitRequest { condition: condition.to_owned(), timeout: milliseconds };
        let request = HttpRequest::post("/control/wait", &body).with_duration(timeout.unwrap_or(DEFAULT_WAIT_TIMEOUT));
        self.call(TypedRequest::any_status(request))
    }

    /// Resizes the terminal. `POST /control/resize`.
    fn resize(&self, body: &ResizeBody) -> Self::Response<'_, SentBody> {
        self.call(TypedRequest::post("/control/resize", body))
    }

    /// Sends a signal to the program. `POST /control/signal`.
    fn signal(&self, body: &SignalBody) -> Self::Response<'_, SentBody> {
        self.call(TypedRequest::post("/control/signal", body))
    }

    /// Adds a labelled mark to the recording and the event stream. `POST /control/mark`.
    fn mark(&self, body: &MarkBody) -> Self::Response<'_, SentBody> {
        self.call(TypedRequest::post("/control/mark", body))
    }

    /// Returns the open questions. `GET /control/questions`.
    fn questions(&self) -> Self::Response<'_, QuestionsBody> {
        self.call(TypedRequest::get("/control/questions"))
    }

    /// Answers a question. `POST /control/answer`.
    fn answer(&self, body: &AnswerRequest) -> Self::Response<'_, DoneBody> {
        self.call(TypedRequest::post("/control/answer", body))
    }

    /// Interrupts the agent. `POST /control/interrupt`.
    fn interrupt(&self, body: &InterruptRequest) -> Self::Response<'_, DoneBody> {
        self.call(TypedRequest::post("/control/interrupt", body))
    }

    /// Runs a slash command. `POST /control/command`.
    fn command(&self, body: &CommandRequest) -> Self::Response<'_, DoneBody> {
        self.call(TypedRequest::post("/control/command", body))
    }

    /// Returns the receipt of a command. `GET /control/receipts/{request_id}`.
    fn receipt(&self, request_id: &str) -> Self::Response<'_, ReceiptBody> {
        self.call(TypedRequest::get(&format!("/control/receipts/{}", percent_encoded(request_id))))
    }

    /// Returns one part of an item's text or tool output, beginning at a byte offset. `GET /control/items/{id}/output`.
    fn output(&self, item: &str, offset: u64) -> Self::Response<'_, OutputBody> {
        let path = format!("/control/items/{}/output", percent_encoded(item));
        self.call(TypedRequest::json(HttpRequest::get(&path).query("offset", offset)))
    }

    /// Sends a message to the agent. `POST /message`.
    fn message(&self, body: &MessageRequest) -> Self::Response<'_, MessageBody> {
        self.call(TypedRequest::post("/message", body))
    }

    /// Returns the newest `limit` messages of users and agents, or all messages if `limit` is `None`. `GET /history`.
    fn history(&self, limit: Option<u32>) -> Self::Response<'_, Vec<HistoryEntry>> {
        self.call(TypedRequest::json(HttpRequest::get("/history").query_if("limit", limit)))
    }

    /// Lists all known agents. `GET /agents`.
    fn agents(&self) -> Self::Response<'_, AgentsBody> {
        self.call(TypedRequest::get("/agents"))
    }

    /// Returns the details of an agent. `GET /agents/{id}`.
    fn agent(&self, id: &str) -> Self::Response<'_, AgentStatusBody> {
        self.call(TypedRequest::get(&agent(id, "")))
    }

    /// Lists the models of an agent. `GET /agents/{id}/models`.
    fn agent_models(&self, id: &str) -> Self::Response<'_, AgentModelsBody> {
        self.call(TypedRequest::get(&agent(id, "/models")))
    }

    /// Lists the MCP servers of an agent. `GET /agents/{id}/mcp`.
    fn agent_mcp(&self, id: &str) -> Self::Response<'_, AgentMcpBody> {
        self.call(TypedRequest::get(&agent(id, "/mcp")))
    }

    /// Lists the saved conversations of an agent. `GET /agents/{id}/sessions`.
    fn agent_conversations(&self, id: &str) -> Self::Response<'_, AgentConversationsBody> {
        self.call(TypedRequest::get(&agent(id, "/sessions")))
    }

    /// Starts, continues or cancels a login. `POST /agents/{id}/login`.
    fn agent_login(&self, id: &str, body: &AgentLoginRequest) -> Self::Response<'_, AgentLoginBody> {
        self.call(TypedRequest::post(&agent(id, "/login"), body))
    }

    /// Logs an agent out. `POST /agents/{id}/logout`.
    fn agent_logout(&self, id: &str) -> Self::Response<'_, AgentLogoutBody> {
        self.call(TypedRequest::post(&agent(id, "/logout"), &serde_json::json!({})))
    }

    /// Adds an agent to the space, optionally resuming a saved conversation. `POST /agents/{id}/start`.
    fn agent_start(&self, id: &str, body: &AgentStartRequest) -> Self::Response<'_, AgentStartedBody> {
        self.call(TypedRequest::json(HttpRequest::post(&agent(id, "/start"), body).with_duration(AGENT_START_TIMEOUT)))
    }

    /// Checks that a daemon is running. `GET /health`.
    fn daemon_health(&self) -> Self::Response<'_, HealthBody> {
        self.call(TypedRequest::get("/health"))
    }

    /// Lists the sessions of a daemon. `GET /sessions`.
    fn sessions(&self) -> Self::Response<'_, SessionsBody> {
        self.call(TypedRequest::get("/sessions"))
    }

    /// Creates a session of a daemon. `POST /sessions`.
    fn create_session(&self, body: &NewSessionRequest) -> Self::Response<'_, SessionSummary> {
        self.call(TypedRequest::json(HttpRequest::post("/sessions", body).with_duration(AGENT_START_TIMEOUT)))
    }

    /// Returns one session of a daemon. `GET /sessions/{session}`.
    fn session(&self, session: &str) -> Self::Response<'_, SessionSummary> {
        self.call(TypedRequest::get(&path_of(session)))
    }

    /// Renames a session of a daemon. `PATCH /sessions/{session}`.
    fn rename_session(&self, session: &str, name: &str) -> Self::Response<'_, SessionSummary> {
        let body = RenameRequest { name: name.to_owned() };
        self.call(TypedRequest::json(HttpRequest::new("PATCH", &path_of(session)).json(&body)))
    }

    /// Ends a session of a daemon. `DELETE /sessions/{session}`.
    fn end_session(&self, session: &str, query: EndQuery) -> Self::Response<'_, SessionSummary> {
        let request = HttpRequest::new("DELETE", &path_of(session))
            .query("now", u8::from(query.now))
            .query("forget", u8::from(query.forget));
        self.call(TypedRequest::json(request.with_duration(END_REQUEST_TIMEOUT)))
    }

    /// Returns the stored last screen of a terminal program that ended under an earlier daemon. `GET
    /// /sessions/{session}/last_screen`.
    fn last_screen(&self, session: &str) -> Self::Response<'_, LastScreenBody> {
        self.call(TypedRequest::get(&format!("{}/last_screen", path_of(session))))
    }
}

fn agent(id: &str, rest: &str) -> String {
    format!("/agents/{}{rest}", percent_encoded(id))
}

fn path_of(session: &str) -> String {
    format!("/sessions/{}", percent_encoded(session))
}
