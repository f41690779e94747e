//! Overflow storage for output beyond the display limits, in an unnamed temporary file. The operating system deletes
//! the file as soon as wh closes it or is killed.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, PoisonError};

use wh_core::space::bounds::ReportOverflow;
use wh_core::space::extent::boundary;
use wh_core::space::harness::HarnessKey;

/// Size limit of the overflow storage of one session. Beyond the limit, the oldest output is discarded.
pub const MAX_OVERFLOW_BYTES: u64 = 64 * 1024 * 1024;

/// Maximum number of stored pieces per session. A piece is consecutive output of one item. Beyond the limit, the oldest
/// pieces are discarded.
const MAX_OVERFLOW_PIECES: usize = 65_536;

/// Overflow storage of one session. Clones share one file.
#[derive(Debug, Clone)]
pub struct OverflowStore(Arc<Mutex<OverflowRing>>);

/// Loss of overflow output, to report to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OverflowLoss {
    /// The oldest output was overwritten because the storage is full.
    Oldest,
    /// Overflow output cannot be stored. Contains the IO error.
    Unwritable(String),
}

/// Ring buffer in a file for the stream of all overflow output. A byte is stored at its offset in the stream, modulo
/// the file size.
#[derive(Debug)]
struct OverflowRing {
    file: Option<File>,
    size: u64,
    /// Number of bytes ever written to the stream.
    written: u64,
    /// Stored pieces, oldest first.
    pieces: VecDeque<OverflowPiece>,
    /// Current generation of each item whose output was discarded and restarted. Pieces of earlier generations are
    /// obsolete.
    generations: HashMap<HarnessKey, u64>,
    loss_reported: bool,
    failed: bool,
}

#[derive(Debug)]
struct OverflowPiece {
    key: HarnessKey,
    generation: u64,
    /// Offset of the piece in the item's output.
    item_offset: u64,
    /// Offset of the piece in the stream of all bytes ever written.
    stream_offset: u64,
    length: u64,
}

impl Default for OverflowStore {
    fn default() -> Self {
        Self::with_size(MAX_OVERFLOW_BYTES)
    }
}

impl OverflowStore {
    fn with_size(size: u64) -> Self {
        Self(Arc::new(Mutex::new(OverflowRing {
            file: None,
            size,
            written: 0,
            pieces: VecDeque::new(),
            generations: HashMap::new(),
            loss_reported: false,
            failed: false,
        })))
    }

    /// Stores or discards output of an item. Returns each kind of loss only once.
    pub(crate) fn apply(&self, beyond: ReportOverflow) -> Option<OverflowLoss> {
        let mut ring = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match beyond {
            ReportOverflow::Discard(key) => {
                if ring.pieces.iter().any(|piece| piece.key == key) {
                    *ring.generations.entry(key).or_default() += 1;
                }
                None
            }
            ReportOverflow::Store { .. } if ring.failed => None,
            ReportOverflow::Store { key, at, text } => match ring.write(key, at, &text) {
                Ok(()) => {
                    let full = ring.written > ring.size || ring.pieces.len() == MAX_OVERFLOW_PIECES;
                    (full && !std::mem::replace(&mut ring.loss_reported, true)).then_some(OverflowLoss::Oldest)
                }
                Err(error) => {
                    ring.failed = true;
                    Some(OverflowLoss::Unwritable(error.to_string()))
                }
            },
        }
    }

    /// Reads stored output of an item from the byte offset `offset`, at most `most` bytes. Returns `None` if the output
    /// at this offset is not stored.
    pub fn read(&self, key: &str, offset: u64, most: usize) -> Option<String> {
        let ring = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let generation = ring.generations.get(key).copied().unwrap_or_default();
        let mut bytes = Vec::new();
        // The pieces of an item are in order. Only pieces at the start can be missing, because they were overwritten.
        for piece in ring.pieces.iter().filter(|piece| piece.key == key && piece.generation == generation) {
            let wanted = offset + bytes.len() as u64;
            let room = (most - bytes.len()) as u64;
            if room == 0 || piece.item_offset > wanted {
                break;
            }
            if wanted < piece.item_offset + piece.length {
                let skipped = wanted - piece.item_offset;
                let length = (piece.length - skipped).min(room);
                bytes.extend(ring.bytes(piece.stream_offset + skipped, length).ok()?);
            }
        }
        while !bytes.is_empty() {
            match String::from_utf8(bytes) {
                Ok(text) => return Some(text),
                Err(error) => {
                    // The last character is incomplete because of the limit, or the offset is within a character.
                    let valid = error.utf8_error().valid_up_to();
                    bytes = error.into_bytes();
                    if valid == 0 {
                        return Some(String::from_utf8_lossy(&bytes).into_owned());
                    }
                    bytes.truncate(valid);
                }
            }
        }
        None
    }
}

