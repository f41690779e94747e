//! An agent inside the binary: no network, no child process, nothing to install. It shows all that a space can show, and
//! with the same seed it says the same. `/demo` lists its tricks.

mod acts;
mod calls;
mod chance;
mod character;
mod folder;
mod kept;
mod memory;
mod speech;
mod stage;
#[cfg(test)]
mod tests;
mod tools;
mod tricks;

use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;

use wh_agents::port::{
    Agent, AgentFacts, BoxFuture, Harness, Installation, LoginState, ManageError, Readiness, Resume, Start, StartError,
    Surroundings,
};
use wh_core::space::harness::Named;
use wh_core::space::roster::{Abilities, ModelCard};

use character::{Character, Mode, Model, known, models, modes};
use kept::{Conversation, Shelf};
use memory::Memory;
use stage::{Beginning, Stage};

/// What it is chosen by.
pub const ID: &str = "demo";

const TITLE: &str = "Demo";

/// How the demo agent behaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DemoOptions {
    /// Decides the wording.
    pub seed: u64,
    /// How long a word takes. With zero nothing takes any time.
    pub pace: Duration,
    /// Where its temporary folder is made; the system's place for such things without one.
    pub place: Option<PathBuf>,
}

impl Default for DemoOptions {
    fn default() -> Self {
        Self { seed: 0, pace: Duration::from_millis(12), place: None }
    }
}

impl DemoOptions {
    /// Reads `--seed NUMBER` and `--pace MILLISECONDS`, on top of what is set.
    fn with_arguments<T: AsRef<OsStr>>(mut self, arguments: &[T]) -> Result<Self, StartError> {
        let wrong = |given: &OsStr| StartError::Unknown {
            agent: TITLE.to_owned(),
            what: "argument",
            given: given.to_string_lossy().into_owned(),
            hint: "it takes --seed NUMBER and --pace MILLISECONDS".to_owned(),
        };
        let mut arguments = arguments.iter().map(AsRef::as_ref);
        while let Some(name) = arguments.next() {
            let value = arguments.next().and_then(OsStr::to_str).and_then(|value| value.parse::<u64>().ok());
            match (name.to_str(), value) {
                (Some("--seed"), Some(seed)) => self.seed = seed,
                (Some("--pace"), Some(pace)) => self.pace = Duration::from_millis(pace),
                _ => return Err(wrong(name)),
            }
        }
        Ok(self)
    }
}

/// The agent inside the binary.
#[derive(Debug, Clone, Default)]
pub struct Demo(DemoOptions);

impl Demo {
    /// One that behaves like this.
    pub fn new(options: DemoOptions) -> Self {
        Self(options)
    }

    /// What to perform, and how it begins. It has no use for a directory: it works in a folder of its own.
    fn prepare(&self, start: &Start) -> Result<(DemoOptions, Beginning), StartError> {
        let options = self.0.clone().with_arguments(&start.arguments)?;
        let unknown = |what, given: &str, hint| StartError::Unknown {
            agent: TITLE.to_owned(),
            what,
            given: given.to_owned(),
            hint,
        };
        let folder = Shelf::folder(&Surroundings::from(start));
        let mut beginning = match &start.resume {
            None => {
                let shelf = folder.filter(|_| start.keeps).map(Shelf::new);
                Beginning {
                    character: Character::default(),
                    shelf,
                    recalled: Vec::new(),
                    memory: Memory::default(),
                    turns: 0,
                }
            }
            Some(Resume::Latest) => {
                let hint = "it does not know which is the latest; start a new conversation".to_owned();
                return Err(unknown("conversation", "the latest", hint));
            }
            Some(Resume::Named(name)) => {
                let hint = || "it is not kept, or not any more; start a new conversation".to_owned();
                let found = folder.and_then(|folder| Shelf::find(folder, name));
                let (shelf, kept) = found.ok_or_else(|| unknown("conversation", name, hint()))?;
                let recalled = if start.recalls { shelf.prompts() } else { Vec::new() };
                let Conversation { memory, character, turns } = kept;
                Beginning { character, shelf: Some(shelf).filter(|_| start.keeps), recalled, memory, turns }
            }
        };
        if let Some(model) = &start.model {
            beginning.character.model = Model::named(model).ok_or_else(|| unknown("model", model, known(&models())))?;
        }
        if let Some(mode) = &start.mode {
            beginning.character.mode = Mode::named(mode).ok_or_else(|| unknown("mode", mode, known(&modes())))?;
        }
        Ok((options, beginning))
    }

    /// Runs one behind channels of one's own.
    #[cfg(test)]
    fn perform(&self, start: &Start, inside: wh_agents::port::Inside) -> Result<(), StartError> {
        let (options, beginning) = self.prepare(start)?;
        tokio::spawn(Stage::new(options, beginning, inside).run());
        Ok(())
    }
}

impl Agent for Demo {
    fn facts(&self) -> AgentFacts {
        AgentFacts { id: ID.to_owned(), title: TITLE.to_owned(), install_hint: None, login_hint: None }
    }

    fn abilities(&self) -> Abilities {
        let no = Some(false);
        Abilities { mcp: no, skips_permissions: no, conversations: no, ..Abilities::ALL }
    }

    fn check<'a>(&'a self, _here: &'a Surroundings) -> BoxFuture<'a, Readiness> {
        Box::pin(async { Readiness { installation: Installation::BuiltIn, login: LoginState::NotNeeded, hint: None } })
    }

    fn models<'a>(&'a self, _here: &'a Surroundings) -> BoxFuture<'a, Result<Vec<ModelCard>, ManageError>> {
        let card = |(index, model): (usize, Named)| ModelCard {
            id: model.id,
            title: model.title,
            is_default: index == 0,
            is_current: false,
        };
        Box::pin(async move { Ok(models().into_iter().enumerate().map(card).collect()) })
    }

    fn start(&self, start: Start) -> BoxFuture<'_, Result<Harness, StartError>> {
        Box::pin(async move {
            let (options, beginning) = self.prepare(&start)?;
            Ok(Harness::run(|inside| Stage::new(options, beginning, inside).run()))
        })
    }
}
