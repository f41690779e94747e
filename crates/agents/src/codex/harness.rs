//! The task behind a running Codex: orders and events in, requests and reports out. It waits for neither a person nor a
//! reply: whatever takes time runs in a task of its own and comes back as a [`Done`].

mod life;
mod news;
mod told;

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::Instant;
use wh_core::space::TurnId;
use wh_core::space::harness::{Call, Capabilities, Deed, Order, Outcome, Report};
use wh_core::space::item::Level;
use wh_pipe::Launch;
use wh_wire::codex::{self as wire, Account, Settings, Started, Thread, ThreadStatus};

use super::items::Items;
use super::modes::{self, Mode};
use super::questions::{self, Open};
use super::{LOG_IN, TITLE};
use crate::port::{Inside, Reports, STOPPING, Start, Unheard};
use crate::rpc::{Events, Incoming, Peer, Reply, RpcError};

pub(super) use life::run;

/// All that it needs to run.
pub(super) struct Ways {
    pub launch: Launch,
    pub start: Start,
    /// The mode that the start names.
    pub mode: Option<&'static Mode>,
    pub inside: Inside,
    /// How long a turn may be without a word while Codex works on nothing.
    pub silence: Duration,
}

/// What a task of its own has come to.
#[derive(Debug)]
pub(super) enum Done {
    /// The prompt of a turn was written, or not.
    Sent(TurnId, Result<Reply, RpcError>),
    /// The answer to the question of this key was written, or not.
    Answered(String, Result<(), String>),
    /// It has this choice for the conversation, or it waits for the next turn; or Codex does not want it.
    Chosen(Deed, Choice, Result<(), RpcError>),
    /// A turn was taken, or not.
    Turn(TurnId, Result<Value, RpcError>),
    /// The turn was interrupted, or not.
    Interrupted(TurnId, Result<(), RpcError>),
    /// The words that went with a no were passed on, or not.
    Steered(Result<(), RpcError>),
    /// The conversation is being made shorter, or not, for the call of this number.
    Compacts(u64, Result<(), RpcError>),
    /// A new conversation was begun, or not, for the call of this number.
    Cleared(u64, Result<Value, RpcError>),
    /// A call was carried out.
    Called(u64, Result<Value, String>),
    /// How the conversation is, asked in the silence that began then.
    Looked(Instant, Result<Value, RpcError>),
}

/// What goes on after an order.
enum Next {
    On,
    End,
    /// Begin a new conversation, for the call of this number.
    Anew(u64),
}

/// A turn that runs.
struct Turn {
    id: TurnId,
    /// What it was to bring into the conversation.
    sent: Choice,
    /// What Codex calls it; known from its reply, or from its first word if that comes sooner.
    native: Option<String>,
    /// The reply has come.
    replied: bool,
    written: bool,
    submitted: bool,
    begun: bool,
    /// Somebody wants it to stop, and until when it has to.
    interrupted: Option<Instant>,
    /// Interrupts that Codex has not taken.
    untaken: usize,
}

/// What has to be over before the next prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Busy {
    /// The conversation is made shorter.
    Compacting,
    /// A new one is begun.
    Clearing,
}

/// What was chosen for the turns from now on; what was not, Codex chooses.
#[derive(Debug, Clone, Default)]
pub(super) struct Choice {
    pub model: Option<String>,
    pub mode: Option<&'static Mode>,
}

impl Choice {
    pub fn settings(&self) -> Settings<'_> {
        Settings {
            model: self.model.as_deref(),
            approval_policy: self.mode.map(|mode| mode.approval_policy),
            sandbox: self.mode.map(|mode| mode.sandbox),
            approvals_reviewer: self.mode.map(|_| modes::PERSON),
        }
    }

    /// The same for a conversation that begins: a person is asked, whatever its configuration says, unless it may skip that.
    pub fn beginning(&self, may_skip: bool) -> Settings<'_> {
        let settings = self.settings();
        Settings {
            approvals_reviewer: settings.approvals_reviewer.or((!may_skip).then_some(modes::PERSON)),
            ..settings
        }
    }
}

