//! The last drawing of the screen. Many look at a screen that has not changed; it is drawn once for all of them.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::SystemTime;

use axum::body::Bytes;
use axum::http::HeaderValue;
use wh_client::Shown;
use wh_screen::frame::Frame;

/// An answer as it goes out.
#[derive(Debug, Clone)]
pub(super) struct Drawing {
    pub tag: HeaderValue,
    pub body: Bytes,
}

/// Keeps one drawing, behind a mutex that is held for a few instructions only.
#[derive(Debug, Default)]
pub(super) struct Drawn(Mutex<Option<Kept>>);

#[derive(Debug)]
struct Kept {
    /// Does not keep the cells of a frame that is past.
    frame: Weak<Frame>,
    counters: Counters,
    drawing: Drawing,
}

/// What stands in a body beside the frame.
type Counters = (u64, SystemTime, usize, bool);

fn counters(shown: &Shown) -> Counters {
    (shown.frames_rendered, shown.last_frame, shown.log_characters, shown.log_truncated)
}

impl Drawn {
    /// The drawing of exactly this, if it was the last.
    pub fn find(&self, shown: &Shown) -> Option<Drawing> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |kept: &&Kept| {
            std::ptr::eq(kept.frame.as_ptr(), Arc::as_ptr(&shown.frame)) && kept.counters == counters(shown)
        };
        kept.as_ref().filter(same).map(|kept| kept.drawing.clone())
    }

    pub fn keep(&self, shown: &Shown, drawing: Drawing) {
        let kept = Kept { frame: Arc::downgrade(&shown.frame), counters: counters(shown), drawing };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wh_screen::vt::Vt;

    fn shown(frame: &Arc<Frame>) -> Shown {
        Shown {
            frame: Arc::clone(frame),
            frames_rendered: 1,
            last_frame: SystemTime::UNIX_EPOCH,
            log_characters: 3,
            log_truncated: false,
            output_bytes: 3,
            history: None,
        }
    }

    fn frame() -> Arc<Frame> {
        Arc::new(Vt::new(wh_core::terminal::Size { columns: 10, rows: 2 }, 0).frame())
    }

    fn drawing() -> Drawing {
        Drawing { tag: HeaderValue::from_static("W/\"1\""), body: Bytes::from_static(b"{}") }
    }

    #[test]
    fn the_last_drawing_is_found_for_the_same_frame_and_counters_only() {
        let (drawn, frame) = (Drawn::default(), frame());
        assert!(drawn.find(&shown(&frame)).is_none());
        drawn.keep(&shown(&frame), drawing());
        assert_eq!(drawn.find(&shown(&frame)).map(|drawing| drawing.body), Some(Bytes::from_static(b"{}")));
        assert!(drawn.find(&Shown { frames_rendered: 2, ..shown(&frame) }).is_none());
        assert!(drawn.find(&Shown { log_characters: 4, ..shown(&frame) }).is_none());
        assert!(drawn.find(&shown(&self::frame())).is_none());
    }

    #[test]
    fn a_frame_that_is_past_is_not_kept() {
        let (drawn, frame) = (Drawn::default(), frame());
        drawn.keep(&shown(&frame), drawing());
        let past = Arc::downgrade(&frame);
        drop(frame);
        assert!(past.upgrade().is_none());
    }
}
