//! Buffer for history that is written without a waiting caller. Collects writes for up to 50 ms, keeps only the newest
//! version of each item, and writes all of them together.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::database::Database;
use super::error::{StoreError, check_size};
use super::history::{self, StoredItem};

/// Delay before buffered history is written. With the commit, history is durable within 100 ms.
const BUFFER_DELAY: Duration = Duration::from_millis(50);

/// Buffered history, with a limit in bytes. Beyond the limit, writes are refused until the buffer has been written.
#[derive(Debug)]
pub(super) struct WriteBuffer {
    sessions: HashMap<String, BufferedSession>,
    bytes: usize,
    since: Option<Instant>,
    not_before: Option<Instant>,
    max_bytes: usize,
    max_output_bytes: usize,
}

#[derive(Debug, Default)]
struct BufferedSession {
    items: Vec<StoredItem>,
    places: HashMap<String, usize>,
    output: Option<BufferedOutput>,
}

#[derive(Debug, Default)]
struct BufferedOutput {
    /// True if the output replaces all earlier output.
    replace: bool,
    bytes: Vec<u8>,
}

impl WriteBuffer {
    /// Creates an empty buffer. `max_bytes` limits the whole buffer, `max_output_bytes` the output of one session.
    pub fn new(max_bytes: usize, max_output_bytes: usize) -> Self {
        Self { sessions: HashMap::new(), bytes: 0, since: None, not_before: None, max_bytes, max_output_bytes }
    }

    pub fn is_empty(&self) -> bool {
        self.sessions.is_empty()
    }

    /// Returns the time at which the buffer is due to be written.
    pub fn due(&self) -> Option<Instant> {
        let due = self.since? + BUFFER_DELAY;
        Some(self.not_before.map_or(due, |moment| due.max(moment)))
    }

    /// Returns all buffered history, and leaves the buffer empty.
    pub fn take(&mut self) -> Self {
        let empty = Self::new(self.max_bytes, self.max_output_bytes);
        std::mem::replace(self, empty)
    }

    /// Buffers items. An item replaces a buffered item with the same id.
    pub fn items(&mut self, session: &str, items: Vec<StoredItem>) -> Result<(), StoreError> {
        let size = items.iter().map(StoredItem::size).sum::<usize>();
        self.check_capacity(size)?;
        self.put_items(session, items);
        Ok(())
    }

    /// Buffers output to append, or to replace all earlier output if `replace` is set.
    pub fn output(&mut self, session: &str, bytes: &[u8], replace: bool) -> Result<(), StoreError> {
        self.check_capacity(bytes.len().min(self.max_output_bytes))?;
        self.put_output(session, bytes, replace);
        Ok(())
    }

    fn check_capacity(&mut self, size: usize) -> Result<(), StoreError> {
        check_size("the history to store", size, self.max_bytes)?;
        if self.bytes + size > self.max_bytes {
            return Err(StoreError::Behind { most: self.max_bytes });
        }
        self.since.get_or_insert_with(Instant::now);
        Ok(())
    }

    fn put_items(&mut self, session: &str, items: Vec<StoredItem>) {
        let waiting = self.sessions.entry(session.to_owned()).or_default();
        for item in items {
            self.bytes += item.size();
            match waiting.places.get(&item.id) {
                Some(&place) => {
                    let old = &mut waiting.items[place];
                    self.bytes -= old.size();
                    old.json = item.json;
                    // The buffered item keeps its position and its sequence number.
                }
                None => {
                    waiting.places.insert(item.id.clone(), waiting.items.len());
                    waiting.items.push(item);
                }
            }
        }
    }

    fn put_output(&mut self, session: &str, bytes: &[u8], replace: bool) {
        let waiting = self.sessions.entry(session.to_owned()).or_default();
        let output = waiting.output.get_or_insert_default();
        let before = output.bytes.len();
        if replace {
            output.bytes.clear();
            output.replace = true;
        }
        output.bytes.extend_from_slice(bytes);
        let surplus = output.bytes.len().saturating_sub(self.max_output_bytes);
        if surplus > 0 {
            output.bytes.drain(..surplus);
            output.replace = true;
        }
        self.bytes = self.bytes + output.bytes.len() - before;
    }

