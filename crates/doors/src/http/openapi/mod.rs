//! `GET /openapi.json` and `GET /docs`: this door described by itself. Bodies are described by the very types that serve
//! them; what each path takes and answers stands in [`operations`].

mod conversation;
mod operations;
mod page;

use std::sync::LazyLock;

use axum::Json;
use axum::http::header;
use axum::response::{Html, IntoResponse, Response};
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use operations::{Answer, Operation};

static DESCRIPTION: LazyLock<Value> = LazyLock::new(describe);

pub(super) async fn description() -> Json<&'static Value> {
    Json(&DESCRIPTION)
}

pub(super) async fn page() -> Response {
    // The page needs nothing but itself, and may not load anything else.
    let policy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";
    ([(header::CONTENT_SECURITY_POLICY, policy)], Html(page::render(&DESCRIPTION))).into_response()
}

fn describe() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut generator = settings.into_generator();
    let mut paths: Map<String, Value> = Map::new();
    for operation in operations::all(&mut generator) {
        let entry = paths.entry(operation.path).or_insert_with(|| json!({}));
        entry[operation.method] = operation_value(&operation);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "wh control plane",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "See, type to and wait for the terminal program that wh runs. Loopback only unless a token is set; web pages are kept out.",
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{}, {"token": []}],
        "paths": paths,
        "components": {
            "schemas": generator.take_definitions(true),
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer", "description": "Needed when wh was started with a token."}
            },
        },
    })
}

fn operation_value(operation: &Operation) -> Value {
    let mut value = json!({
        "operationId": operation.name,
        "summary": operation.summary,
        "responses": responses(&operation.answers),
    });
    if !operation.parameters.is_empty() {
        value["parameters"] = Value::Array(operation.parameters.clone());
    }
    if let Some(schema) = &operation.body {
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
    fn every_path_of_the_door_is_described_and_no_other() {
        let mut described: Vec<&str> = DESCRIPTION["paths"].as_object().unwrap().keys().map(String::as_str).collect();
        let mut served = super::super::PATHS.to_vec();
        described.sort_unstable();
        served.sort_unstable();
        assert_eq!(described, served);
    }

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
