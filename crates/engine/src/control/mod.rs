//! Control of sessions by other programs: executing control messages, content references, the audit log, and teams with
//! their credentials. [`wh_core::gate`] decides which messages are admitted. All functions block except those of
//! [`Controller`] and [`audit::AuditWriter::record`]; call them through `spawn_blocking`.

pub mod audit;
pub mod content_ref;
mod controller;
mod execute;
mod outcome;
mod private;
pub mod teams;
mod translate;

pub use controller::{Controller, ControllerParts};
