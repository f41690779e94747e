//! One driver for all agents that are programs behind pipes. It connects, keeps orders while it does, writes frames in their
//! order, watches deadlines, and starts the agent again after a loss. The decisions are `machine.rs`'s, the
//! agent's words its [protocol's](Protocol); only here time passes and bytes move.

mod machine;
mod outbox;
mod protocol;
mod questions;
mod turn;
mod words;

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use tracing::debug;
use wh_core::space::ItemId;
use wh_core::space::harness::{Deed, Order, Outcome, Report};
use wh_core::space::item::Level;
use wh_pipe::link::{Codec, Events, Inbound, Link};
use wh_pipe::{Closed, Exit};

use crate::port::{Inside, Reports, Unheard};
use machine::{Flow, Machine};
use outbox::{Left, Outbox, Outcome as Written, Purpose};
pub use protocol::{
    Connect, ConnectError, Connected, Failure, FrameOf, MessageOf, Now, Protocol, Setting, Step, Steps,
};
use turn::Turns;
#[cfg(test)]
pub(crate) use turn::{INTERRUPT_GRACE, NOT_READING};

/// Orders that are kept while the agent connects, or reports or frames wait. Beyond that they wait in their channel, until
/// whoever gives them takes the agent to be gone.
const MAX_KEPT_ORDERS: usize = 64;

/// Calls beside the conversation that may run at once. Beyond that orders are kept.
const MAX_ASIDES: usize = 64;

/// Timeout of a request other than a prompt.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// Timeout of a choice of model or mode: shorter than the space waits for its outcome, so that a late one cannot be taken
/// for that of the next.
const CHOICE_TIMEOUT: Duration = Duration::from_secs(20);

/// Time for an interrupt to be written when the agent is to end anyway.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// Reports that may wait while an agent ends. Beyond that its last words are not read.
const MAX_UNSENT_REPORTS: usize = 256;

/// Processes in a row that may be killed before anything was handed over to them.
const MAX_FRUITLESS_STARTS: usize = 2;

/// End of a process.
enum End {
    /// It was ordered.
    Asked,
    /// The agent ended by itself.
    Lost(Closed),
    /// A new conversation was ordered, by the call of this number.
    Restart(u64),
    /// Another process is to resume the conversation.
    Reconnect,
    /// The agent cannot be used any more, for this reason.
    Fatal(String),
}

/// Runs an agent until it is told to end or cannot be used any more. `may_skip`: modes without permissions are allowed.
pub async fn run<P: Connect>(protocol: P, may_skip: bool, inside: Inside) {
    let Inside { orders, reports, leash } = inside;
    let machine = Machine::new(protocol, may_skip);
    let (kept, unsent) = (VecDeque::new(), VecDeque::new());
    let mut driver = Driver { machine, orders, reports: reports.clone(), kept, unsent };
    // If nobody hears it, nobody wants to know why either.
    let why = driver.live().await.unwrap_or_default();
    let why = why.map(|why| words::presentable(&driver.machine.protocol.discreet(&why)));
    // A connection attempt that was given up ends its process in the background.
    drop(driver);
    leash.ended().await;
    let _ = reports.send(Report::Gone(why)).await;
}

struct Driver<P: Protocol> {
    machine: Machine<P>,
    orders: mpsc::Receiver<Order>,
    reports: Reports,
    /// Orders that were taken and not yet carried out.
    kept: VecDeque<Order>,
    /// Reports that wait for room.
    unsent: VecDeque<Report>,
}

/// Requests that wait for their reply, by id, with the time at which they have waited too long.
type Awaited<P> = HashMap<<<P as Protocol>::Codec as Codec>::Id, (Purpose<P>, Option<Instant>)>;

/// One process of the agent.
struct Process<P: Protocol> {
    link: Link<P::Codec>,
    events: Events<P::Codec>,
    outbox: Outbox<P>,
    awaited: Awaited<P>,
    asides: JoinSet<(u64, Result<Value, String>)>,
    /// Something was written to it since the handshake.
    handed_over: bool,
}

