//! From the start to the end: the handshake, the loop, and what follows when Claude Code is gone.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tracing::debug;
use wh_claude::{Closed, Connection, Error, Event, Events, Options, protocol};
use wh_core::space::ItemId;
use wh_core::space::harness::{Capabilities, Deed, Named, Order, Report, Usage};
use wh_core::space::item::Level;

use super::super::calls::CALLS;
use super::super::{LOG_IN, history, mode_of, modes};
use super::work::{Prompt, Work};
use super::{Done, Items, Live, Next, Unheard};
use crate::port::{Inside, Reports, Resume, Start};
use crate::program::Program;

/// How long an interrupt may take when the conversation ends anyway.
const HASTE: Duration = Duration::from_secs(2);

/// How a connection came to its end.
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
    Event(Option<Event>),
    Done(Done),
}

/// What outlives a single connection.
struct Course {
    options: Options,
    program: Program,
    start: Start,
    inside: Inside,
    /// Orders that came while nobody could take them.
    kept: VecDeque<Order>,
    /// The conversation to go on with, by its own name.
    resumed: Option<String>,
    /// What was said before wh came was told.
    recalled: bool,
}

/// Runs until it is told to end or cannot go on.
pub(in super::super) async fn run(options: Options, program: Program, start: Start, inside: Inside) {
    let reports = inside.reports.clone();
    let mut course = Course { options, program, start, inside, kept: VecDeque::new(), resumed: None, recalled: false };
    // If nobody hears it, nobody wants to know why either.
    let why = live(&mut course).await.unwrap_or_default();
    let _ = reports.send(Report::Gone(why)).await;
}

/// One connection after the other. Why it cannot go on comes back, if that was not asked for.
async fn live(course: &mut Course) -> Result<Option<String>, Unheard> {
    let mut before: Option<Live> = None;
    let mut anew = None;
    loop {
        let (connection, events, hello) = match course.connect().await {
            None => return Ok(None),
            Some(Ok(connected)) => connected,
            Some(Err(error)) => match course.resumed.take_if(|_| is_about_conversation(&error)) {
                Some(session) => {
                    let reason = said(&error).replace(&session, "it");
                    let text = format!("the conversation could not be taken up again ({reason}); a new one begins");
                    let _ = course.inside.reports.send(Report::Notice(Level::Error, text)).await;
                    let _ = course.inside.reports.send(Report::Kept(None)).await;
                    course.options = course.options.clone().without_resume();
                    course.start.resume = None;
                    continue;
                }
                None => {
                    let why = course.named(said(&error));
                    return Ok(Some(course.start.discreet(&why)));
                }
            },
        };
        let (done, mut came) = mpsc::unbounded_channel();
        let mut live =
            Live::new(connection, events, &course.inside.reports, done, (&course.start, &course.program), &hello);
        live.session.clone_from(&course.resumed);
        if let Some(before) = before.take() {
            live.take_over(before);
        }
        if !std::mem::replace(&mut course.recalled, true) {
            let history = history::of(&course.start).await;
            if course.start.recalls {
                live.tell_all(history.reports).await?;
            }
            live.checkpoints = history.checkpoints;
        }
        let left = match live.leave_unallowed().await {
            Ok(left) => left,
            Err(why) => {
                live.stop().await;
                return Ok(Some(course.start.discreet(&why)));
            }
        };
        live.tell(Report::Ready(live.capabilities.clone())).await?;
        live.tell(Report::Kept(course.kept_name())).await?;
        if let Some(mode) = left {
            live.tell(Report::Notice(Level::Warning, super::left(&mode))).await?;
        }
        if let Some(call) = anew.take() {
            live.tell(Report::Called(call, Ok(Value::Null))).await?;
        }
        match live.serve(course, &mut came).await? {
            End::Asked => {
                live.stop().await;
                return Ok(None);
            }
            End::Anew(call) => {
                live.stop().await;
                live.fail_all("a new conversation was begun").await?;
                course.keep_choices(&live.capabilities);
                course.options = course.options.clone().without_resume();
                (course.resumed, course.start.resume, anew) = (None, None, Some(call));
                live.forget();
                before = Some(live);
            }
            End::Lost(closed) => {
                let session = live.session.clone();
                let reason = closed.reason();
                let reason = session.as_ref().map_or_else(|| reason.clone(), |id| reason.replace(id, "it"));
                let reason = course.start.discreet(&reason);
                let unsent = live.work.take_unsent();
                live.fail_all(&format!("Claude Code is gone: {reason}")).await?;
                course.keep_choices(&live.capabilities);
                course.resumed = session.or(course.resumed.take());
                match unsent {
                    Some(prompt) => course.kept.push_front(prompt.into_order()),
                    None => {
                        let next = "the next message starts it again, in the same conversation";
                        let text = format!("Claude Code is gone: {reason}; {next}");
                        live.tell(Report::Notice(Level::Error, text)).await?;
                        if !course.wait().await {
                            return Ok(None);
                        }
                    }
                }
                before = Some(live);
            }
        }
    }
}