    /// Puts `older` back into the buffer after a failed write. History that was buffered in the meantime is newer and
    /// is applied on top. The buffer is not due before `not_before`.
    pub fn put_back(&mut self, older: Self, not_before: Instant) {
        let newer = std::mem::replace(self, older);
        for (session, waiting) in newer.sessions {
            self.put_items(&session, waiting.items);
            if let Some(output) = waiting.output {
                self.put_output(&session, &output.bytes, output.replace);
            }
        }
        self.not_before = Some(not_before);
    }

    /// Writes all buffered history to the database.
    pub fn write(&self, database: &mut Database) -> Result<(), StoreError> {
        for (session, waiting) in &self.sessions {
            let history = match history::find(database, session) {
                Ok(history) => history,
                // The session was removed or never stored.
                Err(StoreError::NoSuchSession(_)) => {
                    tracing::debug!(session, "dropped history of an unknown session");
                    continue;
                }
                Err(error) => return Err(error),
            };
            if !waiting.items.is_empty() {
                history::put(database, history, &waiting.items)?;
            }
            if let Some(output) = &waiting.output {
                history::put_output(database, history, &output.bytes, output.replace)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(id: &str, seq: u64, json: &str) -> StoredItem {
        StoredItem { id: id.to_owned(), seq, json: json.to_owned() }
    }

    fn items(buffer: &WriteBuffer, session: &str) -> Vec<StoredItem> {
        buffer.sessions[session].items.clone()
    }

    #[test]
    fn an_item_replaces_an_older_one_and_keeps_its_position() {
        let mut buffer = WriteBuffer::new(1000, 10);
        buffer.items("s", vec![item("a", 1, "1"), item("b", 2, "2")]).unwrap();
        buffer.items("s", vec![item("a", 9, "111")]).unwrap();
        assert_eq!(items(&buffer, "s"), [item("a", 1, "111"), item("b", 2, "2")]);
        assert_eq!(buffer.bytes, item("a", 1, "111").size() + item("b", 2, "2").size());
    }

    #[test]
    fn history_that_is_put_back_is_older_than_newer_writes() {
        let mut buffer = WriteBuffer::new(1000, 10);
        buffer.items("s", vec![item("a", 1, "old"), item("b", 2, "2")]).unwrap();
        buffer.output("s", b"12345", true).unwrap();
        let older = buffer.take();
        assert!(buffer.is_empty());
        buffer.items("s", vec![item("c", 3, "3"), item("a", 1, "new")]).unwrap();
        buffer.output("s", b"678", false).unwrap();
        let moment = Instant::now() + Duration::from_secs(60);
        buffer.put_back(older, moment);
        assert_eq!(items(&buffer, "s"), [item("a", 1, "new"), item("b", 2, "2"), item("c", 3, "3")]);
        let output = buffer.sessions["s"].output.as_ref().unwrap();
        assert_eq!((output.replace, output.bytes.as_slice()), (true, &b"12345678"[..]));
        assert_eq!(buffer.due(), Some(moment));
    }

    #[test]
    fn output_is_truncated_and_the_buffer_is_bounded() {
        let mut buffer = WriteBuffer::new(20, 4);
        buffer.output("s", b"123456", false).unwrap();
        buffer.output("s", b"7", false).unwrap();
        let output = buffer.sessions["s"].output.as_ref().unwrap();
        assert_eq!(
            (output.replace, output.bytes.as_slice()),
            (true, &b"4567"[..]),
            "what was there before is out of reach"
        );
        assert_eq!(buffer.items("s", vec![item("a", 1, &"x".repeat(16))]), Err(StoreError::Behind { most: 20 }));
        assert!(matches!(buffer.items("s", vec![item("a", 1, &"x".repeat(20))]), Err(StoreError::TooLarge { .. })));
        assert_eq!(buffer.bytes, 4);
    }
}
