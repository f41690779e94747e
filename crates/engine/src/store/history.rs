//! History of sessions: conversation items in order, and the last raw terminal output.

use rusqlite::{OptionalExtension, params};

use super::Store;
use super::database::Database;
use super::error::{StoreError, check_size};
use super::queue::HistoryAccess;

/// Maximum bytes of an item's content.
pub const MAX_STORED_ITEM_BYTES: usize = 4 << 20;

/// Maximum number of items in an [`ItemPage`].
pub const MAX_READ_ITEMS: usize = 2000;

/// Size in bytes at which a page ends. Bounds the time for which a read blocks the store.
const MAX_PAGE_BYTES: usize = 4 << 20;

/// Maximum number of rows of an orphaned history that one step removes from each table.
const ORPHAN_ROWS_PER_STEP: i64 = 500;

/// Stored conversation item. The store does not interpret its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredItem {
    /// Id of the item, unique in a session.
    pub id: String,
    /// Sequence number, which orders the items. Items with equal numbers are ordered by insertion. A replaced item
    /// keeps its first number.
    pub seq: u64,
    /// Content of the item as JSON.
    pub json: String,
}

/// Position between two items of a session, at which a page begins or ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ItemPosition {
    seq: i64,
    number: i64,
}

/// Page of consecutive items of a session, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemPage {
    /// Items of the page, in order.
    pub items: Vec<StoredItem>,
    /// Start position of the next page in the same direction; `None` if there are no more items.
    pub next: Option<ItemPosition>,
}

impl ItemPosition {
    /// Position before all items.
    pub const START: Self = Self { seq: i64::MIN, number: i64::MIN };
    /// Position after all items.
    pub const END: Self = Self { seq: i64::MAX, number: i64::MAX };

    /// Returns the position before the items with this sequence number.
    pub fn before(seq: u64) -> Self {
        Self { seq: whole(seq), number: i64::MIN }
    }
}

impl StoredItem {
    /// Returns the size of the item in bytes.
    pub(super) fn size(&self) -> usize {
        self.id.len() + self.json.len()
    }
}

impl Store {
    /// Stores items and waits until they are durable. An item with the same id is replaced. If the limits of the
    /// session's history are exceeded, its oldest items are removed.
    ///
    /// Items of the session that are buffered by [`Store::append_later`] are written first. Calls for the same session
    /// must not overlap.
    pub async fn append_items(&self, session: impl Into<String>, items: Vec<StoredItem>) -> Result<(), StoreError> {
        let session = session.into();
        self.check(&items)?;
        self.queue()
            .run(HistoryAccess::Follows, move |database| {
                let history = find(database, &session)?;
                put(database, history, &items)
            })
            .await
    }

    /// Buffers items, which are stored within 100 ms, and returns immediately. If several items have the same id, only
    /// the newest is stored. Items of unknown sessions are dropped.
    pub fn append_later(&self, session: &str, items: Vec<StoredItem>) -> Result<(), StoreError> {
        self.check(&items)?;
        if items.is_empty() {
            return Ok(());
        }
        self.queue().buffer(|later| later.items(session, items))
    }

    /// Replaces the raw output of a terminal session, and waits until it is durable. If the output exceeds the limit,
    /// its beginning is removed.
    pub async fn set_screen(&self, session: impl Into<String>, bytes: Vec<u8>) -> Result<(), StoreError> {
        let session = session.into();
        self.queue()
            .run(HistoryAccess::Follows, move |database| {
                let history = find(database, &session)?;
                put_output(database, history, &bytes, true)
            })
            .await
    }

    /// Replaces the raw output like [`Store::set_screen`], but buffers it for at most 100 ms and returns immediately.
    /// Only the newest output is stored.
    pub fn set_screen_later(&self, session: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.queue().buffer(|later| later.output(session, bytes, true))
    }

    /// Buffers new output and returns immediately. The output is appended to the raw output of a terminal session
    /// within 100 ms. Cheaper than [`Store::set_screen_later`], because only new output is written.
    pub fn add_output_later(&self, session: &str, bytes: &[u8]) -> Result<(), StoreError> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.queue().buffer(|later| later.output(session, bytes, false))
    }

    /// Waits until all buffered history is durable.
    pub async fn flush(&self) -> Result<(), StoreError> {
        self.queue().run(HistoryAccess::Follows, |_| Ok(())).await
    }

    /// Reads the items after a position, in order. Returns at most `most` items, never more than [`MAX_READ_ITEMS`],
    /// and fewer if the items are large.
    pub async fn items_from(
        &self,
        session: impl Into<String>,
        from: ItemPosition,
        most: usize,
    ) -> Result<ItemPage, StoreError> {
        let session = session.into();
        self.queue().run(HistoryAccess::Reads, move |database| read(database, &session, from, most, true)).await
    }

    /// Reads the last items before a position, in order. Returns at most `most` items, never more than
    /// [`MAX_READ_ITEMS`], and fewer if the items are large.
    pub async fn items_before(
        &self,
        session: impl Into<String>,
        to: ItemPosition,
        most: usize,
    ) -> Result<ItemPage, StoreError> {
        let session = session.into();
        self.queue().run(HistoryAccess::Reads, move |database| read(database, &session, to, most, false)).await
    }

    /// Returns the stored raw output of a session. Only the end of the output is stored.
    pub async fn screen(&self, session: impl Into<String>) -> Result<Vec<u8>, StoreError> {
        let session = session.into();
        self.queue().run(HistoryAccess::Reads, move |database| output(database, &session)).await
    }

    fn check(&self, items: &[StoredItem]) -> Result<(), StoreError> {
        let most = MAX_STORED_ITEM_BYTES.min(usize::try_from(self.limits().history_bytes).unwrap_or(usize::MAX));
        items.iter().try_for_each(|item| check_size("the item", item.size(), most))
    }
}

