//! Routes for questions, answers, interrupts, slash commands and receipts.

use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use serde_json::json;
use wh_client::Conversation;
use wh_core::caller::GuardedAction;
use wh_core::line::{ComposerLine, LineError};
use wh_core::request::{CommandContent, FingerprintedId};
use wh_core::session::{DeliveryState, TerminalRefusal};
use wh_core::slash::SlashCommand;
use wh_core::space::command::{CommandAccepted, ConversationCommand};
use wh_core::space::question::Answer;
use wh_core::space::{ItemId, ParticipantId};
use wh_wire::control::{AnswerRequest, CommandRequest, DoneBody, InterruptRequest, QuestionsBody, ReceiptBody};

use super::NO_CONVERSATION;
use crate::bodies::{open_questions, receipt_body};
use crate::http::SENDER;
use crate::http::fault::Fault;
use crate::http::input::request_id;
use crate::http::openapi::OperationBuilder;
use crate::http::route::{Route, RouteMethod};
use crate::http::{ApiState, body};
use crate::receipts;

/// Path of a command's receipt.
pub(in crate::http) const RECEIPT_PATH: &str = "/control/receipts/{request_id}";

pub(super) fn routes() -> Vec<Route<ApiState>> {
    vec![
        Route::new(RouteMethod::Get, "/control/questions", questions, "questions", "List open questions.", |it| {
            it.returns::<QuestionsBody>(200, "The open questions, oldest first.").fails(503, NO_CONVERSATION)
        }),
        Route::new(RouteMethod::Post, "/control/answer", answer, "answer", "Answer a question.", |it| {
            done(it.accepts::<AnswerRequest>())
        })
        .admits_to(GuardedAction::Answer),
        Route::new(
            RouteMethod::Post,
            "/control/interrupt",
            interrupt,
            "interrupt",
            "Interrupt the current turn, or send Ctrl-C to a terminal program.",
            |it| {
                done(it.accepts::<InterruptRequest>())
                    .fails(408, "The body did not arrive in time, or the program has not read the interrupt yet.")
            },
        ),
        Route::new(RouteMethod::Post, "/control/command", command, "command", "Run a slash command.", |it| {
            done(it.accepts::<CommandRequest>())
        })
        .admits_to(GuardedAction::Command),
        Route::new(
            RouteMethod::Get,
            RECEIPT_PATH,
            receipt,
            "receipt",
            "Get the receipt of a command. For terminal input the last stage is `delivered`; read the screen to see the effect.",
            |it| {
                it.path_parameter("request_id", json!({"type": "string", "minLength": 1, "maxLength": 128}))
                    .returns::<ReceiptBody>(200, "The receipt.")
                    .fails(400, "Invalid request_id.")
                    .fails(404, "No command with this request_id.")
                    .fails(503, NO_CONVERSATION)
            },
        ),
    ]
}

