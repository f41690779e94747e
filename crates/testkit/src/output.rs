//! Drains the output pipes of child processes into buffers. A full pipe would block the child.

use std::io::{BufRead, BufReader, Read};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;

/// Output received from a pipe so far. Clones share the buffer.
#[derive(Clone, Default)]
pub(crate) struct PipeOutput(Arc<Mutex<Vec<u8>>>);

impl PipeOutput {
    /// Reads `pipe` to its end on a new thread, and passes each line to `line` after buffering it.
    pub(crate) fn drain(
        pipe: impl Read + Send + 'static,
        mut line: impl FnMut(&str) + Send + 'static,
    ) -> (Self, JoinHandle<()>) {
        let output = Self::default();
        let buffer = output.clone();
        let thread = std::thread::spawn(move || {
            let mut pipe = BufReader::new(pipe);
            let mut bytes = Vec::new();
            while pipe.read_until(b'\n', &mut bytes).is_ok_and(|count| count > 0) {
                buffer.lock().extend_from_slice(&bytes);
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
        self.0.lock().expect("no thread panics while it holds the lock of the buffer")
    }
}
