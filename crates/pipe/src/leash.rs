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
    /// Number of [`Child`](crate::Child) values that were launched with it.
    children: watch::Sender<usize>,
}

/// Counts a child of a leash until it is dropped.
#[derive(Debug)]
pub(crate) struct Hold(Arc<State>);

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.children.send_modify(|children| *children -= 1);
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

    /// Waits until every [`Child`](crate::Child) that was launched with it has ended or was dropped. Cancel safe.
    pub async fn ended(&self) {
        let _ = self.0.children.subscribe().wait_for(|children| *children == 0).await;
    }

    pub(crate) fn hold(&self) -> Hold {
        self.0.children.send_modify(|children| *children += 1);
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
