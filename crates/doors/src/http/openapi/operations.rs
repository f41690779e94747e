//! What each path takes and answers.

use std::borrow::Cow;

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Value, json};
use wh_wire::control::{
    ClientState, ErrorBody, HealthBody, MarkBody, MessagesBody, ResizeBody, ScreenBody, SendInputBody, SentBody,
    SignalBody, StreamBody, WaitBody, WaitRequest,
};

/// Makes the schemas of what callers send and of what they get: a field that may be absent in the one is always there in
/// the other, or the reverse.
pub(super) struct Schemas {
    pub bodies: SchemaGenerator,
    pub answers: SchemaGenerator,
}

pub(super) struct Operation {
    pub path: Cow<'static, str>,
    pub method: &'static str,
    pub name: Cow<'static, str>,
    pub summary: &'static str,
    pub parameters: Vec<Value>,
    pub body: Option<Value>,
    pub answers: Vec<Answer>,
}

pub(super) struct Answer {
    pub status: u16,
    pub description: &'static str,
    pub content: Option<(&'static str, Value)>,
}

const JSON: &str = "application/json";

/// What a switch in a query may be.
fn switch() -> Value {
    json!({"enum": ["0", "1", "false", "true", "no", "yes", "full"]})
}

/// Gathers what is said of one path.
pub(super) struct Describe<'a> {
    schemas: &'a mut Schemas,
    operation: Operation,
}

impl<'a> Describe<'a> {
    pub(super) fn new(
        schemas: &'a mut Schemas,
        method: &'static str,
        path: &'static str,
        name: &'static str,
        summary: &'static str,
    ) -> Self {
        let (path, name, parameters, answers) = (path.into(), name.into(), Vec::new(), Vec::new());
        let operation = Operation { path, method, name, summary, parameters, body: None, answers };
        // Whatever the path, a caller may be turned away at the door.
        Self { schemas, operation }
            .fails(401, "The token is missing or wrong.")
            .fails(403, "The Host header is not this machine's, a web page calls, or the caller runs inside a session and may not do this.")
    }

    pub(super) fn takes<T: JsonSchema>(mut self) -> Self {
        self.operation.body = Some(self.schemas.bodies.subschema_for::<T>().to_value());
        self.fails(400, "The body is not what it should be; the detail says what to do.")
            .fails(413, "The body has more than 256 KiB.")
    }

    pub(super) fn query(mut self, name: &str, schema: Value, description: &str) -> Self {
        self.operation.parameters.push(
            json!({"name": name, "in": "query", "required": false, "schema": schema, "description": description}),
        );
        self
    }

    pub(super) fn path_parameter(mut self, name: &str, schema: Value) -> Self {
        self.operation.parameters.push(json!({"name": name, "in": "path", "required": true, "schema": schema}));
        self
    }

    pub(super) fn gives<T: JsonSchema>(mut self, status: u16, description: &'static str) -> Self {
        let schema = self.schemas.answers.subschema_for::<T>().to_value();
        self.operation.answers.push(Answer { status, description, content: Some((JSON, schema)) });
        self
    }

    pub(super) fn fails(self, status: u16, description: &'static str) -> Self {
        self.gives::<ErrorBody>(status, description)
    }

    pub(super) fn text(mut self, status: u16, kind: &'static str, description: &'static str) -> Self {
        self.operation.answers.push(Answer { status, description, content: Some((kind, json!({"type": "string"}))) });
        self
    }

    fn nothing(mut self, status: u16, description: &'static str) -> Self {
        self.operation.answers.push(Answer { status, description, content: None });
        self
    }

    /// What every command may be answered.
    fn command(self) -> Self {
        self.gives::<SentBody>(200, "It was carried out, now or when this request_id was first used.")
            .fails(408, "The body did not arrive in time.")
            .fails(409, "The program has ended, or it cannot be done now.")
            .fails(
                503,
                "The program does not read its input, and the queue is full; or the session is gone. Try again.",
            )
    }

    fn gone(self) -> Self {
        self.fails(503, "The session is gone.")
    }

    pub(super) fn done(self) -> Operation {
        self.operation
    }
}

pub(super) fn all(schemas: &mut Schemas) -> Vec<Operation> {
    let mut operations = vec![
        Describe::new(schemas, "get", "/control/health", "health", "Whether the control plane is up.")
            .gives::<HealthBody>(200, "It is.")
            .done(),
        Describe::new(
            schemas,
            "post",
            "/control/send_input",
            "sendInput",
            "Type text, press keys, paste, use the mouse: one command.",
        )
        .takes::<SendInputBody>()
        .command()
        .done(),
        Describe::new(schemas, "post", "/control/resize", "resize", "Change the terminal's size.")
            .takes::<ResizeBody>()
            .command()
            .done(),
        Describe::new(schemas, "post", "/control/signal", "signal", "Send a signal to the program.")
            .takes::<SignalBody>()
            .command()
            .done(),
        Describe::new(
            schemas,
            "post",
            "/control/mark",
            "mark",
            "Mark this moment, for those who watch and in the recording.",
        )
        .takes::<MarkBody>()
        .command()
        .done(),
        Describe::new(schemas, "post", "/control/wait", "wait", "Wait until a condition holds.")
            .takes::<WaitRequest>()
            .gives::<WaitBody>(200, "The condition holds.")
            .gives::<WaitBody>(408, "It did not in time.")
            .gives::<WaitBody>(
                409,
                "`exited`: the program has ended, so it never will. `No conversation`: `idle`, `no_pending_operations` and \
                 `question` are not known of a terminal program.",
            )
            .fails(503, "Too many waits are open, or the session is gone.")
            .done(),
    ];
    operations.extend(views(schemas));
    operations.extend(streams(schemas));
    operations.extend(super::conversation::all(schemas));
    operations.extend(super::agents::all(schemas));
    operations
}

