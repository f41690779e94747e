//! The direct child process: the leader of the program's group, or its supervisor.

use std::sync::Arc;

use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::Pid;
use tokio::sync::watch;

use super::Exit;
use crate::children::ChildRegistration;
use crate::kill_switch::ProgramGuard;
use crate::protocol::{SupervisorOrder, SupervisorReport};
use crate::supervisor::{Supervisor, SupervisorReports};
use crate::tree;

/// Direct child of this process: the program itself in a group of its own, or the supervisor that it runs under.
#[derive(Debug)]
pub(super) enum Leader {
    Program(UnsupervisedProgram),
    Supervisor(Arc<Supervisor>),
}

/// A program without a supervisor. It is not reaped while this value exists, so its pid and group id cannot be reused.
/// Dropping the last reference kills the rest of the group and reaps the program.
#[derive(Debug)]
pub(super) struct UnsupervisedProgram {
    pid: Pid,
    /// Registration of the program, dropped once `drop` or the waiting thread has reaped the program.
    registration: Option<ChildRegistration>,
    /// Counts the program in its kill switch. Dropped together with the registration.
    hold: Option<ProgramGuard>,
}

impl Leader {
    pub(super) fn program(registration: ChildRegistration, hold: Option<ProgramGuard>) -> Arc<Self> {
        let pid = registration.id().raw();
        Arc::new(Self::Program(UnsupervisedProgram { pid, registration: Some(registration), hold }))
    }

    /// Sends a signal to the program's group.
    pub(super) fn signal(&self, signal: Signal) {
        match (self, u8::try_from(signal as i32)) {
            (Self::Supervisor(supervisor), Ok(number)) => supervisor.send_order(SupervisorOrder::Signal(number)),
            (Self::Supervisor(_), Err(_)) => {}
            (Self::Program(program), _) => program.signal(signal),
        }
    }

    /// Kills the program's group, or everything below its supervisor.
    pub(super) fn kill(&self) {
        match self {
            Self::Supervisor(supervisor) => supervisor.send_order(SupervisorOrder::Kill),
            Self::Program(program) => program.signal(Signal::SIGKILL),
        }
    }
}

impl UnsupervisedProgram {
    /// Returns the exit status if the program has ended, without reaping it.
    fn try_exit(&self) -> Option<Exit> {
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

    /// Waits for the program to exit. `deaths` is a stream of SIGCHLD that was created before the program was started.
    async fn exited(&self, deaths: &mut tokio::signal::unix::Signal) -> Exit {
        loop {
            if let Some(exit) = self.try_exit() {
                return exit;
            }
            if deaths.recv().await.is_none() {
                return Exit::Unknown;
            }
        }
    }

    /// Sends a signal to the program's group.
    pub(super) fn signal(&self, signal: Signal) {
        // If the program was reaped elsewhere, its pid may have been reused.
        if self.try_exit() != Some(Exit::Unknown) {
            let _ = killpg(self.pid, signal);
        }
    }

    pub(super) fn group_is_empty(&self) -> bool {
        tree::group(self.pid).is_ok_and(|group| group.is_empty())
    }
}

impl Drop for UnsupervisedProgram {
    fn drop(&mut self) {
        self.signal(Signal::SIGKILL);
        let pid = self.pid;
        match waitpid(pid, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) | Err(Errno::EINTR) => {
                // The watching task was stopped early, for example with its runtime, so the program may still be
                // exiting. If the thread cannot be started, the program is reaped only after this process has exited.
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

/// Publishes the exit status of a program that is a direct child.
pub(super) async fn watch_program(
    leader: Arc<Leader>,
    mut deaths: tokio::signal::unix::Signal,
    publish: watch::Sender<Option<Exit>>,
) {
    let Leader::Program(program) = &*leader else { return };
    let exit = program.exited(&mut deaths).await;
    publish.send_replace(Some(exit));
}

/// Publishes the exit status of a program as its supervisor reports it.
pub(super) async fn watch_supervisor(mut reports: SupervisorReports, publish: watch::Sender<Option<Exit>>) {
    while let Some(report) = reports.next().await {
        let exit = match report {
            SupervisorReport::Exited(code) => Exit::Code(code),
            SupervisorReport::Killed(signal) => Exit::Signal(signal),
            _ => continue,
        };
        publish.send_replace(Some(exit));
    }
    publish.send_modify(|exit| {
        exit.get_or_insert(Exit::Unknown);
    });
}
