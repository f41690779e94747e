//! `GET /control/questions`, `POST /control/answer`, `POST /control/interrupt`, `POST /control/command` and
//! `GET /control/receipts/{request_id}`.

use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use serde_json::json;
use wh_client::Conversation;
use wh_core::caller::Act;
use wh_core::line::{ComposerLine, LineError};
use wh_core::request::{Content, Request as Named};
use wh_core::session::{Fate, Refusal as TerminalRefusal};
use wh_core::slash::Slash;
use wh_core::space::command::{Command, Done};
use wh_core::space::question::Answer;
use wh_core::space::{ItemId, ParticipantId};
use wh_wire::control::{AnswerRequest, CommandRequest, DoneBody, InterruptRequest, QuestionsBody, ReceiptBody};

use super::NO_CONVERSATION;
use crate::bodies::{open_questions, receipt_body};
use crate::http::SENDER;
use crate::http::fault::Fault;
use crate::http::input::request_id;
use crate::http::openapi::Describe;
use crate::http::route::{Method, Route};
use crate::http::{Door, body};
use crate::receipts;

/// The path of a command's receipt.
pub(in crate::http) const RECEIPT_PATH: &str = "/control/receipts/{request_id}";

pub(super) fn routes() -> Vec<Route<Door>> {
    vec![
        Route::new(Method::Get, "/control/questions", questions, "questions", "What waits for an answer.", |it| {
            it.gives::<QuestionsBody>(200, "The open questions, oldest first.").fails(503, NO_CONVERSATION)
        }),
        Route::new(Method::Post, "/control/answer", answer, "answer", "Answer a question by its id.", |it| {
            done(it.takes::<AnswerRequest>())
        })
        .admits_to(Act::Answer),
        Route::new(
            Method::Post,
            "/control/interrupt",
            interrupt,
            "interrupt",
            "Stop the turn that is under way.",
            |it| done(it.takes::<InterruptRequest>()),
        ),
        Route::new(Method::Post, "/control/command", command, "command", "Run a slash command, as if typed.", |it| {
            done(it.takes::<CommandRequest>())
        })
        .admits_to(Act::Command),
        Route::new(
            Method::Get,
            RECEIPT_PATH,
            receipt,
            "receipt",
            "What became of a command, by its request_id. What was typed into a terminal ends as delivered: what the program makes of it is on the screen.",
            |it| {
                it.path_parameter("request_id", json!({"type": "string", "minLength": 1, "maxLength": 128}))
                    .gives::<ReceiptBody>(200, "How far it is.")
                    .fails(400, "That cannot be a request_id.")
                    .fails(404, "No such command is known.")
                    .fails(503, NO_CONVERSATION)
            },
        ),
    ]
}

