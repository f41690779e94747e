//! Kill switch for programs that do not exit. Any holder can kill the programs, even while their owner is blocked.

use std::sync::Arc;

use tokio::sync::watch;

/// Kills the programs that were [launched](crate::LaunchSpec) with this switch, and everything that they have started.
/// Clones share the same switch. Dropping a switch does not end any program.
#[derive(Debug, Clone, Default)]
pub struct KillSwitch(Arc<KillSwitchState>);

#[derive(Debug, Default)]
struct KillSwitchState {
    triggered: watch::Sender<bool>,
    /// Number of programs launched with this switch that have not exited.
    programs: watch::Sender<usize>,
}

/// Counts a program of a kill switch while this guard exists. The guard is created before the program starts, and
/// dropped when the program has been reaped. With a supervisor it is dropped when all descendants of the supervisor
/// have ended.
#[derive(Debug)]
pub(crate) struct ProgramGuard(Arc<KillSwitchState>);

impl Drop for ProgramGuard {
    fn drop(&mut self) {
        self.0.programs.send_modify(|programs| *programs -= 1);
    }
}

impl KillSwitch {
    /// Kills the programs immediately. Programs that are launched later are killed as well.
    pub fn trigger(&self) {
        self.0.triggered.send_replace(true);
    }

    /// Waits until the switch is triggered. Cancel safe.
    pub async fn triggered(&self) {
        // The sender cannot be gone: `self` holds it.
        let _ = self.0.triggered.subscribe().wait_for(|triggered| *triggered).await;
    }

    /// Waits until every program that was launched with this switch has exited. With a supervisor, also waits until the
    /// processes that the program started have exited or are known to survive. Cancel safe.
    pub async fn ended(&self) {
        let _ = self.0.programs.subscribe().wait_for(|programs| *programs == 0).await;
    }

    pub(crate) fn count_program(&self) -> ProgramGuard {
        self.0.programs.send_modify(|programs| *programs += 1);
        ProgramGuard(Arc::clone(&self.0))
    }
}

/// Compares identity: clones of the same switch are equal.
impl PartialEq for KillSwitch {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for KillSwitch {}
