//! Carrying a control message out: whether its session can take it, and giving it to the session.

use std::time::Duration;

use tokio::time::Instant;
use wh_client::{Conversation, Session, Surface, Unanswered};
use wh_core::gate::dedupe::Reached;
use wh_core::input::{Gesture, KeyPress};
use wh_core::request::RequestId;
use wh_core::session::{LONGEST_QUEUE, Refusal as TerminalRefusal};
use wh_core::space::command::{Command, Refusal};
use wh_core::space::event::Activity;
use wh_core::space::question::{Answer, Meaning};
use wh_core::space::receipt::{Receipt, Stage};
use wh_core::space::{ItemId, ParticipantId};
use wh_wire::socket::{ControlAction, ControlAnswer, ControlResult, Decision};

use super::told::told;

/// How long a turn that is interrupted for a text may take to end.
const INTERRUPT_PATIENCE: Duration = Duration::from_secs(10);

/// What came of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Came {
    pub result: ControlResult,
    pub detail: Option<String>,
    /// In a word for programs.
    pub error: Option<&'static str>,
    pub reached: Reached,
}

impl Came {
    fn to(result: ControlResult, detail: impl Into<String>, error: Option<&'static str>, reached: Reached) -> Self {
        Self { result, detail: Some(detail.into()), error, reached }
    }

    fn ok(detail: &str) -> Self {
        Self::to(ControlResult::Ok, detail, None, Reached::Perhaps)
    }

    fn nothing(result: ControlResult, detail: impl Into<String>, error: &'static str) -> Self {
        Self::to(result, detail, Some(error), Reached::Nothing)
    }
}

/// What is to be done, once the text behind a reference was read.
#[derive(Debug, Clone)]
pub(super) enum Deed {
    Text { text: String, interrupt: bool },
    Interrupt,
    Answer(ControlAnswer),
}

/// Whether a session can take a message now. What it cannot take has used nothing up. `returning`: if there is none, one may come
/// back that an earlier daemon had.
pub(super) async fn liveness(session: Option<&Session>, returning: bool, action: &ControlAction) -> Result<(), Came> {
    let Some(session) = session else {
        if returning {
            return Err(Came::nothing(ControlResult::Busy, "the session is being brought back", "busy"));
        }
        return Err(Came::nothing(ControlResult::NotFound, "there is no such session", "no_session"));
    };
    if let Some((_, _)) = session.ended() {
        return Err(Came::nothing(ControlResult::NotLive, "the session has ended", "ended"));
    }
    match &session.conversation {
        Some(conversation) => agent_liveness(session, conversation, action).await,
        None => terminal_liveness(session, action).await,
    }
}

async fn agent_liveness(session: &Session, conversation: &Conversation, action: &ControlAction) -> Result<(), Came> {
    let id = ParticipantId::from(session.agent().unwrap_or_default());
    let looked = conversation.space.look(move |state| {
        let one = state.participants.get(&id)?;
        Some((one.session.as_ref().map(|status| status.activity.clone()), one.capabilities.interrupts))
    });
    let gone = || Came::nothing(ControlResult::NotLive, "the session's agent is gone", "ended");
    let (activity, interrupts) = looked.await.map_err(|_| gone())?.ok_or_else(gone)?;
    let busy = |words: &str| Err(Came::nothing(ControlResult::Busy, words, "busy"));
    let works = matches!(activity, Some(Activity::Working(_) | Activity::Waiting(_)));
    match (action, activity) {
        (_, Some(Activity::Gone(_))) => Err(gone()),
        (ControlAction::Interrupt, _) if !interrupts => {
            Err(Came::nothing(ControlResult::Rejected, "this agent cannot be interrupted", "not_supported"))
        }
        (ControlAction::Interrupt, _) if !works => {
            let words = "nothing is under way that could be interrupted";
            Err(Came::nothing(ControlResult::Rejected, words, "nothing_to_interrupt"))
        }
        (ControlAction::Stdin(stdin), _) if works && stdin.interrupt && !interrupts => {
            Err(Came::nothing(ControlResult::Rejected, "this agent cannot be interrupted", "not_supported"))
        }
        (ControlAction::Stdin(stdin), _) if works && !stdin.interrupt => {
            busy("the agent works, and keeps no queue of its own; ask again when it is idle")
        }
        (ControlAction::Stdin(_), Some(Activity::Starting) | None) => busy("the agent is being started"),
        (ControlAction::Stdin(_), Some(Activity::Paused)) => busy("the agent is paused"),
        _ => Ok(()),
    }
}

