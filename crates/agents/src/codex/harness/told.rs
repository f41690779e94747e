//! What became of orders: whether Codex has the prompt, the answer, the choice, and whether it stops.

use serde_json::Value;
use tokio::time::{Instant, timeout};
use wh_core::space::TurnId;
use wh_core::space::harness::{Deed, Outcome, Report};
use wh_core::space::item::{Level, ToolStatus};
use wh_core::space::question::Answer;
use wh_wire::codex as wire;

use super::super::{TITLE, questions};
use super::{Choice, Done, Live, is_unknown};
use crate::port::{NOT_READING, READING, STOPPING, Unheard};
use crate::rpc::{Reply, RpcError};

impl Live {
    /// The prompt was written, or not.
    pub(super) async fn sent(&mut self, id: TurnId, outcome: Result<Reply, RpcError>) -> Result<(), Unheard> {
        let current = self.turn.as_ref().is_some_and(|turn| turn.id == id);
        match outcome {
            Ok(reply) => {
                self.aside(|_| async move { Done::Turn(id, reply.wait().await) });
                if current { self.delivered().await } else { Ok(()) }
            }
            Err(error) if current => self.end_turn(Outcome::Failed(error.to_string())).await,
            Err(_) => Ok(()),
        }
    }

    pub(super) async fn delivered(&mut self) -> Result<(), Unheard> {
        let Some(turn) = self.turn.as_mut().filter(|turn| !turn.written) else { return Ok(()) };
        turn.written = true;
        let id = turn.id.clone();
        self.tell(Report::Delivered(id)).await?;
        if std::mem::replace(&mut self.spoken, true) { Ok(()) } else { self.tell_kept().await }
    }

    /// Until when the turn has to stop, if somebody wants that.
    pub(super) fn stops_at(&self) -> Option<Instant> {
        self.turn.as_ref()?.interrupted
    }

    /// Codex was told to stop and has not. The turn is over all the same; what it still says of its end is passed over.
    pub(super) async fn overdue(&mut self) -> Result<(), Unheard> {
        let text = format!("{TITLE} was told to stop and has not said within {STOPPING:?} that it has");
        self.tell(Report::Notice(Level::Warning, text)).await?;
        self.taken(Err("it does not say that it stops")).await?;
        let unstopped = self.turn.as_ref().filter(|turn| !turn.replied).map(|turn| turn.id.clone());
        self.unstopped.extend(unstopped);
        self.end_turn(Outcome::Cancelled).await
    }

    /// A turn was taken after nobody waited for it any more: it is not to go on.
    pub(super) fn given_up(&self, id: &TurnId, outcome: Result<Value, RpcError>) {
        let native = outcome.ok().and_then(|reply| wire::Turn::read(&reply["turn"]));
        let Some(native) = native else { return };
        let (id, params) = (id.clone(), wire::interrupt(&self.thread, &native.id));
        self.aside(|peer| async move { Done::Interrupted(id, peer.request("turn/interrupt", params).await.map(drop)) });
    }

    /// Every interrupt of the turn was taken, or was not.
    pub(super) async fn taken(&mut self, outcome: Result<(), &str>) -> Result<(), Unheard> {
        let untaken = self.turn.as_mut().map_or(0, |turn| std::mem::take(&mut turn.untaken));
        for _ in 0..untaken {
            self.tell(Report::Did(Deed::Interrupt, outcome.map_err(str::to_owned))).await?;
        }
        Ok(())
    }

    pub(super) async fn answer(&mut self, key: String, answer: Answer) -> Result<(), Unheard> {
        let asked = questions::parse(&key).and_then(|(number, part)| Some((number, part, self.open.get_mut(&number)?)));
        let Some((number, part, open)) = asked else {
            let why = "the question is not open any more".to_owned();
            return self.tell(Report::Did(Deed::Answer(key), Err(why))).await;
        };
        if let (Some(why), Some((question, _))) = (open.objection(part, &answer), open.parts.get(part)) {
            let question = question.clone();
            self.tell(Report::Notice(Level::Warning, why.clone())).await?;
            self.tell(Report::Did(Deed::Answer(key.clone()), Err(why))).await?;
            return self.tell(Report::Asked { key, question }).await;
        }
        // Codex gets the answers to all parts at once.
        let Some((reply, open)) = open.answer(part, answer).and_then(|reply| Some((reply, self.open.remove(&number)?)))
        else {
            return self.tell(Report::Did(Deed::Answer(key), Ok(()))).await;
        };
        if reply.allows
            && let Some(report) = open.item().and_then(|item| self.items.waits(item, ToolStatus::Running))
        {
            self.tell(report).await?;
        }
        let native = self.turn.as_ref().and_then(|turn| turn.native.as_ref());
        // A refusal takes no words: they are said in the same turn.
        let steer = reply.reason.as_ref().zip(native).map(|(reason, native)| wire::steer(&self.thread, native, reason));
        let done = self.done.clone();
        self.aside(|peer| async move {
            let outcome = match timeout(READING, peer.answer(&open.id, reply.result)).await {
                Ok(Ok(true)) => Ok(()),
                Ok(Ok(false)) => Err("the question is not open any more".to_owned()),
                Ok(Err(error)) => Err(error.to_string()),
                Err(_) => Err(NOT_READING.to_owned()),
            };
            if let Some(params) = steer.filter(|_| outcome.is_ok()) {
                tokio::spawn(async move {
                    let _ = done.send(Done::Steered(peer.request("turn/steer", params).await.map(drop)));
                });
            }
            Done::Answered(key, outcome)
        });
        Ok(())
    }

    /// A model or mode was chosen. Where Codex cannot take it at once it waits for the next turn; where it does not want
    /// it, what was chosen before stands.
    pub(super) async fn chosen(
        &mut self,
        deed: Deed,
        before: Choice,
        outcome: Result<(), RpcError>,
    ) -> Result<(), Unheard> {
        let refused = match outcome {
            Err(error @ RpcError::Refused { .. }) if !is_unknown(&error) => error.to_string(),
            outcome => {
                if let Err(error) = outcome {
                    tracing::debug!(%error, "the choice waits for the next turn");
                }
                return self.tell(Report::Did(deed, Ok(()))).await;
            }
        };
        match &deed {
            Deed::Model(model) if self.choice.model.as_ref() == Some(model) => {
                self.capabilities.model.clone_from(&before.model);
                self.pending.model.clone_from(&before.model);
                self.choice.model = before.model;
            }
            Deed::Mode(mode) if self.choice.mode.is_some_and(|chosen| chosen.id == mode) => {
                self.capabilities.mode = before.mode.map(|mode| mode.id.to_owned());
                (self.pending.mode, self.choice.mode) = (before.mode, before.mode);
            }
            _ => {}
        }
        self.tell(Report::Notice(Level::Warning, refused.clone())).await?;
        self.tell(Report::Ready(self.capabilities.clone())).await?;
        self.tell(Report::Did(deed, Err(refused))).await
    }
}
