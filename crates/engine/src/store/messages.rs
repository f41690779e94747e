//! Messages that wait for an agent, and how far commands are. A message is stored with its request before it is
//! acknowledged, and taken out of the queue before an agent is given it: after a crash it is known whether it may be
//! given.
//!
//! Calls are carried out in their order.

use std::time::SystemTime;

use rusqlite::params;
use wh_core::request::Key;

use super::desk::Desk;
use super::error::{StoreError, fits};
use super::queue::{Durable, Touches};
use super::requests::{self, shortened};
use super::{Store, millis};

/// The longest message with what belongs to it, in bytes of JSON: a text of 16 MiB in which every byte is escaped.
const LONGEST_MESSAGE: usize = ((6 * 16) << 20) + 4096;

impl Store {
    /// Resolves when all that was submitted before is durable.
    pub fn barrier(&self) -> Durable<()> {
        self.queue().submit(Touches::Nothing, |_| Ok(()))
    }

    /// Stores the message of a pending request, which waits for its agent behind the others, or `first` before them.
    pub fn enqueue(&self, key: Key, message: String, first: bool) -> Durable<()> {
        self.queue().submit(Touches::Nothing, move |desk| {
            fits("the message", message.len(), LONGEST_MESSAGE)?;
            let place = if first { -desk.place() } else { desk.place() };
            let statement = "UPDATE requests SET queued = ?5, place = ?6
                WHERE team = ?1 AND session = ?2 AND agent = ?3 AND request = ?4 AND state = 0";
            let mut statement = desk.connection.prepare_cached(statement)?;
            statement.execute(params![key.team, key.session, key.agent, key.request, message, place])?;
            Ok(())
        })
    }

    /// Takes a message out of the queue, because an agent is about to be given it. From then on it is never given to one
    /// again.
    pub fn hand_over(&self, key: Key) -> Durable<()> {
        self.queue().submit(Touches::Nothing, move |desk| {
            let statement = "UPDATE requests SET queued = NULL, place = NULL
                WHERE team = ?1 AND session = ?2 AND agent = ?3 AND request = ?4";
            let mut statement = desk.connection.prepare_cached(statement)?;
            statement.execute(params![key.team, key.session, key.agent, key.request])?;
            Ok(())
        })
    }

    /// As [`Store::finish`], with the receipt; `open` if more of it is to come.
    pub fn settle(
        &self,
        key: Key,
        result: &'static str,
        detail: Option<String>,
        receipt: Option<String>,
        open: bool,
        at: SystemTime,
    ) -> Durable<()> {
        let detail = detail.map(shortened);
        self.queue().submit(Touches::Nothing, move |desk| {
            requests::finish(desk, &key, result, detail.as_deref(), receipt.as_deref(), open, millis(at))
        })
    }

    /// Stores the last receipt of a command that is settled. From now on it can expire.
    pub fn note_receipt(&self, key: Key, receipt: String) -> Durable<()> {
        self.queue().submit(Touches::Nothing, move |desk| {
            let statement = "UPDATE requests SET receipt = ?5, open = NULL, stamp = ?6
                WHERE team = ?1 AND session = ?2 AND agent = ?3 AND request = ?4";
            let now = desk.clock.now();
            let mut statement = desk.connection.prepare_cached(statement)?;
            statement.execute(params![key.team, key.session, key.agent, key.request, receipt, now])?;
            Ok(())
        })
    }

    /// As [`Store::undo`].
    pub fn take_back(&self, key: Key) -> Durable<bool> {
        self.queue().submit(Touches::Nothing, move |desk| requests::undo(desk, &key))
    }

    /// The messages of earlier lives that wait for this agent of this session, in order, as they were stored. They are this life's from now on.
    pub async fn queued(&self, team: &str, session: &str, agent: &str) -> Result<Vec<String>, StoreError> {
        let (team, session, agent) = (team.to_owned(), session.to_owned(), agent.to_owned());
        let work = move |desk: &mut Desk| {
            let statement = "SELECT queued FROM requests
                WHERE team = ?1 AND session = ?2 AND agent = ?3 AND queued IS NOT NULL ORDER BY place";
            let mut found = desk.connection.prepare_cached(statement)?;
            let rows = found.query_map(params![team, session, agent], |row| row.get(0))?;
            let queued = rows.collect::<Result<Vec<_>, _>>()?;
            let statement = "UPDATE requests SET epoch = ?4
                WHERE team = ?1 AND session = ?2 AND agent = ?3 AND queued IS NOT NULL";
            desk.connection.prepare_cached(statement)?.execute(params![team, session, agent, desk.epoch as i64])?;
            Ok(queued)
        };
        self.queue().ask(Touches::Nothing, work).await
    }
}
