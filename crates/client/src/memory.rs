//! Returning freed memory to the system. The allocator keeps what lies below memory that is still in use; after something large was freed
//! (a long line, a large screen) that may be most of it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Delay before freed memory is returned, so that one trim serves all releases within it.
const RELEASE_DELAY: Duration = Duration::from_millis(500);

static WAITING: AtomicBool = AtomicBool::new(false);

/// Returns freed memory to the system soon, on a thread of its own. To be called after something large was freed; calls that follow within half a
/// second are served together. Outside of a runtime nothing happens.
pub fn release() {
    let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
    if WAITING.swap(true, Ordering::AcqRel) {
        return;
    }
    runtime.spawn(async {
        tokio::time::sleep(RELEASE_DELAY).await;
        WAITING.store(false, Ordering::Release);
        let _ = tokio::task::spawn_blocking(trim).await;
    });
}

#[cfg(target_env = "gnu")]
fn trim() {
    // SAFETY: takes no pointer and may be called by any thread at any time.
    unsafe { nix::libc::malloc_trim(0) };
}

#[cfg(not(target_env = "gnu"))]
fn trim() {}
