//! Converts control messages from the wire types to the types of [`wh_core::gate`].

use wh_core::gate::{ControlMessage, ControlPayload, TextSource};
use wh_core::request::{self, RequestKey};
use wh_wire::socket::{AnswerDecision, ControlAction, ControlContent, ControlKey, ControlRequest};

pub(super) fn message(request: &ControlRequest) -> ControlMessage<'_> {
    let payload = match &request.action {
        ControlAction::Stdin(stdin) => {
            let text = match &stdin.content {
                ControlContent::Inline(text) => TextSource::Inline(text),
                ControlContent::Reference(one) => TextSource::Reference { bytes: one.size_bytes, sha256: &one.sha256 },
            };
            ControlPayload::Text { text, interrupt: stdin.interrupt }
        }
        ControlAction::Interrupt => ControlPayload::Interrupt,
        ControlAction::Answer(answer) => ControlPayload::Answer {
            question: &answer.question_id,
            option: answer.option.as_deref(),
            decision: answer.decision.map(decision),
            text: answer.text.as_deref(),
        },
    };
    ControlMessage { key: key(&request.key), sender: &request.sender, sent_at: &request.sent_at, payload }
}

pub(super) fn key(key: &ControlKey) -> RequestKey {
    RequestKey {
        team: key.team.clone(),
        session: key.session_id.clone(),
        agent: key.agent_id.clone(),
        request: key.request_id.clone(),
    }
}

pub(super) fn decision(decision: AnswerDecision) -> request::Decision {
    match decision {
        AnswerDecision::Approve => request::Decision::Approve,
        AnswerDecision::Reject => request::Decision::Reject,
    }
}
