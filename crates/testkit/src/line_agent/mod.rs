//! Scripted agent with its own line protocol, for tests of the agent driver. `agent.py` executes the text of a prompt
//! as a script. The client side of the protocol is implemented in [`protocol`].

pub mod protocol;

use wh_agents::driver;
use wh_agents::interface::{
    Agent, AgentFacts, AgentStartError, BoxFuture, Harness, Installation, LoginState, QueryContext, Readiness,
    StartOptions,
};
use wh_pipe::LaunchSpec;

use protocol::LineProtocol;

/// Display name of the agent.
pub const TITLE: &str = "Line";

const PROGRAM: &str = include_str!("agent.py");

/// Scripted agent. [`StartOptions::arguments`] are its command-line options.
#[derive(Debug, Clone, Copy, Default)]
pub struct LineAgent;

impl Agent for LineAgent {
    fn facts(&self) -> AgentFacts {
        AgentFacts { id: "line".to_owned(), title: TITLE.to_owned(), install_hint: None, login_hint: None }
    }

    fn check<'a>(&'a self, _here: &'a QueryContext) -> BoxFuture<'a, Readiness> {
        let ready = Readiness { installation: Installation::BuiltIn, login: LoginState::NotNeeded, hint: None };
        Box::pin(async { ready })
    }

    fn start(&self, start: StartOptions) -> BoxFuture<'_, Result<Harness, AgentStartError>> {
        let mut launch = LaunchSpec::new("python3");
        launch.arguments = ["-I", "-S", "-c", PROGRAM].map(Into::into).to_vec();
        launch.arguments.extend(start.arguments.iter().cloned());
        launch.directory = Some(start.directory.clone());
        launch.environment = start.environment.clone();
        let may_skip = start.may_skip_permissions;
        Box::pin(async move {
            Ok(Harness::run(|inside| {
                launch.kill_switch = Some(inside.kill_switch.clone());
                driver::run(LineProtocol::new(launch, start), may_skip, inside)
            }))
        })
    }
}