/// One that runs.
pub(super) struct Live {
    pub(super) peer: Peer,
    events: Events,
    /// What it said before it could be used.
    backlog: VecDeque<Incoming>,
    reports: Reports,
    done: mpsc::UnboundedSender<Done>,
    pub(super) launch: Launch,
    pub(super) start: Start,
    /// What Codex calls the conversation.
    pub(super) thread: String,
    status: ThreadStatus,
    /// Something was said in it: only then it can be gone on with.
    spoken: bool,
    /// Turns that were given up before Codex had taken them: they are to be stopped when it has.
    unstopped: Vec<TurnId>,
    pub(super) capabilities: Capabilities,
    pub(super) version: Option<String>,
    /// All that was chosen, for whoever begins anew.
    choice: Choice,
    /// What of it the conversation does not have yet.
    pending: Choice,
    turn: Option<Turn>,
    /// Turns that ended while the reply to ours was on its way.
    early: Vec<wire::Turn>,
    pub(super) busy: Option<Busy>,
    waiting: Option<(TurnId, String)>,
    /// Calls that wait to be answered.
    pub(super) calls: HashSet<u64>,
    items: Items,
    open: BTreeMap<u64, Open>,
    asked: u64,
    /// Warnings that were told; Codex repeats some with every turn.
    told: HashSet<String>,
    heard: Instant,
    silence: Duration,
    /// The news of the beginning, until they are told.
    first: Option<First>,
}

/// What is to be told once it can be used.
struct First {
    started: Started,
    account: Account,
    notice: Option<String>,
}

/// What the loop hears.
enum Heard {
    Order(Option<Order>),
    Event(Option<Incoming>),
    Done(Done),
    /// Nothing, for long.
    Silence,
    /// The turn should have stopped by now.
    Overdue,
}

/// An error in words, with what to do about it where that is known.
pub(super) fn in_words(text: &str, about_login: bool) -> String {
    let about_login = about_login
        || ["401 Unauthorized", "not logged in", "Not logged in", "codex login"].iter().any(|word| text.contains(word));
    if about_login { format!("{text}; {LOG_IN}") } else { text.to_owned() }
}

/// Whether Codex does not know a method. It says so with a number of its own.
pub(super) fn is_unknown(error: &RpcError) -> bool {
    let named = matches!(error, RpcError::Refused { message, .. } if message.contains("unknown variant"));
    named || error.is_unknown_method()
}

impl Live {
    pub(super) async fn tell(&self, report: Report) -> Result<(), Unheard> {
        self.reports.send(report).await
    }

    /// Says by what the conversation can be gone on with.
    async fn tell_kept(&self) -> Result<(), Unheard> {
        self.tell(Report::Kept(self.spoken.then(|| self.thread.clone()))).await
    }

    async fn tell_all(&self, reports: Vec<Report>) -> Result<(), Unheard> {
        for report in reports {
            self.tell(report).await?;
        }
        Ok(())
    }

    /// Answers a call.
    pub(super) async fn called(&mut self, id: u64, outcome: Result<Value, String>) -> Result<(), Unheard> {
        if self.calls.remove(&id) { self.tell(Report::Called(id, outcome)).await } else { Ok(()) }
    }

    /// Tells something that is said once only.
    async fn warn(&mut self, level: Level, text: String) -> Result<(), Unheard> {
        if self.told.insert(text.clone()) { self.tell(Report::Notice(level, text)).await } else { Ok(()) }
    }

    /// What was chosen.
    pub(super) fn choice(&self) -> &Choice {
        &self.choice
    }

    /// Where it works, as Codex knows the place.
    pub(super) fn directory(&self) -> String {
        life::place(&self.start.directory)
    }

    /// Whether a turn runs, or waits to.
    pub(super) fn works(&self) -> bool {
        self.turn.is_some() || self.waiting.is_some()
    }

