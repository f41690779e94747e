//! API description: `GET /openapi.json` and `GET /docs`. Built from the body types and the rows of the route table.

mod operation;
mod page;

use std::sync::LazyLock;

use axum::Json;
use axum::http::header;
use axum::response::{Html, IntoResponse, Response};
use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use serde_json::{Map, Value, json};

use super::ApiState;
use super::route::{self, OpenApiOperation, Route, RouteMethod};
use super::sessions::{self, DaemonApiState};
pub(super) use operation::OperationBuilder;
use operation::{OpenApiSchemas, ResponseDoc};

static RUN_DOCUMENT: LazyLock<Value> =
    LazyLock::new(|| document(RUN_DESCRIPTION, json!([{}, {"token": []}]), &of_session()));
static DAEMON_DOCUMENT: LazyLock<Value> = LazyLock::new(|| {
    let mut paths = of_daemon();
    paths.extend(of_session().into_iter().map(RouteDescription::below));
    document(DAEMON_DESCRIPTION, json!([{"token": []}]), &paths)
});

const RUN_DESCRIPTION: &str = "HTTP API of one wh process. Read the screen, send input to the terminal program or messages to the agents, and wait for conditions. Listens on loopback only unless a token is set. Requests from web pages are refused.";
const DAEMON_DESCRIPTION: &str = "HTTP API of the daemon and its sessions. Listens on loopback only and always requires the token. Requests from web pages are refused. The paths below /sessions/{session}/ are the same as those of a single run. A process inside a session may not answer the questions of that session: /control/answer, typed input and slash commands are refused.";

pub(super) fn routes() -> Vec<Route<ApiState>> {
    vec![
        Route::new(
            RouteMethod::Get,
            "/openapi.json",
            async || Json(&*RUN_DOCUMENT),
            "openapi",
            "Get the OpenAPI document of this API.",
            |it| it.returns::<Value>(200, "An OpenAPI 3.1 document."),
        ),
        Route::new(
            RouteMethod::Get,
            "/docs",
            async || page(&RUN_DOCUMENT),
            "docs",
            "Show this description as an HTML page.",
            |it| it.text(200, "text/html", "An HTML page."),
        ),
    ]
}

pub(super) fn daemon_routes() -> Vec<Route<DaemonApiState>> {
    vec![
        Route::new(
            RouteMethod::Get,
            "/openapi.json",
            async || Json(&*DAEMON_DOCUMENT),
            "openapi",
            "Get the OpenAPI document of this API.",
            |it| it.returns::<Map<String, Value>>(200, "An OpenAPI 3.1 document."),
        ),
        Route::new(
            RouteMethod::Get,
            "/docs",
            async || page(&DAEMON_DOCUMENT),
            "docs",
            "Show this description as an HTML page.",
            |it| it.text(200, "text/html", "An HTML page."),
        ),
    ]
}

fn page(description: &Value) -> Response {
    // The page is self-contained and may not load anything.
    let policy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";
    ([(header::CONTENT_SECURITY_POLICY, policy)], Html(page::render(description))).into_response()
}

/// Row of the route table as described in an OpenAPI document.
struct RouteDescription {
    path: String,
    id: String,
    method: &'static str,
    operation: OpenApiOperation,
    below: bool,
}

impl RouteDescription {
    fn new<S>(route: &Route<S>) -> Self {
        let (path, id) = (route.path.to_owned(), route.operation.id.to_owned());
        Self { path, id, method: route.method.name(), operation: route.operation, below: false }
    }

    /// Returns the row for the document of a daemon, with the path below `/sessions/{session}`.
    fn below(self) -> Self {
        let path = format!("{}{}", sessions::SESSION_PATH, self.path);
        Self { path, id: format!("session_{}", self.id), below: true, ..self }
    }

    fn describe<'a>(&self, schemas: &'a mut OpenApiSchemas) -> OperationBuilder<'a> {
        let described = (self.operation.describe)(OperationBuilder::new(schemas));
        if self.below { described.in_session() } else { described }
    }
}

fn of_session() -> Vec<RouteDescription> {
    route::of_session().iter().map(RouteDescription::new).collect()
}

fn of_daemon() -> Vec<RouteDescription> {
    route::of_daemon().iter().map(RouteDescription::new).collect()
}

fn schemas() -> OpenApiSchemas {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    OpenApiSchemas {
        bodies: settings.clone().for_deserialize().into_generator(),
        answers: settings.for_serialize().with_transform(RecursiveTransform(absent_not_null)).into_generator(),
    }
}

fn document(about: &str, security: Value, rows: &[RouteDescription]) -> Value {
    let mut schemas = schemas();
    let mut paths: Map<String, Value> = Map::new();
    for row in rows {
        let entry = paths.entry(&row.path).or_insert_with(|| json!({}));
        entry[row.method] = operation_value(row, &mut schemas);
    }
    let mut components = schemas.bodies.take_definitions(true);
    components.extend(schemas.answers.take_definitions(true));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "wh HTTP API",
            "version": env!("CARGO_PKG_VERSION"),
            "description": about,
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": security,
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer", "description": "Required by a daemon, and by a run that was started with a token."}
            },
        },
    })
}