/// Returns the row number of a session's history.
pub(super) fn find(database: &Database, session: &str) -> Result<i64, StoreError> {
    database
        .connection
        .prepare_cached("SELECT number FROM histories WHERE session = ?1")?
        .query_row([session], |row| row.get(0))
        .optional()?
        .ok_or_else(|| StoreError::NoSuchSession(session.to_owned()))
}

/// Writes items, and removes the oldest items beyond the limits.
pub(super) fn put(database: &Database, history: i64, items: &[StoredItem]) -> Result<(), StoreError> {
    let connection = &database.connection;
    let (mut count, mut bytes): (u64, u64) = connection
        .prepare_cached("SELECT items, bytes FROM histories WHERE number = ?1")?
        .query_row([history], |row| Ok((row.get::<_, i64>(0)? as u64, row.get::<_, i64>(1)? as u64)))?;
    let mut find_item = connection.prepare_cached(
        "SELECT number, octet_length(id) + octet_length(json) FROM items WHERE history = ?1 AND id = ?2",
    )?;
    let mut change = connection.prepare_cached("UPDATE items SET json = ?2 WHERE number = ?1")?;
    let mut enter = connection.prepare_cached("INSERT INTO items (history, seq, id, json) VALUES (?1, ?2, ?3, ?4)")?;
    for item in items {
        let known = find_item
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
    if count > database.limits.history_items || bytes > database.limits.history_bytes {
        let mut first = connection.prepare_cached(
            "SELECT number, octet_length(id) + octet_length(json) FROM items WHERE history = ?1 ORDER BY seq, number",
        )?;
        let mut remove = connection.prepare_cached("DELETE FROM items WHERE number = ?1")?;
        let mut going = Vec::new();
        let mut rows = first.query([history])?;
        while count > database.limits.history_items || bytes > database.limits.history_bytes {
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

/// Appends to the output, or replaces it if `replace` is set. If the output exceeds the limit, its beginning is
/// removed.
pub(super) fn put_output(database: &Database, history: i64, bytes: &[u8], replace: bool) -> Result<(), StoreError> {
    let connection = &database.connection;
    let bytes = &bytes[bytes.len().saturating_sub(database.limits.output)..];
    let most = database.limits.output as u64;
    let mut total = 0;
    if replace || bytes.len() as u64 == most {
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

fn read(
    database: &Database,
    session: &str,
    place: ItemPosition,
    most: usize,
    onwards: bool,
) -> Result<ItemPage, StoreError> {
    let history = find(database, session)?;
    let statement = if onwards {
        "SELECT seq, number, id, json FROM items WHERE history = ?1 AND (seq, number) > (?2, ?3) ORDER BY seq, number LIMIT ?4"
    } else {
        "SELECT seq, number, id, json FROM items WHERE history = ?1 AND (seq, number) < (?2, ?3)
         ORDER BY seq DESC, number DESC LIMIT ?4"
    };
    let most = most.min(MAX_READ_ITEMS);
    let mut statement = database.connection.prepare_cached(statement)?;
    // Reads one item more than requested, to find out whether more items follow.
    let mut rows = statement.query(params![history, place.seq, place.number, most as i64 + 1])?;
    let (mut items, mut bytes, mut next, mut last) = (Vec::new(), 0, None, place);
    while let Some(row) = rows.next()? {
        if items.len() == most || bytes >= MAX_PAGE_BYTES {
            next = Some(last);
            break;
        }
        last = ItemPosition { seq: row.get(0)?, number: row.get(1)? };
        let item = StoredItem { id: row.get(2)?, seq: last.seq.max(0) as u64, json: row.get(3)? };
        bytes += item.size();
        items.push(item);
    }
    if !onwards {
        items.reverse();
    }
    Ok(ItemPage { items, next })
}

fn output(database: &Database, session: &str) -> Result<Vec<u8>, StoreError> {
    let history = find(database, session)?;
    let mut statement =
        database.connection.prepare_cached("SELECT bytes FROM outputs WHERE history = ?1 ORDER BY number")?;
    let mut rows = statement.query([history])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        all.extend_from_slice(row.get_ref(0)?.as_blob().map_err(rusqlite::Error::from)?);
    }
    all.drain(..all.len().saturating_sub(database.limits.output));
    Ok(all)
}

/// Removes at most [`ORPHAN_ROWS_PER_STEP`] rows of each table from a history whose session was removed.
pub(super) fn clear_orphans(database: &mut Database) -> Result<(), StoreError> {
    if !database.has_orphans {
        return Ok(());
    }
    let connection = &database.connection;
    let history: Option<i64> = connection
        .prepare_cached("SELECT number FROM histories WHERE session IS NULL LIMIT 1")?
        .query_row([], |row| row.get(0))
        .optional()?;
    let Some(history) = history else {
        database.has_orphans = false;
        return Ok(());
    };
    let mut gone = 0;
    for table in ["items", "outputs"] {
        gone += connection
            .prepare_cached(&format!(
                "DELETE FROM {table} WHERE number IN (SELECT number FROM {table} WHERE history = ?1 LIMIT ?2)"
            ))?
            .execute(params![history, ORPHAN_ROWS_PER_STEP])?;
    }
    if gone == 0 {
        connection.prepare_cached("DELETE FROM histories WHERE number = ?1")?.execute([history])?;
    }
    Ok(())
}

fn whole(seq: u64) -> i64 {
    i64::try_from(seq).unwrap_or(i64::MAX)
}
