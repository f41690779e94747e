//! What the paths of a daemon take and answer.

use serde_json::json;
use wh_wire::control::{
    ErrorBody, HealthBody, LastScreenBody, NewSessionRequest, RenameRequest, SessionSummary, SessionsBody,
};

use super::operations::{Answer, Describe, Operation, Schemas};

pub(super) fn all(schemas: &mut Schemas) -> Vec<Operation> {
    let id = || json!({"type": "string", "minLength": 1, "description": "The session's id or name."});
    let mut operations = vec![
        Describe::new(schemas, "get", "/health", "health", "Whether the daemon is well.")
            .gives::<HealthBody>(200, "It is.")
            .done(),
        Describe::new(schemas, "get", "/sessions", "sessions", "Every session, those that have ended too.")
            .gives::<SessionsBody>(200, "The sessions, oldest first.")
            .done(),
        Describe::new(schemas, "post", "/sessions", "create_session", "Start an agent, or a program in a terminal.")
            .takes::<NewSessionRequest>()
            .gives::<SessionSummary>(201, "It was started.")
            .fails(408, "The body did not arrive in time.")
            .fails(409, "The name is taken, or it could not be started; the detail says what to do.")
            .fails(503, "There are enough sessions, or the daemon is stopping.")
            .done(),
        Describe::new(schemas, "get", "/sessions/{session}", "session", "One session.")
            .path_parameter("session", id())
            .gives::<SessionSummary>(200, "How it stands.")
            .fails(404, "There is no such session.")
            .done(),
        Describe::new(
            schemas,
            "get",
            "/sessions/{session}/last_screen",
            "last_screen",
            "What a terminal program showed when its daemon was gone before it.",
        )
        .path_parameter("session", id())
        .gives::<LastScreenBody>(200, "Its last screen.")
        .fails(404, "There is no such session, or nothing of it was kept.")
        .done(),
        Describe::new(schemas, "patch", "/sessions/{session}", "rename_session", "Give a session another name.")
            .path_parameter("session", id())
            .takes::<RenameRequest>()
            .gives::<SessionSummary>(200, "It has the name.")
            .fails(404, "There is no such session.")
            .fails(408, "The body did not arrive in time.")
            .fails(409, "A session that lives has the name.")
            .done(),
        Describe::new(
            schemas,
            "delete",
            "/sessions/{session}",
            "end_session",
            "End a session and all that it started.",
        )
        .path_parameter("session", id())
        .query("now", json!({"type": "string"}), "Kill it at once instead of asking first.")
        .query("forget", json!({"type": "string"}), "Forget it too, with its history.")
        .gives::<SessionSummary>(200, "It has ended, and nothing that it started runs.")
        .fails(404, "There is no such session.")
        .fails(500, "Some of its processes could not be ended; the message has their pids.")
        .done(),
        Describe::new(schemas, "get", "/openapi.json", "openapi", "This description.")
            .gives::<serde_json::Map<String, serde_json::Value>>(200, "It.")
            .done(),
        Describe::new(schemas, "get", "/docs", "docs", "This description for people.")
            .text(200, "text/html", "It.")
            .done(),
    ];
    operations.extend(below(schemas));
    operations
}

/// Every path of the door onto one session.
fn below(schemas: &mut Schemas) -> Vec<Operation> {
    let missing = schemas.answers.subschema_for::<ErrorBody>().to_value();
    let session = json!({
        "name": "session", "in": "path", "required": true, "description": "The session's id or name.",
        "schema": {"type": "string", "minLength": 1},
    });
    let mut operations = super::operations::all(schemas);
    for operation in &mut operations {
        operation.path = format!("/sessions/{{session}}{}", operation.path).into();
        operation.name = format!("session_{}", operation.name).into();
        operation.parameters.insert(0, session.clone());
        if !operation.answers.iter().any(|answer| answer.status == 404) {
            let content = Some(("application/json", missing.clone()));
            operation.answers.push(Answer { status: 404, description: "There is no such session.", content });
        }
    }
    operations
}
