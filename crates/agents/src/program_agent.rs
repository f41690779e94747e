//! An agent that is a program of its own. What differs between them is in the [`table`](crate::table); here is what all of
//! them have in common: they are looked for, asked, logged in and started.

use std::ffi::OsString;
use std::sync::Arc;

use wh_core::space::roster::{Abilities, LoginMethod, LogoutDone, McpServer, ModelCard};
use wh_pipe::Launch;

use crate::manage::run::run;
use crate::manage::{self, LoginWay};
use crate::port::{
    Agent, AgentFacts, BoxFuture, Harness, Installation, Kept, LoginState, ManageError, Readiness, Start, StartError,
    Surroundings,
};
use crate::table::management::{Inquiry, LOG_OUT_BY_HAND, LogIn, LogOut, LoginCheck, McpSwitch, Source, StillLoggedIn};
use crate::table::{Entry, Management, Protocol};
use crate::{acp, claude, codex};

/// An agent of the table, or of a person's `agents.toml`.
pub struct ProgramAgent {
    entry: Arc<Entry>,
    management: &'static Management,
    /// Command of the supervisor that it runs under, so that nothing of it outlives wh.
    supervisor: Option<Vec<OsString>>,
}

impl ProgramAgent {
    /// The agent that this entry defines.
    pub fn new(entry: Entry, supervisor: Option<Vec<OsString>>) -> Self {
        Self { management: entry.management(), entry: Arc::new(entry), supervisor }
    }

    /// Its program with what a conversation needs.
    fn launch(&self, start: &Start) -> Result<Launch, StartError> {
        let mut launch = Launch::new(self.entry.program.locate(&self.entry.title, &start.environment)?);
        launch.arguments.clone_from(&start.arguments);
        launch.directory = Some(start.directory.clone());
        launch.environment = start.environment.clone();
        launch.session.clone_from(&start.session);
        launch.supervisor.clone_from(&self.supervisor);
        Ok(launch)
    }

    /// Its program, to be asked without a conversation.
    fn aside(&self, here: &Surroundings) -> Result<Launch, ManageError> {
        self.entry.program.beside(&self.entry.title, here, self.supervisor.as_ref()).map_err(manage::missing)
    }

    /// The program whose commands count: its own, or for an adapter that of the agent behind it, if that is installed.
    fn commanded(&self, own: Launch, here: &Surroundings) -> Option<Launch> {
        let Some(behind) = &self.management.behind else { return Some(own) };
        let program = wh_pipe::find(behind.command.as_ref(), &here.variable("PATH")?)?.into();
        Some(Launch { program, supervisor: None, ..own })
    }

    fn inquiry<'a>(&'a self, launch: &'a Launch, here: &'a Surroundings) -> Inquiry<'a> {
        Inquiry { entry: &self.entry, launch, here }
    }

    async fn login(&self, launch: &Launch, here: &Surroundings) -> LoginState {
        if let Some(name) = first_set(here, self.management.login_variables) {
            return LoginState::Yes { account: Some(name.to_owned()) };
        }
        let status = &self.entry.account.status;
        if !status.is_empty() {
            return match run(launch, status).await {
                Ok(said) if said.success => LoginState::Yes { account: None },
                Ok(_) => LoginState::No,
                Err(_) => LoginState::Unknown,
            };
        }
        let Some(launch) = self.commanded(launch.clone(), here) else {
            return self.management.behind.as_ref().map_or(LoginState::Unknown, |behind| behind.login(here));
        };
        match self.management.login {
            LoginCheck::Unknown => LoginState::Unknown,
            LoginCheck::Files(read) => read(here),
            LoginCheck::Asked(ask) => ask(self.inquiry(&launch, here)).await,
        }
    }

    /// Gets a list, or says by `unsupported` that the agent has none.
    async fn list<T>(
        &self,
        source: &Source<T>,
        here: &Surroundings,
        unsupported: fn(&str) -> ManageError,
    ) -> Result<T, ManageError> {
        let own = self.aside(here)?;
        match source {
            Source::Unsupported => Err(unsupported(&self.entry.title)),
            Source::Printed { arguments, name, read } => {
                let launch = self.commanded(own, here).ok_or_else(|| unsupported(&self.entry.title))?;
                read(&run(&launch, arguments).await?.well(name)?)
            }
            Source::Asked(ask) => ask(self.inquiry(&own, &self.entry.program.around(here))).await,
        }
    }
}

/// The first of these variables that is set.
fn first_set<'a>(here: &Surroundings, names: &[&'a str]) -> Option<&'a str> {
    names.iter().copied().find(|name| here.variable(name).is_some())
}

