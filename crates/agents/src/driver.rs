//! Drives an agent that runs as a process behind pipes: connects, buffers orders during the handshake, writes frames in
//! order, checks deadlines, and starts a new process if the process is lost. `machine` contains the logic, and the
//! agent's [`Protocol`] translates its messages. All IO and timers are in this module.

mod machine;
mod machine_output;
mod outbox;
mod presentable;
mod protocol;
mod questions;
mod turn;

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use tracing::debug;
use wh_core::space::ItemId;
use wh_core::space::harness::{AckedOrder, Order, Report, TurnOutcome};
use wh_core::space::item::NoticeLevel;
use wh_pipe::link::{Codec, Link, LinkEvent, LinkEvents};
use wh_pipe::{Exit, ProgramExit};

use crate::interface::{HarnessTaskChannels, ReportSender, ReportsClosed};
use machine::{DriverMachine, OrderOutcome};
use outbox::{FinishedFrame, FramePurpose, Outbox, WriteOutcome as Written};
use presentable::presentable;
pub use protocol::{
    AgentSetting, ConnectError, Connected, DriverState, DriverStep, DriverSteps, Handshake, Protocol, ProtocolFrame,
    ProtocolMessage, RequestFailure,
};
use turn::TurnMachine;
#[cfg(test)]
pub(crate) use turn::{INTERRUPT_GRACE, NOT_READING};

/// Maximum number of orders that are buffered while the agent connects, or while reports or frames cannot be sent.
/// Further orders stay in their channel. If the channel is full, the owner treats the agent as lost.
const MAX_BUFFERED_ORDERS: usize = 64;

/// Maximum number of calls that run in the background at once. Further calls fail.
const MAX_BACKGROUND_CALLS: usize = 64;

/// Timeout of requests other than prompts.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// Timeout of a model or mode change. Must be shorter than the timeout in the space. Otherwise, the space could mistake
/// a late outcome for the outcome of the next change.
const CHOICE_TIMEOUT: Duration = Duration::from_secs(20);

/// Maximum time for writing an interrupt before the driver ends the process.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// Maximum number of unsent reports while a process ends. At the limit, the driver stops reading the agent's output.
const MAX_UNSENT_REPORTS: usize = 256;

/// Maximum number of consecutive processes that are killed by a signal before wh has written a frame after the
/// handshake. If one more process is killed, wh gives up.
const MAX_FRUITLESS_STARTS: usize = 2;

/// Reason why the driver stops using a process.
enum ProcessEnd {
    /// The owner ordered the agent to end.
    EndOrdered,
    /// The agent exited on its own.
    Lost(ProgramExit),
    /// A call requested a new conversation. Contains the id of the call.
    Restart(u64),
    /// The process must be replaced by another one that resumes the conversation.
    Reconnect,
    /// The agent can no longer be used. Contains the reason.
    Fatal(String),
}

/// Runs an agent until the owner ends the agent or the agent can no longer be used. `may_skip` allows modes that skip
/// permissions.
pub async fn run<P: Handshake>(protocol: P, may_skip: bool, task: HarnessTaskChannels) {
    let HarnessTaskChannels { orders, reports, kill_switch } = task;
    let machine = DriverMachine::new(protocol, may_skip);
    let (buffered_orders, unsent) = (VecDeque::new(), VecDeque::new());
    let mut driver = Driver { machine, orders, reports: reports.clone(), buffered_orders, unsent };
    // If the receiver of reports is closed, no reason is needed.
    let why = driver.run_processes().await.unwrap_or_default();
    let why = why.map(|why| presentable(&driver.machine.protocol.redact_ids(&why)));
    // An abandoned connection attempt ends its process in the background.
    drop(driver);
    kill_switch.ended().await;
    let _ = reports.send(Report::Gone(why)).await;
}

struct Driver<P: Protocol> {
    machine: DriverMachine<P>,
    orders: mpsc::Receiver<Order>,
    reports: ReportSender,
    /// Orders that were received but not yet executed.
    buffered_orders: VecDeque<Order>,
    /// Reports that wait for room in the channel.
    unsent: VecDeque<Report>,
}

/// Sent requests that wait for a reply: request id, purpose, and deadline.
type PendingRequests<P> = HashMap<<<P as Protocol>::Codec as Codec>::Id, (FramePurpose<P>, Option<Instant>)>;

