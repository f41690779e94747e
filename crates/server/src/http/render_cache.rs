//! Caches the last rendered screen, so that an unchanged screen is rendered once for all clients.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::SystemTime;

use axum::body::Bytes;
use axum::http::HeaderValue;
use wh_client::ScreenSnapshot;
use wh_screen::frame::ScreenFrame;

/// Rendered body of a screen response, and its ETag.
#[derive(Debug, Clone)]
pub(super) struct RenderedScreen {
    pub tag: HeaderValue,
    pub body: Bytes,
}

/// Cache of one rendered screen. The mutex is held only for a few instructions.
#[derive(Debug, Default)]
pub(super) struct RenderCache(Mutex<Option<CachedRender>>);

#[derive(Debug)]
struct CachedRender {
    /// Weak reference to the rendered frame, so that the cache does not keep an old frame alive.
    frame: Weak<ScreenFrame>,
    counters: ScreenCounters,
    drawing: RenderedScreen,
}

/// Values in a screen body that can change while the frame stays the same.
type ScreenCounters = (u64, SystemTime, usize, bool);

fn counters(shown: &ScreenSnapshot) -> ScreenCounters {
    (shown.frames_rendered, shown.last_frame, shown.log_characters, shown.log_truncated)
}

impl RenderCache {
    /// Returns the cached response if it was rendered from exactly this screen.
    pub fn find(&self, shown: &ScreenSnapshot) -> Option<RenderedScreen> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |kept: &&CachedRender| {
            std::ptr::eq(kept.frame.as_ptr(), Arc::as_ptr(&shown.frame)) && kept.counters == counters(shown)
        };
        kept.as_ref().filter(same).map(|kept| kept.drawing.clone())
    }

    pub fn store(&self, shown: &ScreenSnapshot, drawing: RenderedScreen) {
        let kept = CachedRender { frame: Arc::downgrade(&shown.frame), counters: counters(shown), drawing };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wh_screen::vt::Vt;

    fn shown(frame: &Arc<ScreenFrame>) -> ScreenSnapshot {
        ScreenSnapshot {
            frame: Arc::clone(frame),
            frames_rendered: 1,
            last_frame: SystemTime::UNIX_EPOCH,
            log_characters: 3,
            log_truncated: false,
            output_bytes: 3,
            history: None,
        }
    }

    fn frame() -> Arc<ScreenFrame> {
        Arc::new(Vt::new(wh_core::terminal::Size { columns: 10, rows: 2 }, 0).frame())
    }

    fn drawing() -> RenderedScreen {
        RenderedScreen { tag: HeaderValue::from_static("W/\"1\""), body: Bytes::from_static(b"{}") }
    }

    #[test]
    fn the_last_drawing_is_found_for_the_same_frame_and_counters_only() {
        let (drawn, frame) = (RenderCache::default(), frame());
        assert!(drawn.find(&shown(&frame)).is_none());
        drawn.store(&shown(&frame), drawing());
        assert_eq!(drawn.find(&shown(&frame)).map(|drawing| drawing.body), Some(Bytes::from_static(b"{}")));
        assert!(drawn.find(&ScreenSnapshot { frames_rendered: 2, ..shown(&frame) }).is_none());
        assert!(drawn.find(&ScreenSnapshot { log_characters: 4, ..shown(&frame) }).is_none());
        assert!(drawn.find(&shown(&self::frame())).is_none());
    }

    #[test]
    fn a_frame_that_is_past_is_not_kept() {
        let (drawn, frame) = (RenderCache::default(), frame());
        drawn.store(&shown(&frame), drawing());
        let past = Arc::downgrade(&frame);
        drop(frame);
        assert!(past.upgrade().is_none());
    }
}