/// Removes null from the types of optional fields, because a response omits absent fields.
fn absent_not_null(schema: &mut Schema) {
    let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let Some(Value::Object(properties)) = schema.get_mut("properties") else { return };
    for (_, property) in properties.iter_mut().filter(|(name, _)| !required.iter().any(|known| known == *name)) {
        if let Some(Value::Array(types)) = property.get_mut("type") {
            types.retain(|kind| kind != "null");
            if let [only] = types.as_slice() {
                property["type"] = only.clone();
            }
        }
        if let Some(Value::Array(choices)) = property.get_mut("anyOf") {
            choices.retain(|choice| *choice != json!({"type": "null"}));
        }
    }
}

fn operation_value(row: &RouteDescription, schemas: &mut OpenApiSchemas) -> Value {
    let OperationBuilder { parameters, body, answers, .. } = row.describe(schemas);
    let mut value = json!({
        "operationId": row.id,
        "summary": row.operation.summary,
        "responses": responses(&answers),
    });
    if !parameters.is_empty() {
        value["parameters"] = Value::Array(parameters);
    }
    if let Some(schema) = &body {
        value["requestBody"] = json!({"required": true, "content": {"application/json": {"schema": schema}}});
    }
    value
}

fn responses(answers: &[ResponseDoc]) -> Value {
    let mut responses = Map::new();
    for answer in answers {
        let mut response = json!({"description": answer.description});
        if let Some((kind, schema)) = &answer.content {
            response["content"] = json!({*kind: {"schema": schema}});
        }
        responses.insert(answer.status.to_string(), response);
    }
    Value::Object(responses)
}

#[cfg(test)]
mod tests {
    use wh_core::request::RequestId;
    use wh_core::terminal::{MAX_TERMINAL_SIZE, MIN_TERMINAL_SIZE};

    use super::super::input::{MAX_LABEL_CHARS, SIGNALS};
    use super::super::wait::MAX_WAIT_TIMEOUT_MS;
    use super::*;

    #[test]
    fn the_bounds_that_are_described_are_those_that_hold() {
        let schema = |name: &str, field: &str| RUN_DOCUMENT["components"]["schemas"][name]["properties"][field].clone();
        let bounds = |field: &str| {
            [schema("ResizeBody", field)["minimum"].clone(), schema("ResizeBody", field)["maximum"].clone()]
        };
        assert_eq!(bounds("width"), [json!(MIN_TERMINAL_SIZE.columns), json!(MAX_TERMINAL_SIZE.columns)]);
        assert_eq!(bounds("height"), [json!(MIN_TERMINAL_SIZE.rows), json!(MAX_TERMINAL_SIZE.rows)]);
        assert_eq!(schema("MarkBody", "label")["maxLength"], json!(MAX_LABEL_CHARS));
        assert_eq!(schema("WaitRequest", "timeout")["maximum"], json!(MAX_WAIT_TIMEOUT_MS));
        let longest = schema("MarkBody", "request_id")["maxLength"].as_u64().unwrap() as usize;
        assert!(RequestId::new("x".repeat(longest)).is_ok() && RequestId::new("x".repeat(longest + 1)).is_err());
        let names: Vec<&str> = SIGNALS.iter().map(|signal| signal.as_str().trim_start_matches("SIG")).collect();
        assert_eq!(schema("SignalBody", "signal")["pattern"], format!("^(SIG)?({})$", names.join("|")));
    }

    #[test]
    fn required_fields_are_listed_and_optional_ones_are_never_null() {
        let schema = |name: &str| RUN_DOCUMENT["components"]["schemas"][name].clone();
        let required = |name: &str, field: &str| schema(name)["required"].as_array().unwrap().contains(&json!(field));
        assert!(required("ClientState", "pauseState") && required("ChatTargets", "effective"));
        assert_eq!(schema("ChatTargets")["properties"]["effective"]["type"], json!(["array", "null"]));
        assert!(!required("SentBody", "injected") && !required("ClientState", "session"));
        assert_eq!(schema("SentBody")["properties"]["injected"]["type"], "string");
        // Callers may omit an optional field or send null.
        assert_eq!(schema("WaitRequest")["properties"]["timeout"]["type"], json!(["integer", "null"]));
    }

    #[test]
    fn a_type_that_is_sent_and_answered_has_one_description() {
        let mut schemas = schemas();
        for row in of_session().iter().chain(&of_daemon()) {
            row.describe(&mut schemas);
        }
        let answers = schemas.answers.take_definitions(true);
        for (name, sent) in schemas.bodies.take_definitions(true) {
            assert!(answers.get(&name).is_none_or(|answered| *answered == sent), "{name}");
        }
    }

    #[test]
    fn every_reference_leads_somewhere() {
        let text = RUN_DOCUMENT.to_string();
        let known = RUN_DOCUMENT["components"]["schemas"].as_object().unwrap();
        for reference in text.split("\"$ref\":\"#/components/schemas/").skip(1) {
            let name = reference.split('"').next().unwrap();
            assert!(known.contains_key(name), "{name}");
        }
        assert!(known.contains_key("ScreenBody") && known.contains_key("ClientState"));
    }
}
