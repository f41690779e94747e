//! Implements [`Agent`] for external programs. The differences between the programs are data in the
//! [`table`](crate::table).

use std::ffi::OsString;
use std::sync::Arc;

use wh_core::space::roster::{LoginMethod, LogoutResult, McpServer, ModelCard, StaticCapabilities};
use wh_pipe::LaunchSpec;

use crate::interface::{
    Agent, AgentFacts, AgentStartError, BoxFuture, Harness, Installation, LoginState, ManageError, QueryContext,
    Readiness, SavedConversation, StartOptions,
};
use crate::manage::run::run;
use crate::manage::{self, LoginAction};
use crate::table::management::{
    AgentQuery, LOG_OUT_BY_HAND, ListSource, LoginCheck, LoginProcedure, LogoutProcedure, McpSwitch,
    RemainingLoginCheck,
};
use crate::table::{AgentEntry, Management, ProtocolKind};
use crate::{acp, claude, codex};

/// Agent that runs as an external program, defined in the built-in table or in an `agents.toml` file.
pub struct ProgramAgent {
    entry: Arc<AgentEntry>,
    management: &'static Management,
    /// Command line of the supervisor process. The supervisor ends the agent's processes if wh exits.
    supervisor: Option<Vec<OsString>>,
}

impl ProgramAgent {
    /// Creates an agent from its definition.
    pub fn new(entry: AgentEntry, supervisor: Option<Vec<OsString>>) -> Self {
        Self { management: entry.management(), entry: Arc::new(entry), supervisor }
    }

    /// Builds the launch for a conversation.
    fn launch(&self, start: &StartOptions) -> Result<LaunchSpec, AgentStartError> {
        let mut launch = LaunchSpec::new(self.entry.program.locate(&self.entry.title, &start.environment)?);
        launch.arguments.clone_from(&start.arguments);
        launch.directory = Some(start.directory.clone());
        launch.environment = start.environment.clone();
        launch.session.clone_from(&start.session);
        launch.supervisor.clone_from(&self.supervisor);
        Ok(launch)
    }

    /// Builds the launch for a query outside of a conversation.
    fn query_launch(&self, here: &QueryContext) -> Result<LaunchSpec, ManageError> {
        self.entry
            .program
            .supervised_query_launch(&self.entry.title, here, self.supervisor.as_ref())
            .map_err(manage::missing)
    }

    /// Builds the launch for management commands. If the agent is an adapter, the launch runs the adapted agent's
    /// program instead; `None` if that program is not installed.
    fn management_launch(&self, own: LaunchSpec, here: &QueryContext) -> Option<LaunchSpec> {
        let Some(adapted) = &self.management.adapted else { return Some(own) };
        let program = wh_pipe::find_executable(adapted.command.as_ref(), &here.variable("PATH")?)?.into();
        Some(LaunchSpec { program, supervisor: None, ..own })
    }

    fn inquiry<'a>(&'a self, launch: &'a LaunchSpec, here: &'a QueryContext) -> AgentQuery<'a> {
        AgentQuery { entry: &self.entry, launch, here }
    }

    async fn login(&self, launch: &LaunchSpec, here: &QueryContext) -> LoginState {
        if let Some(name) = first_set(here, self.management.login_variables) {
            return LoginState::Yes { account: Some(name.to_owned()) };
        }
        let status = &self.entry.account.status;
        if !status.is_empty() {
            return match run(launch, status).await {
                Ok(output) if output.success => LoginState::Yes { account: None },
                Ok(_) => LoginState::No,
                Err(_) => LoginState::Unknown,
            };
        }
        let Some(launch) = self.management_launch(launch.clone(), here) else {
            return self.management.adapted.as_ref().map_or(LoginState::Unknown, |adapted| adapted.login(here));
        };
        match self.management.login {
            LoginCheck::Unknown => LoginState::Unknown,
            LoginCheck::Files(read) => read(here),
            LoginCheck::Asked(ask) => ask(self.inquiry(&launch, here)).await,
        }
    }

    /// Reads a list from its source. Returns the error from `unsupported` if the agent cannot provide the list.
    async fn list<T>(
        &self,
        source: &ListSource<T>,
        here: &QueryContext,
        unsupported: fn(&str) -> ManageError,
    ) -> Result<T, ManageError> {
        let own = self.query_launch(here)?;
        match source {
            ListSource::Unsupported => Err(unsupported(&self.entry.title)),
            ListSource::Printed { arguments, name, read } => {
                let launch = self.management_launch(own, here).ok_or_else(|| unsupported(&self.entry.title))?;
                read(&run(&launch, arguments).await?.require_success(name)?)
            }
            ListSource::Asked(ask) => ask(self.inquiry(&own, &self.entry.program.query_context(here))).await,
        }
    }
}