    /// Does what it is told, as far as that takes no time.
    async fn order(&mut self, order: Order) -> Result<Next, Unheard> {
        match order {
            Order::Prompt { turn, text, .. } => self.prompt(turn, text).await?,
            Order::Answer { question, answer } => self.answer(question, answer).await?,
            Order::Interrupt => match self.waiting.take() {
                Some((turn, _)) => {
                    self.tell(Report::Did(Deed::Interrupt, Ok(()))).await?;
                    self.tell(Report::Ended(turn, Outcome::Cancelled)).await?;
                }
                None => match &mut self.turn {
                    Some(turn) => {
                        turn.interrupted.get_or_insert_with(|| Instant::now() + STOPPING);
                        turn.untaken += 1;
                        self.interrupt();
                    }
                    // What there was to stop is over.
                    None => self.tell(Report::Did(Deed::Interrupt, Ok(()))).await?,
                },
            },
            Order::SetModel(model) => {
                let before = self.choice.clone();
                self.capabilities.model = Some(model.clone());
                self.choice.model = Some(model.clone());
                self.pending.model = Some(model.clone());
                self.settle(Deed::Model(model), before).await?;
            }
            Order::SetMode(mode) => match modes::find(&mode, self.start.may_skip_permissions) {
                Ok(mode) => {
                    let before = self.choice.clone();
                    self.capabilities.mode = Some(mode.id.to_owned());
                    self.choice.mode = Some(mode);
                    self.pending.mode = Some(mode);
                    self.settle(Deed::Mode(mode.id.to_owned()), before).await?;
                }
                Err(error) => {
                    let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
                    let why = format!("{error}{hint}");
                    self.tell(Report::Notice(Level::Warning, why.clone())).await?;
                    self.tell(Report::Ready(self.capabilities.clone())).await?;
                    self.tell(Report::Did(Deed::Mode(mode), Err(why))).await?;
                }
            },
            Order::Call { id, call: Call::Restart } => return Ok(Next::Anew(id)),
            Order::Call { id, call } => {
                self.calls.insert(id);
                self.call(id, call).await?;
            }
            Order::End => return Ok(Next::End),
        }
        Ok(Next::On)
    }

    /// Lets something take its time.
    pub(super) fn aside<F>(&self, work: impl FnOnce(Peer) -> F)
    where
        F: Future<Output = Done> + Send + 'static,
    {
        let (work, done) = (work(self.peer.clone()), self.done.clone());
        tokio::spawn(async move {
            // Nobody is left to be told when the harness has ended.
            let _ = done.send(work.await);
        });
    }

    /// A choice holds from the next turn on; where Codex takes it for the conversation too, it has it at once.
    async fn settle(&mut self, deed: Deed, before: Choice) -> Result<(), Unheard> {
        let params = wire::settings(&self.thread, &self.pending.settings());
        self.aside(|peer| async move {
            Done::Chosen(deed, before, peer.request("thread/settings/update", params).await.map(drop))
        });
        self.tell(Report::Ready(self.capabilities.clone())).await
    }

    async fn prompt(&mut self, turn: TurnId, text: String) -> Result<(), Unheard> {
        if self.busy.is_some() {
            self.waiting = Some((turn, text));
            return Ok(());
        }
        let sent = std::mem::take(&mut self.pending);
        let params = wire::turn(&self.thread, &text, &sent.settings());
        self.heard = Instant::now();
        self.early.clear();
        self.turn = Some(Turn {
            id: turn.clone(),
            sent,
            native: None,
            replied: false,
            written: false,
            submitted: false,
            begun: false,
            interrupted: None,
            untaken: 0,
        });
        // Whether it takes it may take any time; if it never says, silence is noticed.
        self.aside(|peer| async move { Done::Sent(turn, peer.begin("turn/start", params, None).await) });
        Ok(())
    }

    /// Sends a prompt that has waited.
    async fn freed(&mut self) -> Result<(), Unheard> {
        self.busy = None;
        match self.waiting.take() {
            Some((turn, text)) => self.prompt(turn, text).await,
            None => Ok(()),
        }
    }