async fn terminal_liveness(session: &Session, action: &ControlAction) -> Result<(), Came> {
    let gone = || Came::nothing(ControlResult::NotLive, "the session's program has ended", "ended");
    if let ControlAction::Answer(_) = action {
        let words = "a terminal program asks on its screen; its questions have no ids";
        return Err(Came::nothing(ControlResult::Rejected, words, "not_supported"));
    }
    let facts = session.surface.as_ref().ok_or_else(gone)?.facts().await.map_err(|_| gone())?;
    if facts.queued_input > 0 {
        let words = format!("{} bytes wait already for a program that does not read", facts.queued_input);
        return Err(Came::nothing(ControlResult::Busy, words, "busy"));
    }
    Ok(())
}

/// Carries it out. Returns when it is known what came of it, or after `patience`: then what comes later is told to the future
/// that is returned beside it.
pub(super) async fn carry_out(session: &Session, deed: Deed, by: &str, id: &RequestId, patience: Duration) -> Outcome {
    match (&session.conversation, &session.surface) {
        (Some(conversation), _) => {
            let agent = ParticipantId::from(session.agent().unwrap_or_default());
            Agent { conversation, agent, by: ParticipantId::from(by), id }.carry_out(deed, patience).await
        }
        (None, Some(surface)) => Outcome::Known(type_in(surface, deed, id).await),
        (None, None) => Outcome::Known(Came::nothing(ControlResult::NotLive, "the session has ended", "ended")),
    }
}

/// How far it is known.
pub(super) enum Outcome {
    Known(Came),
    /// Not in time: the message is with the space, and whoever waits for its receipt will know.
    Later(Conversation, RequestId),
}

struct Agent<'a> {
    conversation: &'a Conversation,
    agent: ParticipantId,
    by: ParticipantId,
    id: &'a RequestId,
}

impl Agent<'_> {
    async fn command(&self, id: Option<RequestId>, command: Command) -> Result<(), Came> {
        match self.conversation.space.command(self.by.clone(), id, command).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(refusal)) => Err(refused(&refusal)),
            Err(_) => Err(Came::nothing(ControlResult::NotLive, "the session's agent is gone", "ended")),
        }
    }

    async fn carry_out(&self, deed: Deed, patience: Duration) -> Outcome {
        let id = Some(self.id.clone());
        match deed {
            Deed::Text { text, interrupt } => {
                if interrupt && let Err(came) = self.interrupt_first().await {
                    return Outcome::Known(came);
                }
                let command = Command::Deliver { text, to: self.agent.clone() };
                if let Err(mut came) = self.command(id, command).await {
                    // The interrupt was carried out, whatever became of the text.
                    came.reached = if interrupt { Reached::Perhaps } else { came.reached };
                    return Outcome::Known(came);
                }
                match delivered(self.conversation, self.id, Some(patience)).await {
                    Some(came) => Outcome::Known(came),
                    None => Outcome::Later(self.conversation.clone(), self.id.clone()),
                }
            }
            Deed::Interrupt => {
                let given = self.command(id, Command::Interrupt(Some(self.agent.clone()))).await;
                told(given, self.conversation, self.id, patience, "the agent was told to stop").await
            }
            Deed::Answer(answer) => {
                let question = ItemId::from(answer.question_id.as_str());
                let answer = match self.answer(&question, answer).await {
                    Ok(answer) => answer,
                    Err(came) => return Outcome::Known(came),
                };
                let given = self.command(id, Command::Answer { question, answer }).await;
                told(given, self.conversation, self.id, patience, "the agent has the answer").await
            }
        }
    }

    /// Stops the turn that is under way, if one is, and waits for its end.
    async fn interrupt_first(&self) -> Result<(), Came> {
        match self.command(None, Command::Interrupt(Some(self.agent.clone()))).await {
            Err(came) if came.error == Some("nothing_to_interrupt") => return Ok(()),
            Err(came) => return Err(came),
            Ok(()) => {}
        }
        let deadline = Instant::now() + INTERRUPT_PATIENCE;
        let space = &self.conversation.space;
        let gone = || Came::to(ControlResult::NotLive, "the agent is gone", Some("ended"), Reached::Perhaps);
        let mut pulse = space.watch().await.map_err(|_| gone())?.pulse;
        loop {
            pulse.borrow_and_update();
            let id = self.agent.clone();
            let free = space.look(move |state| matches!(state.activity(&id), Some(Activity::Idle))).await;
            if free.map_err(|_| gone())? {
                return Ok(());
            }
            if !matches!(tokio::time::timeout_at(deadline, pulse.changed()).await, Ok(Ok(()))) {
                let words = "the agent was told to stop and has not yet; the text was not sent";
                return Err(Came::to(ControlResult::Busy, words, Some("busy"), Reached::Perhaps));
            }
        }
    }

    /// The answer in the question's own options. A bare yes or no is the option that means it, this once.
    async fn answer(&self, question: &ItemId, answer: ControlAnswer) -> Result<Answer, Came> {
        let Some(decision) = answer.decision.filter(|_| answer.option.is_none()) else {
            return Ok(Answer { option: answer.option, text: answer.text });
        };
        let wanted = match decision {
            Decision::Approve => [Meaning::AllowOnce, Meaning::AllowAlways],
            Decision::Reject => [Meaning::RejectOnce, Meaning::RejectAlways],
        };
        let id = question.clone();
        let looked = self.conversation.space.look(move |state| {
            let item = state.questions().find(|item| item.id == id)?;
            let options = &item.open_question()?.options;
            let found = wanted.iter().find_map(|meaning| options.iter().find(|one| one.meaning == *meaning));
            Some(found.map(|option| option.id.clone()))
        });
        match looked.await {
            Ok(Some(Some(option))) => Ok(Answer { option: Some(option), text: answer.text }),
            Ok(Some(None)) => {
                let words = "the question has no option that means a plain yes or no; choose one of its options";
                Err(Came::nothing(ControlResult::Rejected, words, "wrong_answer"))
            }
            _ => Err(Came::nothing(
                ControlResult::Rejected,
                format!("there is no open question {question:?}", question = question.as_str()),
                "no_question",
            )),
        }
    }
}

