//! Logins with agents while a space runs. A login takes as long as a person does: what the person has to do is told at
//! once, how it ended later, in the space.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;
use wh_agents::manage::{Launch, LoginWay, login};
use wh_agents::port::{Agent, LoginState};
use wh_core::space::command::Refusal;
use wh_core::space::item::Level;
use wh_core::space::roster::{LoginDone, LoginMethod, Told};

use super::roster::{Arrival, Desk, unmanaged};

/// Pieces of what it prints that may wait; beyond that it waits.
const PIECES: usize = 64;

/// Words for it that may wait. Beyond that whoever says one waits.
const WORDS: usize = 4;

/// What of its output is kept, in bytes: enough for an address and a reason.
const KEPT: usize = 16 * 1024;

/// How long whoever asked waits for an address to visit. Some logins show none: they open a browser, or wait for a device.
const SHOWING: Duration = Duration::from_secs(3);

/// A login that is under way.
pub(super) struct UnderWay {
    words: mpsc::Sender<String>,
    task: AbortHandle,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Desk {
    /// Begins a login. Done when it is over, once the person has something to do, or when neither comes soon; the rest is
    /// announced. Another one with the same agent takes the place of the first.
    pub(super) async fn log_in(
        self: &Arc<Self>,
        agent: Arc<dyn Agent>,
        line: mpsc::Sender<Arrival>,
    ) -> Result<LoginDone, Refusal> {
        let (launch, method) = match agent.login_way(&self.here()).await.map_err(unmanaged)? {
            LoginWay::NotNeeded => {
                let message = Some("It needs no login.".to_owned());
                return Ok(LoginDone { success: true, message, ..LoginDone::default() });
            }
            LoginWay::ByHand { instructions, method } => {
                let (success, account) = self.logged_in(agent.as_ref(), false).await;
                let instructions = (!success).then_some(instructions);
                return Ok(LoginDone { success, account, method: Some(method), instructions, ..LoginDone::default() });
            }
            LoginWay::Command { launch, method } => (launch, method),
        };
        let (words, said) = mpsc::channel(WORDS);
        let (reply, answer) = oneshot::channel();
        let id = agent.facts().id;
        let course = Course { desk: Arc::clone(self), agent, launch, method, line };
        {
            // Held until it is entered: a login that is over at once takes itself out again.
            let mut state = self.state();
            let task = tokio::spawn(course.run(said, reply)).abort_handle();
            state.logins.insert(id, UnderWay { words, task });
        }
        answer.await.map_err(|_| Refusal::Failed("the login was stopped".to_owned()))?
    }

    pub(super) async fn tell_login(&self, id: &str, text: String) -> Result<String, Refusal> {
        let words = self.state().logins.get(id).map(|login| login.words.clone());
        let none = || Refusal::Failed(format!("no login with {id} is under way; /login {id} begins one"));
        words.ok_or_else(none)?.send(text).await.map_err(|_| none())?;
        Ok(format!("{id} was told."))
    }

    pub(super) fn stop_login(&self, id: &str) -> Result<String, Refusal> {
        let stopped = self.state().logins.remove(id);
        stopped
            .map(|_| format!("The login with {id} was stopped."))
            .ok_or_else(|| Refusal::Failed(format!("no login with {id} is under way")))
    }

    /// The space ends, and nobody waits for them any more.
    pub(super) fn stop_logins(&self) {
        let logins = std::mem::take(&mut self.state().logins);
        drop(logins);
    }

    /// Whether somebody is logged in now, and as whom; `otherwise` where nothing tells.
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

/// One login, from its command to its end.
struct Course {
    desk: Arc<Desk>,
    agent: Arc<dyn Agent>,
    launch: Launch,
    method: LoginMethod,
    line: mpsc::Sender<Arrival>,
}

impl Course {
    async fn run(self, said: mpsc::Receiver<String>, reply: oneshot::Sender<Result<LoginDone, Refusal>>) {
        let (hear, mut heard) = mpsc::channel::<String>(PIECES);
        let mut reply = Some(reply);
        let mut text = String::new();
        let listen = async {
            let (soon, mut shown) = (tokio::time::sleep(SHOWING), false);
            tokio::pin!(soon);
            loop {
                let piece = tokio::select! {
                    piece = heard.recv() => piece,
                    () = &mut soon, if reply.is_some() => {
                        self.tell(&mut reply, self.going_on(&text)).await;
                        continue;
                    }
                };
                let Some(piece) = piece else { break };
                if text.len() < KEPT {
                    text.push_str(&piece);
                }
                if !shown && let Some(address) = login::address(&text) {
                    shown = true;
                    self.tell(&mut reply, self.wanted(address, login::code(&text))).await;
                }
            }
        };
        let (ended, ()) = tokio::join!(login::log_in(&self.launch, hear, said), listen);
        let (success, account) = self.desk.logged_in(self.agent.as_ref(), ended == Ok(true)).await;
        let message = match ended {
            Ok(true) => None,
            Ok(false) => Some(last_words(&text)),
            Err(error) => Some(error.to_string()),
        };
        let (method, instructions) = (Some(self.method), None);
        self.tell(&mut reply, LoginDone { success, pending: false, account, method, message, instructions }).await;
        let id = self.agent.facts().id;
        // Last: with it this task ends. Another one may have taken its place.
        let mut state = self.desk.state();
        if state.logins.get(&id).is_some_and(|login| login.task.id() == tokio::task::id()) {
            state.logins.remove(&id);
        }
    }

    /// Tells whoever asked, the first time; what comes after that is told in the space.
    async fn tell(&self, reply: &mut Option<oneshot::Sender<Result<LoginDone, Refusal>>>, done: LoginDone) {
        if let Some(reply) = reply.take() {
            return drop(reply.send(Ok(done)));
        }
        let level = if done.success || done.pending { Level::Info } else { Level::Warning };
        let agent = self.agent.facts().title;
        let _ = self.line.send(Arrival::Announced(level, Told::LoggedIn { agent, done })).await;
    }

    /// What is known while nothing is left to the person, as far as it said.
    fn going_on(&self, text: &str) -> LoginDone {
        let id = self.agent.facts().id;
        let mut message = last_words(text);
        if !message.is_empty() {
            message.push('\n');
        }
        message.push_str(&format!("How it ends is told in the space; /login {id} cancel stops it."));
        LoginDone { pending: true, method: Some(self.method), message: Some(message), ..LoginDone::default() }
    }

    /// What is left to the person.
    fn wanted(&self, address: &str, code: Option<&str>) -> LoginDone {
        let id = self.agent.facts().id;
        let mut instructions = format!("If no browser opened, visit {address}");
        if let Some(code) = code {
            instructions.push_str(&format!("\nand enter the code {code} there."));
        }
        instructions
            .push_str(&format!("\nIf the page shows a code, say /login {id} CODE; /login {id} cancel stops it."));
        let (method, instructions) = (Some(self.method), Some(instructions));
        LoginDone { pending: true, method, instructions, ..LoginDone::default() }
    }
}

/// The last lines of what it printed.
fn last_words(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(3)..].join("\n")
}
