//! `GET /openapi.json` and `GET /docs`: this door described by itself. Bodies are described by the very types that serve
//! them, and every path by its row of the route table.

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

use super::Door;
use super::route::{self, Method, Operation, Route};
use super::sessions::{self, DaemonDoor};
pub(super) use operation::Describe;
use operation::{Answer, Schemas};

static DESCRIPTION: LazyLock<Value> = LazyLock::new(|| document(ONE, json!([{}, {"token": []}]), &of_session()));
static OF_DAEMON: LazyLock<Value> = LazyLock::new(|| {
    let mut paths = of_daemon();
    paths.extend(of_session().into_iter().map(Described::below));
    document(DAEMON, json!([{"token": []}]), &paths)
});

const ONE: &str = "See, type to and wait for the terminal program that wh runs. Loopback only unless a token is set; web pages are kept out.";
const DAEMON: &str = "The sessions of a daemon. Loopback only, always with the token; web pages are kept out. What is below /sessions/{session}/ is the door onto that session, the same as that of a single run. Who runs inside a session may not answer its questions: neither by answer, nor by what is typed or commanded where they are shown.";

pub(super) fn routes() -> Vec<Route<Door>> {
    vec![
        Route::new(
            Method::Get,
            "/openapi.json",
            async || Json(&*DESCRIPTION),
            "openapi",
            "This description.",
            |it| it.gives::<Value>(200, "An OpenAPI 3.1 document."),
        ),
        Route::new(
            Method::Get,
            "/docs",
            async || page(&DESCRIPTION),
            "docs",
            "This description for people.",
            |it| it.text(200, "text/html", "A page."),
        ),
    ]
}

pub(super) fn daemon_routes() -> Vec<Route<DaemonDoor>> {
    vec![
        Route::new(
            Method::Get,
            "/openapi.json",
            async || Json(&*OF_DAEMON),
            "openapi",
            "This description.",
            |it| it.gives::<Map<String, Value>>(200, "It."),
        ),
        Route::new(
            Method::Get,
            "/docs",
            async || page(&OF_DAEMON),
            "docs",
            "This description for people.",
            |it| it.text(200, "text/html", "It."),
        ),
    ]
}

fn page(description: &Value) -> Response {
    // The page needs nothing but itself, and may not load anything else.
    let policy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";
    ([(header::CONTENT_SECURITY_POLICY, policy)], Html(page::render(description))).into_response()
}

/// A row of the route table as a document has it.
struct Described {
    path: String,
    id: String,
    method: &'static str,
    operation: Operation,
    below: bool,
}

impl Described {
    fn new<S>(route: &Route<S>) -> Self {
        let (path, id) = (route.path.to_owned(), route.operation.id.to_owned());
        Self { path, id, method: route.method.name(), operation: route.operation, below: false }
    }

    /// The same as a daemon serves it, below one of its sessions.
    fn below(self) -> Self {
        let path = format!("{}{}", sessions::BELOW, self.path);
        Self { path, id: format!("session_{}", self.id), below: true, ..self }
    }

    fn describe<'a>(&self, schemas: &'a mut Schemas) -> Describe<'a> {
        let described = (self.operation.describe)(Describe::new(schemas));
        if self.below { described.in_session() } else { described }
    }
}

fn of_session() -> Vec<Described> {
    route::of_session().iter().map(Described::new).collect()
}

fn of_daemon() -> Vec<Described> {
    route::of_daemon().iter().map(Described::new).collect()
}

fn schemas() -> Schemas {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    Schemas {
        bodies: settings.clone().for_deserialize().into_generator(),
        answers: settings.for_serialize().with_transform(RecursiveTransform(absent_not_null)).into_generator(),
    }
}

fn document(about: &str, security: Value, rows: &[Described]) -> Value {
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
            "title": "wh control plane",
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
                "token": {"type": "http", "scheme": "bearer", "description": "Needed when wh was started with a token, and always by a daemon."}
            },
        },
    })
}

/// What an answer does not have, it leaves out: a field that may be absent is never null.
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

fn operation_value(row: &Described, schemas: &mut Schemas) -> Value {
    let Describe { parameters, body, answers, .. } = row.describe(schemas);
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

fn responses(answers: &[Answer]) -> Value {
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
    use wh_core::terminal::{LARGEST, SMALLEST};

    use super::super::input::{LONGEST_LABEL, SIGNALS};
    use super::super::wait::LONGEST_TIMEOUT;
    use super::*;

    #[test]
    fn the_bounds_that_are_described_are_those_that_hold() {
        let schema = |name: &str, field: &str| DESCRIPTION["components"]["schemas"][name]["properties"][field].clone();
        let bounds = |field: &str| {
            [schema("ResizeBody", field)["minimum"].clone(), schema("ResizeBody", field)["maximum"].clone()]
        };
        assert_eq!(bounds("width"), [json!(SMALLEST.columns), json!(LARGEST.columns)]);
        assert_eq!(bounds("height"), [json!(SMALLEST.rows), json!(LARGEST.rows)]);
        assert_eq!(schema("MarkBody", "label")["maxLength"], json!(LONGEST_LABEL));
        assert_eq!(schema("WaitRequest", "timeout")["maximum"], json!(LONGEST_TIMEOUT));
        let longest = schema("MarkBody", "request_id")["maxLength"].as_u64().unwrap() as usize;
        assert!(RequestId::new("x".repeat(longest)).is_ok() && RequestId::new("x".repeat(longest + 1)).is_err());
        let names: Vec<&str> = SIGNALS.iter().map(|signal| signal.as_str().trim_start_matches("SIG")).collect();
        assert_eq!(schema("SignalBody", "signal")["pattern"], format!("^(SIG)?({})$", names.join("|")));
    }

    #[test]
    fn what_is_always_there_is_required_and_what_may_be_absent_is_never_null() {
        let schema = |name: &str| DESCRIPTION["components"]["schemas"][name].clone();
        let required = |name: &str, field: &str| schema(name)["required"].as_array().unwrap().contains(&json!(field));
        assert!(required("ClientState", "pauseState") && required("ChatTargets", "effective"));
        assert_eq!(schema("ChatTargets")["properties"]["effective"]["type"], json!(["array", "null"]));
        assert!(!required("SentBody", "injected") && !required("ClientState", "session"));
        assert_eq!(schema("SentBody")["properties"]["injected"]["type"], "string");
        // What a caller may leave out, it may also send as null.
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
        let text = DESCRIPTION.to_string();
        let known = DESCRIPTION["components"]["schemas"].as_object().unwrap();
        for reference in text.split("\"$ref\":\"#/components/schemas/").skip(1) {
            let name = reference.split('"').next().unwrap();
            assert!(known.contains_key(name), "{name}");
        }
        assert!(known.contains_key("ScreenBody") && known.contains_key("ClientState"));
    }
}
