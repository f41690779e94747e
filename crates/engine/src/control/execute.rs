//! Carries admitted control messages out: one request to the session, which decides, stores and recognises retries. Waits for
//! its answer no longer than the sender does.

use std::time::Duration;

use wh_client::{Conversation, Session, Surface, Unanswered};
use wh_core::input::{Gesture, Key, KeyPress, Modifiers};
use wh_core::reason::Reason;
use wh_core::request::Request;
use wh_core::session::AnswerAt;
use wh_core::space::command::Command;
use wh_core::space::question::Answer;
use wh_core::space::{ItemId, ParticipantId};
use wh_wire::socket::ControlAnswer;

use super::translate::decision;
use super::verdict::Verdict;

/// An action with its text resolved (inline or `content_ref`).
#[derive(Debug, Clone)]
pub(super) enum Order {
    Text { text: String, interrupt: bool },
    Interrupt,
    Answer(ControlAnswer),
}

impl Order {
    /// Words for a message that arrived.
    fn done(&self, to_agent: bool) -> &'static str {
        match (self, to_agent) {
            (Self::Text { .. }, true) => "the agent has it",
            (Self::Interrupt, true) => "the agent was told to stop",
            (Self::Answer(_), _) => "the agent has the answer",
            (Self::Text { .. }, false) => "it was typed; what the program made of it is on its screen",
            (Self::Interrupt, false) => "the program was interrupted",
        }
    }
}

/// Gives a message to its session. What takes longer than `patience` goes on, and is asked for under the same id.
pub(super) async fn execute(
    session: &Session,
    order: Order,
    by: &str,
    request: Request,
    patience: Duration,
) -> Verdict {
    match (&session.conversation, &session.surface) {
        (Some(conversation), _) => {
            let words =
                "it is on its way to the agent, which has not taken it yet; ask again under the same request_id";
            let given = agent(session, conversation, order, by, request);
            tokio::time::timeout(patience, given).await.unwrap_or_else(|_| Verdict::timeout(Reason::UnderWay, words))
        }
        (None, Some(surface)) => {
            let words = "it waits for a program that does not read now; ask again under the same request_id";
            let typed = terminal(surface, order, request);
            tokio::time::timeout(patience, typed).await.unwrap_or_else(|_| Verdict::timeout(Reason::Unread, words))
        }
        (None, None) => Verdict::refused(Reason::Ended, "the session has ended"),
    }
}

async fn agent(session: &Session, conversation: &Conversation, order: Order, by: &str, request: Request) -> Verdict {
    let agent = ParticipantId::from(session.agent().unwrap_or_default());
    let words = order.done(true);
    let command = match order {
        Order::Text { text, interrupt } => {
            Command::Say { text, to: Some(vec![agent]), attachments: Vec::new(), interrupt, literal: true }
        }
        Order::Interrupt => Command::Interrupt(Some(agent)),
        Order::Answer(ControlAnswer { question_id, option, decision: plain, text }) => Command::Answer {
            question: ItemId::from(question_id),
            answer: Answer { option, text },
            decision: plain.map(decision),
        },
    };
    match conversation.space.deliver(ParticipantId::from(by), Some(request), command).await {
        Ok(Ok(done)) => Verdict::accepted(&done, words),
        Ok(Err(refusal)) => Verdict::from(&refusal),
        Err(_) => Verdict::refused(Reason::Ended, "the session's agent is gone"),
    }
}

/// A line break is Enter, as it is at a keyboard.
async fn terminal(surface: &Surface, order: Order, request: Request) -> Verdict {
    let words = order.done(false);
    let (gestures, interrupt) = match order {
        Order::Answer(_) => {
            let words = "a terminal program asks on its screen; its questions have no ids";
            return Verdict::refused(Reason::NotSupported, words);
        }
        Order::Interrupt => (Vec::new(), true),
        Order::Text { text, interrupt } => (typed(&text), interrupt),
    };
    let answer = match interrupt {
        true => surface.interrupt(gestures, Some(request)).await,
        false => surface.type_in(gestures, Some(request), AnswerAt::Settled).await,
    };
    match answer {
        Ok(done) => Verdict::typed(done.fate, done.duplicate, words),
        Err(Unanswered::Refused(refusal)) => Verdict::from(&refusal),
        Err(Unanswered::Gone(_)) => Verdict::refused(Reason::Ended, "the session's program has ended"),
    }
}

fn typed(text: &str) -> Vec<Gesture> {
    let mut gestures = Vec::new();
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            gestures.push(Gesture::Key(KeyPress { key: Key::Enter, modifiers: Modifiers::NONE }));
        }
        let line = line.strip_suffix('\r').unwrap_or(line);
        gestures.extend((!line.is_empty()).then(|| Gesture::Text(line.to_owned())));
    }
    gestures
}
