//! Builder for the parameters, body and answers of an OpenAPI operation.

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Value, json};
use wh_wire::control::{ErrorBody, SentBody};

/// Makes the schemas of what callers send and of what they get: a field that may be absent in the one is always there in
/// the other, or the reverse.
pub(super) struct Schemas {
    pub bodies: SchemaGenerator,
    pub answers: SchemaGenerator,
}

pub(super) struct Answer {
    pub status: u16,
    pub description: &'static str,
    pub content: Option<(&'static str, Value)>,
}

const JSON: &str = "application/json";

/// Collects the parameters, body and answers of one operation.
pub(in crate::http) struct Describe<'a> {
    schemas: &'a mut Schemas,
    pub(super) parameters: Vec<Value>,
    pub(super) body: Option<Value>,
    pub(super) answers: Vec<Answer>,
}

impl<'a> Describe<'a> {
    pub(super) fn new(schemas: &'a mut Schemas) -> Self {
        // Whatever the path, a caller may be turned away at the door.
        Self { schemas, parameters: Vec::new(), body: None, answers: Vec::new() }
            .fails(401, "The token is missing or wrong.")
            .fails(403, "The Host header is not this machine's, a web page calls, or the caller runs inside a session and may not do this.")
    }

    pub fn takes<T: JsonSchema>(mut self) -> Self {
        self.body = Some(self.schemas.bodies.subschema_for::<T>().to_value());
        self.fails(400, "The body is not what it should be; the detail says what to do.")
            .fails(413, "The body has more than 256 KiB.")
    }

    pub fn query(mut self, name: &str, schema: Value, description: &str) -> Self {
        self.parameters.push(
            json!({"name": name, "in": "query", "required": false, "schema": schema, "description": description}),
        );
        self
    }

    pub fn path_parameter(mut self, name: &str, schema: Value) -> Self {
        self.parameters.push(json!({"name": name, "in": "path", "required": true, "schema": schema}));
        self
    }

    pub fn gives<T: JsonSchema>(mut self, status: u16, description: &'static str) -> Self {
        let schema = self.schemas.answers.subschema_for::<T>().to_value();
        self.answers.push(Answer { status, description, content: Some((JSON, schema)) });
        self
    }

    pub fn fails(self, status: u16, description: &'static str) -> Self {
        self.gives::<ErrorBody>(status, description)
    }

    pub fn text(mut self, status: u16, kind: &'static str, description: &'static str) -> Self {
        self.answers.push(Answer { status, description, content: Some((kind, json!({"type": "string"}))) });
        self
    }

    pub fn nothing(mut self, status: u16, description: &'static str) -> Self {
        self.answers.push(Answer { status, description, content: None });
        self
    }

    /// Adds the answers that every command may have.
    pub fn command(self) -> Self {
        self.gives::<SentBody>(200, "It was carried out, now or when this request_id was first used.")
            .fails(408, "The body did not arrive in time.")
            .fails(409, "The program has ended, or it cannot be done now.")
            .fails(
                503,
                "The program does not read its input, and the queue is full; or the session is gone. Try again.",
            )
    }

    pub fn gone(self) -> Self {
        self.fails(503, "The session is gone.")
    }

    /// Has the schema of a type in the document that no body or answer names: a transport wraps it.
    pub fn mentions<T: JsonSchema>(self) -> Self {
        let _ = self.schemas.answers.subschema_for::<T>();
        self
    }

    /// The session that every path below `/sessions/{session}` names.
    pub(super) fn in_session(mut self) -> Self {
        self.parameters.insert(
            0,
            json!({
                "name": "session", "in": "path", "required": true, "description": "The session's id or name.",
                "schema": {"type": "string", "minLength": 1},
            }),
        );
        match self.answers.iter().any(|answer| answer.status == 404) {
            true => self,
            false => self.fails(404, "There is no such session."),
        }
    }
}
