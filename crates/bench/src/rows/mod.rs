//! The rows of the tables, each a measurement of its own.

mod crowd;
mod daemon;
mod flood;
mod idle;
mod key;
mod snapshots;
mod store;
pub mod turns;
pub mod ui;

use crate::table::{Comparison, Row};
use crate::{Outcome, Setting};

/// A measurement: some rows of the table.
type Measurement = fn(&Setting) -> Outcome<Vec<Row>>;

/// Those beside tmux, by number.
pub const ALL: [(u8, Measurement); 5] =
    [(1, key::key_to_visible), (2, snapshots::snapshots), (3, flood::flood), (4, idle::memory), (5, idle::processor)];

/// A measurement of the terminal UI or of the store: some rows of the second table, or of the third.
type UiMeasurement = fn(&Setting) -> Outcome<Vec<Comparison>>;

/// Those of wh's UI alone.
pub const OF_THE_UI: [(u8, UiMeasurement); 2] = [(6, crowd::frames), (9, crowd::memory)];

/// Those of the store and of the daemon, in a table of their own.
pub const OF_THE_STORE: [(u8, UiMeasurement); 3] =
    [(11, store::requests), (14, daemon::acknowledged), (15, daemon::idle)];

/// Those beside the UIs of real agents, see [`ui`], and beside their own protocols, see [`turns`].
pub const IN_THE_LAB: [u8; 5] = [7, 8, 10, 12, 13];

/// Of those, the ones that need no agent to say something about wh.
pub const ALONE: [u8; 3] = [7, 8, 10];
