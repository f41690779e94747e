//! Carrying a control message out: whether its session can take it, and giving it to the session.

use std::time::Duration;

use tokio::task::JoinHandle;
use wh_client::{Conversation, Session, Surface, Unanswered};
use wh_core::gate::Refused;
use wh_core::gate::dedupe::Reached;
use wh_core::input::{Gesture, KeyPress};
use wh_core::request::RequestId;
use wh_core::session::{LONGEST_QUEUE, Refusal as TerminalRefusal};
use wh_core::space::command::{Command, Refusal};
use wh_core::space::event::Activity;
use wh_core::space::question::{Answer, Meaning};
use wh_core::space::receipt::{Receipt, Stage};
use wh_core::space::{ItemId, ParticipantId};
use wh_wire::socket::{ControlAction, ControlAnswer, ControlRequest, ControlResult, Decision};

/// How often it is looked whether a program that did not read has read.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

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
pub(super) async fn liveness(session: Option<&Session>, returning: bool, request: &ControlRequest) -> Result<(), Came> {
    let action = &request.action;
    let Some(session) = session else {
        if returning {
            return Err(Came::nothing(ControlResult::Busy, "the session is being brought back", "busy"));
        }
        let none = Refused::no_session(&request.key);
        return Err(Came::nothing(none.result(), none.to_string(), none.code()));
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

/// Carries it out. Returns when it is known what came of it, or after `patience`: then it goes on, and whoever waits for it will know.
pub(super) async fn carry_out(session: &Session, deed: Deed, by: &str, id: &RequestId, patience: Duration) -> Outcome {
    let id = id.clone();
    let mut work = match (&session.conversation, &session.surface) {
        (Some(conversation), _) => {
            let agent = ParticipantId::from(session.agent().unwrap_or_default());
            let agent = Agent { conversation: conversation.clone(), agent, by: ParticipantId::from(by), id };
            tokio::spawn(async move { agent.carry_out(deed).await.unwrap_or_else(|came| came) })
        }
        (None, Some(surface)) => {
            let surface = surface.clone();
            tokio::spawn(async move { type_in(&surface, deed, &id).await.unwrap_or_else(|came| came) })
        }
        (None, None) => return Outcome::Known(Came::nothing(ControlResult::NotLive, "the session has ended", "ended")),
    };
    match tokio::time::timeout(patience, &mut work).await {
        Ok(done) => Outcome::Known(done.unwrap_or_else(|_| broken())),
        Err(_) => Outcome::Later(work),
    }
}

/// How far it is known.
pub(super) enum Outcome {
    Known(Came),
    /// Not in time: it goes on.
    Later(JoinHandle<Came>),
}

/// It is not known what came of it, because wh itself failed.
pub(super) fn broken() -> Came {
    not_known("wh failed while it carried this out")
}

/// What is said of a message that is still under way.
pub(super) fn under_way(session: &Session) -> (&'static str, &'static str) {
    match session.conversation {
        Some(_) => {
            let words =
                "it is on its way to the agent, which has not taken it yet; ask again under the same request_id";
            (words, "under_way")
        }
        None => {
            let words = "it waits for a program that does not read now; ask again under the same request_id";
            (words, "unread")
        }
    }
}

struct Agent {
    conversation: Conversation,
    agent: ParticipantId,
    by: ParticipantId,
    id: RequestId,
}

impl Agent {
    async fn command(&self, id: Option<RequestId>, command: Command) -> Result<(), Came> {
        match self.conversation.space.command(self.by.clone(), id, command).await {
            Ok(Ok(done)) if done.duplicate => Err(used_elsewhere()),
            Ok(Ok(_)) => Ok(()),
            Ok(Err(refusal)) => Err(refused(&refusal)),
            Err(_) => Err(Came::nothing(ControlResult::NotLive, "the session's agent is gone", "ended")),
        }
    }

    async fn carry_out(&self, deed: Deed) -> Result<Came, Came> {
        let id = Some(self.id.clone());
        let words = match deed {
            Deed::Text { text, interrupt } => {
                self.give(text, interrupt).await?;
                "the agent has it"
            }
            Deed::Interrupt => {
                self.command(id, Command::Interrupt(Some(self.agent.clone()))).await?;
                "the agent was told to stop"
            }
            Deed::Answer(answer) => {
                let question = ItemId::from(answer.question_id.as_str());
                let answer = self.answer(&question, answer).await?;
                self.command(id, Command::Answer { question, answer }).await?;
                "the agent has the answer"
            }
        };
        delivered(&self.conversation, &self.id).await?;
        Ok(Came::ok(words))
    }

    /// Gives the agent a text; what is under way is stopped first, if that is wanted.
    async fn give(&self, text: String, interrupt: bool) -> Result<(), Came> {
        let stopped = interrupt && self.stop().await?;
        loop {
            let command = Command::Deliver { text: text.clone(), to: self.agent.clone() };
            match self.command(Some(self.id.clone()), command).await {
                // Somebody else was faster after the stop: that turn is waited for, and not stopped.
                Err(came) if stopped && came.result == ControlResult::Busy => self.until_idle().await?,
                // The stop was carried out, whatever became of the text.
                Err(came) if stopped => return Err(Came { reached: Reached::Perhaps, ..came }),
                other => return other,
            }
        }
    }

    /// Stops the turn that is under way, if one is, and waits for its end. Whether one was.
    async fn stop(&self) -> Result<bool, Came> {
        match self.command(None, Command::Interrupt(Some(self.agent.clone()))).await {
            Err(came) if came.error == Some("nothing_to_interrupt") => return Ok(false),
            Err(came) => return Err(came),
            Ok(()) => {}
        }
        self.until_idle().await?;
        Ok(true)
    }

    async fn until_idle(&self) -> Result<(), Came> {
        let space = &self.conversation.space;
        let gone = || Came::to(ControlResult::NotLive, "the agent is gone", Some("ended"), Reached::Perhaps);
        let mut pulse = space.watch().await.map_err(|_| gone())?.pulse;
        loop {
            pulse.borrow_and_update();
            let id = self.agent.clone();
            let activity = space.look(move |state| state.activity(&id).cloned()).await;
            match activity.map_err(|_| gone())? {
                Some(Activity::Idle) => return Ok(()),
                None | Some(Activity::Gone(_)) => return Err(gone()),
                Some(_) => {}
            }
            pulse.changed().await.map_err(|_| gone())?;
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

/// Waits until a message is with its agent.
async fn delivered(conversation: &Conversation, id: &RequestId) -> Result<(), Came> {
    let gone = || not_known("the agent is gone");
    let mut pulse = conversation.space.watch().await.map_err(|_| gone())?.pulse;
    loop {
        pulse.borrow_and_update();
        let wanted = id.clone();
        let reached = conversation.space.look(move |state| state.receipts.get(&wanted).map(far)).await;
        match reached {
            Err(_) | Ok(None) => return Err(gone()),
            Ok(Some(Far::Accepted)) => {}
            Ok(Some(Far::Failed(reason))) => return Err(not_known(&reason)),
            Ok(Some(Far::Delivered)) => return Ok(()),
        }
        pulse.changed().await.map_err(|_| gone())?;
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

/// The id is that of something else, which came by another door: nothing was done under it now.
fn used_elsewhere() -> Came {
    let words = "this request_id was used at another door; use another one";
    Came::nothing(ControlResult::Rejected, words, "request_id_reused")
}

/// Something went wrong between the space and the agent: nobody can say on which side of it the message was.
fn not_known(reason: &str) -> Came {
    let words = format!("{reason}; it is not known whether the agent has it");
    Came::to(ControlResult::InternalError, words, Some("not_known"), Reached::Perhaps)
}

/// Types into a terminal. A line break is Enter, as it is at a keyboard.
async fn type_in(surface: &Surface, deed: Deed, id: &RequestId) -> Result<Came, Came> {
    let enter: KeyPress = "enter".parse().map_err(|_| not_typed("there is no Enter key"))?;
    let ctrl_c: KeyPress = "ctrl+c".parse().map_err(|_| not_typed("there is no Ctrl-C"))?;
    let mut gestures = Vec::new();
    let words = match deed {
        Deed::Answer(_) => return Err(not_typed("a terminal program's questions have no ids")),
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
        return Err(Came::nothing(ControlResult::Rejected, words, "too_long"));
    }
    match surface.type_in(gestures, "control".to_owned(), Some(id.clone())).await {
        Ok(done) if done.duplicate => Err(used_elsewhere()),
        Ok(done) => {
            if !done.delivered {
                read(surface, id).await?;
            }
            Ok(Came::ok(words))
        }
        Err(Unanswered::Refused(TerminalRefusal::QueueFull { .. })) => Err(Came::nothing(
            ControlResult::Busy,
            "the program does not read its input, and enough waits for it",
            "busy",
        )),
        Err(Unanswered::Refused(TerminalRefusal::Ended)) | Err(Unanswered::Gone(_)) => {
            Err(Came::nothing(ControlResult::NotLive, "the session's program has ended", "ended"))
        }
        Err(Unanswered::Refused(other)) => Err(Came::nothing(ControlResult::Rejected, other.to_string(), "refused")),
    }
}

/// Waits until the terminal has all of what was typed: its program does not read now, and nobody says when it does.
async fn read(surface: &Surface, id: &RequestId) -> Result<(), Came> {
    let ended = || not_known("the program ended before it had read all of it");
    let mut looks = tokio::time::interval(LOOK_AGAIN);
    loop {
        looks.tick().await;
        match surface.receipt(id.clone()).await {
            Ok(Some(typed)) if typed.delivered.is_some() => return Ok(()),
            Ok(Some(typed)) if !typed.lost => {}
            _ => return Err(ended()),
        }
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
        Refusal::AnotherCommand | Refusal::UsedBefore => (ControlResult::Rejected, "request_id_reused"),
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
