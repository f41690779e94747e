//! Parses SQLite's write-ahead log without SQLite (<https://www.sqlite.org/fileformat2.html#walformat>): detects
//! damage, and finds the committed pages. SQLite itself ignores a log with an invalid header, and all frames after the
//! first frame with an invalid checksum. Damage thus loses committed data without an error.
//!
//! A crash leaves traces that are not damage: a header that was never synced, an incomplete last transaction, and
//! frames of earlier generations after the end. Every commit is synced before the next commit begins, so that at most
//! one transaction can be incomplete.

use std::collections::BTreeMap;

const HEADER_BYTES: usize = 32;
const FRAME_HEADER_BYTES: usize = 24;
/// Magic number of logs with little-endian checksums. Logs with big-endian checksums have the magic number `MAGIC + 1`.
const MAGIC: u32 = 0x377f_0682;
const VERSION: u32 = 3_007_000;
/// Limit for the age of a leftover frame after the end of the log, in generations of the log. SQLite increments the
/// first salt each time that it reuses the log file. A leftover frame does not count as damage if its first salt is
/// lower than that of the header, by less than this limit.
const MAX_LEFTOVER_FRAME_GENERATIONS: u32 = 1 << 20;

/// Committed content of a write-ahead log.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct WalContent {
    /// Offset in the log of the newest committed content of each page, by page number. Page numbers start at 1.
    pub pages: BTreeMap<u32, usize>,
    /// Size of a page in bytes; 0 if the log has no commit.
    pub page_bytes: usize,
    /// Number of pages in the database after the last commit; 0 if the log has no commit.
    pub database_pages: u32,
    /// True if the last transaction is incomplete.
    pub torn: bool,
}

/// Parses a log. The error describes the damage.
pub(super) fn read(log: &[u8]) -> Result<WalContent, String> {
    // SQLite syncs the header before it writes the first frame. A log without a complete header thus has no commit.
    if log.len() < HEADER_BYTES || (log.len() == HEADER_BYTES && log.iter().all(|byte| *byte == 0)) {
        return Ok(WalContent::default());
    }
    let header = WalHeader::read(log).ok_or("the header of the write-ahead log is invalid")?;
    let frames: Vec<WalFrame<'_>> = log[HEADER_BYTES..]
        .chunks_exact(FRAME_HEADER_BYTES + header.page_bytes)
        .map(|bytes| WalFrame { bytes, big_endian: header.big_endian })
        .collect();
    let mut found = WalContent { page_bytes: header.page_bytes, ..WalContent::default() };
    let (mut sum, mut open, mut valid) = (header.sum, Vec::new(), 0);
    for frame in &frames {
        if frame.salts() != header.salts || frame.page() == 0 || frame.sum_after(sum) != frame.sum() {
            break;
        }
        sum = frame.sum();
        open.push((frame.page(), HEADER_BYTES + valid * frame.bytes.len() + FRAME_HEADER_BYTES));
        if frame.commit() != 0 {
            found.pages.extend(open.drain(..));
            found.database_pages = frame.commit();
        }
        valid += 1;
    }
    let behind = &frames[valid..];
    found.torn = !open.is_empty() || behind.iter().any(|frame| frame.salts() == header.salts);
    // Only the last transaction can be incomplete. More than one unreadable commit is damage.
    let commits = behind.iter().filter(|frame| frame.salts() == header.salts && frame.commit() != 0).count();
    if commits > 1 {
        return Err(format!(
            "the write-ahead log is damaged at frame {}, and {commits} commits cannot be read",
            valid + 1
        ));
    }
    let strange = |frame: &&WalFrame<'_>| {
        let age = header.salts.0.wrapping_sub(frame.salts().0);
        frame.salts() != header.salts
            && !(1..MAX_LEFTOVER_FRAME_GENERATIONS).contains(&age)
            && frame.bytes.iter().any(|byte| *byte != 0)
    };
    match behind.iter().position(|frame| strange(&frame)) {
        Some(place) => Err(format!("frame {} of the write-ahead log is invalid", valid + place + 1)),
        None => Ok(found),
    }
}

/// Running checksum at the end of a header or frame, as two sums.
type WalChecksum = (u32, u32);

struct WalHeader {
    big_endian: bool,
    page_bytes: usize,
    salts: (u32, u32),
    sum: WalChecksum,
}

