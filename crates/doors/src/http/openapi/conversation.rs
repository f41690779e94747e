//! What the paths of the conversation take and answer.

use serde_json::json;
use wh_wire::control::{
    AnswerRequest, CommandRequest, DoneBody, InterruptRequest, OutputBody, QuestionsBody, ReceiptBody,
};
use wh_wire::remote::{HistoryEntry, MessageBody, MessageRequest};

use super::operations::{Describe, Operation, Schemas};

const NONE: &str = "There is no conversation here, or not yet; or enough waits already. Try again.";

pub(super) fn all(schemas: &mut Schemas) -> Vec<Operation> {
    let done = |describe: Describe<'_>| {
        describe
            .gives::<DoneBody>(200, "It was carried out, now or when this request_id was first used.")
            .fails(404, "There is no such question, participant or command.")
            .fails(408, "The body did not arrive in time.")
            .fails(409, "It cannot be done now; the detail says why.")
            .fails(503, NONE)
            .done()
    };
    vec![
        Describe::new(schemas, "get", "/control/questions", "questions", "What waits for an answer.")
            .gives::<QuestionsBody>(200, "The open questions, oldest first.")
            .fails(503, NONE)
            .done(),
        done(
            Describe::new(schemas, "post", "/control/answer", "answer", "Answer a question by its id.")
                .takes::<AnswerRequest>(),
        ),
        done(
            Describe::new(schemas, "post", "/control/interrupt", "interrupt", "Stop the turn that is under way.")
                .takes::<InterruptRequest>(),
        ),
        done(
            Describe::new(schemas, "post", "/control/command", "command", "Run a slash command, as if typed.")
                .takes::<CommandRequest>(),
        ),
        Describe::new(
            schemas,
            "get",
            "/control/receipts/{request_id}",
            "receipt",
            "What became of a command, by its request_id. What was typed into a terminal ends as delivered: what the program makes of it is on the screen.",
        )
        .path_parameter("request_id", json!({"type": "string", "minLength": 1, "maxLength": 128}))
        .gives::<ReceiptBody>(200, "How far it is.")
        .fails(400, "That cannot be a request_id.")
        .fails(404, "No such command is known.")
        .fails(503, NONE)
        .done(),
        Describe::new(
            schemas,
            "get",
            "/control/items/{id}/output",
            "output",
            "A part of what was said, what a tool gave or what is asked, also of what is beyond what the item shows.",
        )
        .path_parameter("id", json!({"type": "string", "minLength": 1}))
        .query("offset", json!({"type": "integer", "minimum": 0}), "From this byte on; 0 unless said otherwise.")
        .gives::<OutputBody>(200, "The part, and where the next begins.")
        .fails(400, "The query is not what it should be, or the offset is beyond the end.")
        .fails(404, "There is no such item, or it has no output.")
        .fails(410, "That part is not kept any more.")
        .fails(503, NONE)
        .done(),
        Describe::new(schemas, "post", "/message", "message", "Say something to the agent, as if typed and sent.")
            .takes::<MessageRequest>()
            .gives::<MessageBody>(200, "It was said, now or when this request_id was first used.")
            .fails(400, "The message is empty, or a slash command or envelope with a mistake.")
            .fails(404, "One of those it is for does not exist, or no agent has this slash command.")
            .fails(408, "The body did not arrive in time.")
            .fails(
                409,
                "The agent is gone; the request_id belongs to another command; `not_literal`: the agent would interpret \
                 the text; `shell_not_allowed`: it begins with `!`.",
            )
            .fails(503, NONE)
            .done(),
        Describe::new(schemas, "get", "/history", "history", "What people and agents said to each other.")
            .query("limit", json!({"type": "string"}), "The newest so many; 0, or what is no number, is all of it.")
            .query("details", json!({"type": "string"}), "`1` adds ids, senders, times and turns.")
            .gives::<Vec<HistoryEntry>>(200, "The conversation, oldest first.")
            .fails(503, NONE)
            .done(),
    ]
}