/// Returns the first variable in `names` that is set in the environment of the query.
fn first_set<'a>(here: &QueryContext, names: &[&'a str]) -> Option<&'a str> {
    names.iter().copied().find(|name| here.variable(name).is_some())
}

impl Agent for ProgramAgent {
    fn facts(&self) -> AgentFacts {
        let AgentEntry { id, title, program, log_in, .. } = &*self.entry;
        AgentFacts {
            id: id.clone(),
            title: title.clone(),
            install_hint: program.install.clone(),
            login_hint: Some(log_in.clone()),
        }
    }

    fn abilities(&self) -> StaticCapabilities {
        let Management { tested, skips_permissions, mcp, switch_mcp, .. } = self.management;
        let tested = tested.then_some(true);
        StaticCapabilities {
            streaming: Some(true),
            resume: tested,
            modes: tested,
            models: tested,
            thinking: tested,
            mcp: Some(!matches!(mcp, ListSource::Unsupported)),
            mcp_switching: Some(matches!(switch_mcp, McpSwitch::Command(_))),
            skips_permissions: (*skips_permissions || !self.entry.skipping_modes.is_empty()).then_some(true),
            conversations: tested,
        }
    }

    /// Checks the installation, the version and the login. The login state is unknown for agents that report it only
    /// when a session starts.
    fn check<'a>(&'a self, here: &'a QueryContext) -> BoxFuture<'a, Readiness> {
        Box::pin(async move {
            let AgentEntry { program, version, log_in, .. } = &*self.entry;
            let Some(launch) = program.query_launch_in(here) else {
                let hint = Some(program.hint());
                return Readiness { installation: Installation::Missing, login: LoginState::Unknown, hint };
            };
            let here = program.query_context(here);
            let printed = async { if version.is_empty() { None } else { run(&launch, version).await.ok() } };
            let (output, login) = tokio::join!(printed, self.login(&launch, &here));
            let version = output.and_then(|output| (self.management.version)(&output));
            let hint = (login == LoginState::No).then(|| log_in.clone());
            let path = launch.program.into();
            Readiness { installation: Installation::Installed { path, version }, login, hint }
        })
    }

    fn login_way<'a>(&'a self, here: &'a QueryContext) -> BoxFuture<'a, Result<LoginAction, ManageError>> {
        Box::pin(async move {
            let own = self.query_launch(here)?;
            let AgentEntry { log_in, account, program, .. } = &*self.entry;
            if !account.log_in.is_empty() {
                return Ok(LoginAction::command(own, &account.log_in, LoginMethod::Terminal));
            }
            let by_hand =
                |instructions: &str, method| LoginAction::ByHand { instructions: instructions.to_owned(), method };
            Ok(match self.management.log_in {
                LoginProcedure::Hint => by_hand(log_in, LoginMethod::Terminal),
                LoginProcedure::Variable(instructions) => by_hand(instructions, LoginMethod::Variable),
                LoginProcedure::Command(arguments) => match self.management_launch(own, here) {
                    Some(launch) => LoginAction::command(launch, arguments, LoginMethod::Browser),
                    None => by_hand(log_in, LoginMethod::Variable),
                },
                LoginProcedure::Asked(ask) => ask(self.inquiry(&own, &program.query_context(here))).await,
            })
        })
    }

    fn log_out<'a>(&'a self, here: &'a QueryContext) -> BoxFuture<'a, Result<LogoutResult, ManageError>> {
        Box::pin(async move {
            let AgentEntry { title, account, program, .. } = &*self.entry;
            let here = &program.query_context(here);
            let own = self.query_launch(here)?;
            if !account.log_out.is_empty() {
                return Ok(manage::logout(&run(&own, &account.log_out).await?, None));
            }
            let (arguments, still) = match &self.management.log_out {
                LogoutProcedure::Instead(instead) => return Ok(manage::no_logout(title, instead)),
                LogoutProcedure::Command { arguments, still } => (arguments, still),
            };
            let Some(launch) = self.management_launch(own, here) else {
                return Ok(manage::no_logout(title, LOG_OUT_BY_HAND));
            };
            let output = run(&launch, arguments).await?;
            let still = match still {
                RemainingLoginCheck::Variables(names) => first_set(here, names).map(str::to_owned),
                RemainingLoginCheck::Asked(ask) => ask(self.inquiry(&launch, here)).await,
            };
            Ok(manage::logout(&output, still.as_deref()))
        })
    }

    fn about<'a>(&'a self, here: &'a QueryContext) -> BoxFuture<'a, Vec<(String, String)>> {
        Box::pin(async move {
            match (self.management.about, self.query_launch(here)) {
                (Some(ask), Ok(own)) => ask(self.inquiry(&own, &self.entry.program.query_context(here))).await,
                _ => Vec::new(),
            }
        })
    }

