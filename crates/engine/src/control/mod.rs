//! Control of sessions by other programs: receiving messages, content references, the audit log, and teams with their
//! credentials. Admission is decided in [`wh_core::gate`]. Except for [`Controller`] and [`audit::Audit::record`]
//! everything here blocks; call it through `spawn_blocking`.

pub mod audit;
pub mod content_ref;
mod controller;
mod execute;
mod outcome;
mod private;
pub mod teams;
mod translate;

pub use controller::{Controller, ControllerParts};
