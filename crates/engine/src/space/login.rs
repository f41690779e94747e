//! Logins of users to agents while a space runs. The user gets instructions immediately; the outcome is announced later
//! in the space.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;
use wh_agents::interface::{Agent, LoginState};
use wh_agents::manage::{LaunchSpec, LoginAction, login};
use wh_core::space::command::SpaceRefusal;
use wh_core::space::item::NoticeLevel;
use wh_core::space::roster::{AgentReply, LoginMethod, LoginStatus};

use super::roster::{AgentRoster, RosterMessage, manage_refusal};

/// Maximum number of queued output chunks of the login command. When the queue is full, the command blocks.
const MAX_QUEUED_LOGIN_OUTPUT: usize = 64;

/// Maximum number of inputs queued for the login command; further senders wait.
const MAX_QUEUED_LOGIN_INPUTS: usize = 4;

/// Maximum bytes of retained output, enough for a URL and a reason.
const MAX_LOGIN_OUTPUT_BYTES: usize = 16 * 1024;

/// Time for which the caller waits for a URL to visit. Some logins show no URL: they open a browser, or wait for a
/// device.
const LOGIN_URL_TIMEOUT: Duration = Duration::from_secs(3);

/// Login in progress: the channel for its input, and its task.
pub(super) struct LoginInProgress {
    input: mpsc::Sender<String>,
    task: AbortHandle,
}

impl Drop for LoginInProgress {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl AgentRoster {
    /// Starts a login. An earlier login to the same agent is stopped. Returns when the login has ended, when there are
    /// instructions for the user, or after [`LOGIN_URL_TIMEOUT`]. A later outcome is announced in the space.
    pub(super) async fn log_in(
        self: &Arc<Self>,
        agent: Arc<dyn Agent>,
        messages: mpsc::Sender<RosterMessage>,
    ) -> Result<LoginStatus, SpaceRefusal> {
        let (launch, method) = match agent.login_way(&self.surroundings()).await.map_err(manage_refusal)? {
            LoginAction::NotNeeded => {
                let message = Some("This agent needs no login.".to_owned());
                return Ok(LoginStatus { success: true, message, ..LoginStatus::default() });
            }
            LoginAction::ByHand { instructions, method } => {
                let (success, account) = self.logged_in(agent.as_ref(), false).await;
                let instructions = (!success).then_some(instructions);
                return Ok(LoginStatus {
                    success,
                    account,
                    method: Some(method),
                    instructions,
                    ..LoginStatus::default()
                });
            }
            LoginAction::Command { launch, method } => (launch, method),
        };
        let (input, inputs) = mpsc::channel(MAX_QUEUED_LOGIN_INPUTS);
        let (reply, answer) = oneshot::channel();
        let id = agent.facts().id;
        let login_run = LoginRun { roster: Arc::clone(self), agent, launch, method, messages };
        {
            // The lock is held until the entry is inserted, because a login that ends at once removes its own entry.
            let mut state = self.state();
            let task = tokio::spawn(login_run.run(inputs, reply)).abort_handle();
            state.logins.insert(id, LoginInProgress { input, task });
        }
        answer.await.map_err(|_| SpaceRefusal::Failed("the login was stopped".to_owned()))?
    }

    pub(super) async fn tell_login(&self, id: &str, text: String) -> Result<String, SpaceRefusal> {
        let input = self.state().logins.get(id).map(|login| login.input.clone());
        let none = || SpaceRefusal::Failed(format!("no login with {id} is in progress; start one with /login {id}"));
        input.ok_or_else(none)?.send(text).await.map_err(|_| none())?;
        Ok(format!("The input was sent to the login with {id}."))
    }

    pub(super) fn stop_login(&self, id: &str) -> Result<String, SpaceRefusal> {
        let stopped = self.state().logins.remove(id);
        stopped
            .map(|_| format!("The login with {id} was stopped."))
            .ok_or_else(|| SpaceRefusal::Failed(format!("no login with {id} is in progress")))
    }

    /// Stops all logins, because the space is ending.
    pub(super) fn stop_logins(&self) {
        let logins = std::mem::take(&mut self.state().logins);
        drop(logins);
    }

