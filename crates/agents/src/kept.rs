//! What an agent said beyond what is shown, kept on disk while the agent runs: a file without a name, which nobody else
//! can open and which goes with the last who holds it, also when wh is killed.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, PoisonError};

use wh_core::space::bounds::Beyond;
use wh_core::space::extent::boundary;
use wh_core::space::harness::Key;

/// Bytes that are kept of one session. Beyond that the oldest go.
pub const MOST_KEPT: u64 = 64 * 1024 * 1024;

/// Pieces that are kept of one session, however short. Beyond that the oldest go.
const MOST_PIECES: usize = 65_536;

/// What is kept of one session. Clones are the same.
#[derive(Debug, Clone)]
pub struct Kept(Arc<Mutex<Ring>>);

/// Something that the person should know of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Loss {
    /// The first that was kept had to go.
    Oldest,
    /// Nothing can be kept, and why.
    Unwritable(String),
}

/// The file is written round and round: the place of a byte is its number modulo the file's size.
#[derive(Debug)]
struct Ring {
    file: Option<File>,
    size: u64,
    /// Bytes that were ever written.
    written: u64,
    /// In the order in which they were written.
    pieces: VecDeque<Stored>,
    /// Of each item, how often it has begun anew: what was written before that is of no use.
    lives: HashMap<Key, u64>,
    told: bool,
    failed: bool,
}

#[derive(Debug)]
struct Stored {
    key: Key,
    life: u64,
    /// Where it begins in the item.
    at: u64,
    /// Where it begins in all that was ever written.
    place: u64,
    length: u64,
}

impl Default for Kept {
    fn default() -> Self {
        Self::with_size(MOST_KEPT)
    }
}

impl Kept {
    fn with_size(size: u64) -> Self {
        Self(Arc::new(Mutex::new(Ring {
            file: None,
            size,
            written: 0,
            pieces: VecDeque::new(),
            lives: HashMap::new(),
            told: false,
            failed: false,
        })))
    }

    /// Does what is to be done about what is beyond; says what was lost by it, once.
    pub(crate) fn take(&self, beyond: Beyond) -> Option<Loss> {
        let mut ring = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match beyond {
            Beyond::Forget(key) => {
                if ring.pieces.iter().any(|piece| piece.key == key) {
                    *ring.lives.entry(key).or_default() += 1;
                }
                None
            }
            Beyond::Keep { .. } if ring.failed => None,
            Beyond::Keep { key, at, text } => match ring.write(key, at, &text) {
                Ok(()) => {
                    let full = ring.written > ring.size || ring.pieces.len() == MOST_PIECES;
                    (full && !std::mem::replace(&mut ring.told, true)).then_some(Loss::Oldest)
                }
                Err(error) => {
                    ring.failed = true;
                    Some(Loss::Unwritable(error.to_string()))
                }
            },
        }
    }

