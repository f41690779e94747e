//! The last resort against a program that does not end: whoever holds its leash kills it, also when whoever speaks to it
//! is stuck.

use std::sync::Arc;

use tokio::sync::watch;

/// Kills the programs that were [launched](crate::Launch) with it, and all that they have started. Clones are the same
/// leash. It holds nothing: programs outlive a leash that is dropped.
#[derive(Debug, Clone, Default)]
pub struct Leash(Arc<State>);

#[derive(Debug, Default)]
struct State {
    pulled: watch::Sender<bool>,
    /// Number of programs that were launched with it and have not ended.
    programs: watch::Sender<usize>,
}

/// Counts a program of a leash until it is dropped: from before its start until it has been waited for, with a supervisor until
/// everything below that has ended.
#[derive(Debug)]
pub(crate) struct Hold(Arc<State>);

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.programs.send_modify(|programs| *programs -= 1);
    }
}

impl Leash {
    /// Kills them, at once and without a word. Those that are launched later are killed as well.
    pub fn pull(&self) {
        self.0.pulled.send_replace(true);
    }

    /// Waits until it is pulled. Cancel safe.
    pub async fn pulled(&self) {
        // The sender is held here: it cannot be gone.
        let _ = self.0.pulled.subscribe().wait_for(|pulled| *pulled).await;
    }

    /// Waits until every program that was launched with it has ended, whoever held it; with a supervisor everything that it has
    /// started, too, unless it is known that something cannot be ended. Cancel safe.
    pub async fn ended(&self) {
        let _ = self.0.programs.subscribe().wait_for(|programs| *programs == 0).await;
    }

    pub(crate) fn hold(&self) -> Hold {
        self.0.programs.send_modify(|programs| *programs += 1);
        Hold(Arc::clone(&self.0))
    }
}

/// The same leash, not one that looks the same.
impl PartialEq for Leash {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Leash {}
