//! From the start to the end: the handshake, the loop, and what follows when Claude Code is gone.

use std::collections::{HashMap, VecDeque};

use serde_json::Value;
use tokio::sync::mpsc;
use tracing::debug;
use wh_claude::{Closed, Connection, Error, Event, Events, Options, protocol};
use wh_core::space::harness::{Capabilities, Named, Order, Outcome, Report, Usage};
use wh_core::space::item::Level;

use super::super::calls::CALLS;
use super::super::{LOG_IN, modes};
use super::{Done, Heard, Items, Live, Next, Unheard, Ways};
use crate::port::{Inside, Start};

/// How a connection came to its end.
enum End {
    /// We were told to.
    Asked,
    /// It went by itself.
    Lost(Closed),
    /// A new conversation was asked for, by the call of this number.
    Anew(u64),
}

/// Runs until it is told to end or cannot go on.
pub(in super::super) async fn run(options: Options, start: Start, inside: Inside) {
    let reports = inside.reports.clone();
    let mut ways = Ways { options, start, inside };
    // If nobody hears it, nobody wants to know why either.
    let why = live(&mut ways).await.unwrap_or_default();
    let _ = reports.send(Report::Gone(why)).await;
}

/// One connection after the other. Why it cannot go on comes back, if that was not asked for.
async fn live(ways: &mut Ways) -> Result<Option<String>, Unheard> {
    let mut kept = VecDeque::new();
    let mut resumed: Option<String> = None;
    let mut checkpoints = Vec::new();
    let mut anew = None;
    loop {
        let mut options = ways.options.clone();
        if let Some(session) = &resumed {
            options = options.resume(wh_claude::Resume::Session(session.clone()));
        }
        let (connection, events, hello) = match connect(&options, &mut ways.inside, &mut kept).await {
            None => return Ok(None),
            Some(Ok(connected)) => connected,
            Some(Err(error)) => return Ok(Some(said(&error))),
        };
        let (done, mut came) = mpsc::unbounded_channel();
        let mut live = Live::new(connection, events, &ways.inside.reports, done, &ways.start, &hello);
        live.session.clone_from(&resumed);
        live.checkpoints = std::mem::take(&mut checkpoints);
        live.tell(Report::Ready(live.capabilities.clone())).await?;
        if let Some(call) = anew.take() {
            live.tell(Report::Called(call, Ok(Value::Null))).await?;
        }
        match live.serve(&mut ways.inside.orders, &mut kept, &mut came).await? {
            End::Asked => {
                live.wind_up().await;
                return Ok(None);
            }
            End::Anew(call) => {
                live.end_turn(Outcome::Cancelled).await?;
                live.wind_up().await;
                ways.options = ways.options.clone().without_resume();
                (resumed, anew) = (None, Some(call));
            }
            End::Lost(closed) => {
                let reason = closed.reason();
                // Before its first turn there is nothing to go on with, and a second start would end the same way.
                let Some(session) = live.session.clone() else { return Ok(Some(reason)) };
                live.end_turn(Outcome::Failed(format!("Claude Code is gone: {reason}"))).await?;
                let next = "the next message starts it again, in the same conversation";
                live.tell(Report::Notice(Level::Error, format!("Claude Code is gone: {reason}; {next}"))).await?;
                checkpoints = std::mem::take(&mut live.checkpoints);
                resumed = Some(session);
                drop(live);
                match ways.inside.orders.recv().await {
                    None | Some(Order::End) => return Ok(None),
                    Some(order) => kept.push_back(order),
                }
            }
        }
    }
}

/// Shakes hands; orders that come meanwhile are kept. `None`: it was told to end before.
async fn connect(
    options: &Options,
    inside: &mut Inside,
    kept: &mut VecDeque<Order>,
) -> Option<Result<(Connection, Events, Value), Error>> {
    let connecting = Connection::start(options);
    tokio::pin!(connecting);
    loop {
        tokio::select! {
            connected = &mut connecting => return Some(connected),
            order = inside.orders.recv() => match order {
                None | Some(Order::End) => return None,
                Some(order) => kept.push_back(order),
            },
        }
    }
}

