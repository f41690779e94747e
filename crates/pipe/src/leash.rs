//! The last resort against a program that does not end: whoever holds its leash kills it, also when whoever speaks to it
//! is stuck.

use std::sync::Arc;

use tokio::sync::watch;

/// Kills the programs that were [launched](crate::Launch) with it, and all that they have started. Clones are the same
/// leash. It holds nothing: programs outlive a leash that is dropped.
#[derive(Debug, Clone, Default)]
pub struct Leash(Arc<watch::Sender<bool>>);

impl Leash {
    /// Kills them, at once and without a word. Those that are launched later are killed as well.
    pub fn pull(&self) {
        self.0.send_replace(true);
    }

    /// Waits until it is pulled. Cancel safe.
    pub async fn pulled(&self) {
        // The sender is held here: it cannot be gone.
        let _ = self.0.subscribe().wait_for(|pulled| *pulled).await;
    }
}

/// The same leash, not one that looks the same.
impl PartialEq for Leash {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Leash {}
