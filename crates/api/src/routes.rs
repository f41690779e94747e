//! The routes of the API, one method each, for both clients. Described in `docs/agent-cli-access.md` and by `GET /openapi.json`.

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
use crate::request::{Call, Request};

/// Time that a wait takes if it does not say.
const USUAL_WAIT: Duration = Duration::from_secs(5);

/// Time that an agent may take to start.
const LONGEST_START: Duration = Duration::from_secs(120);

/// Time that a session may take to end.
const LONGEST_END: Duration = Duration::from_secs(30);

/// Filters for messages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MessagesQuery {
    /// The newest so many, or with `since` the first after it.
    pub limit: Option<u32>,
    /// Only of this kind.
    pub kind: Option<String>,
    /// Only from this sender.
    pub from: Option<String>,
    /// Only those added after this time (ISO 8601).
    pub since: Option<String>,
}

/// Parts of the screen that are left out unless asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ScreenQuery {
    /// The retained raw output.
    pub history: bool,
    /// Every cell.
    pub cells: bool,
    /// This moment, without waiting for a complete frame.
    pub now: bool,
}

/// Parameters of `DELETE /sessions/{session}`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EndQuery {
    /// Kill it at once.
    pub now: bool,
    /// Remove it with its history.
    pub forget: bool,
}

/// The routes of the API. Paths are those of a run; a client that was made with `in_session` asks a session of a daemon.
pub trait Routes {
    /// The answer to a call: a `Result`, or a future of one.
    type Answer<'a, T: 'a>
    where
        Self: 'a;

    /// Sends a typed call.
    fn call<T: Send + 'static>(&self, call: Call<T>) -> Self::Answer<'_, T>;

