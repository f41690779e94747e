//! Mutable state of a session: its name, its end, and the terminals attached to it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use tokio::sync::watch;
use wh_client::{Audience, DaemonFuture, EndCause, SessionState};
use wh_core::terminal::Size;

/// Creates the mutable state of a session with this name, and an empty set of attached terminals.
pub(super) fn new(name: String) -> (Arc<dyn SessionState>, Arc<dyn Audience>) {
    let changing = watch::Sender::new(MutableSessionState { name, ended: None, has_created: false });
    (Arc::new(LiveSessionState(changing)), Arc::new(AttachedTerminals::default()))
}

#[derive(Debug)]
struct MutableSessionState {
    name: String,
    ended: Option<(EndCause, SystemTime)>,
    has_created: bool,
}

#[derive(Debug)]
struct LiveSessionState(watch::Sender<MutableSessionState>);

impl SessionState for LiveSessionState {
    fn name(&self) -> String {
        self.0.borrow().name.clone()
    }

    fn rename(&self, name: &str) {
        self.0.send_modify(|changing| name.clone_into(&mut changing.name));
    }

    fn ended(&self) -> Option<(EndCause, SystemTime)> {
        self.0.borrow().ended.clone()
    }

    fn end(&self, ending: EndCause, at: SystemTime) {
        self.0.send_modify(|changing| {
            changing.ended.get_or_insert((ending, at));
        });
    }

    fn until_ended(&self) -> DaemonFuture<'_, ()> {
        Box::pin(async {
            let _ = self.0.subscribe().wait_for(|changing| changing.ended.is_some()).await;
        })
    }

    fn has_created(&self) -> bool {
        self.0.borrow().has_created
    }

    fn set_has_created(&self) {
        self.0.send_modify(|changing| changing.has_created = true);
    }
}

/// Set of terminals attached to a session. The session has the smallest width and the smallest height of these
/// terminals.
#[derive(Debug, Default)]
struct AttachedTerminals {
    /// Size by terminal number; `None` for a terminal that does not affect the size of the session.
    sizes: Mutex<Vec<(u64, Option<Size>)>>,
    /// Number that the next attached terminal gets.
    numbers: AtomicU64,
    /// Number of the last terminal in which the user typed.
    typed: AtomicU64,
    /// Number of the last dismissed terminal plus one; 0 before the first dismissal.
    dismissed: watch::Sender<u64>,
}

impl AttachedTerminals {
    fn sizes(&self) -> MutexGuard<'_, Vec<(u64, Option<Size>)>> {
        self.sizes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Audience for AttachedTerminals {
    fn enter(&self, size: Option<Size>) -> (u64, Option<Size>) {
        let mut sizes = self.sizes();
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        sizes.push((number, size));
        (number, smallest(&sizes))
    }

    fn resize(&self, number: u64, size: Option<Size>) -> Option<Size> {
        let mut sizes = self.sizes();
        sizes.iter_mut().filter(|(one, _)| *one == number).for_each(|(_, known)| *known = size);
        smallest(&sizes)
    }

    fn leave(&self, number: u64) -> Option<Size> {
        let mut sizes = self.sizes();
        sizes.retain(|(one, _)| *one != number);
        smallest(&sizes)
    }

    fn count(&self) -> usize {
        self.sizes().len()
    }

    fn typed(&self, number: u64) {
        self.typed.store(number, Ordering::Relaxed);
    }

    fn dismiss(&self) {
        self.dismissed.send_replace(self.typed.load(Ordering::Relaxed) + 1);
    }

    fn dismissed(&self, number: u64) -> DaemonFuture<'_, ()> {
        Box::pin(async move {
            let mut dismissed = self.dismissed.subscribe();
            dismissed.mark_unchanged();
            loop {
                if dismissed.changed().await.is_err() {
                    return std::future::pending().await;
                }
                if *dismissed.borrow_and_update() == number + 1 {
                    return;
                }
            }
        })
    }
}

fn smallest(sizes: &[(u64, Option<Size>)]) -> Option<Size> {
    let counted = || sizes.iter().filter_map(|(_, size)| *size);
    let columns = counted().map(|size| size.columns).min()?;
    let rows = counted().map(|size| size.rows).min()?;
    Some(Size::nearest(columns, rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_terminal_decides_the_size() {
        let size = |columns, rows| Some(Size { columns, rows });
        let audience = AttachedTerminals::default();
        let (boundless, fits) = audience.enter(None);
        assert_eq!(fits, None, "a size that no terminal has does not count");
        let (first, fits) = audience.enter(size(120, 40));
        assert_eq!(fits, size(120, 40));
        let (second, fits) = audience.enter(size(80, 50));
        assert_eq!(fits, size(80, 40));
        assert_eq!(audience.resize(second, size(200, 20)), size(120, 20));
        assert_eq!(audience.leave(second), size(120, 40));
        assert_eq!(audience.leave(first), None);
        assert_eq!(audience.leave(boundless), None);
        assert_eq!(audience.count(), 0);
    }
}