    /// Asks for the end of the turn, as soon as there is one to end.
    fn interrupt(&self) {
        let Some(turn) = self.turn.as_ref().filter(|turn| turn.interrupted.is_some()) else { return };
        let Some(native) = &turn.native else { return };
        let (id, params) = (turn.id.clone(), wire::interrupt(&self.thread, native));
        self.aside(|peer| async move { Done::Interrupted(id, peer.request("turn/interrupt", params).await.map(drop)) });
    }

    /// What came of something that took its time.
    async fn done(&mut self, done: Done) -> Result<(), Unheard> {
        match done {
            Done::Turn(id, outcome) => self.replied(&id, outcome).await,
            Done::Sent(id, outcome) => self.sent(id, outcome).await,
            Done::Answered(key, outcome) => {
                if let Err(error) = &outcome {
                    self.tell(Report::Notice(Level::Error, format!("the answer was not sent: {error}"))).await?;
                }
                self.tell(Report::Did(Deed::Answer(key), outcome)).await
            }
            Done::Chosen(deed, before, outcome) => self.chosen(deed, before, outcome).await,
            Done::Interrupted(id, Ok(())) if self.turn.as_ref().is_some_and(|turn| turn.id == id) => {
                self.taken(Ok(())).await
            }
            Done::Interrupted(_, Ok(())) | Done::Steered(Ok(())) => Ok(()),
            Done::Interrupted(id, Err(error)) => {
                let Some(turn) = self.turn.as_ref().filter(|turn| turn.id == id) else { return Ok(()) };
                match (turn.begun, self.status) {
                    // It has not come so far; its first word brings the next attempt.
                    (false, _) => Ok(()),
                    (true, ThreadStatus::Active) => {
                        self.tell(Report::Notice(Level::Warning, format!("not interrupted: {error}"))).await?;
                        self.taken(Err(&error.to_string())).await
                    }
                    // There is nothing to interrupt: its end was lost.
                    (true, _) => self.end_turn(Outcome::Cancelled).await,
                }
            }
            Done::Steered(Err(error)) => {
                self.tell(Report::Notice(Level::Warning, format!("the reason was not passed on: {error}"))).await
            }
            Done::Compacts(id, Ok(())) => self.called(id, Ok(Value::Null)).await,
            Done::Compacts(id, Err(error)) => {
                let why = self.refusal("make a conversation shorter", &error);
                self.called(id, Err(why)).await?;
                self.freed().await
            }
            Done::Cleared(id, outcome) => {
                let told = match outcome.map(|reply| Started::read(&reply)) {
                    Ok(Some(started)) => {
                        self.thread.clone_from(&started.thread.id);
                        self.status = started.thread.status;
                        self.spoken = false;
                        self.tell_kept().await?;
                        self.holds(&started).await?;
                        Ok(Value::Null)
                    }
                    Ok(None) => Err(format!("{TITLE} names no conversation")),
                    Err(error) => Err(error.to_string()),
                };
                self.called(id, told).await?;
                self.freed().await
            }
            Done::Called(id, outcome) => self.called(id, outcome).await,
            Done::Looked(since, outcome) => self.looked(since, outcome).await,
        }
    }

    /// The prompt was taken, or not.
    async fn replied(&mut self, id: &TurnId, outcome: Result<Value, RpcError>) -> Result<(), Unheard> {
        let Some(turn) = self.turn.as_mut().filter(|turn| turn.id == *id) else {
            // One that has ended meanwhile needs nothing more.
            if let Some(place) = self.unstopped.iter().position(|turn| turn == id) {
                self.unstopped.swap_remove(place);
                self.given_up(id, outcome);
            }
            return Ok(());
        };
        turn.replied = true;
        match outcome {
            Ok(reply) => {
                turn.native = wire::Turn::read(&reply["turn"]).map(|turn| turn.id).or(turn.native.take());
                let ended = self.early.iter().position(|early| Some(&early.id) == turn.native.as_ref());
                let interrupted = turn.interrupted.is_some();
                self.submitted().await?;
                if let Some(ended) = ended {
                    let ended = self.early.swap_remove(ended);
                    self.begun().await?;
                    return self.ended(ended).await;
                }
                if interrupted {
                    self.interrupt();
                }
                Ok(())
            }
            // The end of the program is told by itself, and with better words.
            Err(RpcError::Gone(_)) => Ok(()),
            Err(error) => {
                // The choice is still to be made, unless there is a newer one.
                let sent = std::mem::take(&mut turn.sent);
                self.pending.model = self.pending.model.take().or(sent.model);
                self.pending.mode = self.pending.mode.or(sent.mode);
                self.end_turn(Outcome::Failed(in_words(&error.to_string(), false))).await
            }
        }
    }