impl OverflowRing {
    fn write(&mut self, key: HarnessKey, at: u64, text: &str) -> io::Result<()> {
        let generation = self.generations.get(&key).copied().unwrap_or_default();
        // A text that is larger than the file is truncated to its beginning, which clients read first.
        let bytes = &text.as_bytes()[..boundary(text, usize::try_from(self.size).unwrap_or(usize::MAX))];
        let file = match &self.file {
            Some(file) => file,
            None => self.file.insert(tempfile::NamedTempFile::new()?.into_file()),
        };
        let (mut done, length) = (0, bytes.len() as u64);
        while done < bytes.len() {
            let place = (self.written + done as u64) % self.size;
            let until_end = usize::try_from(self.size - place).unwrap_or(usize::MAX).min(bytes.len() - done);
            file.write_all_at(&bytes[done..done + until_end], place)?;
            done += until_end;
        }
        let place = self.written;
        self.written += length;
        match self.pieces.back_mut() {
            Some(last) if last.key == key && last.generation == generation && last.item_offset + last.length == at => {
                last.length += length
            }
            _ => {
                self.pieces.push_back(OverflowPiece { key, generation, item_offset: at, stream_offset: place, length })
            }
        }
        self.prune();
        Ok(())
    }

    /// Removes pieces whose bytes were overwritten.
    fn prune(&mut self) {
        let first = self.written.saturating_sub(self.size);
        loop {
            let many = self.pieces.len() > MAX_OVERFLOW_PIECES;
            let Some(oldest) = self.pieces.front_mut() else { return };
            let gone = first.saturating_sub(oldest.stream_offset).min(oldest.length);
            if many || gone == oldest.length {
                let last = self.pieces.pop_front();
                let begun_anew = last.map(|piece| piece.key).filter(|key| self.generations.contains_key(key));
                if let Some(key) = begun_anew.filter(|key| !self.pieces.iter().any(|one| one.key == *key)) {
                    self.generations.remove(&key);
                }
                continue;
            }
            oldest.item_offset += gone;
            oldest.stream_offset += gone;
            oldest.length -= gone;
            return;
        }
    }

    fn bytes(&self, place: u64, length: u64) -> io::Result<Vec<u8>> {
        let file = self.file.as_ref().ok_or(io::ErrorKind::NotFound)?;
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
        let mut done = 0;
        while done < bytes.len() {
            let from = (place + done as u64) % self.size;
            let until_end = usize::try_from(self.size - from).unwrap_or(usize::MAX).min(bytes.len() - done);
            file.read_exact_at(&mut bytes[done..done + until_end], from)?;
            done += until_end;
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn keep(store: &OverflowStore, key: &str, at: u64, text: &str) -> Option<OverflowLoss> {
        store.apply(ReportOverflow::Store { key: key.to_owned(), at, text: text.to_owned() })
    }

    #[test]
    fn stored_output_is_read_from_any_offset() {
        let store = OverflowStore::default();
        assert_eq!(store.read("a", 0, 9), None);
        keep(&store, "a", 10, "hello ");
        keep(&store, "b", 0, "other");
        keep(&store, "a", 16, "wörld");
        assert_eq!(store.read("a", 10, 99).as_deref(), Some("hello wörld"));
        assert_eq!(store.read("a", 12, 4).as_deref(), Some("llo "));
        assert_eq!(store.read("a", 16, 2).as_deref(), Some("w"), "no character is cut");
        assert_eq!(store.read("a", 22, 9), None, "that is the end");
        assert_eq!(store.read("a", 3, 9), None, "the beginning was never here");
        assert_eq!(store.read("b", 0, 9).as_deref(), Some("other"));
    }

    #[test]
    fn obsolete_output_is_not_returned() {
        let store = OverflowStore::default();
        keep(&store, "a", 0, "old words");
        store.apply(ReportOverflow::Discard("a".to_owned()));
        assert_eq!(store.read("a", 0, 99), None);
        keep(&store, "a", 0, "new");
        assert_eq!(store.read("a", 0, 99).as_deref(), Some("new"));
    }

    #[test]
    fn the_oldest_are_discarded_and_reported_once() {
        let store = OverflowStore::with_size(10);
        assert_eq!(keep(&store, "a", 0, "0123456789"), None);
        assert_eq!(keep(&store, "b", 0, "abcd"), Some(OverflowLoss::Oldest));
        assert_eq!(store.read("a", 0, 99), None);
        assert_eq!(store.read("a", 4, 99).as_deref(), Some("456789"));
        assert_eq!(store.read("b", 0, 99).as_deref(), Some("abcd"));
        assert_eq!(keep(&store, "b", 4, "efghijklmnopq"), None);
        assert_eq!(store.read("b", 4, 99).as_deref(), Some("efghijklmn"), "of more than fits the beginning is stored");
        assert_eq!(store.read("a", 4, 99), None);
    }

    #[test]
    fn the_file_is_private_and_unnamed() {
        let store = OverflowStore::default();
        keep(&store, "a", 0, "secret");
        let ring = store.0.lock().unwrap();
        let facts = ring.file.as_ref().unwrap().metadata().unwrap();
        use std::os::unix::fs::MetadataExt;
        assert_eq!((facts.mode() & 0o077, facts.nlink()), (0, 0));
    }

    proptest! {
        #[test]
        fn output_is_read_as_it_was_written(pieces in proptest::collection::vec((0usize..3, "[a-zé]{0,12}"), 0..40), from in 0u64..40) {
            let store = OverflowStore::with_size(64);
            let mut all: [String; 3] = Default::default();
            for (which, text) in pieces {
                keep(&store, &which.to_string(), all[which].len() as u64, &text);
                all[which].push_str(&text);
            }
            for (which, all) in all.iter().enumerate() {
                let from = boundary(all, from as usize);
                if let Some(read) = store.read(&which.to_string(), from as u64, 64) {
                    prop_assert!(all[from..].starts_with(&read), "{read:?} of {all:?} from {from}");
                }
            }
        }
    }
}