impl Course {
    /// Shakes hands; orders that come meanwhile are kept. `None`: it was told to end before.
    async fn connect(&mut self) -> Option<Result<(Connection, Events, Value), Error>> {
        let mut options = self.options.clone();
        if let Some(session) = &self.resumed {
            options = options.resume(wh_claude::Resume::Session(session.clone()));
        }
        let connecting = Connection::start(&options);
        tokio::pin!(connecting);
        loop {
            tokio::select! {
                connected = &mut connecting => return Some(connected),
                order = self.inside.orders.recv() => match order {
                    None | Some(Order::End) => return None,
                    Some(order) => self.kept.push_back(order),
                },
            }
        }
    }

    /// What the conversation is called that was just gone on with; a new one has no name before its first turn.
    fn kept_name(&self) -> Option<String> {
        self.resumed.clone().or_else(|| match &self.start.resume {
            Some(Resume::Named(name)) => Some(name.clone()),
            Some(Resume::Latest) | None => None,
        })
    }

    /// Words in which the conversation is not called by an id that means nothing to people.
    fn named(&self, words: String) -> String {
        self.resumed.as_ref().map_or_else(|| words.clone(), |session| words.replace(session, "it"))
    }

    /// Waits for something to do; false if that is to end.
    async fn wait(&mut self) -> bool {
        loop {
            match self.inside.orders.recv().await {
                None | Some(Order::End) => return false,
                // What there was to stop or to answer went with the process.
                Some(Order::Interrupt) => {
                    let _ = self.inside.reports.send(Report::Did(Deed::Interrupt, Ok(()))).await;
                }
                Some(Order::Answer { question, .. }) => {
                    let why = Err("Claude Code is gone".to_owned());
                    let _ = self.inside.reports.send(Report::Did(Deed::Answer(question), why)).await;
                }
                Some(order) => {
                    self.kept.push_back(order);
                    return true;
                }
            }
        }
    }

    /// What was chosen since the start holds for the next process, too.
    fn keep_choices(&mut self, chosen: &Capabilities) {
        let options = self.options.clone();
        self.start.model.clone_from(&chosen.model);
        self.start.mode.clone_from(&chosen.mode);
        let model = chosen.model.as_deref().filter(|model| *model != "default");
        let options = options.model_or_default(model);
        let mode = chosen.mode.as_deref().and_then(|mode| mode_of(mode, self.start.may_skip_permissions).ok());
        self.options = mode.map_or_else(|| options.clone(), |mode| options.clone().permission_mode(mode));
    }
}

impl Prompt {
    fn into_order(self) -> Order {
        // What it was said in is known from before.
        Order::Prompt { turn: self.turn, item: ItemId::from(""), text: self.text, attachments: Vec::new() }
    }
}

/// With what to do about it, where that is known.
pub(super) fn hinted(text: &str) -> String {
    let about_login = ["/login", "API key", "ogged in", "authenticat"].iter().any(|word| text.contains(word));
    if about_login { format!("{text}; {LOG_IN}") } else { text.to_owned() }
}