    /// `GET /control/health`.
    fn health(&self) -> Self::Answer<'_, HealthBody> {
        self.call(Call::get("/control/health"))
    }

    /// `GET /control/screen`.
    fn screen(&self, query: ScreenQuery) -> Self::Answer<'_, ScreenBody> {
        let request = Request::get("/control/screen")
            .query_if("history", query.history.then_some(1))
            .query_if("format", query.cells.then_some("cells"))
            .query_if("now", query.now.then_some(1));
        self.call(Call::json(request))
    }

    /// `GET /control/screenshot.png`, in pixels per point: 1 or 2.
    fn screenshot_png(&self, scale: u8) -> Self::Answer<'_, Bytes> {
        self.call(Call::bytes(Request::get("/control/screenshot.png").query("scale", scale)))
    }

    /// `GET /control/screenshot.svg`.
    fn screenshot_svg(&self) -> Self::Answer<'_, Bytes> {
        self.call(Call::bytes(Request::get("/control/screenshot.svg")))
    }

    /// `GET /control/state`.
    fn state(&self) -> Self::Answer<'_, ClientState> {
        self.call(Call::get("/control/state"))
    }

    /// `GET /control/messages`.
    fn messages(&self, query: &MessagesQuery) -> Self::Answer<'_, MessagesBody> {
        let request = Request::get("/control/messages")
            .query_if("limit", query.limit)
            .query_if("kind", query.kind.as_ref())
            .query_if("from", query.from.as_ref())
            .query_if("since", query.since.as_ref());
        self.call(Call::json(request))
    }

    /// `GET /control/metrics`, in the text format of Prometheus.
    fn metrics(&self) -> Self::Answer<'_, String> {
        self.call(Call::text(Request::get("/control/metrics")))
    }

    /// `GET /openapi.json`.
    fn openapi(&self) -> Self::Answer<'_, Value> {
        self.call(Call::get("/openapi.json"))
    }

    /// `POST /control/send_input`: types text, pastes, presses keys, uses the mouse, as one command.
    fn send_input(&self, input: &SendInputBody) -> Self::Answer<'_, SentBody> {
        self.call(Call::post("/control/send_input", input))
    }

    /// Types text, byte for byte.
    fn send_text(&self, text: &str) -> Self::Answer<'_, SentBody> {
        self.send_input(&SendInputBody { text: Some(text.to_owned()), ..SendInputBody::default() })
    }

    /// Presses a key by its name: `enter`, `ctrl+c`, `shift+tab`.
    fn send_key(&self, key: &str) -> Self::Answer<'_, SentBody> {
        self.send_input(&SendInputBody { key: Some(key.to_owned()), ..SendInputBody::default() })
    }

    /// `POST /control/wait`: waits at the server until a condition holds. A wait in vain is an answer, too: see [`WaitBody::matched`].
    fn wait(&self, condition: &str, timeout: Option<Duration>) -> Self::Answer<'_, WaitBody> {
        let milliseconds = timeout.map(|timeout| u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX));
        let body = WaitRequest { condition: condition.to_owned(), timeout: milliseconds };
        let request = Request::post("/control/wait", &body).lasting(timeout.unwrap_or(USUAL_WAIT));
        self.call(Call::any_status(request))
    }

    /// `POST /control/resize`.
    fn resize(&self, body: &ResizeBody) -> Self::Answer<'_, SentBody> {
        self.call(Call::post("/control/resize", body))
    }

    /// `POST /control/signal`.
    fn signal(&self, body: &SignalBody) -> Self::Answer<'_, SentBody> {
        self.call(Call::post("/control/signal", body))
    }

    /// `POST /control/mark`.
    fn mark(&self, body: &MarkBody) -> Self::Answer<'_, SentBody> {
        self.call(Call::post("/control/mark", body))
    }

    /// `GET /control/questions`.
    fn questions(&self) -> Self::Answer<'_, QuestionsBody> {
        self.call(Call::get("/control/questions"))
    }

    /// `POST /control/answer`.
    fn answer(&self, body: &AnswerRequest) -> Self::Answer<'_, DoneBody> {
        self.call(Call::post("/control/answer", body))
    }

    /// `POST /control/interrupt`.
    fn interrupt(&self, body: &InterruptRequest) -> Self::Answer<'_, DoneBody> {
        self.call(Call::post("/control/interrupt", body))
    }

    /// `POST /control/command`: a slash command.
    fn command(&self, body: &CommandRequest) -> Self::Answer<'_, DoneBody> {
        self.call(Call::post("/control/command", body))
    }

    /// `GET /control/receipts/{request_id}`.
    fn receipt(&self, request_id: &str) -> Self::Answer<'_, ReceiptBody> {
        self.call(Call::get(&format!("/control/receipts/{}", percent_encoded(request_id))))
    }

    /// `GET /control/items/{id}/output`: one part of what a tool gave or of what was said, from this byte on.
    fn output(&self, item: &str, offset: u64) -> Self::Answer<'_, OutputBody> {
        let path = format!("/control/items/{}/output", percent_encoded(item));
        self.call(Call::json(Request::get(&path).query("offset", offset)))
    }

    /// `POST /message`: a message to the agent.
    fn message(&self, body: &MessageRequest) -> Self::Answer<'_, MessageBody> {
        self.call(Call::post("/message", body))
    }

    /// `GET /history`: the newest messages of people and agents; all of them with `None`.
    fn history(&self, limit: Option<u32>) -> Self::Answer<'_, Vec<HistoryEntry>> {
        self.call(Call::json(Request::get("/history").query_if("limit", limit)))
    }

    /// `GET /agents`.
    fn agents(&self) -> Self::Answer<'_, AgentsBody> {
        self.call(Call::get("/agents"))
    }

    /// `GET /agents/{id}`.
    fn agent(&self, id: &str) -> Self::Answer<'_, AgentStatusBody> {
        self.call(Call::get(&agent(id, "")))
    }

    /// `GET /agents/{id}/models`.
    fn agent_models(&self, id: &str) -> Self::Answer<'_, AgentModelsBody> {
        self.call(Call::get(&agent(id, "/models")))
    }

    /// `GET /agents/{id}/mcp`.
    fn agent_mcp(&self, id: &str) -> Self::Answer<'_, AgentMcpBody> {
        self.call(Call::get(&agent(id, "/mcp")))
    }

    /// `GET /agents/{id}/sessions`.
    fn agent_conversations(&self, id: &str) -> Self::Answer<'_, AgentConversationsBody> {
        self.call(Call::get(&agent(id, "/sessions")))
    }

    /// `POST /agents/{id}/login`.
    fn agent_login(&self, id: &str, body: &AgentLoginRequest) -> Self::Answer<'_, AgentLoginBody> {
        self.call(Call::post(&agent(id, "/login"), body))
    }

    /// `POST /agents/{id}/logout`.
    fn agent_logout(&self, id: &str) -> Self::Answer<'_, AgentLogoutBody> {
        self.call(Call::post(&agent(id, "/logout"), &serde_json::json!({})))
    }

    /// `POST /agents/{id}/start`.
    fn agent_start(&self, id: &str, body: &AgentStartRequest) -> Self::Answer<'_, AgentStartedBody> {
        self.call(Call::json(Request::post(&agent(id, "/start"), body).lasting(LONGEST_START)))
    }

    /// `GET /health` of a daemon.
    fn daemon_health(&self) -> Self::Answer<'_, HealthBody> {
        self.call(Call::get("/health"))
    }

    /// `GET /sessions` of a daemon.
    fn sessions(&self) -> Self::Answer<'_, SessionsBody> {
        self.call(Call::get("/sessions"))
    }

    /// `POST /sessions` of a daemon.
    fn create_session(&self, body: &NewSessionRequest) -> Self::Answer<'_, SessionSummary> {
        self.call(Call::json(Request::post("/sessions", body).lasting(LONGEST_START)))
    }

    /// `GET /sessions/{session}` of a daemon.
    fn session(&self, session: &str) -> Self::Answer<'_, SessionSummary> {
        self.call(Call::get(&path_of(session)))
    }

    /// `PATCH /sessions/{session}` of a daemon: gives it another name.
    fn rename_session(&self, session: &str, name: &str) -> Self::Answer<'_, SessionSummary> {
        let body = RenameRequest { name: name.to_owned() };
        self.call(Call::json(Request::new("PATCH", &path_of(session)).json(&body)))
    }

    /// `DELETE /sessions/{session}` of a daemon.
    fn end_session(&self, session: &str, query: EndQuery) -> Self::Answer<'_, SessionSummary> {
        let request = Request::new("DELETE", &path_of(session))
            .query("now", u8::from(query.now))
            .query("forget", u8::from(query.forget));
        self.call(Call::json(request.lasting(LONGEST_END)))
    }

    /// `GET /sessions/{session}/last_screen` of a daemon.
    fn last_screen(&self, session: &str) -> Self::Answer<'_, LastScreenBody> {
        self.call(Call::get(&format!("{}/last_screen", path_of(session))))
    }
}

fn agent(id: &str, rest: &str) -> String {
    format!("/agents/{}{rest}", percent_encoded(id))
}

fn path_of(session: &str) -> String {
    format!("/sessions/{}", percent_encoded(session))
}
