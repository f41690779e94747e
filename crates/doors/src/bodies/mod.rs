//! Bodies of [`wh_wire`] made from what the rooms behind the doors know: the same for every door.

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
pub(crate) use screen::{Frames, frame_body, frame_hash, plain_body, screen_body};
pub(crate) use session::summary;
pub(crate) use space::{messages, state, state_fingerprint};
pub(crate) use surface::client_state;
