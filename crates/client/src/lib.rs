//! How anyone asks: a [`Surface`] is what can be looked at and typed into, wherever it runs. Doors and people hold the
//! same handle; whoever serves it gets [`Request`]s from a channel. [`sender`] is for those in another process: it sends
//! control messages over a daemon's socket.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "a test ends what it starts"))]

mod daemon;
mod inside;
mod request;
pub mod sender;
mod space;
mod subscription;
mod surface;
mod ui;

pub use daemon::{
    Audience, BoxFuture, Caller, Controller, Conversation, CreateError, Created, Daemon, EndOutcome, Ending,
    NewSession, Session, What,
};
pub use inside::{Process, SESSION_VARIABLE, processes_in, sessions_of};
pub use request::{Attachment, Facts, FromTerminal, Look, Request, Shown, ToTerminal, Typed, WaitEnd, Watch};
pub use space::{Change, Mirror, Pulse, RosterRequest, Space, SpaceRequest, SpaceWatch, Updates};
pub use subscription::{Lost, Start, Subscription};
pub use surface::{Gone, Surface, Unanswered};
pub use ui::{Ui, UiFacts, UiOrder, UiPort};