    fn models<'a>(&'a self, here: &'a QueryContext) -> BoxFuture<'a, Result<Vec<ModelCard>, ManageError>> {
        Box::pin(self.list(&self.management.models, here, manage::no_models))
    }

    fn mcp<'a>(&'a self, here: &'a QueryContext) -> BoxFuture<'a, Result<Vec<McpServer>, ManageError>> {
        Box::pin(self.list(&self.management.mcp, here, manage::no_mcp))
    }

    fn switch_mcp<'a>(
        &'a self,
        here: &'a QueryContext,
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
            let launch = self.query_launch(here)?;
            // The command would parse such a server name as an option.
            if server.starts_with('-') {
                return Err(ManageError::Failed(format!("there is no MCP server {server:?}")));
            }
            let read = read.ok_or_else(unsupported)?;
            let verb = if on { "enable" } else { "disable" };
            let output = run(&launch, &["mcp", verb, server]).await?.require_success("mcp")?;
            Ok(read(&output)?.unwrap_or_else(|| format!("{server}: {verb}d")))
        })
    }

    fn conversations<'a>(
        &'a self,
        here: &'a QueryContext,
    ) -> BoxFuture<'a, Result<Vec<SavedConversation>, ManageError>> {
        Box::pin(async move {
            let own = self.query_launch(here)?;
            (self.management.conversations)(self.inquiry(&own, &self.entry.program.query_context(here))).await
        })
    }

    fn start(&self, start: StartOptions) -> BoxFuture<'_, Result<Harness, AgentStartError>> {
        Box::pin(async move {
            let start = self.entry.program.with_defaults(start);
            let launch = self.launch(&start)?;
            let harness = match self.entry.protocol {
                ProtocolKind::Acp => acp::start(Arc::clone(&self.entry), launch, start),
                ProtocolKind::Claude => claude::start(&self.entry, &launch, start),
                ProtocolKind::Codex => codex::start(launch, start),
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

    fn agent(protocol: ProtocolKind, commands: &[&str]) -> ProgramAgent {
        let built_in = table::built_in().into_iter().find(|entry| entry.protocol == protocol).unwrap();
        ProgramAgent::new(AgentEntry { program: Program::built_in(commands, &[], "get it"), ..built_in }, None)
    }

    #[test]
    fn its_launch_names_the_session() {
        let start = StartOptions { session: Some("s1".to_owned()), ..StartOptions::new("/") };
        assert_eq!(agent(ProtocolKind::Acp, &["sh"]).launch(&start).unwrap().session, start.session);
    }

    #[test]
    fn abilities_follow_from_the_columns() {
        assert_eq!(agent(ProtocolKind::Claude, &["sh"]).abilities(), StaticCapabilities::ALL);
        assert_eq!(agent(ProtocolKind::Codex, &["sh"]).abilities(), StaticCapabilities::ALL);
        let gemini = agent(ProtocolKind::Acp, &["/opt/bin/gemini"]).abilities();
        assert_eq!(gemini, StaticCapabilities { mcp_switching: Some(true), ..StaticCapabilities::ALL });
        let adapter = agent(ProtocolKind::Acp, &["codex-acp"]).abilities();
        assert_eq!(adapter, StaticCapabilities { mcp: Some(false), ..StaticCapabilities::ALL });
        let untested = StaticCapabilities { mcp: Some(true), ..agent(ProtocolKind::Acp, &["mine"]).abilities() };
        assert_eq!((untested.resume, untested.models, untested.conversations), (None, None, None));
        assert_eq!(agent(ProtocolKind::Acp, &["claude-agent-acp"]).abilities(), untested);
    }

    #[tokio::test]
    async fn an_adapter_alone_has_the_login_of_a_file_and_of_variables() {
        let home = tempfile::tempdir().unwrap();
        let mut here = QueryContext::new("/");
        here.environment.insert("HOME".into(), Some(home.path().into()));
        here.environment.insert("PATH".into(), Some(home.path().into()));
        for name in ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"] {
            here.environment.insert(name.into(), None);
        }
        let agent = agent(ProtocolKind::Acp, &["claude-agent-acp"]);
        let own = LaunchSpec::new("claude-agent-acp");
        assert_eq!(agent.login(&own, &here).await, LoginState::Unknown);
        std::fs::create_dir(home.path().join(".claude")).unwrap();
        std::fs::write(home.path().join(".claude/.credentials.json"), "{}").unwrap();
        assert_eq!(agent.login(&own, &here).await, LoginState::Yes { account: None });
        here.environment.insert("ANTHROPIC_API_KEY".into(), Some("k".into()));
        assert_eq!(agent.login(&own, &here).await, LoginState::Yes { account: Some("ANTHROPIC_API_KEY".to_owned()) });
    }
}
