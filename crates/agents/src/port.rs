//! What wh asks of an agent. An [`Agent`] is a kind of program: is it there, who is logged in, which models, start one.
//! A [`Harness`] is one that runs: orders go in, reports come out, and how it is spoken to stays behind them. A protocol
//! with replies, one with notifications only, and a bare terminal all fit.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tracing::{Instrument, info_span};
use wh_core::space::bounds::Bounds;
use wh_core::space::extent::size;
use wh_core::space::harness::{Order, Report};
use wh_core::space::item::Level;
use wh_core::space::roster::{Abilities, LoginMethod, LogoutDone, McpServer, ModelCard};
use wh_pipe::Leash;

use crate::kept::{self, Loss, MOST_KEPT};
use crate::manage::{self, LoginWay};

/// A future that can be asked for through a `dyn` port.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Orders that may wait for a busy agent. An agent that lets more wait takes none, and is taken to be gone.
const ORDERS: usize = 64;

/// Reports that may wait to be read. Beyond that the agent waits: nothing it says is dropped.
const REPORTS: usize = 256;

/// How long a turn may go on after its agent was told to stop.
pub(crate) const STOPPING: Duration = Duration::from_secs(5);

/// How long an agent may take to read something short.
pub(crate) const READING: Duration = Duration::from_secs(5);

/// Why something short was not written in [`READING`].
pub(crate) const NOT_READING: &str = "it does not read its input";

/// A kind of program that does the work.
pub trait Agent: Send + Sync {
    /// What is always true of it.
    fn facts(&self) -> AgentFacts;

    /// What it can do.
    fn abilities(&self) -> Abilities {
        Abilities::default()
    }

    /// Looks whether it can be used now and here. Never fails: what cannot be found out is unknown.
    fn check<'a>(&'a self, here: &'a Surroundings) -> BoxFuture<'a, Readiness>;

    /// How somebody logs in with it. Without a way of its own its login is a matter of what [`AgentFacts::login_hint`]
    /// says.
    fn login_way<'a>(&'a self, _here: &'a Surroundings) -> BoxFuture<'a, Result<LoginWay, ManageError>> {
        Box::pin(async {
            Ok(match self.facts().login_hint {
                Some(instructions) => LoginWay::ByHand { instructions, method: LoginMethod::Terminal },
                None => LoginWay::NotNeeded,
            })
        })
    }

    /// Logs out.
    fn log_out<'a>(&'a self, _here: &'a Surroundings) -> BoxFuture<'a, Result<LogoutDone, ManageError>> {
        Box::pin(async { Ok(manage::no_logout(&self.facts().title, "its login is not kept by a command")) })
    }

    /// What else it says of itself, a name and a value each. Nothing where it does not.
    fn about<'a>(&'a self, _here: &'a Surroundings) -> BoxFuture<'a, Vec<(String, String)>> {
        Box::pin(async { Vec::new() })
    }

    /// The models that it offers.
    fn models<'a>(&'a self, _here: &'a Surroundings) -> BoxFuture<'a, Result<Vec<ModelCard>, ManageError>> {
        Box::pin(async { Err(manage::no_models(&self.facts().title)) })
    }

    /// Its MCP servers.
    fn mcp<'a>(&'a self, _here: &'a Surroundings) -> BoxFuture<'a, Result<Vec<McpServer>, ManageError>> {
        Box::pin(async { Err(manage::no_mcp(&self.facts().title)) })
    }

    /// Switches one of its MCP servers on or off; what it says of that.
    fn switch_mcp<'a>(
        &'a self,
        _here: &'a Surroundings,
        _server: &'a str,
        _on: bool,
    ) -> BoxFuture<'a, Result<String, ManageError>> {
        Box::pin(async { Err(manage::no_switch(&self.facts().title)) })
    }

    /// The conversations that it keeps of a directory, the newest first. An agent without an answer of its own says that
    /// it lists none.
    fn conversations<'a>(&'a self, _here: &'a Surroundings) -> BoxFuture<'a, Result<Vec<Kept>, ManageError>> {
        Box::pin(async { Err(ManageError::NotSupported(format!("{} lists no conversations", self.facts().title))) })
    }

    /// Starts one. It is usable from its first [`Report::Ready`] on; orders given before that are kept for it.
    fn start(&self, start: Start) -> BoxFuture<'_, Result<Harness, StartError>>;
}

/// What is always true of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentFacts {
    /// What it is chosen by, as `demo`.
    pub id: String,
    /// Its name for people.
    pub title: String,
    /// What to run in order to have it. `None`: it is always there.
    pub install_hint: Option<String>,
    /// What to run in order to log in. `None`: it needs no login.
    pub login_hint: Option<String>,
}

