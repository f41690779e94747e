//! The rows of the table, each a measurement of its own.

mod flood;
mod idle;
mod key;
mod snapshots;

use crate::table::Row;
use crate::{Outcome, Setting};

/// A measurement: some rows of the table.
type Measurement = fn(&Setting) -> Outcome<Vec<Row>>;

/// All of them, by number.
pub const ALL: [(u8, Measurement); 5] =
    [(1, key::key_to_visible), (2, snapshots::snapshots), (3, flood::flood), (4, idle::memory), (5, idle::processor)];
