//! What a session has said and shown: its items, by id and in order, and the end of its raw output.

use rusqlite::{OptionalExtension, params};

use super::Store;
use super::desk::Desk;
use super::error::{StoreError, fits};
use super::queue::Touches;

/// The largest item, in bytes.
pub const LARGEST_ITEM: usize = 4 << 20;

/// How many items one reading gives at most.
pub const MOST_READ: usize = 2000;

/// After how many bytes a reading ends, so that nobody else waits long for the store.
const BYTES_READ: usize = 4 << 20;

/// How many rows of a history without a session go at a time.
const CLEARED: i64 = 500;

/// An item of a conversation, as it is kept. What is in it is the caller's business.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptItem {
    /// Its id: one of the same id takes its place.
    pub id: String,
    /// Where it stands. An item keeps the place that it was first given; of two with the same number the one that came
    /// first stands first.
    pub seq: u64,
    /// The item.
    pub json: String,
}

/// A place between the items of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    seq: i64,
    number: i64,
}

/// Some items of a session, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The items.
    pub items: Vec<KeptItem>,
    /// Where to go on in the same direction; `None` when there is nothing more.
    pub next: Option<Place>,
}

impl Place {
    /// Before everything.
    pub const START: Self = Self { seq: i64::MIN, number: i64::MIN };
    /// After everything.
    pub const END: Self = Self { seq: i64::MAX, number: i64::MAX };

    /// Just before the items that have this number.
    pub fn before(seq: u64) -> Self {
        Self { seq: whole(seq), number: i64::MIN }
    }
}

impl KeptItem {
    /// How much room it takes.
    pub(super) fn size(&self) -> usize {
        self.id.len() + self.json.len()
    }
}

impl Store {
    /// Keeps items, and waits until they are on the disk. An item takes the place of one of the same id. Beyond the bounds
    /// of a session's history the first go.
    ///
    /// What was left for the same session by [`Store::append_later`] is written before. Calls for one session are made one
    /// after the other.
    pub async fn append_items(&self, session: impl Into<String>, items: Vec<KeptItem>) -> Result<(), StoreError> {
        let session = session.into();
        self.check(&items)?;
        self.queue()
            .ask(Touches::Follows, move |desk| {
                let history = find(desk, &session)?;
                put(desk, history, &items)
            })
            .await
    }

    /// Leaves items to be kept within a tenth of a second, without waiting for it. Of an item that is left more than once
    /// in that time only the newest is written. Items of a session that is not kept are dropped.
    pub fn append_later(&self, session: &str, items: Vec<KeptItem>) -> Result<(), StoreError> {
        self.check(&items)?;
        if items.is_empty() {
            return Ok(());
        }
        self.queue().leave(|later| later.items(session, items))
    }

    /// Keeps this as all the raw output that a terminal session has shown, and waits until it is on the disk. Of more than
    /// the bound its end is kept.
    pub async fn set_screen(&self, session: impl Into<String>, bytes: Vec<u8>) -> Result<(), StoreError> {
        let session = session.into();
        self.queue()
            .ask(Touches::Follows, move |desk| {
                let history = find(desk, &session)?;
                put_output(desk, history, &bytes, true)
            })
            .await
    }

    /// As [`Store::set_screen`], within a tenth of a second and without waiting for it; only the newest is written.
    pub fn set_screen_later(&self, session: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.queue().leave(|later| later.output(session, bytes, true))
    }

