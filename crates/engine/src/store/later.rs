//! History that nobody waits for: it is gathered here for a moment, the newest of each item only, and written together.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::desk::Desk;
use super::error::{StoreError, fits};
use super::history::{self, KeptItem};

/// How long something waits before it is written. With the commit itself it stays well below a tenth of a second.
const PATIENCE: Duration = Duration::from_millis(50);

/// What waits to be written. It is bounded in bytes; beyond that nothing more is taken until the disk has caught up.
#[derive(Debug)]
pub(super) struct Later {
    sessions: HashMap<String, Waiting>,
    bytes: usize,
    since: Option<Instant>,
    not_before: Option<Instant>,
    most: usize,
    most_output: usize,
}

#[derive(Debug, Default)]
struct Waiting {
    items: Vec<KeptItem>,
    places: HashMap<String, usize>,
    output: Option<Output>,
}

#[derive(Debug, Default)]
struct Output {
    /// Whether it takes the place of all that was there.
    anew: bool,
    bytes: Vec<u8>,
}

impl Later {
    /// Nothing, with room for so many bytes, and for so many of a session's output.
    pub fn new(most: usize, most_output: usize) -> Self {
        Self { sessions: HashMap::new(), bytes: 0, since: None, not_before: None, most, most_output }
    }

    pub fn is_empty(&self) -> bool {
        self.sessions.is_empty()
    }

    /// When it should be written.
    pub fn due(&self) -> Option<Instant> {
        let due = self.since? + PATIENCE;
        Some(self.not_before.map_or(due, |moment| due.max(moment)))
    }

    /// All that waits; nothing waits then.
    pub fn take(&mut self) -> Self {
        let empty = Self::new(self.most, self.most_output);
        std::mem::replace(self, empty)
    }

    /// Puts items, each in the place of an older one of the same id.
    pub fn items(&mut self, session: &str, items: Vec<KeptItem>) -> Result<(), StoreError> {
        let size = items.iter().map(KeptItem::size).sum::<usize>();
        self.admit(size)?;
        self.put_items(session, items);
        Ok(())
    }

    /// Adds output, or puts it in the place of all that there was.
    pub fn output(&mut self, session: &str, bytes: &[u8], anew: bool) -> Result<(), StoreError> {
        self.admit(bytes.len().min(self.most_output))?;
        self.put_output(session, bytes, anew);
        Ok(())
    }

    fn admit(&mut self, size: usize) -> Result<(), StoreError> {
        fits("what is left for later", size, self.most)?;
        if self.bytes + size > self.most {
            return Err(StoreError::Behind { most: self.most });
        }
        self.since.get_or_insert_with(Instant::now);
        Ok(())
    }

    fn put_items(&mut self, session: &str, items: Vec<KeptItem>) {
        let waiting = self.sessions.entry(session.to_owned()).or_default();
        for item in items {
            self.bytes += item.size();
            match waiting.places.get(&item.id) {
                Some(&place) => {
                    let old = &mut waiting.items[place];
                    self.bytes -= old.size();
                    old.json = item.json;
                    // It has the same id, and keeps the place that it had.
                }
                None => {
                    waiting.places.insert(item.id.clone(), waiting.items.len());
                    waiting.items.push(item);
                }
            }
        }
    }

    fn put_output(&mut self, session: &str, bytes: &[u8], anew: bool) {
        let waiting = self.sessions.entry(session.to_owned()).or_default();
        let output = waiting.output.get_or_insert_default();
        let before = output.bytes.len();
        if anew {
            output.bytes.clear();
            output.anew = true;
        }
        output.bytes.extend_from_slice(bytes);
        let surplus = output.bytes.len().saturating_sub(self.most_output);
        if surplus > 0 {
            output.bytes.drain(..surplus);
            output.anew = true;
        }
        self.bytes = self.bytes + output.bytes.len() - before;
    }

    /// Puts what could not be written below what has come since.
    pub fn put_back(&mut self, older: Self, not_before: Instant) {
        let newer = std::mem::replace(self, older);
        for (session, waiting) in newer.sessions {
            self.put_items(&session, waiting.items);
            if let Some(output) = waiting.output {
                self.put_output(&session, &output.bytes, output.anew);
            }
        }
        self.not_before = Some(not_before);
    }

    /// Writes all of it.
    pub fn write(&self, desk: &mut Desk) -> Result<(), StoreError> {
        for (session, waiting) in &self.sessions {
            let history = match history::find(desk, session) {
                Ok(history) => history,
                // The session was removed, or never put: what it said has nowhere to go.
                Err(StoreError::NoSuchSession(_)) => {
                    tracing::debug!(session, "history of a session that is not there");
                    continue;
                }
                Err(error) => return Err(error),
            };
            if !waiting.items.is_empty() {
                history::put(desk, history, &waiting.items)?;
            }
            if let Some(output) = &waiting.output {
                history::put_output(desk, history, &output.bytes, output.anew)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(id: &str, seq: u64, json: &str) -> KeptItem {
        KeptItem { id: id.to_owned(), seq, json: json.to_owned() }
    }

    fn items(later: &Later, session: &str) -> Vec<KeptItem> {
        later.sessions[session].items.clone()
    }

    #[test]
    fn only_the_newest_of_an_item_waits_and_in_its_first_place() {
        let mut later = Later::new(1000, 10);
        later.items("s", vec![item("a", 1, "1"), item("b", 2, "2")]).unwrap();
        later.items("s", vec![item("a", 9, "111")]).unwrap();
        assert_eq!(items(&later, "s"), [item("a", 1, "111"), item("b", 2, "2")]);
        assert_eq!(later.bytes, item("a", 1, "111").size() + item("b", 2, "2").size());
    }

    #[test]
    fn what_is_put_back_lies_below_what_came_since() {
        let mut later = Later::new(1000, 10);
        later.items("s", vec![item("a", 1, "old"), item("b", 2, "2")]).unwrap();
        later.output("s", b"12345", true).unwrap();
        let older = later.take();
        assert!(later.is_empty());
        later.items("s", vec![item("c", 3, "3"), item("a", 1, "new")]).unwrap();
        later.output("s", b"678", false).unwrap();
        let moment = Instant::now() + Duration::from_secs(60);
        later.put_back(older, moment);
        assert_eq!(items(&later, "s"), [item("a", 1, "new"), item("b", 2, "2"), item("c", 3, "3")]);
        let output = later.sessions["s"].output.as_ref().unwrap();
        assert_eq!((output.anew, output.bytes.as_slice()), (true, &b"12345678"[..]));
        assert_eq!(later.due(), Some(moment));
    }

    #[test]
    fn output_that_waits_is_bounded_by_its_end_and_the_whole_by_refusing() {
        let mut later = Later::new(20, 4);
        later.output("s", b"123456", false).unwrap();
        later.output("s", b"7", false).unwrap();
        let output = later.sessions["s"].output.as_ref().unwrap();
        assert_eq!(
            (output.anew, output.bytes.as_slice()),
            (true, &b"4567"[..]),
            "what was there before is out of reach"
        );
        assert_eq!(later.items("s", vec![item("a", 1, &"x".repeat(16))]), Err(StoreError::Behind { most: 20 }));
        assert!(matches!(later.items("s", vec![item("a", 1, &"x".repeat(20))]), Err(StoreError::TooLarge { .. })));
        assert_eq!(later.bytes, 4);
    }
}
