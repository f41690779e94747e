//! Runs one program. [`LaunchSpec`] starts the program; [`Child`] controls the program and ends it in steps.

mod launch;
mod leader;

use std::sync::Arc;
use std::time::Duration;

use nix::sys::signal::Signal;
use tokio::net::unix::pipe;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

pub use launch::{DEFAULT_STDERR_BYTES, LaunchError, LaunchSpec};
use leader::{Leader, UnsupervisedProgram};
pub use wh_wire::exit::Exit;

use crate::protocol::SupervisorOrder;
use crate::tail::{StderrTail, TailReader};
use crate::tree::{KILL, TERMINATE};

/// Write end of a program's standard input. Dropping it closes the program's input.
pub type Stdin = pipe::Sender;

/// Read end of a program's standard output.
pub type Stdout = pipe::Receiver;

/// Maximum wait for the rest of standard error once the program's processes have exited. A process outside the group
/// may still hold the pipe open.
const STDERR_DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

/// Interval at which a process group that is being ended is polled. The kernel sends no notification for processes
/// that are not direct children.
const GROUP_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Describes an exit status as text, with the name of the signal.
pub fn describe_exit(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("exited with {code}"),
        Exit::Signal(number) => match Signal::try_from(number) {
            Ok(signal) => format!("was killed by {}", signal.as_str()),
            Err(_) => format!("was killed by signal {number}"),
        },
        Exit::Unknown => "exited with an unknown status".to_owned(),
    }
}

/// A running program. Dropping this value kills the program's process group. With a supervisor, it kills all processes
/// that the program has started.
#[derive(Debug)]
pub struct Child {
    /// Write end of standard input; `None` once it was taken.
    pub stdin: Option<Stdin>,
    /// Read end of standard output; `None` once it was taken. The program blocks while the pipe is full.
    pub stdout: Option<Stdout>,
    /// Last part of the program's standard error.
    pub stderr: StderrTail,
    _reading: TailReader,
    pid: i32,
    leader: Arc<Leader>,
    exit: watch::Receiver<Option<Exit>>,
}

impl Child {
    /// Returns the program's process id.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Returns the exit status, if the program has exited.
    pub fn exit(&self) -> Option<Exit> {
        *self.exit.borrow()
    }

    /// Returns a watch channel that receives the exit status.
    pub(crate) fn exit_watch(&self) -> watch::Receiver<Option<Exit>> {
        self.exit.clone()
    }

    /// Waits for the program to exit. The future is independent of this value and does not keep the program alive.
    pub fn exited(&self) -> impl Future<Output = Exit> + Send + use<> {
        wait_for_exit(self.exit.clone())
    }

    /// Sends a signal to the program's process group.
    pub fn signal(&self, signal: Signal) {
        self.leader.signal(signal);
    }

    /// Ends the program, and waits until all its processes have exited. Closes the program's input and waits up to
    /// `grace` for the program to exit. Then sends SIGTERM to its process group, and SIGKILL 1.5 seconds later. With a
    /// supervisor, the signals are sent to all processes that the program has started, even if the program stopped or
    /// killed the supervisor. Without a supervisor, processes that left the group survive. Dropping the future kills
    /// the program.
    ///
    /// A caller that took `stdin` must close it first, otherwise the program does not see the end of its input. A
    /// caller that took `stdout` must continue to read it: the program may have to write before it can exit.
    pub async fn end(mut self, grace: Duration) -> Exit {
        self.stdin = None;
        self.stdout = None;
        let exit = self.exited();
        let ended = timeout(grace, exit).await.is_ok();
        tracing::debug!(pid = self.pid, by_itself = ended, "ending");
        match &*self.leader {
            Leader::Supervisor(supervisor) => {
                if !ended {
                    supervisor.send_order(SupervisorOrder::End);
                }
                let survivors = supervisor.ended().await;
                if !survivors.is_empty() {
                    tracing::error!(pid = self.pid, "{survivors}");
                }
            }
            Leader::Program(program) => end_group(program).await,
        }
        // A program that could not be ended must not block its owner.
        let exit = timeout(STDERR_DRAIN_TIMEOUT, self.exited()).await.unwrap_or(Exit::Unknown);
        let _ = timeout(STDERR_DRAIN_TIMEOUT, self.stderr.closed()).await;
        exit
    }
}

/// Waits until the channel has received an exit status.
pub(crate) async fn wait_for_exit(mut exit: watch::Receiver<Option<Exit>>) -> Exit {
    match exit.wait_for(Option::is_some).await {
        Ok(exit) => exit.unwrap_or(Exit::Unknown),
        // The watching task was dropped with its runtime.
        Err(_) => Exit::Unknown,
    }
}

async fn end_group(program: &UnsupervisedProgram) {
    if !program.group_is_empty() {
        program.signal(TERMINATE.signal);
        program.signal(Signal::SIGCONT);
        let empty = async {
            while !program.group_is_empty() {
                sleep(GROUP_POLL_INTERVAL).await;
            }
        };
        let _ = timeout(TERMINATE.grace, empty).await;
    }
    loop {
        // Sent even if the group looks empty: a process may have been forking.
        program.signal(KILL.signal);
        if program.group_is_empty() {
            return;
        }
        sleep(GROUP_POLL_INTERVAL).await;
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.leader.kill();
    }
}
