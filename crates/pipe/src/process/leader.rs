//! The process that we have started ourselves: the leader of the program's group, or the supervisor.

use std::sync::Arc;

use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::Pid;
use tokio::sync::watch;

use super::Exit;
use crate::children::Registration;
use crate::leash::Hold;
use crate::protocol::{Order, Report};
use crate::supervisor::{Reports, Supervisor};
use crate::tree;

/// A child of ours: the program itself in a group of its own, or the supervisor that it runs under.
#[derive(Debug)]
pub(super) enum Leader {
    Program(Program),
    Supervisor(Arc<Supervisor>),
}

/// A program without a supervisor. While this exists it is not waited for, so that its id, and with it the id of its group,
/// cannot become another's; the last holder ends what is left and waits for it.
#[derive(Debug)]
pub(super) struct Program {
    pid: Pid,
    /// Dropped after the wait in `drop`, or with the thread that waits.
    registration: Option<Registration>,
    /// Dropped at the same time.
    hold: Option<Hold>,
}

impl Leader {
    pub(super) fn program(registration: Registration, hold: Option<Hold>) -> Arc<Self> {
        let pid = registration.id().raw();
        Arc::new(Self::Program(Program { pid, registration: Some(registration), hold }))
    }

    /// Sends a signal to the program's group.
    pub(super) fn signal(&self, signal: Signal) {
        match (self, u8::try_from(signal as i32)) {
            (Self::Supervisor(supervisor), Ok(number)) => supervisor.give(Order::Signal(number)),
            (Self::Supervisor(_), Err(_)) => {}
            (Self::Program(program), _) => program.signal(signal),
        }
    }

    /// Kills everything that it leads.
    pub(super) fn kill(&self) {
        match self {
            Self::Supervisor(supervisor) => supervisor.give(Order::Kill),
            Self::Program(program) => program.signal(Signal::SIGKILL),
        }
    }
}

impl Program {
    /// How it ended, if it has. It stays to be waited for.
    fn look(&self) -> Option<Exit> {
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        loop {
            return match waitid(Id::Pid(self.pid), flags) {
                Ok(WaitStatus::StillAlive) => None,
                Ok(WaitStatus::Exited(_, code)) => Some(Exit::Code(code)),
                Ok(WaitStatus::Signaled(_, signal, _)) => Some(Exit::Signal(signal as i32)),
                Err(Errno::EINTR) => continue,
                Ok(_) | Err(_) => Some(Exit::Unknown),
            };
        }
    }

    /// Waits for its end; `deaths` has listened since before it was started.
    async fn exited(&self, deaths: &mut tokio::signal::unix::Signal) -> Exit {
        loop {
            if let Some(exit) = self.look() {
                return exit;
            }
            if deaths.recv().await.is_none() {
                return Exit::Unknown;
            }
        }
    }

    /// Sends a signal to its group.
    pub(super) fn signal(&self, signal: Signal) {
        // Should someone else have waited for it, its id may be another's by now.
        if self.look() != Some(Exit::Unknown) {
            let _ = killpg(self.pid, signal);
        }
    }

    pub(super) fn group_is_empty(&self) -> bool {
        tree::group(self.pid).is_ok_and(|group| group.is_empty())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.signal(Signal::SIGKILL);
        let pid = self.pid;
        match waitpid(pid, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) | Err(Errno::EINTR) => {
                // It was not watched to its end: it did not come so far, or its runtime was dropped under it. Should
                // there be no thread, whoever adopts it when we end waits for it.
                let held = (self.registration.take(), self.hold.take());
                let wait = move || {
                    while waitpid(pid, None) == Err(Errno::EINTR) {}
                    drop(held);
                };
                let _ = std::thread::Builder::new().name("wh-pipe-wait".to_owned()).spawn(wait);
            }
            _ => {}
        }
    }
}

/// Watches a program that is our child.
pub(super) async fn watch_program(
    leader: Arc<Leader>,
    mut deaths: tokio::signal::unix::Signal,
    tell: watch::Sender<Option<Exit>>,
) {
    let Leader::Program(program) = &*leader else { return };
    let exit = program.exited(&mut deaths).await;
    tell.send_replace(Some(exit));
}

/// Watches a program through its supervisor.
pub(super) async fn watch_supervisor(mut reports: Reports, tell: watch::Sender<Option<Exit>>) {
    while let Some(report) = reports.next().await {
        let exit = match report {
            Report::Exited(code) => Exit::Code(code),
            Report::Killed(signal) => Exit::Signal(signal),
            _ => continue,
        };
        tell.send_replace(Some(exit));
    }
    tell.send_modify(|exit| {
        exit.get_or_insert(Exit::Unknown);
    });
}