/// With what to do about it, where that is known.
fn said(error: &Error) -> String {
    let text = error.to_string();
    let about_login = ["/login", "API key", "logged in", "authenticat"].iter().any(|word| text.contains(word));
    if about_login { format!("{text}; {LOG_IN}") } else { text }
}

impl Live {
    fn new(
        connection: Connection,
        events: Events,
        reports: &mpsc::Sender<Report>,
        done: mpsc::UnboundedSender<Done>,
        start: &Start,
        hello: &Value,
    ) -> Self {
        let hello: protocol::InitializeReply = serde_json::from_value(hello.clone()).unwrap_or_default();
        let mut live = Self {
            connection,
            events,
            reports: reports.clone(),
            done,
            start: start.clone(),
            session: None,
            capabilities: capabilities(&hello, start),
            version: hello.claude_code_version,
            checkpoints: Vec::new(),
            turn: None,
            items: Items::default(),
            open: HashMap::new(),
            denied: Vec::new(),
            usage: Usage::default(),
        };
        if let Some(mode) = hello.current_permission_mode {
            live.note_mode(&mode);
        }
        live
    }

    /// Hears orders and events until one of them is the last.
    async fn serve(
        &mut self,
        orders: &mut mpsc::Receiver<Order>,
        kept: &mut VecDeque<Order>,
        came: &mut mpsc::UnboundedReceiver<Done>,
    ) -> Result<End, Unheard> {
        loop {
            let heard = match kept.pop_front() {
                Some(order) => Heard::Order(Some(order)),
                None => tokio::select! {
                    order = orders.recv() => Heard::Order(order),
                    event = self.events.next() => Heard::Event(event),
                    Some(done) = came.recv() => Heard::Done(done),
                    () = self.reports.closed() => return Err(Unheard),
                },
            };
            match heard {
                Heard::Order(None) => return Ok(End::Asked),
                Heard::Order(Some(order)) => match self.order(order).await? {
                    Next::On => {}
                    Next::End => return Ok(End::Asked),
                    Next::Anew(call) => return Ok(End::Anew(call)),
                },
                Heard::Event(Some(Event::Closed(closed))) => return Ok(End::Lost(closed)),
                Heard::Event(Some(event)) => self.event(event).await?,
                Heard::Event(None) => {
                    let exit = wh_claude::Exit::Unknown;
                    return Ok(End::Lost(Closed { exit, asked: false, stderr: String::new() }));
                }
                Heard::Done(done) => self.done(done).await?,
            }
        }
    }

    /// Lets it end, and passes on what it still has to say.
    async fn wind_up(&mut self) {
        self.connection.close();
        while let Some(event) = self.events.next().await {
            if let Event::Closed(closed) = event {
                debug!(exit = %closed.exit, "Claude Code has ended");
                return;
            }
            if self.event(event).await.is_err() {
                debug!("nobody hears what it still says");
            }
        }
    }
}

fn capabilities(hello: &protocol::InitializeReply, start: &Start) -> Capabilities {
    let models = hello.models.iter().map(|model| Named {
        id: model.value.clone(),
        title: if model.description.is_empty() { model.display_name.clone() } else { model.description.clone() },
    });
    let commands = hello.commands.iter().map(|command| Named {
        id: command.name.clone(),
        title: command.description.lines().next().unwrap_or_default().to_owned(),
    });
    Capabilities {
        interrupts: true,
        queues: false,
        acknowledges: false,
        models: models.collect(),
        model: start.model.clone().or_else(|| Some("default".to_owned())),
        modes: modes(start.may_skip_permissions),
        mode: start.mode.clone().or_else(|| Some("default".to_owned())),
        commands: commands.collect(),
        calls: CALLS.iter().map(|call| (*call).to_owned()).collect(),
    }
}
