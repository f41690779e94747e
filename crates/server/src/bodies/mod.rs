//! Builds [`wh_wire`] bodies from the domain types, for both servers.

pub(crate) mod agents;
mod event;
mod question;
mod receipt;
mod screen;
mod session;
mod space;
mod surface;

pub(crate) use event::event_body;
pub(crate) use question::{open_questions, questions_of};
pub(crate) use receipt::receipt_body;
pub(crate) use screen::{FrameFormat, frame_body, frame_hash, plain_body, screen_body};
pub(crate) use session::summary;
pub(crate) use space::{messages, state, state_fingerprint};
pub(crate) use surface::client_state;