impl Agent for ProgramAgent {
    fn facts(&self) -> AgentFacts {
        let Entry { id, title, program, log_in, .. } = &*self.entry;
        AgentFacts {
            id: id.clone(),
            title: title.clone(),
            install_hint: program.install.clone(),
            login_hint: Some(log_in.clone()),
        }
    }

    fn abilities(&self) -> Abilities {
        let Management { tested, skips_permissions, mcp, switch_mcp, .. } = self.management;
        let tested = tested.then_some(true);
        Abilities {
            streaming: Some(true),
            resume: tested,
            modes: tested,
            models: tested,
            thinking: tested,
            mcp: Some(!matches!(mcp, Source::Unsupported)),
            mcp_switching: Some(matches!(switch_mcp, McpSwitch::Command(_))),
            skips_permissions: (*skips_permissions || !self.entry.skipping.is_empty()).then_some(true),
            conversations: tested,
        }
    }

    /// Some tell who is logged in only when a session is begun.
    fn check<'a>(&'a self, here: &'a Surroundings) -> BoxFuture<'a, Readiness> {
        Box::pin(async move {
            let Entry { program, version, log_in, .. } = &*self.entry;
            let Some(launch) = program.within(here) else {
                let hint = Some(program.hint());
                return Readiness { installation: Installation::Missing, login: LoginState::Unknown, hint };
            };
            let here = program.around(here);
            let printed = async { if version.is_empty() { None } else { run(&launch, version).await.ok() } };
            let (said, login) = tokio::join!(printed, self.login(&launch, &here));
            let version = said.and_then(|said| (self.management.version)(&said));
            let hint = (login == LoginState::No).then(|| log_in.clone());
            let path = launch.program.into();
            Readiness { installation: Installation::Installed { path, version }, login, hint }
        })
    }

    fn login_way<'a>(&'a self, here: &'a Surroundings) -> BoxFuture<'a, Result<LoginWay, ManageError>> {
        Box::pin(async move {
            let own = self.aside(here)?;
            let Entry { log_in, account, program, .. } = &*self.entry;
            if !account.log_in.is_empty() {
                return Ok(LoginWay::command(own, &account.log_in, LoginMethod::Terminal));
            }
            let by_hand =
                |instructions: &str, method| LoginWay::ByHand { instructions: instructions.to_owned(), method };
            Ok(match self.management.log_in {
                LogIn::Hint => by_hand(log_in, LoginMethod::Terminal),
                LogIn::Variable(instructions) => by_hand(instructions, LoginMethod::Variable),
                LogIn::Command(arguments) => match self.commanded(own, here) {
                    Some(launch) => LoginWay::command(launch, arguments, LoginMethod::Browser),
                    None => by_hand(log_in, LoginMethod::Variable),
                },
                LogIn::Asked(ask) => ask(self.inquiry(&own, &program.around(here))).await,
            })
        })
    }

    fn log_out<'a>(&'a self, here: &'a Surroundings) -> BoxFuture<'a, Result<LogoutDone, ManageError>> {
        Box::pin(async move {
            let Entry { title, account, program, .. } = &*self.entry;
            let here = &program.around(here);
            let own = self.aside(here)?;
            if !account.log_out.is_empty() {
                return Ok(manage::logout(&run(&own, &account.log_out).await?, None));
            }
            let (arguments, still) = match &self.management.log_out {
                LogOut::Instead(instead) => return Ok(manage::no_logout(title, instead)),
                LogOut::Command { arguments, still } => (arguments, still),
            };
            let Some(launch) = self.commanded(own, here) else {
                return Ok(manage::no_logout(title, LOG_OUT_BY_HAND));
            };
            let said = run(&launch, arguments).await?;
            let still = match still {
                StillLoggedIn::Variables(names) => first_set(here, names).map(str::to_owned),
                StillLoggedIn::Asked(ask) => ask(self.inquiry(&launch, here)).await,
            };
            Ok(manage::logout(&said, still.as_deref()))
        })
    }

    fn about<'a>(&'a self, here: &'a Surroundings) -> BoxFuture<'a, Vec<(String, String)>> {
        Box::pin(async move {
            match (self.management.about, self.aside(here)) {
                (Some(ask), Ok(own)) => ask(self.inquiry(&own, &self.entry.program.around(here))).await,
                _ => Vec::new(),
            }
        })
    }

    fn models<'a>(&'a self, here: &'a Surroundings) -> BoxFuture<'a, Result<Vec<ModelCard>, ManageError>> {
        Box::pin(self.list(&self.management.models, here, manage::no_models))
    }

    fn mcp<'a>(&'a self, here: &'a Surroundings) -> BoxFuture<'a, Result<Vec<McpServer>, ManageError>> {
        Box::pin(self.list(&self.management.mcp, here, manage::no_mcp))
    }

