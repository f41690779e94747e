//! From the start to the end: one process after the other, the loop, and what follows when one is gone.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;
use tokio::sync::mpsc;
use tracing::debug;
use wh_core::space::harness::{Order, Outcome, Report};
use wh_core::space::item::Level;
use wh_pipe::{Closed, Exit, Launch};
use wh_wire::acp;

use super::super::table::Entry;
use super::setup::{self, Failed, Session};
use super::{Done, Live, Memory, Next, Unheard};
use crate::meanwhile::{meanwhile, moment};
use crate::port::{Inside, Reports, Start};
use crate::rpc::{Incoming, RpcError};

/// How a process came to its end.
enum End {
    /// We were told to.
    Asked,
    /// It went by itself.
    Lost(Closed),
    /// A new conversation was asked for, by the call of this number.
    Anew(u64),
}

/// What the loop hears.
enum Heard {
    Order(Option<Order>),
    Incoming(Option<Incoming>),
    Done(Done),
    /// The turn should have stopped by now.
    Overdue,
}

/// Runs until it is told to end or cannot go on.
pub(in super::super) async fn run(entry: Arc<Entry>, launch: Launch, start: Start, inside: Inside) {
    let reports = inside.reports.clone();
    // If nobody hears it, nobody wants to know why either.
    let why = live(entry, &launch, start, inside).await.unwrap_or_default();
    let _ = reports.send(Report::Gone(why)).await;
}

/// One process after the other. Why it cannot go on comes back, if that was not asked for.
async fn live(
    entry: Arc<Entry>,
    launch: &Launch,
    mut start: Start,
    mut inside: Inside,
) -> Result<Option<String>, Unheard> {
    let mut kept = VecDeque::new();
    let mut memory = Memory { begun: start.resume.as_ref().and(start.begun), ..Memory::default() };
    let mut anew = None;
    loop {
        let session = match connect(entry.clone(), launch, &start, &mut memory, &mut inside, &mut kept).await {
            None => return Ok(None),
            Some(Ok(session)) => session,
            Some(Err(Failed::Altogether(why))) => return Ok(Some(start.discreet(&why))),
            // Whoever named the conversation wants that one and no other.
            Some(Err(Failed::Conversation(why))) if memory.session.is_none() => {
                return Ok(Some(start.discreet(&why)));
            }
            Some(Err(Failed::Conversation(why))) => {
                let text = format!("the conversation is lost: {why}; a new one begins");
                inside.reports.send(Report::Notice(Level::Error, text)).await?;
                inside.reports.send(Report::Kept(None)).await?;
                memory.session = None;
                start.resume = None;
                continue;
            }
        };
        let (done, mut came) = mpsc::unbounded_channel();
        let (mut live, heard) = Live::new(entry.clone(), &start, session, &inside.reports, done, &mut memory);
        let end = match live.greet(heard, anew.take()).await? {
            Some(closed) => End::Lost(closed),
            None => live.serve(&mut inside.orders, &mut kept, &mut came).await?,
        };
        match end {
            End::Asked => {
                live.wind_up().await;
                return Ok(None);
            }
            End::Anew(call) => {
                live.end_turn(Outcome::Cancelled).await?;
                live.wind_up().await;
                (memory.session, start.resume, anew) = (None, None, Some(call));
            }
            End::Lost(closed) => {
                let gone = format!("{} is gone: {}", entry.title, closed.reason());
                // Of one that ended before anything was said to it, the next would end the same way.
                if !live.prompted {
                    return Ok(Some(closed.reason()));
                }
                live.end_turn(Outcome::Failed(gone.clone())).await?;
                let which = if live.lasts { "in the same conversation" } else { "in a new conversation" };
                let text = format!("{gone}; the next message starts it again, {which}");
                live.tell(Report::Notice(Level::Error, text)).await?;
                drop(live);
                start.resume = None;
                if kept.is_empty() {
                    match inside.orders.recv().await {
                        None | Some(Order::End) => return Ok(None),
                        Some(order) => kept.push_back(order),
                    }
                }
            }
        }
    }
}