/// An input of the loop.
enum Input<P: Protocol> {
    Order(Option<Order>),
    Event(Option<Inbound<P::Codec>>),
    Left(Left<P>),
    Called(u64, Result<Value, String>),
    Tick,
}

/// Something else ended a wait.
enum Broken {
    /// The agent is told to end.
    Asked,
    Unheard,
}

impl From<Unheard> for Broken {
    fn from(_: Unheard) -> Self {
        Self::Unheard
    }
}

impl<P: Connect> Driver<P> {
    /// One process after the other. The reason comes back why there is no next one, unless that was ordered.
    async fn live(&mut self) -> Result<Option<String>, Unheard> {
        let (mut restart, mut fruitless, mut resumes) = (None, 0, false);
        loop {
            let connected = match self.connect().await {
                Ok(connected) => connected,
                Err(Broken::Asked) => return Ok(None),
                Err(Broken::Unheard) => return Err(Unheard),
            };
            let connected = match connected {
                Ok(connected) => connected,
                Err(ConnectError::Unheard) => return Err(Unheard),
                // Whoever named the conversation wants that one and no other.
                Err(ConnectError::ConversationLost(why)) if resumes => {
                    let why = words::presentable(&self.machine.protocol.discreet(&why));
                    let has_context = self.machine.protocol.replace_conversation();
                    let context = if has_context { ", with the text of this one as context" } else { "" };
                    let lost = format!("the conversation is lost: it could not be resumed ({why})");
                    let text = format!("{lost}; a new one begins{context}");
                    self.reports.send(Report::Notice(Level::Error, text)).await?;
                    self.reports.send(Report::Kept(None)).await?;
                    resumes = false;
                    continue;
                }
                Err(ConnectError::Fatal(why) | ConnectError::ConversationLost(why)) => {
                    return Ok(Some(why));
                }
            };
            let Connected { link, events, greeting, doubt } = connected;
            let mut process = Process {
                link,
                events,
                outbox: Outbox::new(),
                awaited: HashMap::new(),
                asides: JoinSet::new(),
                handed_over: false,
            };
            self.machine.connected(greeting, doubt, restart.take(), Instant::now());
            let end = match self.serve(&mut process).await {
                Ok(end) => end,
                Err(Broken::Asked) => End::Asked,
                Err(Broken::Unheard) => return Err(Unheard),
            };
            match end {
                End::Asked => {
                    self.machine.stop();
                    self.wind_down(process, true).await;
                    return Ok(None);
                }
                End::Restart(call) => {
                    self.machine.abandon(process.drain(), "a new conversation was begun", Instant::now());
                    self.wind_down(process, false).await;
                    self.machine.protocol.forget();
                    (restart, resumes) = (Some(call), false);
                }
                End::Reconnect => {
                    self.machine.replaced(process.drain(), "the agent is started again");
                    self.wind_down(process, false).await;
                    resumes = true;
                }
                End::Fatal(why) => {
                    self.machine.stop();
                    self.wind_down(process, true).await;
                    return Ok(Some(why));
                }
                End::Lost(closed) => {
                    fruitless = if process.handed_over { 0 } else { fruitless + 1 };
                    let reason = closed.reason();
                    // Of one that ends by itself before anything was said to it, the next would end the same way.
                    let by_itself = !matches!(closed.exit, Exit::Signal(_)) && fruitless > 0;
                    if by_itself || fruitless > MAX_FRUITLESS_STARTS {
                        return Ok(Some(reason));
                    }
                    resumes = self.lost(process, &reason).await?;
                    if !self.wait_for_work().await? {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// Connects; orders that come meanwhile are kept.
    async fn connect(&mut self) -> Result<Result<Connected<P>, ConnectError>, Broken> {
        let Self { machine: Machine { protocol, turns, .. }, orders, reports, kept, .. } = self;
        let connecting = protocol.connect(reports);
        tokio::pin!(connecting);
        loop {
            tokio::select! {
                connected = &mut connecting => return Ok(connected),
                order = orders.recv(), if kept.len() < MAX_KEPT_ORDERS => match order {
                    None | Some(Order::End) => return Err(Broken::Asked),
                    // What waits for the agent to be ready need not wait to be cancelled.
                    Some(Order::Interrupt) => cancel_waiting(turns, kept, reports).await?,
                    Some(order) => kept.push_back(order),
                },
                () = reports.closed() => return Err(Broken::Unheard),
            }
        }
    }

    /// Takes orders and events until one of them is the last.
    async fn serve(&mut self, process: &mut Process<P>) -> Result<End, Broken> {
        loop {
            if let Some(end) = self.carry_out(process).await? {
                return Ok(end);
            }
            let deadline = process.awaited.values().filter_map(|(_, deadline)| *deadline).min();
            let deadline = deadline.into_iter().chain(self.machine.deadline(Instant::now())).min();
            let has_room = !process.outbox.is_full();
            let kept = if has_room { self.kept.pop_front() } else { None };
            let input = match kept {
                Some(order) => Input::Order(Some(order)),
                None => {
                    let Process { link, events, outbox, asides, .. } = process;
                    let keeps_orders = self.kept.len() < MAX_KEPT_ORDERS;
                    tokio::select! {
                        order = self.orders.recv(), if has_room || keeps_orders => match order {
                            // An agent that does not read can still be ended.
                            Some(order) if !has_room && order != Order::End => {
                                self.kept.push_back(order);
                                continue;
                            }
                            order => Input::Order(order),
                        },
                        event = events.next(), if has_room => Input::Event(event),
                        left = outbox.next(link) => Input::Left(left),
                        Some(done) = asides.join_next() => match done {
                            Ok((id, outcome)) => Input::Called(id, outcome),
                            Err(error) => {
                                debug!(%error, "a call has ended without an outcome");
                                continue;
                            }
                        },
                        () = until(deadline) => Input::Tick,
                        () = self.reports.closed() => return Err(Broken::Unheard),
                    }
                }
            };
            let at = Instant::now();
            match input {
                Input::Order(None) => return Ok(End::Asked),
                Input::Order(Some(order)) => match self.machine.order(order, at) {
                    Flow::Continue => {}
                    Flow::End => return Ok(End::Asked),
                    Flow::Restart(call) => return Ok(End::Restart(call)),
                },
                Input::Event(Some(Inbound::Closed(closed))) => {
                    // A prompt that was written to the end is handed over, whichever is seen first.
                    if let Some(left) = process.outbox.take_written() {
                        self.left(left, process, at);
                    }
                    return Ok(End::Lost(closed));
                }
                Input::Event(None) => {
                    return Ok(End::Lost(Closed { exit: Exit::Unknown, asked: false, stderr: String::new() }));
                }
                Input::Event(Some(event)) => self.event(event, process, at),
                Input::Left(left) => self.left(left, process, at),
                Input::Called(id, outcome) => self.machine.called(id, outcome),
                Input::Tick => {
                    for id in expired(&process.awaited, at) {
                        if let Some((purpose, _)) = process.awaited.remove(&id) {
                            self.machine.replied(purpose, Err(Failure::Timeout), at);
                        }
                    }
                    self.machine.tick(at);
                }
            }
        }
    }

    fn event(&mut self, event: Inbound<P::Codec>, process: &mut Process<P>, at: Instant) {
        let Inbound::Reply(id, reply) = event else { return self.machine.event(event, at) };
        let purpose = match process.awaited.remove(&id) {
            Some((purpose, _)) => purpose,
            None => match process.outbox.take_early(&id) {
                Some(purpose) => {
                    process.handed_over = true;
                    self.machine.left(&purpose, &Written::Written, at);
                    purpose
                }
                None => return,
            },
        };
        self.machine.replied(purpose, reply.map_err(Failure::Refused), at);
    }

    fn left(&mut self, left: Left<P>, process: &mut Process<P>, at: Instant) {
        let Left { purpose, id, outcome } = left;
        process.handed_over |= outcome == Written::Written;
        self.machine.left(&purpose, &outcome, at);
        match (outcome, id) {
            (Written::Written, Some(id)) => {
                let deadline = match purpose {
                    // A prompt may take any time.
                    Purpose::Prompt(_) => None,
                    Purpose::Choice { .. } => Some(at + CHOICE_TIMEOUT),
                    _ => Some(at + REQUEST_TIMEOUT),
                };
                process.awaited.insert(id, (purpose, deadline));
            }
            (Written::NotReading, _) => self.machine.replied(purpose, Err(Failure::NotReading), at),
            (Written::Unwritable(why), _) => self.machine.replied(purpose, Err(Failure::Gone(why)), at),
            // The end of the process follows, and settles it. One that has closed its input is ended.
            (Written::Gone(why), _) => {
                debug!(why, "a frame was not written");
                process.link.close();
                if let Purpose::Choice { ordered: true, .. } = purpose {
                    self.machine.replied(purpose, Err(Failure::Gone(why)), at);
                }
            }
            (Written::Written | Written::NotOpen, _) => {}
        }
    }

    /// Queues frames, starts calls, and sends reports. While reports wait, orders are kept. An end comes back if the
    /// process is not to go on.
    async fn carry_out(&mut self, process: &mut Process<P>) -> Result<Option<End>, Broken> {
        let output = self.machine.take();
        let at = Instant::now();
        for (frame, purpose) in output.frames {
            process.outbox.push(frame, purpose, at);
        }
        for turn in output.discards {
            process.outbox.discard(&turn);
        }
        self.unsent.extend(output.reports);
        for (id, work) in output.asides {
            if process.asides.len() < MAX_ASIDES {
                process.asides.spawn(async move { (id, work.await) });
            } else {
                self.machine.called(id, Err("too many calls are under way".to_owned()));
            }
        }
        self.unsent.extend(self.machine.take().reports);
        let Self { orders, reports, kept, unsent, .. } = self;
        let telling = tell(unsent, reports);
        tokio::pin!(telling);
        loop {
            tokio::select! {
                // What takes no time is done before anything else is taken.
                biased;
                told = &mut telling => {
                    told?;
                    let end = output.fatal.map(End::Fatal);
                    return Ok(end.or(output.reconnects.then_some(End::Reconnect)));
                }
                order = orders.recv(), if kept.len() < MAX_KEPT_ORDERS => match order {
                    None | Some(Order::End) => return Err(Broken::Asked),
                    Some(order) => kept.push_back(order),
                },
            }
        }
    }

    /// Settles everything that a process has left, and says so. True if the next one resumes the conversation.
    async fn lost(&mut self, mut process: Process<P>, reason: &str) -> Result<bool, Unheard> {
        let title = self.machine.protocol.title().to_owned();
        let gone = format!("{title} is gone: {reason}");
        let unsent = self.machine.lost(&gone, process.drain(), Instant::now());
        let resumes = self.machine.protocol.lost();
        let again = if unsent.is_empty() && self.kept.is_empty() {
            "the next message starts it again"
        } else {
            "it is started again"
        };
        let place = if resumes { "in the same conversation" } else { "in a new conversation" };
        let text = words::presentable(&self.machine.protocol.discreet(&format!("{gone}; {again}, {place}")));
        self.unsent.extend(self.machine.take().reports);
        self.unsent.push_back(Report::Notice(Level::Error, text));
        tell(&mut self.unsent, &self.reports).await?;
        for prompt in unsent.into_iter().rev() {
            // The message that it was is known from before.
            let order =
                Order::Prompt { turn: prompt.turn, item: ItemId::from(""), text: prompt.text, attachments: Vec::new() };
            self.kept.push_front(order);
        }
        Ok(resumes)
    }

    /// Waits for an order that needs the agent. False: it is told to end.
    async fn wait_for_work(&mut self) -> Result<bool, Unheard> {
        let gone = format!("{} is gone", self.machine.protocol.title());
        let mut kept = std::mem::take(&mut self.kept);
        loop {
            let order = match kept.pop_front() {
                Some(order) => Some(order),
                None if !self.kept.is_empty() => return Ok(true),
                None => tokio::select! {
                    order = self.orders.recv() => order,
                    () = self.reports.closed() => return Err(Unheard),
                },
            };
            match order {
                None | Some(Order::End) => return Ok(false),
                // What these are about went with the process.
                Some(Order::Interrupt) => {
                    cancel_waiting(&mut self.machine.turns, &mut self.kept, &self.reports).await?;
                }
                Some(Order::Answer { question, .. }) => {
                    self.reports.send(Report::Did(Deed::Answer(question), Err(gone.clone()))).await?;
                }
                Some(order) => self.kept.push_back(order),
            }
        }
    }

    /// Lets the agent end, and waits until nothing of it is left. Of what waits to be written only an interrupt is written.
    /// `hears`: its last words belong to the conversation.
    async fn wind_down(&mut self, mut process: Process<P>, hears: bool) {
        process.drain();
        let output = self.machine.take();
        self.unsent.extend(output.reports);
        for (frame, purpose) in output.frames {
            process.outbox.push(frame, purpose, Instant::now());
        }
        let Process { link, outbox, .. } = &mut process;
        let writing = async {
            while !outbox.is_empty() {
                outbox.next(link).await;
            }
        };
        let written = tokio::time::timeout(STOP_TIMEOUT, writing).await;
        debug!(written = written.is_ok(), "told to stop before the end");
        process.link.close();
        loop {
            let (may_hear, may_tell) = (self.unsent.len() < MAX_UNSENT_REPORTS, !self.unsent.is_empty());
            tokio::select! {
                event = process.events.next(), if may_hear => match event {
                    None | Some(Inbound::Closed(_)) => break,
                    Some(event) if hears => {
                        self.event(event, &mut process, Instant::now());
                        self.unsent.extend(self.machine.take().reports);
                    }
                    Some(_) => {}
                },
                told = tell(&mut self.unsent, &self.reports), if may_tell => if told.is_err() {
                    self.unsent.clear();
                },
            }
        }
        if tell(&mut self.unsent, &self.reports).await.is_err() {
            debug!("nobody hears what it still says");
        }
    }
}

impl<P: Protocol> Process<P> {
    /// Takes everything that is not written or not answered yet.
    fn drain(&mut self) -> Vec<Purpose<P>> {
        let awaited = self.awaited.drain().map(|(_, (purpose, _))| purpose);
        self.outbox.drain().into_iter().chain(awaited).collect()
    }
}

/// Sends reports as there is room. Cancel safe up to the report that is being sent.
async fn tell(unsent: &mut VecDeque<Report>, reports: &Reports) -> Result<(), Unheard> {
    while !unsent.is_empty() {
        reports.room().await?;
        if let Some(report) = unsent.pop_front() {
            reports.send(report).await?;
        }
    }
    Ok(())
}

/// Cancels the prompts that wait for a process, and settles the order for that.
async fn cancel_waiting(turns: &mut Turns, kept: &mut VecDeque<Order>, reports: &Reports) -> Result<(), Unheard> {
    for report in turns.cancel_waiting() {
        reports.send(report).await?;
    }
    for order in std::mem::take(kept) {
        match order {
            Order::Prompt { turn, .. } => reports.send(Report::Ended(turn, Outcome::Cancelled)).await?,
            other => kept.push_back(other),
        }
    }
    reports.send(Report::Did(Deed::Interrupt, Ok(()))).await
}

fn expired<I: Clone, T>(awaited: &HashMap<I, (T, Option<Instant>)>, at: Instant) -> Vec<I> {
    let late = |deadline: &Option<Instant>| deadline.is_some_and(|deadline| deadline <= at);
    awaited.iter().filter(|(_, (_, deadline))| late(deadline)).map(|(id, _)| id.clone()).collect()
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