    /// Adds to the raw output of a terminal session, within a tenth of a second and without waiting for it. Only what is
    /// new is written: for a program that writes much this costs a fraction of setting the whole again.
    pub fn add_output_later(&self, session: &str, bytes: &[u8]) -> Result<(), StoreError> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.queue().leave(|later| later.output(session, bytes, false))
    }

    /// Waits until all that was left for later is on the disk.
    pub async fn flush(&self) -> Result<(), StoreError> {
        self.queue().ask(Touches::Follows, |_| Ok(())).await
    }

    /// Items after a place, in order: at most `most`, at most [`MOST_READ`], and less when they are large.
    pub async fn items_from(&self, session: impl Into<String>, from: Place, most: usize) -> Result<Page, StoreError> {
        let session = session.into();
        self.queue().ask(Touches::Reads, move |desk| read(desk, &session, from, most, true)).await
    }

    /// The last items before a place, in order: at most `most`, at most [`MOST_READ`], and less when they are large.
    pub async fn items_before(&self, session: impl Into<String>, to: Place, most: usize) -> Result<Page, StoreError> {
        let session = session.into();
        self.queue().ask(Touches::Reads, move |desk| read(desk, &session, to, most, false)).await
    }

    /// The end of the raw output of a session.
    pub async fn screen(&self, session: impl Into<String>) -> Result<Vec<u8>, StoreError> {
        let session = session.into();
        self.queue().ask(Touches::Reads, move |desk| output(desk, &session)).await
    }

    fn check(&self, items: &[KeptItem]) -> Result<(), StoreError> {
        let most = LARGEST_ITEM.min(usize::try_from(self.limits().history_bytes).unwrap_or(usize::MAX));
        items.iter().try_for_each(|item| fits("the item", item.size(), most))
    }
}

/// The history of a session.
pub(super) fn find(desk: &Desk, session: &str) -> Result<i64, StoreError> {
    desk.connection
        .prepare_cached("SELECT number FROM histories WHERE session = ?1")?
        .query_row([session], |row| row.get(0))
        .optional()?
        .ok_or_else(|| StoreError::NoSuchSession(session.to_owned()))
}

/// Puts items, and lets the first go that are too many.
pub(super) fn put(desk: &Desk, history: i64, items: &[KeptItem]) -> Result<(), StoreError> {
    let connection = &desk.connection;
    let (mut count, mut bytes): (u64, u64) = connection
        .prepare_cached("SELECT items, bytes FROM histories WHERE number = ?1")?
        .query_row([history], |row| Ok((row.get::<_, i64>(0)? as u64, row.get::<_, i64>(1)? as u64)))?;
    let mut look = connection.prepare_cached(
        "SELECT number, octet_length(id) + octet_length(json) FROM items WHERE history = ?1 AND id = ?2",
    )?;
    let mut change = connection.prepare_cached("UPDATE items SET json = ?2 WHERE number = ?1")?;
    let mut enter = connection.prepare_cached("INSERT INTO items (history, seq, id, json) VALUES (?1, ?2, ?3, ?4)")?;
    for item in items {
        let known = look
            .query_row(params![history, item.id], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)? as u64)))
            .optional()?;
        match known {
            Some((number, size)) => {
                change.execute(params![number, item.json])?;
                bytes = bytes.saturating_sub(size);
            }
            None => {
                enter.execute(params![history, whole(item.seq), item.id, item.json])?;
                count += 1;
            }
        }
        bytes += item.size() as u64;
    }
    if count > desk.limits.history_items || bytes > desk.limits.history_bytes {
        let mut first = connection.prepare_cached(
            "SELECT number, octet_length(id) + octet_length(json) FROM items WHERE history = ?1 ORDER BY seq, number",
        )?;
        let mut remove = connection.prepare_cached("DELETE FROM items WHERE number = ?1")?;
        let mut going = Vec::new();
        let mut rows = first.query([history])?;
        while count > desk.limits.history_items || bytes > desk.limits.history_bytes {
            let Some(row) = rows.next()? else { break };
            going.push(row.get::<_, i64>(0)?);
            count = count.saturating_sub(1);
            bytes = bytes.saturating_sub(row.get::<_, i64>(1)? as u64);
        }
        drop(rows);
        for number in going {
            remove.execute([number])?;
        }
    }
    connection.prepare_cached("UPDATE histories SET items = ?2, bytes = ?3 WHERE number = ?1")?.execute(params![
        history,
        count as i64,
        bytes as i64
    ])?;
    Ok(())
}