    async fn submitted(&mut self) -> Result<(), Unheard> {
        self.delivered().await?;
        let Some(turn) = self.turn.as_mut().filter(|turn| !turn.submitted) else { return Ok(()) };
        turn.submitted = true;
        let id = turn.id.clone();
        self.tell(Report::Submitted(id)).await
    }

    async fn begun(&mut self) -> Result<(), Unheard> {
        self.submitted().await?;
        let Some(turn) = self.turn.as_mut().filter(|turn| !turn.begun) else { return Ok(()) };
        turn.begun = true;
        let id = turn.id.clone();
        self.tell(Report::Started(id)).await
    }

    pub(super) fn refusal(&self, what: &str, error: &RpcError) -> String {
        if is_unknown(error) { format!("this version of {TITLE} cannot {what}") } else { error.to_string() }
    }

    /// Ends the turn and all that belongs to it.
    async fn end_turn(&mut self, outcome: Outcome) -> Result<(), Unheard> {
        let reports = self.items.end();
        self.tell_all(reports).await?;
        self.withdraw_all().await?;
        // What was to be stopped is over; but one that is gone was not told.
        let told = match &outcome {
            Outcome::Failed(why) => Err(why.as_str()),
            Outcome::Completed | Outcome::Cancelled => Ok(()),
        };
        self.taken(told).await?;
        match self.turn.take() {
            Some(turn) => self.tell(Report::Ended(turn.id, outcome)).await,
            None => Ok(()),
        }
    }

    async fn withdraw_all(&mut self) -> Result<(), Unheard> {
        while let Some((number, open)) = self.open.pop_first() {
            for part in 0..open.parts.len() {
                self.tell(Report::Withdrew(questions::key(number, part))).await?;
            }
        }
        Ok(())
    }

    /// Nothing was heard for long. A turn that Codex does not work on any more has lost its end.
    async fn silent(&mut self) -> Result<(), Unheard> {
        self.heard = Instant::now();
        if !self.open.is_empty() {
            return Ok(());
        }
        if self.status == ThreadStatus::Active {
            let (since, params) = (self.heard, wire::look(&self.thread));
            self.aside(|peer| async move { Done::Looked(since, peer.request("thread/read", params).await) });
            return Ok(());
        }
        if self.turn.is_none() {
            return self.compacted(false).await;
        }
        let long = self.silence;
        let words = format!("{TITLE} has said nothing for {long:?} and works on nothing: the end of the turn was lost");
        self.end_turn(Outcome::Failed(words)).await
    }

    /// What it says of itself where it has said nothing else for long: it works, or the news of its end was lost.
    async fn looked(&mut self, since: Instant, outcome: Result<Value, RpcError>) -> Result<(), Unheard> {
        if self.heard != since || self.status != ThreadStatus::Active {
            return Ok(());
        }
        match outcome.ok().and_then(|reply| Thread::of(&reply)) {
            Some(thread) if thread.status != ThreadStatus::Active => {
                self.status = thread.status;
                self.silent().await
            }
            _ if self.items.any_open() || self.turn.is_none() => Ok(()),
            _ => {
                let long = self.silence;
                let words =
                    format!("{TITLE} has said nothing for {long:?}, and not that it is done; Esc interrupts it");
                self.warn(Level::Warning, words).await
            }
        }
    }
}
