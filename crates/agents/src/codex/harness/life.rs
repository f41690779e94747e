//! From the start to the end: the handshake, the loop, and what follows when Codex is gone.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use tracing::debug;
use wh_core::space::harness::{Capabilities, Deed, Named, Order, Outcome, Report};
use wh_core::space::item::Level;
use wh_pipe::Closed;
use wh_wire::codex::{self as wire, Account, Client, Model, Settings, Started, Thread};

use super::super::calls::CALLS;
use super::super::items::Items;
use super::super::{TITLE, modes};
use super::{Choice, Done, First, Heard, Live, Next, Unheard, Ways, in_words, is_unknown};
use crate::backlog::Backlog;
use crate::meanwhile::{meanwhile, moment};
use crate::port::Resume;
use crate::rpc::{Dialect, Events, Incoming, Peer, RpcError};

/// What is good to know but not needed may take so long.
const ASIDE: Duration = Duration::from_secs(10);

/// How a connection came to its end.
enum End {
    /// We were told to.
    Asked,
    /// It went by itself.
    Lost(String),
    /// A new conversation was asked for, by the call of this number.
    Anew(u64),
}

/// Which conversation to begin with.
#[derive(Debug, Clone)]
enum Which {
    New,
    Newest,
    /// This one, or none.
    Named(String),
    /// The one that we were in; if it is lost, a new one.
    Again(String),
}

/// A connection that can be used.
struct Connected {
    peer: Peer,
    events: Events,
    /// What it said meanwhile, as far as it was kept.
    backlog: VecDeque<Incoming>,
    started: Started,
    /// It goes on with something.
    resumed: bool,
    version: Option<String>,
    models: Vec<Model>,
    account: Account,
    /// What is to be said about how it went.
    notice: Option<String>,
}

/// Runs until it is told to end or cannot go on.
pub(in super::super) async fn run(mut ways: Ways) {
    let reports = ways.inside.reports.clone();
    // If nobody hears it, nobody wants to know why either.
    let why = live(&mut ways).await.unwrap_or_default();
    let _ = reports.send(Report::Gone(why)).await;
}

/// One connection after the other. Why it cannot go on comes back, if that was not asked for.
async fn live(ways: &mut Ways) -> Result<Option<String>, Unheard> {
    let mut kept = VecDeque::new();
    let mut choice = Choice { model: ways.start.model.clone(), mode: ways.mode };
    let mut which = match &ways.start.resume {
        None => Which::New,
        Some(Resume::Latest) => Which::Newest,
        Some(Resume::Named(id)) => Which::Named(id.clone()),
    };
    let (mut anew, mut items, mut asked) = (None, Items::default(), 0);
    loop {
        let connecting = connect(ways, &which, &choice);
        let connected = match meanwhile(connecting, &mut ways.inside.orders, &mut kept).await {
            None => return Ok(None),
            Some(Ok(connected)) => connected,
            Some(Err(error)) => return Ok(Some(ways.start.discreet(&in_words(&error, false)))),
        };
        let (done, mut came) = mpsc::unbounded_channel();
        let mut live = Live::new(connected, ways, done, choice);
        // What came of earlier connections keeps its keys.
        (live.items, live.asked) = (items, asked);
        live.greet(anew.take()).await?;
        let end = live.serve(&mut ways.inside.orders, &mut kept, &mut came).await?;
        let outcome = match &end {
            End::Asked => {
                live.wind_up().await;
                return Ok(None);
            }
            End::Anew(_) => Outcome::Cancelled,
            End::Lost(reason) => Outcome::Failed(format!("{TITLE} is gone: {reason}")),
        };
        if let Some((turn, _)) = live.waiting.take() {
            live.tell(Report::Ended(turn, outcome.clone())).await?;
        }
        live.end_turn(outcome).await?;
        for call in std::mem::take(&mut live.calls) {
            live.tell(Report::Called(call, Err(format!("{TITLE} is gone")))).await?;
        }
        which = if live.spoken { Which::Again(live.thread.clone()) } else { Which::New };
        match end {
            End::Asked => {}
            End::Anew(call) => {
                live.wind_up().await;
                (which, anew) = (Which::New, Some(call));
            }
            End::Lost(reason) => {
                let where_to = if live.spoken { ", in the same conversation" } else { "" };
                let next = format!("the next message starts it again{where_to}");
                live.tell(Report::Notice(Level::Error, format!("{TITLE} is gone: {reason}; {next}"))).await?;
            }
        }
        choice = live.choice.clone();
        (items, asked) = (std::mem::take(&mut live.items), live.asked);
        drop(live);
        while anew.is_none() && kept.is_empty() {
            match ways.inside.orders.recv().await {
                None | Some(Order::End) => return Ok(None),
                // What these are about is gone.
                Some(Order::Interrupt) => {
                    let nothing = Report::Did(Deed::Interrupt, Ok(()));
                    ways.inside.reports.send(nothing).await?;
                }
                Some(Order::Answer { question, .. }) => {
                    let why = Err(format!("{TITLE} is gone"));
                    ways.inside.reports.send(Report::Did(Deed::Answer(question), why)).await?;
                }
                Some(order) => kept.push_back(order),
            }
        }
    }
}