impl WalHeader {
    fn read(log: &[u8]) -> Option<Self> {
        let magic = word(log, 0);
        let big_endian = magic == MAGIC + 1;
        let page_bytes = word(log, 8);
        let sum = (word(log, 24), word(log, 28));
        let known = (magic == MAGIC || big_endian) && word(log, 4) == VERSION;
        let sound = known && (512..=65_536).contains(&page_bytes) && page_bytes.is_power_of_two();
        (sound && checksum((0, 0), &log[..24], big_endian) == sum).then(|| Self {
            big_endian,
            page_bytes: page_bytes as usize,
            salts: (word(log, 16), word(log, 20)),
            sum,
        })
    }
}

struct WalFrame<'a> {
    bytes: &'a [u8],
    big_endian: bool,
}

impl WalFrame<'_> {
    fn page(&self) -> u32 {
        word(self.bytes, 0)
    }

    /// Returns the number of pages in the database if this frame ends a commit, otherwise 0.
    fn commit(&self) -> u32 {
        word(self.bytes, 4)
    }

    fn salts(&self) -> (u32, u32) {
        (word(self.bytes, 8), word(self.bytes, 12))
    }

    fn sum(&self) -> WalChecksum {
        (word(self.bytes, 16), word(self.bytes, 20))
    }

    fn sum_after(&self, before: WalChecksum) -> WalChecksum {
        let sum = checksum(before, &self.bytes[..8], self.big_endian);
        checksum(sum, &self.bytes[FRAME_HEADER_BYTES..], self.big_endian)
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|four| four.try_into().ok()).map_or(0, u32::from_be_bytes)
}

fn checksum(before: WalChecksum, bytes: &[u8], big_endian: bool) -> WalChecksum {
    let (mut first, mut second) = before;
    let number = |at: usize| {
        let number = word(bytes, at);
        if big_endian { number } else { number.swap_bytes() }
    };
    for at in (0..bytes.len()).step_by(8) {
        first = first.wrapping_add(number(at)).wrapping_add(second);
        second = second.wrapping_add(number(at + 4)).wrapping_add(first);
    }
    (first, second)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rusqlite::Connection;

    use super::*;

    const FRAME: usize = FRAME_HEADER_BYTES + 4096;

    /// Returns the log of a database of a killed process, after this many commits of at least a page.
    fn log(commits: u32, restart: bool) -> Vec<u8> {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a.db");
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0").unwrap();
        connection.execute_batch("CREATE TABLE a (x)").unwrap();
        if restart {
            connection.execute("INSERT INTO a VALUES (zeroblob(40000))", []).unwrap();
            connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())).unwrap();
        }
        for number in 0..commits {
            connection.execute("INSERT INTO a VALUES (?1)", [number]).unwrap();
        }
        fs::read(home.path().join("a.db-wal")).unwrap()
    }

    #[test]
    fn traces_of_a_crash_are_not_damage() {
        for restart in [false, true] {
            let whole = log(3, restart);
            let found = read(&whole).unwrap();
            assert!(found.database_pages > 0 && found.page_bytes == 4096 && !found.torn, "{found:?}");
            // Killed during or before the last transaction.
            for length in (0..whole.len()).step_by(997) {
                read(&whole[..length]).unwrap();
            }
        }
        // Power failed while the last transaction was written.
        let mut torn = log(3, false);
        let last = torn.len() - FRAME;
        torn[last + 500..last + 600].fill(7);
        let found = read(&torn).unwrap();
        assert!(found.torn && found.database_pages > 0, "{found:?}");
        torn[last..].fill(0);
        assert!(read(&torn).is_ok());
        assert_eq!(read(&[0; HEADER_BYTES]), Ok(WalContent::default()), "a header that was never synced");
        assert_eq!(read(b"12"), Ok(WalContent::default()));
    }

    #[test]
    fn other_changes_are_damage() {
        let whole = log(5, false);
        for place in [0, 5, 9, 17, 25] {
            let mut bytes = whole.clone();
            bytes[place] ^= 0x20;
            assert!(read(&bytes).is_err(), "byte {place} of the header");
        }
        for place in [4, 9, 20, FRAME_HEADER_BYTES + 4000] {
            let mut bytes = whole.clone();
            bytes[HEADER_BYTES + FRAME + place] ^= 0x20;
            assert!(read(&bytes).is_err(), "byte {place} of the second frame");
        }
        let mut garbage = whole.clone();
        for (number, byte) in garbage[HEADER_BYTES..].iter_mut().enumerate() {
            *byte = (number * 167 + 13) as u8;
        }
        assert!(read(&garbage).is_err());
        assert!(read(&b"garbage".repeat(3000)).is_err());
        assert!(read(&[0; 5000]).is_err());
    }
}
