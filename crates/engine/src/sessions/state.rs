//! The part of a session that changes: its name, its end, and the terminals attached to it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use tokio::sync::watch;
use wh_client::{Audience, BoxFuture, Ending, SessionState};
use wh_core::terminal::Size;

/// Both parts of a new session of this name.
pub(super) fn new(name: String) -> (Arc<dyn SessionState>, Arc<dyn Audience>) {
    let changing = watch::Sender::new(Changing { name, ended: None, has_created: false });
    (Arc::new(State(changing)), Arc::new(Terminals::default()))
}

#[derive(Debug)]
struct Changing {
    name: String,
    ended: Option<(Ending, SystemTime)>,
    has_created: bool,
}

#[derive(Debug)]
struct State(watch::Sender<Changing>);

impl SessionState for State {
    fn name(&self) -> String {
        self.0.borrow().name.clone()
    }

    fn rename(&self, name: &str) {
        self.0.send_modify(|changing| name.clone_into(&mut changing.name));
    }

    fn ended(&self) -> Option<(Ending, SystemTime)> {
        self.0.borrow().ended.clone()
    }

    fn end(&self, ending: Ending, at: SystemTime) {
        self.0.send_modify(|changing| {
            changing.ended.get_or_insert((ending, at));
        });
    }

    fn until_ended(&self) -> BoxFuture<'_, ()> {
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

/// The terminals that are attached to a session.
#[derive(Debug, Default)]
struct Terminals {
    /// `None`: a terminal whose size does not count.
    sizes: Mutex<Vec<(u64, Option<Size>)>>,
    /// The number of the next one.
    numbers: AtomicU64,
    /// Who typed last.
    typed: AtomicU64,
    /// Who was last asked to leave, plus one.
    dismissed: watch::Sender<u64>,
}

impl Terminals {
    fn sizes(&self) -> MutexGuard<'_, Vec<(u64, Option<Size>)>> {
        self.sizes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Audience for Terminals {
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

    fn dismissed(&self, number: u64) -> BoxFuture<'_, ()> {
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
        let audience = Terminals::default();
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
