//! Handles on sessions and spaces, for servers and for attached users. Each handle sends requests to the task that owns
//! the session or space. Other processes use [`sender`], which sends control messages over a daemon's socket.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests kill the processes that they start"))]

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
    Caller, ControlHandler, Conversation, CreateError, CreateOutcome, CreateSessionRequest, DaemonFuture, EndCause,
    EndOutcome, Lineage, SessionManager, Workload,
};
pub use request::{
    KeyboardReservation, ScreenReadOptions, ScreenSnapshot, ScreenUseGuard, SurfaceFacts, SurfaceRequest, SurfaceWatch,
    TerminalAttachment, UserTerminalEvent, UserTerminalMessage, WaitEnd,
};
pub use session::{Audience, SessionHandle, SessionState};
pub use space::{
    ChangeNotice, Mirror, MirrorChange, ReplyStage, RosterRequest, Space, SpaceRequest, SpaceUpdates, SpaceWatch,
};
pub use subscription::{Subscription, SubscriptionEnd, SubscriptionStart};
pub use surface::{SessionGone, Surface, SurfaceError};
pub use trace::ConnectionOpener;
pub use ui::{DrawProgress, Ui, UiFacts, UiOrder, UiPort};
pub use wh_pipe::Survivors;
pub use wh_pipe::children::SESSION_VARIABLE;
