//! Handles on sessions and spaces. A [`Surface`] is a handle on a screen that can be read and typed into. Servers and
//! attached users send requests through the same handle, and the task that owns the screen answers them. Other
//! processes use [`sender`], which sends control messages over a daemon's socket.
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
    Caller, Controller, Conversation, CreateError, Created, Daemon, DaemonFuture, EndCause, EndOutcome, Lineage,
    NewSession, Workload,
};
pub use request::{
    Attachment, FromTerminal, ScreenRead, ScreenSnapshot, ScreenUse, SurfaceFacts, SurfaceRequest, SurfaceWatch,
    ToTerminal, WaitEnd,
};
pub use session::{Audience, SessionHandle, SessionState};
pub use space::{
    ChangeNotice, Mirror, MirrorChange, ReplyStage, RosterRequest, Space, SpaceRequest, SpaceUpdates, SpaceWatch,
};
pub use subscription::{Subscription, SubscriptionEnd, SubscriptionStart};
pub use surface::{Gone, Surface, Unanswered};
pub use trace::Opener;
pub use ui::{DrawProgress, Ui, UiFacts, UiOrder, UiPort};
pub use wh_pipe::Survivors;
pub use wh_pipe::children::SESSION_VARIABLE;