/// Starts it, shakes hands, and begins a conversation or goes on with one.
fn connect(ways: &Ways, which: &Which, choice: &Choice) -> impl Future<Output = Result<Connected, String>> + use<> {
    let (launch, which, choice) = (ways.launch.clone(), which.clone(), choice.clone());
    let directory = place(&ways.start.directory);
    let may_skip = ways.start.may_skip_permissions;
    async move {
        let dialect = Dialect { version: false, ..Dialect::default() };
        let (peer, mut events) = Peer::start(&launch, dialect).await.map_err(|error| error.to_string())?;
        let us = Client { name: "wheelhouse", title: "Wheelhouse", version: env!("CARGO_PKG_VERSION") };
        let words = |error: RpcError| error.to_string();
        let settings = choice.beginning(may_skip);
        let shaking = async {
            let hello = peer.request("initialize", us.initialize()).await.map_err(words)?;
            peer.notify("initialized", json!({})).await.map_err(words)?;
            let soon = |method| peer.request_within(method, json!({}), Some(ASIDE));
            let (began, models, account) =
                tokio::join!(begin(&peer, &directory, which, &settings), soon("model/list"), soon("account/read"));
            Ok::<_, String>((hello, began?, models, account))
        };
        let mut backlog = Backlog::default();
        let (hello, began, models, account) = backlog.meanwhile(&mut events, shaking).await?;
        let version = hello["userAgent"].as_str().and_then(|agent| agent.split(['/', ' ']).nth(1)).map(str::to_owned);
        let (reply, resumed, notice) = began;
        Ok(Connected {
            started: Started::read(&reply).ok_or_else(|| format!("{TITLE} names no conversation"))?,
            peer,
            events,
            backlog: backlog.kept.into(),
            resumed,
            version,
            models: models.map(|reply| Model::list(&reply)).unwrap_or_default(),
            account: account.map(|reply| Account::read(&reply)).unwrap_or_default(),
            notice,
        })
    }
}

/// A place as Codex knows it.
pub(super) fn place(directory: &Path) -> String {
    let whole = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    whole.to_string_lossy().into_owned()
}

/// The conversation, whether it goes on with something, and what is to be said about that.
async fn begin(
    peer: &Peer,
    directory: &str,
    which: Which,
    settings: &Settings<'_>,
) -> Result<(Value, bool, Option<String>), String> {
    let words = |error: RpcError| error.to_string();
    let mut notice = None;
    let wanted = match &which {
        Which::New => None,
        Which::Named(id) | Which::Again(id) => Some(id.clone()),
        Which::Newest => {
            let list = peer.request("thread/list", wire::list(directory)).await;
            match list.map(|reply| Thread::first(&reply)) {
                Ok(Some(newest)) => Some(newest.id),
                Ok(None) => {
                    notice = Some("there is no conversation of this directory yet: a new one begins".to_owned());
                    None
                }
                Err(error) if is_unknown(&error) => {
                    return Err(format!("this version of {TITLE} cannot list its conversations"));
                }
                Err(error) => return Err(error.to_string()),
            }
        }
    };
    if let Some(id) = wanted {
        match peer.request("thread/resume", wire::resume(&id, directory, settings)).await {
            Ok(reply) => return Ok((reply, true, None)),
            Err(error @ RpcError::Refused { .. }) if matches!(which, Which::Again(_)) => {
                // Its words name the conversation by an id of its own.
                debug!(%error, "the conversation is lost");
                notice = Some("the conversation could not be gone on with: a new one begins".to_owned());
            }
            Err(error) => return Err(words(error)),
        }
    }
    let reply = peer.request("thread/start", wire::start(directory, settings)).await.map_err(words)?;
    Ok((reply, false, notice))
}

