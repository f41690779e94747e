//! Returns freed memory to the operating system. The allocator retains free memory that lies below a block in use.
//! After a large block such as a long line is freed, the retained memory may be most of the process's memory.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Delay before freed memory is returned. All calls of [`release`] within the delay share one `malloc_trim`.
const RELEASE_DELAY: Duration = Duration::from_millis(500);

static TRIM_SCHEDULED: AtomicBool = AtomicBool::new(false);

/// Returns freed memory to the system in a background thread. Call this function after freeing a large block. Calls
/// within half a second are combined. Does nothing outside of a tokio runtime.
pub fn release() {
    let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
    if TRIM_SCHEDULED.swap(true, Ordering::AcqRel) {
        return;
    }
    runtime.spawn(async {
        tokio::time::sleep(RELEASE_DELAY).await;
        TRIM_SCHEDULED.store(false, Ordering::Release);
        let _ = tokio::task::spawn_blocking(trim).await;
    });
}

#[cfg(target_env = "gnu")]
fn trim() {
    // SAFETY: `malloc_trim` takes no pointer, and any thread may call it at any time.
    unsafe { nix::libc::malloc_trim(0) };
}

#[cfg(not(target_env = "gnu"))]
fn trim() {}
