//! What control of sessions needs from the system: texts behind references, the audit log, teams with their credentials. What is decided
//! with it is [`wh_core::gate`]'s. All of it blocks: in an async task it belongs into `spawn_blocking`, except [`audit::Audit::record`].

pub mod audit;
pub mod content_ref;
mod controller;
mod execute;
mod private;
pub mod teams;
mod translate;
mod verdict;

pub use controller::{Controller, Parts};