    fn switch_mcp<'a>(
        &'a self,
        here: &'a Surroundings,
        server: &'a str,
        on: bool,
    ) -> BoxFuture<'a, Result<String, ManageError>> {
        Box::pin(async move {
            let unsupported = || manage::no_switch(&self.entry.title);
            let read = match self.management.switch_mcp {
                McpSwitch::Never => return Err(unsupported()),
                McpSwitch::Unknown => None,
                McpSwitch::Command(read) => Some(read),
            };
            let launch = self.aside(here)?;
            // A name that looks like an option is none of a server.
            if server.starts_with('-') {
                return Err(ManageError::Failed(format!("there is no MCP server {server:?}")));
            }
            let read = read.ok_or_else(unsupported)?;
            let verb = if on { "enable" } else { "disable" };
            let said = run(&launch, &["mcp", verb, server]).await?.well("mcp")?;
            Ok(read(&said)?.unwrap_or_else(|| format!("{server}: {verb}d")))
        })
    }

    fn conversations<'a>(&'a self, here: &'a Surroundings) -> BoxFuture<'a, Result<Vec<Kept>, ManageError>> {
        Box::pin(async move {
            let own = self.aside(here)?;
            (self.management.conversations)(self.inquiry(&own, &self.entry.program.around(here))).await
        })
    }

    fn start(&self, start: Start) -> BoxFuture<'_, Result<Harness, StartError>> {
        Box::pin(async move {
            let start = self.entry.program.complete(start);
            let launch = self.launch(&start)?;
            let harness = match self.entry.protocol {
                Protocol::Acp => acp::start(Arc::clone(&self.entry), launch, start),
                Protocol::Claude => claude::start(&self.entry, &launch, start),
                Protocol::Codex => codex::start(launch, start),
            };
            Ok(Harness { interprets: self.entry.protocol.interprets(), ..harness? })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Program;
    use crate::table;

    fn agent(protocol: Protocol, commands: &[&str]) -> ProgramAgent {
        let built_in = table::built_in().into_iter().find(|entry| entry.protocol == protocol).unwrap();
        ProgramAgent::new(Entry { program: Program::built_in(commands, &[], "get it"), ..built_in }, None)
    }

    #[test]
    fn its_launch_names_the_session() {
        let start = Start { session: Some("s1".to_owned()), ..Start::new("/") };
        assert_eq!(agent(Protocol::Acp, &["sh"]).launch(&start).unwrap().session, start.session);
    }

    #[test]
    fn abilities_follow_from_the_columns() {
        assert_eq!(agent(Protocol::Claude, &["sh"]).abilities(), Abilities::ALL);
        assert_eq!(agent(Protocol::Codex, &["sh"]).abilities(), Abilities::ALL);
        let gemini = agent(Protocol::Acp, &["/opt/bin/gemini"]).abilities();
        assert_eq!(gemini, Abilities { mcp_switching: Some(true), ..Abilities::ALL });
        let adapter = agent(Protocol::Acp, &["codex-acp"]).abilities();
        assert_eq!(adapter, Abilities { mcp: Some(false), ..Abilities::ALL });
        let untested = Abilities { mcp: Some(true), ..agent(Protocol::Acp, &["mine"]).abilities() };
        assert_eq!((untested.resume, untested.models, untested.conversations), (None, None, None));
        assert_eq!(agent(Protocol::Acp, &["claude-agent-acp"]).abilities(), untested);
    }

    #[tokio::test]
    async fn an_adapter_alone_has_the_login_of_a_file_and_of_variables() {
        let home = tempfile::tempdir().unwrap();
        let mut here = Surroundings::new("/");
        here.environment.insert("HOME".into(), Some(home.path().into()));
        here.environment.insert("PATH".into(), Some(home.path().into()));
        for name in ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"] {
            here.environment.insert(name.into(), None);
        }
        let agent = agent(Protocol::Acp, &["claude-agent-acp"]);
        let own = Launch::new("claude-agent-acp");
        assert_eq!(agent.login(&own, &here).await, LoginState::Unknown);
        std::fs::create_dir(home.path().join(".claude")).unwrap();
        std::fs::write(home.path().join(".claude/.credentials.json"), "{}").unwrap();
        assert_eq!(agent.login(&own, &here).await, LoginState::Yes { account: None });
        here.environment.insert("ANTHROPIC_API_KEY".into(), Some("k".into()));
        assert_eq!(agent.login(&own, &here).await, LoginState::Yes { account: Some("ANTHROPIC_API_KEY".to_owned()) });
    }
}
