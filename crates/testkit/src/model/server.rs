//! HTTP server of the scripted model. Passes requests for a vendor's API to its implementation, and answers all other
//! requests with minimal JSON.

use std::net::TcpListener;
use std::path::{Path, PathBuf};

use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::header::CONTENT_ENCODING;
use axum::http::{Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::log::{LoggedRequest, ModelLog};
use super::turn::{ModelTurn, ScriptedFailure};
use super::{anthropic, gemini, openai, stream};

#[derive(Clone)]
struct ModelServer {
    log: ModelLog,
    project: PathBuf,
}

pub(super) fn app(log: ModelLog, project: PathBuf) -> Router {
    Router::new().fallback(answer).with_state(ModelServer { log, project })
}

/// Serves on this thread until the sender of `stopped` is dropped.
pub(super) fn serve(listener: TcpListener, app: Router, stopped: oneshot::Receiver<()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime can be created");
    runtime.block_on(async {
        listener.set_nonblocking(true).expect("the listener can be made non-blocking");
        let listener =
            tokio::net::TcpListener::from_std(listener).expect("the listener can be registered with the runtime");
        tokio::select! {
            served = axum::serve(listener, app) => served.expect("the HTTP server of the model does not fail"),
            _ = stopped => {}
        }
    });
}

async fn answer(State(app): State<ModelServer>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let Ok(bytes) = to_bytes(body, usize::MAX).await else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let asked = (head.method == Method::POST).then(|| VendorApi::of(&head.uri)).flatten();
    let turn = asked.map(|api| api.read(&body));
    let prompt = turn.as_ref().and_then(ModelTurn::prompt);

    let text = |value: &axum::http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    app.log.push(LoggedRequest {
        method: head.method.to_string(),
        path: head.uri.to_string(),
        headers: head.headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect(),
        body: body.clone(),
        prompt: prompt.clone(),
    });

    if let Some(encoding) = head.headers.get(CONTENT_ENCODING).map(text).filter(|encoding| encoding != "identity") {
        let message =
            format!("the scripted model does not support {encoding}; disable request compression in the agent");
        return (StatusCode::UNSUPPORTED_MEDIA_TYPE, Json(error(&message))).into_response();
    }
    match asked.zip(turn) {
        Some((api, turn)) => {
            let response = api.answer(&body, &turn, &app.project).into_response();
            match prompt.filter(|_| stream::is_stream(&response)) {
                Some(prompt) => response.map(|body| app.log.follow(prompt, body)),
                None => response,
            }
        }
        None if head.uri.path().ends_with("/count_tokens") => Json(json!({"input_tokens": 10})).into_response(),
        None if head.uri.path().ends_with(":countTokens") => Json(json!({"totalTokens": 10})).into_response(),
        None if head.method == Method::POST => Json(json!({"ok": true})).into_response(),
        None => Json(json!({"data": [], "models": []})).into_response(),
    }
}

/// API of a vendor, selected by the path of the request.
#[derive(Clone, Copy)]
enum VendorApi {
    Anthropic,
    OpenAi,
    Gemini { stream: bool },
}

impl VendorApi {
    fn of(uri: &Uri) -> Option<Self> {
        match uri.path() {
            path if path.ends_with("/v1/messages") => Some(Self::Anthropic),
            path if path.ends_with("/responses") => Some(Self::OpenAi),
            path if path.ends_with(":streamGenerateContent") => Some(Self::Gemini { stream: true }),
            path if path.ends_with(":generateContent") => Some(Self::Gemini { stream: false }),
            _ => None,
        }
    }

    fn read(self, body: &Value) -> ModelTurn {
        match self {
            Self::Anthropic => anthropic::read(body),
            Self::OpenAi => openai::read(body),
            Self::Gemini { .. } => gemini::read(body),
        }
    }

    fn answer(self, body: &Value, turn: &ModelTurn, project: &Path) -> Result<Response, ScriptedFailure> {
        match self {
            Self::Anthropic => anthropic::answer(body, turn, project),
            Self::OpenAi => openai::answer(body, turn),
            Self::Gemini { stream } => gemini::answer(body, turn, project, stream),
        }
    }
}

/// Builds an error response that all three agents recognise.
impl IntoResponse for ScriptedFailure {
    fn into_response(self) -> Response {
        let Self(status) = self;
        let code = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        (code, Json(error(&format!("scripted failure {status}")))).into_response()
    }
}

fn error(message: &str) -> Value {
    json!({"type": "error", "error": {"type": "scripted", "message": message}})
}