/// Adds output, or puts it in the place of all that there is; what is out of reach goes.
pub(super) fn put_output(desk: &Desk, history: i64, bytes: &[u8], anew: bool) -> Result<(), StoreError> {
    let connection = &desk.connection;
    let bytes = &bytes[bytes.len().saturating_sub(desk.limits.output)..];
    let most = desk.limits.output as u64;
    let mut total = 0;
    if anew || bytes.len() as u64 == most {
        connection.prepare_cached("DELETE FROM outputs WHERE history = ?1")?.execute([history])?;
    } else {
        total = connection
            .prepare_cached("SELECT output FROM histories WHERE number = ?1")?
            .query_row([history], |row| Ok(row.get::<_, i64>(0)? as u64))?;
    }
    connection
        .prepare_cached("INSERT INTO outputs (history, bytes) VALUES (?1, ?2)")?
        .execute(params![history, bytes])?;
    total += bytes.len() as u64;
    if total > most {
        let mut first = connection
            .prepare_cached("SELECT number, octet_length(bytes) FROM outputs WHERE history = ?1 ORDER BY number")?;
        let mut going = Vec::new();
        let mut rows = first.query([history])?;
        while let Some(row) = rows.next()? {
            let size = row.get::<_, i64>(1)? as u64;
            if total - size < most {
                break;
            }
            total -= size;
            going.push(row.get::<_, i64>(0)?);
        }
        drop(rows);
        let mut remove = connection.prepare_cached("DELETE FROM outputs WHERE number = ?1")?;
        for number in going {
            remove.execute([number])?;
        }
    }
    connection
        .prepare_cached("UPDATE histories SET output = ?2 WHERE number = ?1")?
        .execute(params![history, total as i64])?;
    Ok(())
}

fn read(desk: &Desk, session: &str, place: Place, most: usize, onwards: bool) -> Result<Page, StoreError> {
    let history = find(desk, session)?;
    let statement = if onwards {
        "SELECT seq, number, id, json FROM items WHERE history = ?1 AND (seq, number) > (?2, ?3) ORDER BY seq, number LIMIT ?4"
    } else {
        "SELECT seq, number, id, json FROM items WHERE history = ?1 AND (seq, number) < (?2, ?3)
         ORDER BY seq DESC, number DESC LIMIT ?4"
    };
    let most = most.min(MOST_READ);
    let mut statement = desk.connection.prepare_cached(statement)?;
    // One more than wanted tells whether there are more.
    let mut rows = statement.query(params![history, place.seq, place.number, most as i64 + 1])?;
    let (mut items, mut bytes, mut next, mut last) = (Vec::new(), 0, None, place);
    while let Some(row) = rows.next()? {
        if items.len() == most || bytes >= BYTES_READ {
            next = Some(last);
            break;
        }
        last = Place { seq: row.get(0)?, number: row.get(1)? };
        let item = KeptItem { id: row.get(2)?, seq: last.seq.max(0) as u64, json: row.get(3)? };
        bytes += item.size();
        items.push(item);
    }
    if !onwards {
        items.reverse();
    }
    Ok(Page { items, next })
}

fn output(desk: &Desk, session: &str) -> Result<Vec<u8>, StoreError> {
    let history = find(desk, session)?;
    let mut statement =
        desk.connection.prepare_cached("SELECT bytes FROM outputs WHERE history = ?1 ORDER BY number")?;
    let mut rows = statement.query([history])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        all.extend_from_slice(row.get_ref(0)?.as_blob().map_err(rusqlite::Error::from)?);
    }
    all.drain(..all.len().saturating_sub(desk.limits.output));
    Ok(all)
}

/// Clears a piece of a history away whose session is gone.
pub(super) fn clear_away(desk: &mut Desk) -> Result<(), StoreError> {
    if !desk.rubbish {
        return Ok(());
    }
    let connection = &desk.connection;
    let history: Option<i64> = connection
        .prepare_cached("SELECT number FROM histories WHERE session IS NULL LIMIT 1")?
        .query_row([], |row| row.get(0))
        .optional()?;
    let Some(history) = history else {
        desk.rubbish = false;
        return Ok(());
    };
    let mut gone = 0;
    for table in ["items", "outputs"] {
        gone += connection
            .prepare_cached(&format!(
                "DELETE FROM {table} WHERE number IN (SELECT number FROM {table} WHERE history = ?1 LIMIT ?2)"
            ))?
            .execute(params![history, CLEARED])?;
    }
    if gone == 0 {
        connection.prepare_cached("DELETE FROM histories WHERE number = ?1")?.execute([history])?;
    }
    Ok(())
}

fn whole(seq: u64) -> i64 {
    i64::try_from(seq).unwrap_or(i64::MAX)
}
