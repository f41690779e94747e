//! How anyone asks: a [`Surface`] is what can be looked at and typed into, wherever it runs. Doors and people hold the
//! same handle; whoever serves it gets [`Request`]s from a channel.

mod request;
mod subscription;
mod surface;

pub use request::{Attachment, Facts, FromTerminal, Look, Request, Shown, ToTerminal, WaitEnd, Watch};
pub use subscription::{Lost, Start, Subscription};
pub use surface::{Gone, Surface, Unanswered};