/// Waits until a message is with its agent, for so long or for good. `None`: not in time.
pub(super) async fn delivered(conversation: &Conversation, id: &RequestId, patience: Option<Duration>) -> Option<Came> {
    let gone = || not_known("the agent is gone");
    let deadline = patience.map(|patience| Instant::now() + patience);
    let Ok(watched) = conversation.space.watch().await else { return Some(gone()) };
    let mut pulse = watched.pulse;
    loop {
        pulse.borrow_and_update();
        let wanted = id.clone();
        let reached = conversation.space.look(move |state| state.receipts.get(&wanted).map(far)).await;
        match reached {
            Err(_) | Ok(None) => return Some(gone()),
            Ok(Some(Far::Accepted)) => {}
            Ok(Some(Far::Failed(reason))) => return Some(not_known(&reason)),
            Ok(Some(Far::Delivered)) => return Some(Came::ok("the agent has it")),
        }
        let changed = match deadline {
            Some(deadline) => tokio::time::timeout_at(deadline, pulse.changed()).await.ok()?,
            None => pulse.changed().await,
        };
        if changed.is_err() {
            return Some(gone());
        }
    }
}

/// How far a message is, as far as its sender is concerned.
enum Far {
    Accepted,
    Delivered,
    Failed(String),
}

/// What was delivered stays delivered, however soon its turn failed after that.
fn far(receipt: &Receipt) -> Far {
    let delivered = |(stage, _): &(Stage, _)| !matches!(stage, Stage::Accepted | Stage::Failed(_));
    match &receipt.stage {
        _ if receipt.reached.iter().any(delivered) => Far::Delivered,
        Stage::Failed(reason) => Far::Failed(reason.clone()),
        _ => Far::Accepted,
    }
}

/// Something went wrong between the space and the agent: nobody can say on which side of it the message was.
fn not_known(reason: &str) -> Came {
    let words = format!("{reason}; it is not known whether the agent has it");
    Came::to(ControlResult::InternalError, words, Some("not_known"), Reached::Perhaps)
}