/// Whether an agent can be used now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Readiness {
    /// Whether it is installed.
    pub installation: Installation,
    /// Whether somebody is logged in.
    pub login: Login,
    /// What to run in order to use it; `None` when nothing is missing, as far as is known.
    pub hint: Option<String>,
}

/// Whether an agent is installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Installation {
    /// It is a part of wh.
    BuiltIn,
    /// It is there.
    Installed {
        /// Where.
        path: PathBuf,
        /// Which version, if it says.
        version: Option<String>,
    },
    /// It is not on the path.
    Missing,
}

impl Installation {
    /// Whether it can be started.
    pub fn is_present(&self) -> bool {
        !matches!(self, Self::Missing)
    }
}

/// Whether somebody is logged in with an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Login {
    /// It needs none.
    NotNeeded,
    /// Yes.
    Yes {
        /// As whom or by what, where the agent says.
        account: Option<String>,
    },
    /// No.
    No,
    /// It does not say.
    Unknown,
}

/// How to start an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// Where it works.
    pub directory: PathBuf,
    /// Which model it begins with; `None` is its own choice.
    pub model: Option<String>,
    /// Which mode it begins in; `None` is its own choice.
    pub mode: Option<String>,
    /// Which conversation it goes on with; `None` is a new one.
    pub resume: Option<Resume>,
    /// When the conversation began that it goes on with, or a little later, if that is known.
    pub begun: Option<SystemTime>,
    /// Modes that skip permissions may be entered, at the start or later. Whoever asks for one without this is refused.
    pub may_skip_permissions: bool,
    /// What its command line has beside what wh puts there.
    pub arguments: Vec<OsString>,
    /// What its environment has beside what wh leaves there. `None` takes a variable away.
    pub environment: BTreeMap<OsString, Option<OsString>>,
    /// It may leave behind what it needs in order to be gone on with later, where only wh's word decides that.
    pub keeps: bool,
    /// One that goes on with a conversation tells what was said in it. Not wanted by those who know it already.
    pub recalls: bool,
}

/// A conversation to go on with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resume {
    /// The newest in that directory.
    Latest,
    /// This one, by the name that the agent itself has for it.
    Named(String),
}

impl Start {
    /// A new conversation in this directory, with the agent's own choice of everything else.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            model: None,
            mode: None,
            resume: None,
            begun: None,
            may_skip_permissions: false,
            arguments: Vec::new(),
            environment: BTreeMap::new(),
            keeps: false,
            recalls: true,
        }
    }

    /// A text without the name of the conversation that was asked for: that name stays inside. One so short that it could
    /// be a part of any word is left.
    pub(crate) fn discreet(&self, text: &str) -> String {
        match &self.resume {
            Some(Resume::Named(name)) if name.len() >= 6 => text.replace(name.as_str(), "it"),
            _ => text.to_owned(),
        }
    }
}

/// Where an agent is asked something without being started: as it would be found by [`Start`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Surroundings {
    /// Where it would work.
    pub directory: PathBuf,
    /// What its environment has beside what wh leaves there. `None` takes a variable away.
    pub environment: BTreeMap<OsString, Option<OsString>>,
}

impl Surroundings {
    /// This directory, and wh's own environment.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into(), environment: BTreeMap::new() }
    }

    /// Where wh itself was started.
    pub fn of_wh() -> Self {
        Self::new(std::env::current_dir().unwrap_or_else(|_| PathBuf::from(".")))
    }

    /// A variable as the agent would find it; one that is empty counts as not there.
    pub fn variable(&self, name: &str) -> Option<OsString> {
        let found = match self.environment.get(OsStr::new(name)) {
            Some(changed) => changed.clone(),
            None => std::env::var_os(name),
        };
        found.filter(|value| !value.is_empty())
    }

    /// A path below the home directory.
    pub fn home(&self, below: &str) -> Option<PathBuf> {
        self.variable("HOME").map(|home| PathBuf::from(home).join(below))
    }
}

impl From<&Start> for Surroundings {
    fn from(start: &Start) -> Self {
        Self { directory: start.directory.clone(), environment: start.environment.clone() }
    }
}

/// A conversation that an agent keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// The name that the agent itself has for it, as [`Resume::Named`] takes it. It stays inside.
    pub name: String,
    /// What it is about, in a line.
    pub title: String,
    /// When something was last said in it.
    pub at: Option<SystemTime>,
    /// Where it was held.
    pub directory: Option<PathBuf>,
}

