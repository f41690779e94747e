//! Executes admitted control messages. Each message is one request to its session, which recognises retries, stores the
//! request and executes it. The wait for the session's answer has a timeout.

use std::time::Duration;

use wh_client::{Conversation, SessionHandle, Surface, SurfaceError};
use wh_core::input::{Gesture, KeyCode, KeyPress, Modifiers};
use wh_core::reason::Reason;
use wh_core::request::FingerprintedId;
use wh_core::session::AnswerTiming;
use wh_core::space::command::ConversationCommand;
use wh_core::space::question::Answer;
use wh_core::space::{ItemId, ParticipantId};
use wh_wire::socket::ControlAnswer;

use super::outcome::ControlOutcome;
use super::translate::decision;

/// Action with its text, which was sent inline or read from the file of `content_ref`.
#[derive(Debug, Clone)]
pub(super) enum ResolvedAction {
    Text { text: String, interrupt: bool },
    Interrupt,
    Answer(ControlAnswer),
}

impl ResolvedAction {
    /// Returns the `detail` of the acknowledgement for a delivered message.
    fn delivered_detail(&self, to_agent: bool) -> &'static str {
        match (self, to_agent) {
            (Self::Text { .. }, true) => "delivered to the agent",
            (Self::Interrupt, true) => "the agent was interrupted",
            (Self::Answer(_), _) => "the answer was delivered to the agent",
            (Self::Text { .. }, false) => "typed into the terminal; see the screen for the effect",
            (Self::Interrupt, false) => "the program was interrupted",
        }
    }
}

/// Passes a message to its session. After `timeout` the session continues to execute the message, and the sender can
/// get the result by a retry with the same request id.
pub(super) async fn execute(
    session: &SessionHandle,
    action: ResolvedAction,
    by: &str,
    request: FingerprintedId,
    timeout: Duration,
) -> ControlOutcome {
    match (&session.conversation, &session.surface) {
        (Some(conversation), _) => {
            let detail = "the agent has not accepted the message yet; retry with the same request_id";
            let given = send_to_agent(session, conversation, action, by, request);
            tokio::time::timeout(timeout, given)
                .await
                .unwrap_or_else(|_| ControlOutcome::timeout(Reason::UnderWay, detail))
        }
        (None, Some(surface)) => {
            let detail = "the program is not reading its input; retry with the same request_id";
            let typed = send_to_terminal(surface, action, request);
            tokio::time::timeout(timeout, typed)
                .await
                .unwrap_or_else(|_| ControlOutcome::timeout(Reason::Unread, detail))
        }
        (None, None) => ControlOutcome::refused(Reason::Ended, "the session has ended"),
    }
}

async fn send_to_agent(
    session: &SessionHandle,
    conversation: &Conversation,
    action: ResolvedAction,
    by: &str,
    request: FingerprintedId,
) -> ControlOutcome {
    let agent = ParticipantId::from(session.agent().unwrap_or_default());
    let detail = action.delivered_detail(true);
    let command = match action {
        ResolvedAction::Text { text, interrupt } => {
            ConversationCommand::Say { text, to: Some(vec![agent]), attachments: Vec::new(), interrupt, literal: true }
        }
        ResolvedAction::Interrupt => ConversationCommand::Interrupt(Some(agent)),
        ResolvedAction::Answer(ControlAnswer { question_id, option, decision: plain, text }) => {
            ConversationCommand::Answer {
                question: ItemId::from(question_id),
                answer: Answer { option, text },
                decision: plain.map(decision),
            }
        }
    };
    match conversation.space.deliver(ParticipantId::from(by), Some(request), command).await {
        Ok(Ok(done)) => ControlOutcome::accepted(&done, detail),
        Ok(Err(refusal)) => ControlOutcome::from(&refusal),
        Err(_) => ControlOutcome::refused(Reason::Ended, "the session's agent has ended"),
    }
}

/// Types the text into the terminal, with the Enter key for each line break, or interrupts the program. Refuses an
/// answer.
async fn send_to_terminal(surface: &Surface, action: ResolvedAction, request: FingerprintedId) -> ControlOutcome {
    let detail = action.delivered_detail(false);
    let (gestures, interrupt) = match action {
        ResolvedAction::Answer(_) => {
            let detail = "a terminal program shows its questions on its screen; answer by sending text";
            return ControlOutcome::refused(Reason::NotSupported, detail);
        }
        ResolvedAction::Interrupt => (Vec::new(), true),
        ResolvedAction::Text { text, interrupt } => (gestures_of(&text), interrupt),
    };
    let answer = match interrupt {
        true => surface.interrupt(gestures, Some(request)).await,
        false => surface.type_in(gestures, Some(request), AnswerTiming::Settled).await,
    };
    match answer {
        Ok(done) => ControlOutcome::typed(done.delivery, done.duplicate, detail),
        Err(SurfaceError::Refused(refusal)) => ControlOutcome::from(&refusal),
        Err(SurfaceError::Gone(_)) => ControlOutcome::refused(Reason::Ended, "the session's program has ended"),
    }
}

fn gestures_of(text: &str) -> Vec<Gesture> {
    let mut gestures = Vec::new();
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            gestures.push(Gesture::Key(KeyPress { key: KeyCode::Enter, modifiers: Modifiers::NONE }));
        }
        let line = line.strip_suffix('\r').unwrap_or(line);
        gestures.extend((!line.is_empty()).then(|| Gesture::Text(line.to_owned())));
    }
    gestures
}
