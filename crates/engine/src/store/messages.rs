//! Queued messages, and receipts of requests.
//!
//! A message is stored with its request before it is acknowledged, and removed from the queue before it is delivered. A
//! message that is still queued after a crash was thus never delivered. Calls run in order.

use std::time::SystemTime;

use rusqlite::params;
use wh_core::request::RequestKey;

use super::database::Database;
use super::error::{StoreError, check_size};
use super::queue::{HistoryAccess, StoreFuture};
use super::requests::{self, truncate_detail};
use super::{Store, millis};

/// Maximum bytes of a queued message as JSON: a text of 16 MiB with every byte escaped as six bytes.
const MAX_QUEUED_MESSAGE_BYTES: usize = ((6 * 16) << 20) + 4096;

impl Store {
    /// Returns a future that resolves when all earlier calls are durable.
    pub fn barrier(&self) -> StoreFuture<()> {
        self.queue().submit(HistoryAccess::Nothing, |_| Ok(()))
    }

    /// Queues the message of a pending request behind all others, or ahead of them if `first` is set.
    pub fn enqueue(&self, key: RequestKey, message: String, first: bool) -> StoreFuture<()> {
        self.queue().submit(HistoryAccess::Nothing, move |database| {
            check_size("the message", message.len(), MAX_QUEUED_MESSAGE_BYTES)?;
            let place = if first { -database.next_position() } else { database.next_position() };
            let statement = "UPDATE requests SET queued = ?5, place = ?6
                WHERE team = ?1 AND session = ?2 AND agent = ?3 AND request = ?4 AND state = 0";
            let mut statement = database.connection.prepare_cached(statement)?;
            statement.execute(params![key.team, key.session, key.agent, key.request, message, place])?;
            Ok(())
        })
    }

    /// Removes a message from the queue before it is delivered, so that the message is never delivered twice.
    pub fn hand_over(&self, key: RequestKey) -> StoreFuture<()> {
        self.queue().submit(HistoryAccess::Nothing, move |database| {
            let statement = "UPDATE requests SET queued = NULL, place = NULL
                WHERE team = ?1 AND session = ?2 AND agent = ?3 AND request = ?4";
            let mut statement = database.connection.prepare_cached(statement)?;
            statement.execute(params![key.team, key.session, key.agent, key.request])?;
            Ok(())
        })
    }

    /// Stores the result of a pending request like [`Store::finish`], together with the receipt. `open` is true if
    /// another receipt follows.
    pub fn settle(
        &self,
        key: RequestKey,
        result: &'static str,
        detail: Option<String>,
        receipt: Option<String>,
        open: bool,
        at: SystemTime,
    ) -> StoreFuture<()> {
        let detail = detail.map(truncate_detail);
        self.queue().submit(HistoryAccess::Nothing, move |database| {
            requests::finish(database, &key, result, detail.as_deref(), receipt.as_deref(), open, millis(at))
        })
    }

    /// Stores the final receipt of a settled command. A command with a final receipt can expire.
    pub fn note_receipt(&self, key: RequestKey, receipt: String) -> StoreFuture<()> {
        self.queue().submit(HistoryAccess::Nothing, move |database| {
            let statement = "UPDATE requests SET receipt = ?5, open = NULL, stamp = ?6
                WHERE team = ?1 AND session = ?2 AND agent = ?3 AND request = ?4";
            let now = database.clock.now();
            let mut statement = database.connection.prepare_cached(statement)?;
            statement.execute(params![key.team, key.session, key.agent, key.request, receipt, now])?;
            Ok(())
        })
    }

    /// Removes a request like [`Store::undo`], but in the order of the calls.
    pub fn take_back(&self, key: RequestKey) -> StoreFuture<bool> {
        self.queue().submit(HistoryAccess::Nothing, move |database| requests::undo(database, &key))
    }

    /// Returns the messages in the queue of this agent, in order, and assigns them to the current epoch of the store.
    pub async fn queued(&self, team: &str, session: &str, agent: &str) -> Result<Vec<String>, StoreError> {
        let (team, session, agent) = (team.to_owned(), session.to_owned(), agent.to_owned());
        let work = move |database: &mut Database| {
            let statement = "SELECT queued FROM requests
                WHERE team = ?1 AND session = ?2 AND agent = ?3 AND queued IS NOT NULL ORDER BY place";
            let mut found = database.connection.prepare_cached(statement)?;
            let rows = found.query_map(params![team, session, agent], |row| row.get(0))?;
            let queued = rows.collect::<Result<Vec<_>, _>>()?;
            let statement = "UPDATE requests SET epoch = ?4
                WHERE team = ?1 AND session = ?2 AND agent = ?3 AND queued IS NOT NULL";
            database.connection.prepare_cached(statement)?.execute(params![
                team,
                session,
                agent,
                database.epoch as i64
            ])?;
            Ok(queued)
        };
        self.queue().run(HistoryAccess::Nothing, work).await
    }
}