impl Live {
    fn new(connected: Connected, ways: &Ways, done: mpsc::UnboundedSender<Done>, choice: Choice) -> Self {
        let Connected { peer, events, backlog, started, resumed, version, models, account, notice } = connected;
        Self {
            first: Some(First { started: started.clone(), account, notice }),
            peer,
            events,
            backlog,
            reports: ways.inside.reports.clone(),
            done,
            launch: ways.launch.clone(),
            start: ways.start.clone(),
            thread: started.thread.id.clone(),
            status: started.thread.status,
            spoken: resumed,
            unstopped: Vec::new(),
            capabilities: Capabilities {
                interrupts: true,
                models: models.into_iter().map(|model| Named { id: model.id, title: model.title }).collect(),
                modes: modes::offered(ways.start.may_skip_permissions),
                calls: CALLS.iter().map(|call| (*call).to_owned()).collect(),
                ..Capabilities::default()
            },
            version,
            choice,
            pending: Choice::default(),
            turn: None,
            early: Vec::new(),
            busy: None,
            waiting: None,
            calls: HashSet::new(),
            items: Items::default(),
            open: BTreeMap::new(),
            asked: 0,
            told: HashSet::new(),
            heard: Instant::now(),
            silence: ways.silence,
        }
    }

    /// Says that it can be used, and what is to be known about that.
    async fn greet(&mut self, anew: Option<u64>) -> Result<(), Unheard> {
        let Some(First { started, account, notice }) = self.first.take() else { return Ok(()) };
        self.note(&started);
        let model = self.capabilities.model.clone();
        if let Some(model) = model.filter(|model| !self.capabilities.models.iter().any(|one| one.id == *model)) {
            let title = "the one in use".to_owned();
            self.capabilities.models.insert(0, Named { id: model, title });
        }
        self.tell(Report::Ready(self.capabilities.clone())).await?;
        // Of a new conversation there is something to say only where one was before it.
        if self.spoken || anew.is_some() || notice.is_some() {
            self.tell_kept().await?;
        }
        if let Some(call) = anew {
            self.tell(Report::Called(call, Ok(Value::Null))).await?;
        }
        self.holds(&started).await?;
        if let Some(notice) = notice {
            self.tell(Report::Notice(Level::Warning, notice)).await?;
        }
        if account.needed && account.by.is_none() { self.wants_login().await } else { Ok(()) }
    }

    /// Hears orders and events until one of them is the last.
    async fn serve(
        &mut self,
        orders: &mut mpsc::Receiver<Order>,
        kept: &mut VecDeque<Order>,
        came: &mut mpsc::UnboundedReceiver<Done>,
    ) -> Result<End, Unheard> {
        loop {
            let stops_at = self.stops_at();
            let early = self.backlog.pop_front().map(|event| Heard::Event(Some(event)));
            let heard = match early.or_else(|| kept.pop_front().map(|order| Heard::Order(Some(order)))) {
                Some(heard) => heard,
                None => tokio::select! {
                    order = orders.recv() => Heard::Order(order),
                    event = self.events.next() => Heard::Event(event),
                    Some(done) = came.recv() => Heard::Done(done),
                    () = sleep_until(self.heard + self.silence), if self.listens() => Heard::Silence,
                    () = moment(stops_at) => Heard::Overdue,
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
                Heard::Event(Some(Incoming::Closed(closed))) => return Ok(End::Lost(closed.reason())),
                Heard::Event(Some(event)) => match meanwhile(self.event(event), orders, kept).await {
                    Some(heard) => heard?,
                    None => return Ok(End::Asked),
                },
                Heard::Overdue => self.overdue().await?,
                Heard::Event(None) => return Ok(End::Lost("it is gone".to_owned())),
                Heard::Done(done) => {
                    // What it said before it was looked at comes before that.
                    while let Done::Looked(..) = done
                        && let Some(event) = self.events.waiting()
                    {
                        match event {
                            Incoming::Closed(closed) => return Ok(End::Lost(closed.reason())),
                            event => self.event(event).await?,
                        }
                    }
                    self.done(done).await?;
                }
                Heard::Silence => self.silent().await?,
            }
        }
    }

    /// Whether something should be heard before long.
    fn listens(&self) -> bool {
        self.turn.is_some() || self.busy.is_some()
    }

    /// Lets it end, and passes on what it still has to say.
    async fn wind_up(&mut self) {
        self.peer.close();
        while let Some(event) = self.events.next().await {
            if let Incoming::Closed(Closed { exit, .. }) = event {
                debug!(%exit, "Codex has ended");
                return;
            }
            if self.event(event).await.is_err() {
                debug!("nobody hears what it still says");
            }
        }
    }
}
