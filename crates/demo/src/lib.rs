//! Demo agent, built into the binary. The agent needs no network, no child process and no installation. It exercises
//! all features of a space, and its behaviour is deterministic for a given seed. `/demo` lists the tricks.

mod acts;
mod calls;
mod chance;
mod character;
mod folder;
mod memory;
mod speech;
mod stage;
mod storage;
#[cfg(test)]
mod tests;
mod tools;
mod tricks;

use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;

use wh_agents::interface::{
    Agent, AgentFacts, AgentStartError, BoxFuture, Harness, Installation, LoginState, ManageError, QueryContext,
    Readiness, ResumeSelector, StartOptions,
};
use wh_core::space::harness::AgentOption;
use wh_core::space::roster::{ModelCard, StaticCapabilities};

use character::{DemoMode, DemoModel, DemoSettings, known, models, modes};
use memory::DemoContext;
use stage::{DemoTask, InitialState};
use storage::{DemoConversation, DemoConversationFiles};

/// Id under which the demo agent is listed.
pub const ID: &str = "demo";

const TITLE: &str = "Demo";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DemoOptions {
    /// Seed for the choice of wording.
    pub seed: u64,
    /// Delay per word that the agent sends. Zero disables all delays.
    pub pace: Duration,
    /// Parent of the agent's temporary directory; `None` for the temporary directory of the system.
    pub parent: Option<PathBuf>,
}

impl Default for DemoOptions {
    fn default() -> Self {
        Self { seed: 0, pace: Duration::from_millis(12), parent: None }
    }
}

impl DemoOptions {
    /// Overrides the options with the arguments `--seed NUMBER` and `--pace MILLISECONDS`.
    fn with_arguments<T: AsRef<OsStr>>(mut self, arguments: &[T]) -> Result<Self, AgentStartError> {
        let (agent, hint) = (TITLE.to_owned(), "use --seed NUMBER or --pace MILLISECONDS".to_owned());
        let mut arguments = arguments.iter().map(|argument| argument.as_ref().to_string_lossy().into_owned());
        while let Some(argument) = arguments.next() {
            let set: fn(&mut Self, u64) = match argument.as_str() {
                "--seed" => |options, seed| options.seed = seed,
                "--pace" => |options, pace| options.pace = Duration::from_millis(pace),
                _ => return Err(AgentStartError::Unknown { agent, what: "argument", given: argument, hint }),
            };
            let given = arguments.next().unwrap_or_default();
            match given.parse() {
                Ok(value) => set(&mut self, value),
                Err(_) => return Err(AgentStartError::InvalidValue { agent, argument, given, hint }),
            }
        }
        Ok(self)
    }
}

#[derive(Debug, Clone, Default)]
pub struct Demo(DemoOptions);

impl Demo {
    pub fn new(options: DemoOptions) -> Self {
        Self(options)
    }

    /// Returns the options and the initial state of the agent. Ignores the working directory of `start`, because the
    /// agent has a directory of its own.
    fn prepare(&self, start: &StartOptions) -> Result<(DemoOptions, InitialState), AgentStartError> {
        let options = self.0.clone().with_arguments(&start.arguments)?;
        let unknown = |what, given: &str, hint| AgentStartError::Unknown {
            agent: TITLE.to_owned(),
            what,
            given: given.to_owned(),
            hint,
        };
        let folder = DemoConversationFiles::folder(&QueryContext::from(start));
        let mut beginning = match &start.resume {
            None => {
                let files = folder.filter(|_| start.may_store_state).map(DemoConversationFiles::new);
                InitialState {
                    character: DemoSettings::default(),
                    files,
                    recalled: Vec::new(),
                    memory: DemoContext::default(),
                    turns: 0,
                }
            }
            Some(ResumeSelector::Latest) => {
                let hint = "the demo agent does not record which conversation is the latest; start a new conversation"
                    .to_owned();
                return Err(unknown("conversation", "the latest", hint));
            }
            Some(ResumeSelector::Named(name)) => {
                let hint = || "the conversation was not saved or was deleted; start a new conversation".to_owned();
                let found = folder.and_then(|folder| DemoConversationFiles::find(folder, name));
                let (files, kept) = found.ok_or_else(|| unknown("conversation", name, hint()))?;
                let recalled = if start.reports_history { files.prompts() } else { Vec::new() };
                let DemoConversation { memory, character, turns } = kept;
                InitialState {
                    character,
                    files: Some(files).filter(|_| start.may_store_state),
                    recalled,
                    memory,
                    turns,
                }
            }
        };
        if let Some(model) = &start.model {
            beginning.character.model =
                DemoModel::named(model).ok_or_else(|| unknown("model", model, known(&models())))?;
        }
        if let Some(mode) = &start.mode {
            beginning.character.mode = DemoMode::named(mode).ok_or_else(|| unknown("mode", mode, known(&modes())))?;
        }
        Ok((options, beginning))
    }

    /// Starts the agent on the channels of the caller.
    #[cfg(test)]
    fn perform(
        &self,
        start: &StartOptions,
        inside: wh_agents::interface::HarnessTaskChannels,
    ) -> Result<(), AgentStartError> {
        let (options, beginning) = self.prepare(start)?;
        tokio::spawn(DemoTask::new(options, beginning, inside).run());
        Ok(())
    }
}

impl Agent for Demo {
    fn facts(&self) -> AgentFacts {
        AgentFacts { id: ID.to_owned(), title: TITLE.to_owned(), install_hint: None, login_hint: None }
    }

    fn abilities(&self) -> StaticCapabilities {
        let no = Some(false);
        StaticCapabilities { mcp: no, skips_permissions: no, conversations: no, ..StaticCapabilities::ALL }
    }

    fn check<'a>(&'a self, _here: &'a QueryContext) -> BoxFuture<'a, Readiness> {
        Box::pin(async { Readiness { installation: Installation::BuiltIn, login: LoginState::NotNeeded, hint: None } })
    }

    fn models<'a>(&'a self, _here: &'a QueryContext) -> BoxFuture<'a, Result<Vec<ModelCard>, ManageError>> {
        let card = |(index, model): (usize, AgentOption)| ModelCard {
            id: model.id,
            title: model.title,
            is_default: index == 0,
            is_current: false,
        };
        Box::pin(async move { Ok(models().into_iter().enumerate().map(card).collect()) })
    }

    fn start(&self, start: StartOptions) -> BoxFuture<'_, Result<Harness, AgentStartError>> {
        Box::pin(async move {
            let (options, beginning) = self.prepare(&start)?;
            Ok(Harness::run(|inside| DemoTask::new(options, beginning, inside).run()))
        })
    }
}