fn done(it: Describe<'_>) -> Describe<'_> {
    it.gives::<DoneBody>(200, "It was carried out, now or when this request_id was first used.")
        .fails(404, "There is no such question, participant or command.")
        .fails(408, "The body did not arrive in time.")
        .fails(409, "It cannot be done now; the detail says why.")
        .fails(503, NO_CONVERSATION)
}

async fn questions(State(door): State<Door>) -> Result<Json<QuestionsBody>, Fault> {
    let Some(conversation) = &door.conversation else { return Ok(Json(QuestionsBody { questions: Vec::new() })) };
    Ok(Json(QuestionsBody { questions: open_questions(conversation).await? }))
}

async fn answer(State(door): State<Door>, body: Body) -> Result<Json<DoneBody>, Fault> {
    let body: AnswerRequest = body::json(body).await?;
    let id = request_id(body.request_id.as_deref())?;
    let content = Content::Answer {
        question: &body.id,
        option: body.option.as_deref(),
        decision: None,
        text: body.text.as_deref(),
    };
    let named = id.map(|id| Named::new(id, SENDER, &content));
    let answer = Answer { option: body.option, text: body.text };
    run(&door, named, Command::Answer { question: ItemId::from(body.id), answer, decision: None }).await
}

async fn interrupt(State(door): State<Door>, body: Body) -> Result<Json<DoneBody>, Fault> {
    let body: InterruptRequest = body::json_or_nothing(body).await?;
    let id = request_id(body.request_id.as_deref())?;
    let usual = |one: &String| door.is_usual(std::slice::from_ref(one));
    let content = Content::Interrupt(body.participant.as_ref().filter(|one| !usual(one)).map(String::as_str));
    let named = id.map(|id| Named::new(id, SENDER, &content));
    match door.conversation {
        Some(_) => run(&door, named, Command::Interrupt(body.participant.map(ParticipantId::from))).await,
        None => interrupt_program(&door, named).await,
    }
}

/// Longest wait for a program to read an interrupt that is no signal.
const LONGEST_INTERRUPT: Duration = Duration::from_millis(1500);

/// Interrupts a terminal program, past its queued input.
async fn interrupt_program(door: &Door, named: Option<Named>) -> Result<Json<DoneBody>, Fault> {
    let id = named.as_ref().map(|named| named.id.clone());
    let interrupted = tokio::time::timeout(LONGEST_INTERRUPT, door.surface.interrupt(Vec::new(), named)).await;
    let done = interrupted.map_err(|_| Fault::Unread)??;
    if let Fate::Lost(loss) = done.fate {
        return Err(TerminalRefusal::from(loss).into());
    }
    if !done.delivered() {
        return Err(Fault::Unread);
    }
    let receipt = match id {
        Some(id) => door.surface.receipt(id).await?.map(|receipt| receipt_body(&receipt)),
        None => None,
    };
    Ok(Json(DoneBody { ok: true, lines: Vec::new(), receipt, duplicate: done.duplicate }))
}

async fn command(State(door): State<Door>, body: Body) -> Result<Json<DoneBody>, Fault> {
    let body: CommandRequest = body::json(body).await?;
    let id = request_id(body.request_id.as_deref())?;
    let asked = match ComposerLine::read(&body.command) {
        Ok(ComposerLine::Slash(asked)) => asked,
        Err(error @ LineError::Slash(_)) => return Err(Fault::Line(error)),
        Ok(_) | Err(_) => {
            let hint = "a command begins with a slash, as /help; to say something use POST /message".to_owned();
            return Err(Fault::Refused("Invalid command", hint));
        }
    };
    let named = id.map(|id| Named::new(id, SENDER, &Content::Line(body.command.trim())));
    let Done { receipt, lines, duplicate, .. } = run_line(door.conversation()?, named, asked).await?;
    Ok(Json(DoneBody { ok: true, lines, receipt: Some(receipt_body(&receipt)), duplicate }))
}

async fn receipt(State(door): State<Door>, Path(id): Path<String>) -> Result<Json<ReceiptBody>, Fault> {
    let id = request_id(Some(&id))?.ok_or(Fault::NoSuchReceipt)?;
    let receipt = receipts::known(door.conversation.as_ref(), &door.surface, id).await?.ok_or(Fault::NoSuchReceipt)?;
    Ok(Json(receipt_body(&receipt)))
}

/// Carries out what a line asks for, in the space or in its UI.
pub(super) async fn run_line(conversation: &Conversation, named: Option<Named>, asked: Slash) -> Result<Done, Fault> {
    let (command, ui) = match asked {
        Slash::Space(command) => (command, None),
        Slash::Ui(command) => (Command::OfUi, Some(command)),
    };
    let done = conversation.space.command(conversation.me.clone(), named, command).await??;
    if let Some(command) = ui.filter(|_| !done.duplicate) {
        conversation.ui.run(command).await?;
    }
    Ok(done)
}

async fn run(door: &Door, named: Option<Named>, command: Command) -> Result<Json<DoneBody>, Fault> {
    let conversation = door.conversation()?;
    let me = conversation.me.clone();
    let Done { receipt, lines, duplicate, .. } = conversation.space.command(me, named, command).await??;
    Ok(Json(DoneBody { ok: true, lines, receipt: Some(receipt_body(&receipt)), duplicate }))
}