/// Waits where an agent would lose a conversation that it is told too early to go on with.
async fn settle(entry: &Entry, start: &Start, memory: &Memory, reports: &Reports) {
    let goes_on = memory.session.is_some() || start.resume.is_some();
    let Some(begun) = memory.begun.filter(|_| entry.quirks.kept_by_minute && goes_on) else {
        return;
    };
    let wait = rest_of_minute(begun, SystemTime::now());
    if !wait.is_zero() {
        let text = format!("{} can go on with the conversation in {} s", entry.title, wait.as_secs().max(1));
        // Whoever does not hear it is seen to where it is waited for.
        let _ = reports.send(Report::Notice(Level::Info, text)).await;
        tokio::time::sleep(wait).await;
    }
}

/// How long the minute of `begun` still is.
fn rest_of_minute(begun: SystemTime, now: SystemTime) -> Duration {
    let since = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let end = Duration::from_secs((since(begun).as_secs() / 60 + 1) * 60);
    end.saturating_sub(since(now)).min(Duration::from_secs(60))
}

/// Shakes hands; orders that come meanwhile are kept. `None`: it was told to end before.
async fn connect(
    entry: Arc<Entry>,
    launch: &Launch,
    start: &Start,
    memory: &mut Memory,
    inside: &mut Inside,
    kept: &mut VecDeque<Order>,
) -> Option<Result<Session, Failed>> {
    let reports = inside.reports.clone();
    let connecting = async {
        settle(&entry, start, memory, &reports).await;
        setup::session(entry, launch, start, memory).await
    };
    tokio::pin!(connecting);
    loop {
        tokio::select! {
            connected = &mut connecting => return Some(connected),
            order = inside.orders.recv() => match order {
                None | Some(Order::End) => return None,
                Some(order) => kept.push_back(order),
            },
            () = inside.reports.closed() => return None,
        }
    }
}

/// An error in words, with what to do about it where that is known.
pub(super) fn said(entry: &Entry, error: &RpcError) -> String {
    let RpcError::Refused { code, message, data } = error else { return error.to_string() };
    let more = data.as_ref().and_then(|data| match data {
        Value::String(text) => Some(text.as_str()),
        data => ["details", "message", "error"].iter().find_map(|name| data[*name].as_str()),
    });
    let text = match more.filter(|more| !more.is_empty() && !message.contains(more)) {
        Some(more) => format!("{message}: {more}"),
        None => message.clone(),
    };
    if *code == acp::AUTH_REQUIRED { format!("{text}; {}", entry.log_in) } else { text }
}

impl<'a> Live<'a> {
    fn new(
        entry: Arc<Entry>,
        start: &Start,
        session: Session,
        reports: &Reports,
        done: mpsc::UnboundedSender<Done>,
        memory: &'a mut Memory,
    ) -> (Self, Greeting) {
        let greeting = Greeting { heard: session.heard, left: session.left };
        let live = Self {
            entry,
            may_skip: start.may_skip_permissions,
            peer: session.peer,
            events: session.events,
            reports: reports.clone(),
            done,
            memory,
            session: session.id,
            lasts: setup::lasts(&session.hello),
            version: session.hello.agent_info.and_then(|info| info.version),
            settings: session.settings,
            commands: Vec::new(),
            replays: session.old,
            prompted: false,
            turn: None,
            astray: false,
            open: Vec::new(),
        };
        (live, greeting)
    }

    /// Says that it can be used, and what was heard on the way here: its end, perhaps.
    async fn greet(&mut self, greeting: Greeting, anew: Option<u64>) -> Result<Option<Closed>, Unheard> {
        self.ready().await?;
        if self.replays || anew.is_some() {
            self.tell_kept(self.replays).await?;
        }
        if let Some(call) = anew {
            self.tell(Report::Called(call, Ok(Value::Null))).await?;
        }
        if let Some(mode) = greeting.left {
            let title = &self.entry.title;
            let text = format!("{title} was in its mode {mode:?}, which skips permissions, and is not any more");
            self.warn(format!("{text}; {}", super::super::ALLOW)).await?;
        }
        for incoming in greeting.heard {
            match incoming {
                Incoming::Closed(closed) => return Ok(Some(closed)),
                incoming => self.incoming(incoming).await?,
            }
        }
        Ok(None)
    }