fn views(schemas: &mut Schemas) -> Vec<Operation> {
    vec![
        Describe::new(schemas, "get", "/control/screen", "screen", "What a person would see now.")
            .query("format", json!({"enum": ["text", "cells"]}), "`cells` adds every cell with its looks.")
            .query("history", switch(), "`1` adds the retained raw output.")
            .query("now", switch(), "`1` does not wait for a frame to be complete or for the effect of what was typed.")
            .gives::<ScreenBody>(200, "The screen. Its ETag changes when what is shown does.")
            .nothing(304, "It shows the same as the one named by If-None-Match.")
            .fails(400, "The query is not what it should be.")
            .gone()
            .done(),
        Describe::new(schemas, "get", "/control/screenshot.svg", "screenshotSvg", "The screen as an SVG picture.")
            .query("background", json!({"type": "string", "enum": ["dark", "light"]}), "The default colours.")
            .text(200, "image/svg+xml", "The picture.")
            .fails(400, "The query is not what it should be, or the screen has no picture.")
            .gone()
            .done(),
        Describe::new(schemas, "get", "/control/screenshot.png", "screenshotPng", "The screen as a PNG picture.")
            .query("scale", json!({"type": "integer", "minimum": 1, "maximum": 2}), "2 unless said otherwise.")
            .query("background", json!({"type": "string", "enum": ["dark", "light"]}), "The default colours.")
            .text(200, "image/png", "The picture.")
            .fails(400, "The query is not what it should be, or the screen is too large for a picture.")
            .gone()
            .done(),
        Describe::new(schemas, "get", "/control/state", "state", "What is known beside the screen.")
            .query(
                "limit",
                json!({"type": "integer", "minimum": 0}),
                "At most this many messages: the newest, or with since the first after it. All unless said otherwise.",
            )
            .query(
                "since",
                json!({"type": "string", "format": "date-time"}),
                "Only messages that were added after this time.",
            )
            .gives::<ClientState>(200, "The state. Its ETag changes when the state does.")
            .nothing(304, "The state is as the If-None-Match says.")
            .fails(400, "The query is not what it should be.")
            .gone()
            .done(),
        Describe::new(schemas, "get", "/control/messages", "messages", "The conversation, filtered.")
            .query(
                "limit",
                json!({"type": "integer", "minimum": 0}),
                "At most this many: the newest, or with since the first after it. 100 unless said otherwise.",
            )
            .query("kind", json!({"type": "string"}), "Only of this kind.")
            .query("from", json!({"type": "string"}), "Only from this sender.")
            .query(
                "since",
                json!({"type": "string", "format": "date-time"}),
                "Only those that were added after this time.",
            )
            .gives::<MessagesBody>(200, "The messages.")
            .fails(400, "The query is not what it should be.")
            .gone()
            .done(),
        Describe::new(schemas, "get", "/control/metrics", "metrics", "Counters and latencies for Prometheus.")
            .text(200, "text/plain", "The metrics.")
            .gone()
            .done(),
        Describe::new(schemas, "get", "/openapi.json", "openapi", "This description.")
            .gives::<Value>(200, "An OpenAPI 3.1 document.")
            .done(),
        Describe::new(schemas, "get", "/docs", "docs", "This description for people.")
            .text(200, "text/html", "A page.")
            .done(),
    ]
}

fn streams(schemas: &mut Schemas) -> Vec<Operation> {
    // Named so that its schema is part of the description; the transports wrap it.
    let _ = schemas.answers.subschema_for::<StreamBody>();
    let watched = |describe: Describe<'_>| {
        describe
            .query("after", json!({"type": "string"}), "Go on after this event: EPOCH.SEQ.")
            .query("frames", json!({"enum": ["none", "plain", "raw"]}), "What of the screen to send when it changes.")
            .query(
                "rate",
                json!({"type": "integer", "minimum": 1, "maximum": 60}),
                "Frames a second at most; 30 unless said otherwise.",
            )
            .fails(400, "The query is not what it should be.")
            .gone()
            .done()
    };
    vec![
        watched(
            Describe::new(
                schemas,
                "get",
                "/control/events",
                "events",
                "Watch, by server-sent events; each `data` is a StreamBody.",
            )
            .text(200, "text/event-stream", "The stream. `Last-Event-ID` does what `after` does."),
        ),
        watched(
            Describe::new(
                schemas,
                "get",
                "/control/stream",
                "stream",
                "Watch, by WebSocket; each text message is a StreamBody.",
            )
            .nothing(101, "The stream.")
            .fails(426, "This is a WebSocket."),
        ),
    ]
}