/// Why it could not be started. That it is gone need not be said twice.
fn said(error: &Error) -> String {
    match error {
        Error::Disconnected(reason) => hinted(reason),
        other => hinted(&other.to_string()),
    }
}

/// Whether only the conversation is not to be had: with another one it would start.
fn is_about_conversation(error: &Error) -> bool {
    let refused = ["No conversation found", "Failed to resume", "Session not found"];
    matches!(error, Error::Disconnected(reason) if refused.iter().any(|words| reason.contains(words)))
}

impl Live {
    fn new(
        connection: Connection,
        events: Events,
        reports: &Reports,
        done: mpsc::UnboundedSender<Done>,
        (start, program): (&Start, &Program),
        hello: &Value,
    ) -> Self {
        let hello: protocol::InitializeReply = serde_json::from_value(hello.clone()).unwrap_or_default();
        let mut live = Self {
            connection,
            events,
            reports: reports.clone(),
            done,
            start: start.clone(),
            program: program.clone(),
            session: None,
            capabilities: capabilities(&hello, start),
            version: hello.claude_code_version,
            checkpoints: Vec::new(),
            work: Work::default(),
            items: Items::default(),
            open: HashMap::new(),
            denied: Vec::new(),
            calls: BTreeSet::new(),
            usage: Usage::default(),
            paid: 0.0,
            outputs: 0,
        };
        if let Some(mode) = hello.current_permission_mode {
            live.note_mode(&mode);
        }
        live
    }

    /// Leaves a mode that nobody has allowed, before anything is said to it; which, comes back. The error: why it cannot be
    /// used.
    async fn leave_unallowed(&mut self) -> Result<Option<String>, String> {
        let Some(mode) = self.unallowed().map(str::to_owned) else { return Ok(None) };
        let outcome = self.connection.set_permission_mode(protocol::PermissionMode::Default).await;
        outcome.map_err(|error| format!("Claude Code is in its mode {mode:?}, which skips permissions: {error}"))?;
        self.capabilities.mode = Some("default".to_owned());
        Ok(Some(mode))
    }

    /// Goes on where the one before has ended.
    fn take_over(&mut self, before: Self) {
        self.checkpoints = before.checkpoints;
        self.paid = before.usage.cost.unwrap_or(before.paid);
        self.usage = before.usage;
        self.outputs = before.outputs;
        self.version = self.version.take().or(before.version);
    }

    /// A new conversation has nothing of the one before.
    fn forget(&mut self) {
        self.checkpoints.clear();
        self.usage.context_tokens = None;
    }

    /// Hears orders and events until one of them is the last.
    async fn serve(&mut self, course: &mut Course, came: &mut mpsc::UnboundedReceiver<Done>) -> Result<End, Unheard> {
        loop {
            let heard = match course.kept.pop_front() {
                Some(order) => Heard::Order(Some(order)),
                None => tokio::select! {
                    order = course.inside.orders.recv() => Heard::Order(order),
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

    /// Stops what runs, and lets it end. What it still says belongs to nothing any more.
    async fn stop(&mut self) {
        if self.work.is_busy() {
            let interrupted = timeout(HASTE, self.connection.interrupt()).await;
            debug!(done = interrupted.is_ok_and(|outcome| outcome.is_ok()), "interrupted before the end");
        }
        self.connection.close();
        while let Some(event) = self.events.next().await {
            if let Event::Closed(closed) = event {
                debug!(exit = %closed.exit, "Claude Code has ended");
                return;
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
        acknowledges: false,
        models: models.collect(),
        model: start.model.clone().or_else(|| Some("default".to_owned())),
        modes: modes(start.may_skip_permissions),
        mode: start.mode.clone().or_else(|| Some("default".to_owned())),
        commands: commands.collect(),
        calls: CALLS.iter().map(|call| (*call).to_owned()).collect(),
    }
}