    /// What is kept of an item from this byte on, at most so much; `None`: nothing.
    pub fn read(&self, key: &str, offset: u64, most: usize) -> Option<String> {
        let ring = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let life = ring.lives.get(key).copied().unwrap_or_default();
        let mut bytes = Vec::new();
        // Pieces of one item stand in its own order, and what is missing is at the beginning.
        for piece in ring.pieces.iter().filter(|piece| piece.key == key && piece.life == life) {
            let wanted = offset + bytes.len() as u64;
            let room = (most - bytes.len()) as u64;
            if room == 0 || piece.at > wanted {
                break;
            }
            if wanted < piece.at + piece.length {
                let skipped = wanted - piece.at;
                let length = (piece.length - skipped).min(room);
                bytes.extend(ring.bytes(piece.place + skipped, length).ok()?);
            }
        }
        while !bytes.is_empty() {
            match String::from_utf8(bytes) {
                Ok(text) => return Some(text),
                Err(error) => {
                    // The last character was cut, or the first: an offset that nobody was given.
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

impl Ring {
    fn write(&mut self, key: Key, at: u64, text: &str) -> io::Result<()> {
        let life = self.lives.get(&key).copied().unwrap_or_default();
        // Of more than fits the beginning is kept: it is what is asked for first.
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
            Some(last) if last.key == key && last.life == life && last.at + last.length == at => last.length += length,
            _ => self.pieces.push_back(Stored { key, life, at, place, length }),
        }
        self.prune();
        Ok(())
    }

    /// Forgets what has been written over.
    fn prune(&mut self) {
        let first = self.written.saturating_sub(self.size);
        loop {
            let many = self.pieces.len() > MOST_PIECES;
            let Some(oldest) = self.pieces.front_mut() else { return };
            let gone = first.saturating_sub(oldest.place).min(oldest.length);
            if many || gone == oldest.length {
                let last = self.pieces.pop_front();
                let begun_anew = last.map(|piece| piece.key).filter(|key| self.lives.contains_key(key));
                if let Some(key) = begun_anew.filter(|key| !self.pieces.iter().any(|one| one.key == *key)) {
                    self.lives.remove(&key);
                }
                continue;
            }
            oldest.at += gone;
            oldest.place += gone;
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

    fn keep(kept: &Kept, key: &str, at: u64, text: &str) -> Option<Loss> {
        kept.take(Beyond::Keep { key: key.to_owned(), at, text: text.to_owned() })
    }

    #[test]
    fn what_was_kept_is_read_from_any_place() {
        let kept = Kept::default();
        assert_eq!(kept.read("a", 0, 9), None);
        keep(&kept, "a", 10, "hello ");
        keep(&kept, "b", 0, "other");
        keep(&kept, "a", 16, "wörld");
        assert_eq!(kept.read("a", 10, 99).as_deref(), Some("hello wörld"));
        assert_eq!(kept.read("a", 12, 4).as_deref(), Some("llo "));
        assert_eq!(kept.read("a", 16, 2).as_deref(), Some("w"), "no character is cut");
        assert_eq!(kept.read("a", 22, 9), None, "that is the end");
        assert_eq!(kept.read("a", 3, 9), None, "the beginning was never here");
        assert_eq!(kept.read("b", 0, 9).as_deref(), Some("other"));
    }

    #[test]
    fn what_is_of_no_use_any_more_is_not_given_out() {
        let kept = Kept::default();
        keep(&kept, "a", 0, "old words");
        kept.take(Beyond::Forget("a".to_owned()));
        assert_eq!(kept.read("a", 0, 99), None);
        keep(&kept, "a", 0, "new");
        assert_eq!(kept.read("a", 0, 99).as_deref(), Some("new"));
    }

    #[test]
    fn the_oldest_go_and_that_is_said_once() {
        let kept = Kept::with_size(10);
        assert_eq!(keep(&kept, "a", 0, "0123456789"), None);
        assert_eq!(keep(&kept, "b", 0, "abcd"), Some(Loss::Oldest));
        assert_eq!(kept.read("a", 0, 99), None);
        assert_eq!(kept.read("a", 4, 99).as_deref(), Some("456789"));
        assert_eq!(kept.read("b", 0, 99).as_deref(), Some("abcd"));
        assert_eq!(keep(&kept, "b", 4, "efghijklmnopq"), None);
        assert_eq!(kept.read("b", 4, 99).as_deref(), Some("efghijklmn"), "of more than fits the beginning is kept");
        assert_eq!(kept.read("a", 4, 99), None);
    }

    #[test]
    fn the_file_is_nobodys_but_ours_and_has_no_name() {
        let kept = Kept::default();
        keep(&kept, "a", 0, "secret");
        let ring = kept.0.lock().unwrap();
        let facts = ring.file.as_ref().unwrap().metadata().unwrap();
        use std::os::unix::fs::MetadataExt;
        assert_eq!((facts.mode() & 0o077, facts.nlink()), (0, 0));
    }

    proptest! {
        #[test]
        fn what_is_read_is_what_was_written(pieces in proptest::collection::vec((0usize..3, "[a-zé]{0,12}"), 0..40), from in 0u64..40) {
            let kept = Kept::with_size(64);
            let mut all: [String; 3] = Default::default();
            for (which, text) in pieces {
                keep(&kept, &which.to_string(), all[which].len() as u64, &text);
                all[which].push_str(&text);
            }
            for (which, all) in all.iter().enumerate() {
                let from = boundary(all, from as usize);
                if let Some(read) = kept.read(&which.to_string(), from as u64, 64) {
                    prop_assert!(all[from..].starts_with(&read), "{read:?} of {all:?} from {from}");
                }
            }
        }
    }
}
