//! How anyone asks: a [`Surface`] is what can be looked at and typed into, wherever it runs. Doors and people hold the
//! same handle; whoever serves it gets [`Request`]s from a channel. [`sender`] is for those in another process: it sends
//! control messages over a daemon's socket.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "a test ends what it starts"))]

mod daemon;
pub mod link;
pub mod memory;
mod request;
pub mod sender;
mod session;
mod space;
mod subscription;
mod surface;
pub mod trace;
mod ui;

pub use daemon::{
    BoxFuture, Caller, Controller, Conversation, CreateError, Created, Daemon, EndOutcome, Ending, Lineage, NewSession,
    What,
};
pub use request::{Attachment, Facts, FromTerminal, Look, Request, ScreenUse, Shown, ToTerminal, WaitEnd, Watch};
pub use session::{Audience, Session, SessionState};
pub use space::{Change, Mirror, Pulse, RosterRequest, Space, SpaceRequest, SpaceWatch, Until, Updates};
pub use subscription::{Lost, Start, Subscription};
pub use surface::{Gone, Surface, Unanswered};
pub use trace::Opener;
pub use ui::{Drawn, Ui, UiFacts, UiOrder, UiPort};
pub use wh_pipe::Left;
pub use wh_pipe::children::SESSION_VARIABLE;