    /// Returns true if a user is logged in to the agent, and the account if it is known. If the agent cannot report the
    /// login state, returns `otherwise`.
    async fn logged_in(&self, agent: &dyn Agent, otherwise: bool) -> (bool, Option<String>) {
        self.state().checked.remove(&agent.facts().id);
        match self.check(agent).await.login {
            LoginState::Yes { account } => (true, account),
            LoginState::NotNeeded => (true, None),
            LoginState::No => (false, None),
            LoginState::Unknown => (otherwise, None),
        }
    }
}

/// State of a login, from the start of its command to the end.
struct LoginRun {
    roster: Arc<AgentRoster>,
    agent: Arc<dyn Agent>,
    launch: LaunchSpec,
    method: LoginMethod,
    messages: mpsc::Sender<RosterMessage>,
}

impl LoginRun {
    async fn run(self, inputs: mpsc::Receiver<String>, reply: oneshot::Sender<Result<LoginStatus, SpaceRefusal>>) {
        let (output, mut chunks) = mpsc::channel::<String>(MAX_QUEUED_LOGIN_OUTPUT);
        let mut reply = Some(reply);
        let mut text = String::new();
        let collect = async {
            let (soon, mut shown) = (tokio::time::sleep(LOGIN_URL_TIMEOUT), false);
            tokio::pin!(soon);
            loop {
                let chunk = tokio::select! {
                    chunk = chunks.recv() => chunk,
                    () = &mut soon, if reply.is_some() => {
                        self.report(&mut reply, self.progress(&text)).await;
                        continue;
                    }
                };
                let Some(chunk) = chunk else { break };
                if text.len() < MAX_LOGIN_OUTPUT_BYTES {
                    text.push_str(&chunk);
                }
                if !shown && let Some(address) = login::address(&text) {
                    shown = true;
                    self.report(&mut reply, self.instructions_for(address, login::code(&text))).await;
                }
            }
        };
        let (ended, ()) = tokio::join!(login::log_in(&self.launch, output, inputs), collect);
        let (success, account) = self.roster.logged_in(self.agent.as_ref(), ended == Ok(true)).await;
        let message = match ended {
            Ok(true) => None,
            Ok(false) => Some(last_lines(&text)),
            Err(error) => Some(error.to_string()),
        };
        let (method, instructions) = (Some(self.method), None);
        self.report(&mut reply, LoginStatus { success, pending: false, account, method, message, instructions }).await;
        let id = self.agent.facts().id;
        // The entry is removed last, because dropping it aborts this task. An entry of a later login is not removed.
        let mut state = self.roster.state();
        if state.logins.get(&id).is_some_and(|login| login.task.id() == tokio::task::id()) {
            state.logins.remove(&id);
        }
    }

    /// Sends the first result to the caller, and announces later results in the space.
    async fn report(&self, reply: &mut Option<oneshot::Sender<Result<LoginStatus, SpaceRefusal>>>, done: LoginStatus) {
        if let Some(reply) = reply.take() {
            return drop(reply.send(Ok(done)));
        }
        let level = if done.success || done.pending { NoticeLevel::Info } else { NoticeLevel::Warning };
        let agent = self.agent.facts().title;
        let _ = self.messages.send(RosterMessage::Announced(level, AgentReply::LoggedIn { agent, done })).await;
    }

    /// Creates the progress of a login without instructions for the user; `text` is the command's output.
    fn progress(&self, text: &str) -> LoginStatus {
        let id = self.agent.facts().id;
        let mut message = last_lines(text);
        if !message.is_empty() {
            message.push('\n');
        }
        message.push_str(&format!("The result is announced in the space. Cancel with /login {id} cancel."));
        LoginStatus { pending: true, method: Some(self.method), message: Some(message), ..LoginStatus::default() }
    }

    /// Creates the progress of a login with instructions: the URL to visit, and the code to enter there.
    fn instructions_for(&self, address: &str, code: Option<&str>) -> LoginStatus {
        let id = self.agent.facts().id;
        let mut instructions = format!("If no browser opened, visit {address}");
        if let Some(code) = code {
            instructions.push_str(&format!("\nand enter the code {code} there."));
        }
        instructions.push_str(&format!(
            "\nIf the page shows a code, enter it with /login {id} CODE. Cancel with /login {id} cancel."
        ));
        let (method, instructions) = (Some(self.method), Some(instructions));
        LoginStatus { pending: true, method, instructions, ..LoginStatus::default() }
    }
}

/// Returns the last three lines of the output that are not blank.
fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(3)..].join("\n")
}
