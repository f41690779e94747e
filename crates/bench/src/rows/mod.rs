//! Measurements for the rows of the benchmark tables.

mod daemon;
mod flood;
mod idle;
mod key;
mod long_conversation;
mod snapshots;
mod store;
pub mod turns;
pub mod ui;

use crate::table::{ComparisonRow, TmuxRow};
use crate::{BenchConfig, BenchResult};

/// Function that measures one or more rows of the tmux table.
type TmuxMeasurement = fn(&BenchConfig) -> BenchResult<Vec<TmuxRow>>;

/// Measurements compared with tmux, by row number.
pub const TMUX_ROWS: [(u8, TmuxMeasurement); 5] =
    [(1, key::key_to_visible), (2, snapshots::snapshots), (3, flood::flood), (4, idle::memory), (5, idle::processor)];

/// Function that measures one or more rows of the terminal UI table or of the daemon table.
type ComparisonMeasurement = fn(&BenchConfig) -> BenchResult<Vec<ComparisonRow>>;

/// Measurements of the UI of wh without other UIs, by row number.
pub const UI_ROWS: [(u8, ComparisonMeasurement); 2] = [(6, long_conversation::frames), (9, long_conversation::memory)];

/// Measurements of the store and the daemon, by row number. These rows are printed as a separate table.
pub const DAEMON_ROWS: [(u8, ComparisonMeasurement); 3] =
    [(11, store::requests), (14, daemon::acknowledged), (15, daemon::idle)];

/// Rows compared with the UIs of real agents (see [`ui`]) and with their protocols (see [`turns`]).
pub const LAB_ROWS: [u8; 5] = [7, 8, 10, 12, 13];

/// Rows of the lab that can be measured without real agents.
pub const ROWS_WITHOUT_AGENTS: [u8; 3] = [7, 8, 10];