/// Why an agent did not do what it was asked beside a conversation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManageError {
    /// Its program is not there.
    #[error("{agent} is not installed: {hint}")]
    NotInstalled {
        /// Which agent.
        agent: String,
        /// What to run.
        hint: String,
    },
    /// It cannot do that at all; what can be done instead.
    #[error("{0}")]
    NotSupported(String),
    /// It could not, or did not in time.
    #[error("{0}")]
    Failed(String),
}

/// Why an agent was not started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// Its program is not there.
    #[error("{agent} is not installed: there is no {}", sought(command))]
    NotInstalled {
        /// Which agent.
        agent: String,
        /// What was looked for.
        command: String,
        /// What to run.
        hint: String,
    },
    /// It wants a login first.
    #[error("{agent} is not logged in")]
    NotLoggedIn {
        /// Which agent.
        agent: String,
        /// What to run.
        hint: String,
    },
    /// It has no such model, mode, argument or conversation.
    #[error("{agent} has no {what} {given:?}")]
    Unknown {
        /// Which agent.
        agent: String,
        /// What it does not have: `model`, `mode`, `argument`, `conversation`.
        what: &'static str,
        /// What was asked for.
        given: String,
        /// What there is.
        hint: String,
    },
    /// The mode skips permissions, and wh was not started for that.
    #[error("{agent}'s mode {mode:?} skips permissions, and wh was not started for that")]
    SkipsPermissions {
        /// Which agent.
        agent: String,
        /// Which mode.
        mode: String,
        /// What to start wh with.
        hint: String,
    },
    /// It was started and did not come so far.
    #[error("{agent} could not be started: {reason}")]
    Failed {
        /// Which agent.
        agent: String,
        /// What it or the system said.
        reason: String,
        /// What to try, if anything.
        hint: Option<String>,
    },
}

/// What was looked for and where: a name on the path, or a place.
fn sought(command: &str) -> String {
    if command.contains('/') { format!("program {command:?}") } else { format!("{command:?} on the path") }
}

impl StartError {
    /// What to do about it.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::NotInstalled { hint, .. }
            | Self::NotLoggedIn { hint, .. }
            | Self::Unknown { hint, .. }
            | Self::SkipsPermissions { hint, .. } => Some(hint),
            Self::Failed { hint, .. } => hint.as_deref(),
        }
    }
}

/// A live agent, as its owner holds it: a task behind two channels.
///
/// The owner reads `reports` at all times, also while an order waits for room: an agent may stop taking orders while
/// nobody hears it. Dropping `orders` ends the agent as [`Order::End`] does. What it has to say until then still comes,
/// [`Report::Gone`] last; once `reports` is closed, nothing of the agent is left: no process, no file of its own.
/// Dropping `reports` ends it too.
#[derive(Debug)]
pub struct Harness {
    /// What it is told.
    pub orders: mpsc::Sender<Order>,
    /// What it says.
    pub reports: mpsc::Receiver<Report>,
    /// What it said beyond what is shown.
    pub kept: kept::Kept,
    /// For when it does not end.
    pub force: Force,
}

/// The last resort against an agent that was told to end and does not: nothing it does, and nothing that its harness waits
/// for, can keep it.
#[derive(Debug, Clone, Default)]
pub struct Force {
    leash: Leash,
    task: Option<AbortHandle>,
}

impl Force {
    /// Kills its processes, at once. Its harness sees that they are gone, and says so.
    pub fn kill(&self) {
        self.leash.pull();
    }

    /// Kills its processes and ends its harness too, without a word.
    pub fn abort(&self) {
        self.leash.pull();
        self.task.iter().for_each(AbortHandle::abort);
    }
}

/// The other ends of a [`Harness`], as the task behind it holds them.
#[derive(Debug)]
pub struct Inside {
    /// What it is told. `None` is an end.
    pub orders: mpsc::Receiver<Order>,
    /// What it says. A report that cannot be sent is an end.
    pub reports: Reports,
    /// What its processes are launched with.
    pub leash: Leash,
}

/// The way of what an agent says. Nothing passes that is too large to be held: the rest of it is [kept](kept::Kept).
#[derive(Debug, Clone)]
pub struct Reports {
    sender: mpsc::Sender<Report>,
    bounds: Arc<Mutex<Bounds>>,
    kept: kept::Kept,
}

/// Nobody hears reports any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unheard;