    /// Hears orders and the agent until one of them is the last.
    async fn serve(
        &mut self,
        orders: &mut mpsc::Receiver<Order>,
        kept: &mut VecDeque<Order>,
        came: &mut mpsc::UnboundedReceiver<Done>,
    ) -> Result<End, Unheard> {
        loop {
            let stops_at = self.stops_at();
            let heard = match kept.pop_front() {
                Some(order) => Heard::Order(Some(order)),
                None => tokio::select! {
                    order = orders.recv() => Heard::Order(order),
                    incoming = self.events.next() => Heard::Incoming(incoming),
                    Some(done) = came.recv() => Heard::Done(done),
                    () = moment(stops_at) => Heard::Overdue,
                    () = self.reports.closed() => return Err(Unheard),
                },
            };
            match heard {
                Heard::Order(None) => return Ok(End::Asked),
                Heard::Order(Some(order)) => {
                    // A prompt for one that is gone is for the next.
                    if matches!(order, Order::Prompt { .. })
                        && let Some(closed) = self.catch_up().await?
                    {
                        kept.push_front(order);
                        return Ok(End::Lost(closed));
                    }
                    match self.order(order).await? {
                        Next::On => {}
                        Next::End => return Ok(End::Asked),
                        Next::Anew(call) => return Ok(End::Anew(call)),
                    }
                }
                Heard::Incoming(Some(Incoming::Closed(closed))) => return Ok(End::Lost(closed)),
                Heard::Incoming(Some(incoming)) => match meanwhile(self.incoming(incoming), orders, kept).await {
                    Some(heard) => heard?,
                    None => return Ok(End::Asked),
                },
                Heard::Overdue => self.overdue().await?,
                Heard::Incoming(None) => {
                    return Ok(End::Lost(Closed { exit: Exit::Unknown, asked: false, stderr: String::new() }));
                }
                Heard::Done(done) => {
                    // What was said before an answer comes before it.
                    let closed = self.catch_up().await?;
                    self.done(done).await?;
                    if let Some(closed) = closed {
                        return Ok(End::Lost(closed));
                    }
                }
            }
        }
    }

    /// Hears all that is here already.
    async fn catch_up(&mut self) -> Result<Option<Closed>, Unheard> {
        while let Some(incoming) = self.events.waiting() {
            match incoming {
                Incoming::Closed(closed) => return Ok(Some(closed)),
                incoming => self.incoming(incoming).await?,
            }
        }
        Ok(None)
    }

    /// Lets it end, and passes on what it still has to say.
    async fn wind_up(&mut self) {
        self.peer.close();
        while let Some(incoming) = self.events.next().await {
            if let Incoming::Closed(closed) = incoming {
                debug!(exit = %closed.exit, agent = self.entry.id, "it has ended");
                return;
            }
            if self.incoming(incoming).await.is_err() {
                debug!("nobody hears what it still says");
            }
        }
    }
}

/// What there is to say once it can be used.
struct Greeting {
    heard: Vec<Incoming>,
    left: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_of_a_minute_is_waited_for_once() {
        let at = |seconds: u64| UNIX_EPOCH + Duration::from_secs(seconds);
        assert_eq!(rest_of_minute(at(65), at(70)), Duration::from_secs(50));
        assert_eq!(rest_of_minute(at(65), at(120)), Duration::ZERO);
        assert_eq!(rest_of_minute(at(65), at(500)), Duration::ZERO);
        assert_eq!(rest_of_minute(at(6500), at(0)), Duration::from_secs(60), "a clock may have been set back");
    }
}
