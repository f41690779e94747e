//! Peer of a link: a program, or a task of this process that uses the same line-based protocol over pipes.

use std::time::Duration;

use tokio::net::unix::pipe;
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::process::{Child, Exit, Stdin, Stdout, wait_for_exit};
use crate::tail::StderrTail;

/// Pipes of a task that is the peer of a link.
#[derive(Debug)]
pub struct TaskPipes {
    /// Lines from the link. The end of the input requests the end of the task.
    pub input: Stdout,
    /// Lines to the link.
    pub output: Stdin,
}

/// Process or task at the other end of a link.
#[derive(Debug)]
pub(crate) enum Peer {
    Program(Child),
    Task(PeerTask),
}

impl Peer {
    /// Waits for the exit of the peer. The future is independent of this value.
    pub fn exited(&self) -> impl Future<Output = Exit> + Send + use<> {
        wait_for_exit(match self {
            Self::Program(child) => child.exit_watch(),
            Self::Task(task) => task.exit.clone(),
        })
    }

    /// Returns the last part of the program's standard error. A task has none.
    pub fn stderr(&self) -> Option<StderrTail> {
        match self {
            Self::Program(child) => Some(child.stderr.clone()),
            Self::Task(_) => None,
        }
    }

    /// Ends the peer: a program with all its processes, a task by aborting it.
    pub async fn end(self) -> Exit {
        match self {
            Self::Program(child) => child.end(Duration::ZERO).await,
            Self::Task(task) => {
                task.abort.abort();
                wait_for_exit(task.exit.clone()).await
            }
        }
    }
}

/// Spawned task with its exit status. Dropping this value aborts the task.
#[derive(Debug)]
pub(crate) struct PeerTask {
    exit: watch::Receiver<Option<Exit>>,
    abort: AbortHandle,
}

impl PeerTask {
    /// Spawns the task with one end of two pipes. Returns the other end: its input and its output.
    pub fn spawn<F>(run: impl FnOnce(TaskPipes) -> F) -> std::io::Result<(Self, Stdin, Stdout)>
    where
        F: Future<Output = Exit> + Send + 'static,
    {
        let (to_task, input) = pipe::pipe()?;
        let (output, from_task) = pipe::pipe()?;
        let (sender, exit) = watch::channel(None);
        let task = run(TaskPipes { input, output });
        let abort = tokio::spawn(async move {
            let _ = sender.send(Some(task.await));
        })
        .abort_handle();
        Ok((Self { exit, abort }, to_task, from_task))
    }
}

impl Drop for PeerTask {
    fn drop(&mut self) {
        self.abort.abort();
    }
}
