//! Settings: `config.toml` of the user and of a project, below flags and environment variables. One table has them all
//! ([`table`]); [`value`], [`document`] and [`merge`] are pure, [`files`] reads and writes, [`arguments`] puts values of
//! files below the flags.

pub mod arguments;
pub mod document;
pub mod files;
pub mod merge;
pub mod table;
pub mod value;

pub use arguments::Loaded;
pub use merge::Settings;
