//! A program that we speak to: started by a [`Launch`], held as a [`Child`], ended in steps.

mod launch;
mod leader;

use std::sync::Arc;
use std::time::Duration;

use nix::sys::signal::Signal;
use tokio::net::unix::pipe;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

pub use launch::{Launch, STDERR, StartError};
use leader::{Leader, Program};
pub use wh_wire::exit::Exit;

use crate::protocol::Order;
use crate::tail::{Reading, Tail};
use crate::tree::{KILL, TERMINATE};

/// Our end of a program's standard input. The program reads the end of its input when this is dropped.
pub type Stdin = pipe::Sender;

/// Our end of a program's standard output.
pub type Stdout = pipe::Receiver;

/// How long the last words on standard error may take once nothing of the program is left: another, who is not of its
/// group, may hold it open.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// How often a group is looked at while it ends. Nothing tells us when processes end that are not our children.
const LOOK: Duration = Duration::from_millis(20);

/// Describes an exit status for people, with the name of the signal.
pub fn describe_exit(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("exited with {code}"),
        Exit::Signal(number) => match Signal::try_from(number) {
            Ok(signal) => format!("was ended by {}", signal.as_str()),
            Err(_) => format!("was ended by signal {number}"),
        },
        Exit::Unknown => "is gone".to_owned(),
    }
}

/// A running program. Dropping it kills its process group, or with a supervisor everything that it has started.
#[derive(Debug)]
pub struct Child {
    /// What it reads, until somebody takes it.
    pub stdin: Option<Stdin>,
    /// What it writes, until somebody takes it. Nobody else reads it: a program whose output nobody reads has to wait.
    pub stdout: Option<Stdout>,
    /// The end of what it writes on standard error.
    pub stderr: Tail,
    _reading: Reading,
    pid: i32,
    leader: Arc<Leader>,
    exit: watch::Receiver<Option<Exit>>,
}

impl Child {
    /// The program's process id.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// How it ended, if it has.
    pub fn exit(&self) -> Option<Exit> {
        *self.exit.borrow()
    }

    /// Waits for its end. The future is on its own: it may be awaited by anybody, and does not hold the program.
    pub fn exited(&self) -> impl Future<Output = Exit> + Send + use<> {
        let mut exit = self.exit.clone();
        async move {
            match exit.wait_for(Option::is_some).await {
                Ok(exit) => exit.unwrap_or(Exit::Unknown),
                // Whoever watched has been dropped with its runtime.
                Err(_) => Exit::Unknown,
            }
        }
    }

    /// Sends a signal to its process group.
    pub fn signal(&self, signal: Signal) {
        self.leader.signal(signal);
    }

    /// Ends it, and waits until nothing is left: its input is closed and it has `grace` to end by itself; then its group
    /// gets TERM, has 1.5 seconds, and gets KILL. With a supervisor everything that it has started gets these, also if it
    /// stopped or killed its supervisor; without one what has left the group stays. A future that is dropped kills.
    ///
    /// Whoever took `stdin` closes it before; otherwise the grace passes in vain. Whoever took `stdout` goes on reading:
    /// a program may have to say something before it can end.
    pub async fn end(mut self, grace: Duration) -> Exit {
        self.stdin = None;
        self.stdout = None;
        let exit = self.exited();
        let ended = timeout(grace, exit).await.is_ok();
        tracing::debug!(pid = self.pid, by_itself = ended, "ending");
        match &*self.leader {
            Leader::Supervisor(supervisor) => {
                if !ended {
                    supervisor.give(Order::End);
                }
                let left = supervisor.ended().await;
                if !left.is_empty() {
                    tracing::error!(pid = self.pid, "{left}");
                }
            }
            Leader::Program(program) => end_group(program).await,
        }
        // One that could not be ended does not keep its owner.
        let exit = timeout(LAST_WORDS, self.exited()).await.unwrap_or(Exit::Unknown);
        let _ = timeout(LAST_WORDS, self.stderr.closed()).await;
        exit
    }
}

async fn end_group(program: &Program) {
    if !program.group_is_empty() {
        program.signal(TERMINATE.signal);
        program.signal(Signal::SIGCONT);
        let empty = async {
            while !program.group_is_empty() {
                sleep(LOOK).await;
            }
        };
        let _ = timeout(TERMINATE.grace, empty).await;
    }
    loop {
        // Also when nobody is to be seen: a process may have been forking.
        program.signal(KILL.signal);
        if program.group_is_empty() {
            return;
        }
        sleep(LOOK).await;
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.leader.kill();
    }
}