fn done(it: OperationBuilder<'_>) -> OperationBuilder<'_> {
    it.returns::<DoneBody>(
        200,
        "The command was executed, by this request or by an earlier request with the same request_id.",
    )
    .fails(404, "No such question, participant or command.")
    .fails(408, "The body did not arrive in time.")
    .fails(409, "The command is not possible now, or the request_id belongs to another command; see the detail.")
    .fails(503, NO_CONVERSATION)
}

async fn questions(State(api): State<ApiState>) -> Result<Json<QuestionsBody>, Fault> {
    let Some(conversation) = &api.conversation else { return Ok(Json(QuestionsBody { questions: Vec::new() })) };
    Ok(Json(QuestionsBody { questions: open_questions(conversation).await? }))
}

async fn answer(State(api): State<ApiState>, body: Body) -> Result<Json<DoneBody>, Fault> {
    let body: AnswerRequest = body::json(body).await?;
    let id = request_id(body.request_id.as_deref())?;
    let content = CommandContent::Answer {
        question: &body.id,
        option: body.option.as_deref(),
        decision: None,
        text: body.text.as_deref(),
    };
    let named = id.map(|id| FingerprintedId::new(id, SENDER, &content));
    let answer = Answer { option: body.option, text: body.text };
    run(&api, named, ConversationCommand::Answer { question: ItemId::from(body.id), answer, decision: None }).await
}

async fn interrupt(State(api): State<ApiState>, body: Body) -> Result<Json<DoneBody>, Fault> {
    let body: InterruptRequest = body::json_or_nothing(body).await?;
    let id = request_id(body.request_id.as_deref())?;
    let usual = |one: &String| api.is_default_target(std::slice::from_ref(one));
    let content = CommandContent::Interrupt(body.participant.as_ref().filter(|one| !usual(one)).map(String::as_str));
    let named = id.map(|id| FingerprintedId::new(id, SENDER, &content));
    match api.conversation {
        Some(_) => run(&api, named, ConversationCommand::Interrupt(body.participant.map(ParticipantId::from))).await,
        None => interrupt_program(&api, named).await,
    }
}

/// Timeout for a program to read an interrupt that is sent as input.
const INTERRUPT_READ_TIMEOUT: Duration = Duration::from_millis(1500);

/// Interrupts a terminal program. The interrupt is delivered before input that is still queued.
async fn interrupt_program(api: &ApiState, named: Option<FingerprintedId>) -> Result<Json<DoneBody>, Fault> {
    let id = named.as_ref().map(|named| named.id.clone());
    let interrupted = tokio::time::timeout(INTERRUPT_READ_TIMEOUT, api.surface.interrupt(Vec::new(), named)).await;
    let done = interrupted.map_err(|_| Fault::Unread)??;
    if let DeliveryState::Lost(loss) = done.delivery {
        return Err(TerminalRefusal::from(loss).into());
    }
    if !done.delivered() {
        return Err(Fault::Unread);
    }
    let receipt = match id {
        Some(id) => api.surface.receipt(id).await?.map(|receipt| receipt_body(&receipt)),
        None => None,
    };
    Ok(Json(DoneBody { ok: true, lines: Vec::new(), receipt, duplicate: done.duplicate }))
}

async fn command(State(api): State<ApiState>, body: Body) -> Result<Json<DoneBody>, Fault> {
    let body: CommandRequest = body::json(body).await?;
    let id = request_id(body.request_id.as_deref())?;
    let asked = match ComposerLine::read(&body.command) {
        Ok(ComposerLine::Slash(asked)) => asked,
        Err(error @ LineError::Slash(_)) => return Err(Fault::Line(error)),
        Ok(_) | Err(_) => {
            let hint = "a command begins with a slash, e.g. /help; to send a message use POST /message".to_owned();
            return Err(Fault::Refused("Invalid command", hint));
        }
    };
    let named = id.map(|id| FingerprintedId::new(id, SENDER, &CommandContent::Line(body.command.trim())));
    let CommandAccepted { receipt, lines, duplicate, .. } = run_line(api.conversation()?, named, asked).await?;
    Ok(Json(DoneBody { ok: true, lines, receipt: Some(receipt_body(&receipt)), duplicate }))
}

async fn receipt(State(api): State<ApiState>, Path(id): Path<String>) -> Result<Json<ReceiptBody>, Fault> {
    let id = request_id(Some(&id))?.ok_or(Fault::NoSuchReceipt)?;
    let receipt = receipts::known(api.conversation.as_ref(), &api.surface, id).await?.ok_or(Fault::NoSuchReceipt)?;
    Ok(Json(receipt_body(&receipt)))
}

/// Executes a slash command in the space or in its UI.
pub(super) async fn run_line(
    conversation: &Conversation,
    named: Option<FingerprintedId>,
    asked: SlashCommand,
) -> Result<CommandAccepted, Fault> {
    let (command, ui) = match asked {
        SlashCommand::Space(command) => (command, None),
        SlashCommand::Ui(command) => (ConversationCommand::UiCommand, Some(command)),
    };
    let done = conversation.space.command(conversation.me.clone(), named, command).await??;
    if let Some(command) = ui.filter(|_| !done.duplicate) {
        conversation.ui.run(command).await?;
    }
    Ok(done)
}

async fn run(
    api: &ApiState,
    named: Option<FingerprintedId>,
    command: ConversationCommand,
) -> Result<Json<DoneBody>, Fault> {
    let conversation = api.conversation()?;
    let me = conversation.me.clone();
    let CommandAccepted { receipt, lines, duplicate, .. } = conversation.space.command(me, named, command).await??;
    Ok(Json(DoneBody { ok: true, lines, receipt: Some(receipt_body(&receipt)), duplicate }))
}
