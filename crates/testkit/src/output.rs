//! What a child prints, kept as it comes: a pipe that nobody reads stops its writer.

use std::io::{BufRead, BufReader, Read};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;

/// Everything that a pipe has said so far. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Output(Arc<Mutex<Vec<u8>>>);

impl Output {
    /// Reads `pipe` to its end on a thread of its own, and shows each line to `line` once it is kept.
    pub(crate) fn drain(
        pipe: impl Read + Send + 'static,
        mut line: impl FnMut(&str) + Send + 'static,
    ) -> (Self, JoinHandle<()>) {
        let output = Self::default();
        let kept = output.clone();
        let thread = std::thread::spawn(move || {
            let mut pipe = BufReader::new(pipe);
            let mut bytes = Vec::new();
            while pipe.read_until(b'\n', &mut bytes).is_ok_and(|count| count > 0) {
                kept.lock().extend_from_slice(&bytes);
                line(String::from_utf8_lossy(&bytes).trim_end_matches(['\r', '\n']));
                bytes.clear();
            }
        });
        (output, thread)
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.lock()).into_owned()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().expect("no reader of a pipe panics while it holds the bytes")
    }
}
