//! Settings from `config.toml` of the user and of a project, overridden by flags and environment variables. [`table`]
//! defines all settings. [`value`], [`document`] and [`merge`] do no I/O; [`files`] reads and writes the files;
//! [`arguments`] makes values of files the defaults of flags.

pub mod arguments;
pub mod document;
pub mod files;
pub mod merge;
pub mod table;
pub mod value;

pub use arguments::LoadedSettings;
pub use merge::Settings;