impl Reports {
    /// Reports, when there is room.
    ///
    /// # Errors
    ///
    /// If nobody hears it.
    pub async fn send(&self, report: Report) -> Result<(), Unheard> {
        for report in self.bounded(report) {
            self.sender.send(report).await.map_err(|_| Unheard)?;
        }
        Ok(())
    }

    /// Waits until there is room for a report. Cancel safe.
    ///
    /// # Errors
    ///
    /// If nobody hears it.
    pub async fn room(&self) -> Result<(), Unheard> {
        self.sender.reserve().await.map(drop).map_err(|_| Unheard)
    }

    /// Waits until nobody hears reports any more. Cancel safe.
    pub async fn closed(&self) {
        self.sender.closed().await;
    }

    fn bounded(&self, report: Report) -> Vec<Report> {
        let passed = self.bounds.lock().unwrap_or_else(PoisonError::into_inner).pass(report);
        let mut lost = passed.beyond.into_iter().filter_map(|beyond| self.kept.take(beyond)).map(|loss| match loss {
            Loss::Oldest => {
                format!("of what is beyond what is shown the oldest has gone: {} of an agent are kept", size(MOST_KEPT))
            }
            Loss::Unwritable(error) => format!("what is beyond what is shown cannot be kept: {error}"),
        });
        let mut reports: Vec<Report> = lost.by_ref().map(|text| Report::Notice(Level::Warning, text)).collect();
        for report in &passed.reports {
            if let Report::Shortened(_, extent) = report {
                tracing::debug!(%extent, "shortened");
            }
        }
        reports.extend(passed.reports);
        reports
    }
}

impl Harness {
    /// Both ends of the channels.
    pub fn new() -> (Self, Inside) {
        Self::with_depths(ORDERS, REPORTS)
    }

    /// One whose task this is. Must be called within a runtime.
    pub fn run<F>(work: impl FnOnce(Inside) -> F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (mut harness, inside) = Self::new();
        harness.force.task = Some(tokio::spawn(work(inside).instrument(info_span!("harness"))).abort_handle());
        harness
    }

    /// The same, which reports these things before anything else. Must be called within a runtime.
    pub fn announcing(self, first: Vec<Report>) -> Self {
        let Self { orders, mut reports, kept, force } = self;
        let (report, heard) = mpsc::channel(REPORTS);
        tokio::spawn(async move {
            for news in first {
                // Nobody hears it: the agent's own reports are dropped, and that ends it.
                if report.send(news).await.is_err() {
                    return;
                }
            }
            loop {
                let news = tokio::select! {
                    news = reports.recv() => news,
                    () = report.closed() => None,
                };
                let Some(news) = news else { return };
                if report.send(news).await.is_err() {
                    return;
                }
            }
        });
        Self { orders, reports: heard, kept, force }
    }

    /// The same, with as many orders and reports waiting at most.
    pub(crate) fn with_depths(most_orders: usize, most_reports: usize) -> (Self, Inside) {
        let (order, orders) = mpsc::channel(most_orders);
        let (sender, reports) = mpsc::channel(most_reports);
        let kept = kept::Kept::default();
        let inside = Reports { sender, bounds: Arc::default(), kept: kept.clone() };
        let force = Force::default();
        let leash = force.leash.clone();
        (Self { orders: order, reports, kept, force }, Inside { orders, reports: inside, leash })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_what_was_wrong_and_what_to_do() {
        let error = StartError::NotInstalled {
            agent: "Codex".to_owned(),
            command: "codex".to_owned(),
            hint: "npm install -g @openai/codex".to_owned(),
        };
        assert_eq!(error.to_string(), "Codex is not installed: there is no \"codex\" on the path");
        assert_eq!(error.hint(), Some("npm install -g @openai/codex"));
        let error = StartError::Failed { agent: "Codex".to_owned(), reason: "it exited with 1".to_owned(), hint: None };
        assert_eq!(error.hint(), None);
    }

    #[tokio::test]
    async fn what_is_announced_comes_first_and_the_rest_in_its_order() {
        let (harness, inside) = Harness::new();
        let notice = |text: &str| Report::Notice(Level::Warning, text.to_owned());
        inside.reports.send(notice("own")).await.unwrap();
        let mut harness = harness.announcing(vec![notice("one"), notice("two")]);
        for text in ["one", "two", "own"] {
            assert_eq!(harness.reports.recv().await, Some(notice(text)));
        }
        let reports = inside.reports;
        drop(harness);
        reports.closed().await;

        let (harness, inside) = Harness::new();
        let mut harness = harness.announcing(Vec::new());
        drop(inside);
        assert_eq!(harness.reports.recv().await, None, "its end is passed on");
    }
}
