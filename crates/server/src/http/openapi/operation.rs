//! Builder for the parameters, body and responses of an OpenAPI operation.

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Value, json};
use wh_wire::control::{ErrorBody, SentBody};

/// Schema generators, one for requests and one for responses. The schemas differ: a field can be optional in a request
/// and always present in a response.
pub(super) struct OpenApiSchemas {
    pub bodies: SchemaGenerator,
    pub answers: SchemaGenerator,
}

pub(super) struct ResponseDoc {
    pub status: u16,
    pub description: &'static str,
    pub content: Option<(&'static str, Value)>,
}

const JSON: &str = "application/json";

/// Collects parameters, body and responses of an operation.
pub(in crate::http) struct OperationBuilder<'a> {
    schemas: &'a mut OpenApiSchemas,
    pub(super) parameters: Vec<Value>,
    pub(super) body: Option<Value>,
    pub(super) answers: Vec<ResponseDoc>,
}

impl<'a> OperationBuilder<'a> {
    pub(super) fn new(schemas: &'a mut OpenApiSchemas) -> Self {
        // The access checks apply to every path, so every operation can return these two errors.
        Self { schemas, parameters: Vec::new(), body: None, answers: Vec::new() }
            .fails(401, "The token is missing or invalid.")
            .fails(403, "The Host header does not name this machine, the request comes from a web page, or the caller runs inside a session and may not do this.")
    }

    pub fn accepts<T: JsonSchema>(mut self) -> Self {
        self.body = Some(self.schemas.bodies.subschema_for::<T>().to_value());
        self.fails(400, "The body is invalid; see the detail.").fails(413, "The body is larger than 256 KiB.")
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

    pub fn returns<T: JsonSchema>(mut self, status: u16, description: &'static str) -> Self {
        let schema = self.schemas.answers.subschema_for::<T>().to_value();
        self.answers.push(ResponseDoc { status, description, content: Some((JSON, schema)) });
        self
    }

    pub fn fails(self, status: u16, description: &'static str) -> Self {
        self.returns::<ErrorBody>(status, description)
    }

    pub fn text(mut self, status: u16, kind: &'static str, description: &'static str) -> Self {
        self.answers.push(ResponseDoc { status, description, content: Some((kind, json!({"type": "string"}))) });
        self
    }

    pub fn returns_empty(mut self, status: u16, description: &'static str) -> Self {
        self.answers.push(ResponseDoc { status, description, content: None });
        self
    }

    /// Adds the responses that every command may have.
    pub fn command(self) -> Self {
        self.returns::<SentBody>(
            200,
            "The command was executed, by this request or by an earlier request with the same request_id.",
        )
        .fails(408, "The body did not arrive in time.")
        .fails(
            409,
            "The program has ended, the command is not possible now, or the request_id belongs to another command; \
             see the detail.",
        )
        .fails(503, "The input queue is full because the program does not read its input, or the session has ended.")
    }

    pub fn gone(self) -> Self {
        self.fails(503, "The session has ended.")
    }

    /// Adds the schema of a type that no body refers to, such as the messages of an event stream.
    pub fn includes_schema<T: JsonSchema>(self) -> Self {
        let _ = self.schemas.answers.subschema_for::<T>();
        self
    }

    /// Adds the session parameter of paths below `/sessions/{session}`.
    pub(super) fn in_session(mut self) -> Self {
        self.parameters.insert(
            0,
            json!({
                "name": "session", "in": "path", "required": true, "description": "Session id or name.",
                "schema": {"type": "string", "minLength": 1},
            }),
        );
        match self.answers.iter().any(|answer| answer.status == 404) {
            true => self,
            false => self.fails(404, "No such session."),
        }
    }
}