/// Types into a terminal. A line break is Enter, as it is at a keyboard.
async fn type_in(surface: &Surface, deed: Deed, id: &RequestId) -> Came {
    let Ok(enter) = "enter".parse::<KeyPress>() else { return not_typed("there is no Enter key") };
    let Ok(ctrl_c) = "ctrl+c".parse::<KeyPress>() else { return not_typed("there is no Ctrl-C") };
    let mut gestures = Vec::new();
    let words = match deed {
        Deed::Answer(_) => return not_typed("a terminal program's questions have no ids"),
        Deed::Interrupt => {
            gestures.push(Gesture::Key(ctrl_c));
            "Ctrl-C was pressed"
        }
        Deed::Text { text, interrupt } => {
            gestures.extend(interrupt.then_some(Gesture::Key(ctrl_c)));
            for (index, line) in text.split('\n').enumerate() {
                if index > 0 {
                    gestures.push(Gesture::Key(enter));
                }
                let line = line.strip_suffix('\r').unwrap_or(line);
                gestures.extend((!line.is_empty()).then(|| Gesture::Text(line.to_owned())));
            }
            "it was typed; what the program made of it is on its screen"
        }
    };
    let bytes: usize = gestures.iter().map(|one| if let Gesture::Text(text) = one { text.len() } else { 1 }).sum();
    if bytes > LONGEST_QUEUE {
        let words = format!("the text has {bytes} bytes; at most {LONGEST_QUEUE} can be typed at once");
        return Came::nothing(ControlResult::Rejected, words, "too_long");
    }
    match surface.type_in(gestures, "control".to_owned(), Some(id.clone())).await {
        Ok(done) if done.delivered => Came::ok(words),
        Ok(_) => Came::to(
            ControlResult::Timeout,
            "it was typed, and waits for a program that does not read now",
            Some("unread"),
            Reached::Perhaps,
        ),
        Err(Unanswered::Refused(TerminalRefusal::QueueFull { .. })) => {
            Came::nothing(ControlResult::Busy, "the program does not read its input, and enough waits for it", "busy")
        }
        Err(Unanswered::Refused(TerminalRefusal::Ended)) | Err(Unanswered::Gone(_)) => {
            Came::nothing(ControlResult::NotLive, "the session's program has ended", "ended")
        }
        Err(Unanswered::Refused(other)) => Came::nothing(ControlResult::Rejected, other.to_string(), "refused"),
    }
}

fn not_typed(words: &str) -> Came {
    Came::nothing(ControlResult::Rejected, words, "not_supported")
}

/// What a space's refusal is at this door. Nothing that it refuses has reached anybody.
fn refused(refusal: &Refusal) -> Came {
    let (result, error) = match refusal {
        Refusal::Busy(_) => (ControlResult::Busy, "busy"),
        Refusal::Gone(_) | Refusal::NobodyThere | Refusal::NoSuchParticipant(_) | Refusal::NotAnAgent(_) => {
            (ControlResult::NotLive, "ended")
        }
        Refusal::NothingToInterrupt => (ControlResult::Rejected, "nothing_to_interrupt"),
        Refusal::NoSuchQuestion(_) => (ControlResult::Rejected, "no_question"),
        Refusal::Closed(..) => (ControlResult::Rejected, "question_closed"),
        Refusal::WrongAnswer(_) => (ControlResult::Rejected, "wrong_answer"),
        Refusal::TooLong(..) => (ControlResult::Rejected, "too_long"),
        Refusal::LedgerFull => (ControlResult::Busy, "too_many_requests"),
        _ => (ControlResult::Rejected, "refused"),
    };
    Came::nothing(result, refusal.to_string(), error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    #[test]
    fn a_message_that_was_delivered_stays_so_when_its_turn_fails() {
        let reached = |stages: &[Stage]| {
            let mut receipt = Receipt::accepted(RequestId::new("r").unwrap(), SystemTime::UNIX_EPOCH);
            for stage in stages {
                assert!(receipt.reach(stage.clone(), SystemTime::UNIX_EPOCH));
            }
            far(&receipt)
        };
        let failed = Stage::Failed("cancelled".to_owned());
        assert!(matches!(reached(&[]), Far::Accepted));
        assert!(matches!(reached(&[Stage::Delivered]), Far::Delivered));
        assert!(matches!(reached(&[Stage::Delivered, failed.clone()]), Far::Delivered));
        assert!(matches!(reached(&[Stage::Started, Stage::Finished]), Far::Delivered));
        assert!(matches!(reached(&[failed]), Far::Failed(reason) if reason == "cancelled"));
    }
}
