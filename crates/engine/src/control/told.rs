//! Whether an order has reached its agent, as the order's receipt says.

use std::time::Duration;

use wh_client::Conversation;
use wh_core::request::RequestId;
use wh_wire::socket::ControlResult;

use super::execute::{Came, Outcome, delivered};

/// What came of an order that the space was given, or was not: `words` say that the agent has it. Waits for that as long as
/// `patience`.
pub(super) async fn told(
    given: Result<(), Came>,
    conversation: &Conversation,
    id: &RequestId,
    patience: Duration,
    words: &str,
) -> Outcome {
    if let Err(came) = given {
        return Outcome::Known(came);
    }
    match delivered(conversation, id, Some(patience)).await {
        Some(came) if came.result == ControlResult::Ok => {
            Outcome::Known(Came { detail: Some(words.to_owned()), ..came })
        }
        Some(came) => Outcome::Known(came),
        None => Outcome::Later(conversation.clone(), id.clone()),
    }
}