/// Process of the agent, with its queued frames and pending requests.
struct AgentProcess<P: Protocol> {
    link: Link<P::Codec>,
    events: LinkEvents<P::Codec>,
    outbox: Outbox<P>,
    awaited: PendingRequests<P>,
    background_calls: JoinSet<(u64, Result<Value, String>)>,
    /// True if a frame was written after the handshake.
    has_written: bool,
}

/// Input of the driver's loop.
enum DriverInput<P: Protocol> {
    Order(Option<Order>),
    Event(Option<LinkEvent<P::Codec>>),
    FrameFinished(FinishedFrame<P>),
    Called(u64, Result<Value, String>),
    Tick,
}

/// Reason for aborting a wait.
enum WaitAborted {
    /// The owner ordered the agent to end.
    EndOrdered,
    ReportsClosed,
}

impl From<ReportsClosed> for WaitAborted {
    fn from(_: ReportsClosed) -> Self {
        Self::ReportsClosed
    }
}

impl<P: Handshake> Driver<P> {
    /// Runs the agent's processes one after another. Returns the reason if no further process can be started; `None` if
    /// the owner ended the agent.
    async fn run_processes(&mut self) -> Result<Option<String>, ReportsClosed> {
        let (mut restart, mut fruitless, mut resumes) = (None, 0, false);
        loop {
            let connected = match self.connect().await {
                Ok(connected) => connected,
                Err(WaitAborted::EndOrdered) => return Ok(None),
                Err(WaitAborted::ReportsClosed) => return Err(ReportsClosed),
            };
            let connected = match connected {
                Ok(connected) => connected,
                Err(ConnectError::ReportsClosed) => return Err(ReportsClosed),
                // Only the conversation of an earlier process is replaced. A conversation that the user asked to resume
                // is not replaced.
                Err(ConnectError::ConversationLost(why)) if resumes => {
                    let why = presentable(&self.machine.protocol.redact_ids(&why));
                    let has_context = self.machine.protocol.replace_conversation();
                    let context = if has_context { ", with the text of the lost conversation as context" } else { "" };
                    let lost = format!("the conversation is lost, because the agent could not resume it ({why})");
                    let text = format!("{lost}; a new conversation begins{context}");
                    self.reports.send(Report::Notice(NoticeLevel::Error, text)).await?;
                    self.reports.send(Report::ResumeId(None)).await?;
                    resumes = false;
                    continue;
                }
                Err(ConnectError::Fatal(why) | ConnectError::ConversationLost(why)) => {
                    return Ok(Some(why));
                }
            };
            let Connected { link, events, initial_reports, own_question } = connected;
            let mut process = AgentProcess {
                link,
                events,
                outbox: Outbox::new(),
                awaited: HashMap::new(),
                background_calls: JoinSet::new(),
                has_written: false,
            };
            self.machine.connected(initial_reports, own_question, restart.take(), Instant::now());
            let end = match self.serve(&mut process).await {
                Ok(end) => end,
                Err(WaitAborted::EndOrdered) => ProcessEnd::EndOrdered,
                Err(WaitAborted::ReportsClosed) => return Err(ReportsClosed),
            };
            match end {
                ProcessEnd::EndOrdered => {
                    self.machine.stop();
                    self.shut_down(process, true).await;
                    return Ok(None);
                }
                ProcessEnd::Restart(call) => {
                    self.machine.abandon(process.drain(), "a new conversation was started", Instant::now());
                    self.shut_down(process, false).await;
                    self.machine.protocol.forget_conversation();
                    (restart, resumes) = (Some(call), false);
                }
                ProcessEnd::Reconnect => {
                    self.machine.process_replaced(process.drain(), "the agent is being restarted");
                    self.shut_down(process, false).await;
                    resumes = true;
                }
                ProcessEnd::Fatal(why) => {
                    self.machine.stop();
                    self.shut_down(process, true).await;
                    return Ok(Some(why));
                }
                ProcessEnd::Lost(closed) if !self.machine.protocol.can_restart() => {
                    self.unsent.extend(self.machine.take().reports);
                    send_reports(&mut self.unsent, &self.reports).await?;
                    return Ok((closed.exit != Exit::Code(0)).then(|| closed.reason()));
                }
                ProcessEnd::Lost(closed) => {
                    fruitless = if process.has_written { 0 } else { fruitless + 1 };
                    let reason = closed.reason();
                    // An agent that exits on its own before wh has written a frame would exit again after a restart.
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

    /// Connects the agent, and buffers the orders received meanwhile.
    async fn connect(&mut self) -> Result<Result<Connected<P>, ConnectError>, WaitAborted> {
        let Self { machine: DriverMachine { protocol, turns, .. }, orders, reports, buffered_orders, .. } = self;
        let connecting = protocol.connect(reports);
        tokio::pin!(connecting);
        loop {
            tokio::select! {
                connected = &mut connecting => return Ok(connected),
                order = orders.recv(), if buffered_orders.len() < MAX_BUFFERED_ORDERS => match order {
                    None | Some(Order::End) => return Err(WaitAborted::EndOrdered),
                    // Prompts that wait for the handshake can be cancelled at once.
                    Some(Order::Interrupt) => cancel_waiting(turns, buffered_orders, reports).await?,
                    Some(order) => buffered_orders.push_back(order),
                },
                () = reports.closed() => return Err(WaitAborted::ReportsClosed),
            }
        }
    }

    /// Handles orders and events until the process ends or must be replaced.
    async fn serve(&mut self, process: &mut AgentProcess<P>) -> Result<ProcessEnd, WaitAborted> {
        loop {
            if let Some(end) = self.apply_output(process).await? {
                return Ok(end);
            }
            let deadline = process.awaited.values().filter_map(|(_, deadline)| *deadline).min();
            let deadline = deadline.into_iter().chain(self.machine.deadline(Instant::now())).min();
            let has_room = !process.outbox.is_full();
            let buffered = if has_room { self.buffered_orders.pop_front() } else { None };
            let input = match buffered {
                Some(order) => DriverInput::Order(Some(order)),
                None => {
                    let AgentProcess { link, events, outbox, background_calls, .. } = process;
                    let has_order_room = self.buffered_orders.len() < MAX_BUFFERED_ORDERS;
                    tokio::select! {
                        order = self.orders.recv(), if has_room || has_order_room => match order {
                            // The order to end is handled even if the agent does not read its input.
                            Some(order) if !has_room && order != Order::End => {
                                self.buffered_orders.push_back(order);
                                continue;
                            }
                            order => DriverInput::Order(order),
                        },
                        event = events.next(), if has_room => DriverInput::Event(event),
                        finished = outbox.next(link) => DriverInput::FrameFinished(finished),
                        Some(done) = background_calls.join_next() => match done {
                            Ok((id, outcome)) => DriverInput::Called(id, outcome),
                            Err(error) => {
                                debug!(%error, "a call has ended without an outcome");
                                continue;
                            }
                        },
                        () = until(deadline) => DriverInput::Tick,
                        () = self.reports.closed() => return Err(WaitAborted::ReportsClosed),
                    }
                }
            };
            let at = Instant::now();
            match input {
                DriverInput::Order(None) => return Ok(ProcessEnd::EndOrdered),
                DriverInput::Order(Some(order)) => match self.machine.order(order, at) {
                    OrderOutcome::Continue => {}
                    OrderOutcome::End => return Ok(ProcessEnd::EndOrdered),
                    OrderOutcome::Restart(call) => return Ok(ProcessEnd::Restart(call)),
                },
                DriverInput::Event(Some(LinkEvent::Closed(closed))) => {
                    // The prompt counts as delivered if it was written completely, even if the exit of the process is
                    // seen first.
                    if let Some(finished) = process.outbox.take_written() {
                        self.frame_finished(finished, process, at);
                    }
                    return Ok(ProcessEnd::Lost(closed));
                }
                DriverInput::Event(None) => {
                    return Ok(ProcessEnd::Lost(ProgramExit {
                        exit: Exit::Unknown,
                        requested: false,
                        stderr: String::new(),
                    }));
                }
                DriverInput::Event(Some(event)) => self.event(event, process, at),
                DriverInput::FrameFinished(finished) => self.frame_finished(finished, process, at),
                DriverInput::Called(id, outcome) => self.machine.called(id, outcome),
                DriverInput::Tick => {
                    for id in expired(&process.awaited, at) {
                        if let Some((purpose, _)) = process.awaited.remove(&id) {
                            self.machine.replied(purpose, Err(RequestFailure::Timeout), at);
                        }
                    }
                    self.machine.tick(at);
                }
            }
        }
    }

    fn event(&mut self, event: LinkEvent<P::Codec>, process: &mut AgentProcess<P>, at: Instant) {
        let LinkEvent::Reply(id, reply) = event else { return self.machine.event(event, at) };
        let purpose = match process.awaited.remove(&id) {
            Some((purpose, _)) => purpose,
            None => match process.outbox.take_early(&id) {
                Some(purpose) => {
                    process.has_written = true;
                    self.machine.frame_finished(&purpose, &Written::Written, at);
                    purpose
                }
                None => return,
            },
        };
        self.machine.replied(purpose, reply.map_err(RequestFailure::Refused), at);
    }

    fn frame_finished(&mut self, finished: FinishedFrame<P>, process: &mut AgentProcess<P>, at: Instant) {
        let FinishedFrame { purpose, id, outcome } = finished;
        process.has_written |= outcome == Written::Written;
        self.machine.frame_finished(&purpose, &outcome, at);
        match (outcome, id) {
            (Written::Written, Some(id)) => {
                let deadline = match purpose {
                    // A prompt has no time limit.
                    FramePurpose::Prompt(_) => None,
                    FramePurpose::Choice { .. } => Some(at + CHOICE_TIMEOUT),
                    _ => Some(at + REQUEST_TIMEOUT),
                };
                process.awaited.insert(id, (purpose, deadline));
            }
            (Written::NotReading, _) => self.machine.replied(purpose, Err(RequestFailure::NotReading), at),
            (Written::Unwritable(why), _) => self.machine.replied(purpose, Err(RequestFailure::Gone(why)), at),
            // The process has exited, or has closed its input and is ended here. Frames with other purposes are settled
            // when the exit is reported.
            (Written::Gone(why), _) => {
                debug!(why, "a frame was not written");
                process.link.close();
                if let FramePurpose::Choice { ordered: true, .. } = purpose {
                    self.machine.replied(purpose, Err(RequestFailure::Gone(why)), at);
                }
            }
            (Written::Written | Written::NotOpen, _) => {}
        }
    }

    /// Queues the machine's frames, starts its background calls, and sends its reports. Buffers orders until the
    /// reports are sent. Returns the reason if the process must no longer be used.
    async fn apply_output(&mut self, process: &mut AgentProcess<P>) -> Result<Option<ProcessEnd>, WaitAborted> {
        let output = self.machine.take();
        let at = Instant::now();
        for (frame, purpose) in output.frames {
            process.outbox.push(frame, purpose, at);
        }
        for turn in output.discards {
            process.outbox.discard(&turn);
        }
        self.unsent.extend(output.reports);
        for (id, work) in output.background_calls {
            if process.background_calls.len() < MAX_BACKGROUND_CALLS {
                process.background_calls.spawn(async move { (id, work.await) });
            } else {
                self.machine.called(id, Err("too many calls are in progress".to_owned()));
            }
        }
        self.unsent.extend(self.machine.take().reports);
        let Self { orders, reports, buffered_orders, unsent, .. } = self;
        let sending = send_reports(unsent, reports);
        tokio::pin!(sending);
        loop {
            tokio::select! {
                // Orders are received only while the report channel is full.
                biased;
                sent = &mut sending => {
                    sent?;
                    let end = output.fatal.map(ProcessEnd::Fatal);
                    return Ok(end.or(output.reconnects.then_some(ProcessEnd::Reconnect)));
                }
                order = orders.recv(), if buffered_orders.len() < MAX_BUFFERED_ORDERS => match order {
                    None | Some(Order::End) => return Err(WaitAborted::EndOrdered),
                    Some(order) => buffered_orders.push_back(order),
                },
            }
        }
    }

    /// Handles the loss of a process: fails all pending requests and orders, queues the undelivered prompts again, and
    /// reports the loss. Returns true if the next process resumes the conversation.
    async fn lost(&mut self, mut process: AgentProcess<P>, reason: &str) -> Result<bool, ReportsClosed> {
        let title = self.machine.protocol.title().to_owned();
        let gone = format!("{title} is gone: {reason}");
        let unsent = self.machine.process_lost(&gone, process.drain(), Instant::now());
        let resumes = self.machine.protocol.on_process_end();
        let again = if unsent.is_empty() && self.buffered_orders.is_empty() {
            "the next message restarts the agent"
        } else {
            "wh restarts the agent"
        };
        let place = if resumes { "in the same conversation" } else { "in a new conversation" };
        let text = presentable(&self.machine.protocol.redact_ids(&format!("{gone}; {again}, {place}")));
        self.unsent.extend(self.machine.take().reports);
        self.unsent.push_back(Report::Notice(NoticeLevel::Error, text));
        send_reports(&mut self.unsent, &self.reports).await?;
        for prompt in unsent.into_iter().rev() {
            // The driver does not use the item id.
            let order =
                Order::Prompt { turn: prompt.turn, item: ItemId::from(""), text: prompt.text, attachments: Vec::new() };
            self.buffered_orders.push_front(order);
        }
        Ok(resumes)
    }

    /// Waits for an order that requires a running agent. Returns false if the owner ends the agent.
    async fn wait_for_work(&mut self) -> Result<bool, ReportsClosed> {
        let gone = format!("{} is gone", self.machine.protocol.title());
        let mut buffered = std::mem::take(&mut self.buffered_orders);
        loop {
            let order = match buffered.pop_front() {
                Some(order) => Some(order),
                None if !self.buffered_orders.is_empty() => return Ok(true),
                None => tokio::select! {
                    order = self.orders.recv() => order,
                    () = self.reports.closed() => return Err(ReportsClosed),
                },
            };
            match order {
                None | Some(Order::End) => return Ok(false),
                // Answers and interrupts for the lost process are acknowledged at once.
                Some(Order::Interrupt) => {
                    cancel_waiting(&mut self.machine.turns, &mut self.buffered_orders, &self.reports).await?;
                }
                Some(Order::Answer { question, .. }) => {
                    self.reports.send(Report::Acked(AckedOrder::Answer(question), Err(gone.clone()))).await?;
                }
                Some(order) => self.buffered_orders.push_back(order),
            }
        }
    }

    /// Ends the process and waits until it has exited. Before that, writes a queued interrupt but no other frame. If
    /// `keeps_output` is true, further output of the process is still part of the conversation.
    async fn shut_down(&mut self, mut process: AgentProcess<P>, keeps_output: bool) {
        process.drain();
        let output = self.machine.take();
        self.unsent.extend(output.reports);
        for (frame, purpose) in output.frames {
            process.outbox.push(frame, purpose, Instant::now());
        }
        let AgentProcess { link, outbox, .. } = &mut process;
        let writing = async {
            while !outbox.is_empty() {
                outbox.next(link).await;
            }
        };
        let written = tokio::time::timeout(STOP_TIMEOUT, writing).await;
        debug!(written = written.is_ok(), "sent the interrupt before the end");
        process.link.close();
        loop {
            let (can_receive, can_send) = (self.unsent.len() < MAX_UNSENT_REPORTS, !self.unsent.is_empty());
            tokio::select! {
                event = process.events.next(), if can_receive => match event {
                    None | Some(LinkEvent::Closed(_)) => break,
                    Some(event) if keeps_output => {
                        self.event(event, &mut process, Instant::now());
                        self.unsent.extend(self.machine.take().reports);
                    }
                    Some(_) => {}
                },
                sent = send_reports(&mut self.unsent, &self.reports), if can_send => if sent.is_err() {
                    self.unsent.clear();
                },
            }
        }
        if send_reports(&mut self.unsent, &self.reports).await.is_err() {
            debug!("the remaining reports have no receiver");
        }
    }
}

impl<P: Protocol> AgentProcess<P> {
    /// Empties the queue and the pending requests. Returns the purposes of all frames and requests without an outcome.
    fn drain(&mut self) -> Vec<FramePurpose<P>> {
        let awaited = self.awaited.drain().map(|(_, (purpose, _))| purpose);
        self.outbox.drain().into_iter().chain(awaited).collect()
    }
}

/// Sends reports and waits while the channel is full. Cancel safe, except that the report being sent may be lost.
async fn send_reports(unsent: &mut VecDeque<Report>, reports: &ReportSender) -> Result<(), ReportsClosed> {
    while !unsent.is_empty() {
        reports.room().await?;
        if let Some(report) = unsent.pop_front() {
            reports.send(report).await?;
        }
    }
    Ok(())
}

/// Cancels the waiting prompts and acknowledges the interrupt.
async fn cancel_waiting(
    turns: &mut TurnMachine,
    buffered_orders: &mut VecDeque<Order>,
    reports: &ReportSender,
) -> Result<(), ReportsClosed> {
    for report in turns.cancel_waiting() {
        reports.send(report).await?;
    }
    for order in std::mem::take(buffered_orders) {
        match order {
            Order::Prompt { turn, .. } => reports.send(Report::Ended(turn, TurnOutcome::Cancelled)).await?,
            other => buffered_orders.push_back(other),
        }
    }
    reports.send(Report::Acked(AckedOrder::Interrupt, Ok(()))).await
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
