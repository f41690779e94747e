//! The HTTP door: the control plane on one surface. Described for its users in `docs/agent-cli-access.md`.

mod access;
mod body;
mod connections;
mod drawn;
mod fault;
mod health;
mod input;
mod metrics;
mod openapi;
mod owner;
mod patient;
mod peer;
mod query;
mod route;
mod screen;
mod screenshot;
mod serve;
mod sessions;
mod space;
mod state;
mod stream;
mod usage;
mod wait;

use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::middleware;
use tokio::sync::Semaphore;
use wh_client::{Gone, Look, Surface};
use wh_core::caller::Act;
use wh_core::session::Sight;
use wh_wire::control::{ClientState, ScreenBody};

use crate::Closing;
use crate::admission::Admission;
use crate::bodies::{client_state, plain_body};
pub use access::{Access, Token};
use drawn::Drawn;
use fault::Fault;
use metrics::Meters;
use peer::Peer;
pub use serve::{bind, serve};
pub use sessions::daemon_router;
pub use usage::Usage;
pub use wh_client::Conversation;

/// What every handler knows.
#[derive(Clone)]
struct Door {
    surface: Surface,
    admission: Admission,
    /// The conversation that the surface shows, if it shows one.
    conversation: Option<Conversation>,
    access: Arc<Access>,
    started: Instant,
    closing: Closing,
    meters: Arc<Meters>,
    usage: Usage,
    drawn: Arc<Drawn>,
    /// Places for those who watch: a stream may stay open for long.
    watchers: Arc<Semaphore>,
    /// Places for those who draw: a picture of a large screen takes much memory and work.
    painters: Arc<Semaphore>,
}

/// Pictures that are drawn at once; further ones wait.
const MOST_PAINTERS: usize = 2;

/// Streams that may be open at once.
const MOST_WATCHERS: usize = 64;

/// The sender of everything that comes here: who has the token is the owner, and is the default team's own member.
const SENDER: &str = "local";

impl Door {
    /// True if these are the participants that a message goes to anyway: the session's own agent.
    fn is_usual(&self, to: &[String]) -> bool {
        matches!((&self.admission, to), (Admission::Session { session, .. }, [one]) if session.agent() == Some(one))
    }

    /// Refuses a caller that may not do this here.
    async fn admit(&self, peer: &Peer, act: Act) -> Result<(), Fault> {
        if self.admission.depends_on_caller(act) {
            self.admission.admit(peer.origin().await, act)?;
        }
        Ok(())
    }
}

/// The control plane of a single run: one surface, and the conversation that it shows if it shows one. Streams end when the door
/// closes.
pub fn router(
    surface: Surface,
    conversation: Option<Conversation>,
    access: Access,
    closing: Closing,
    usage: Usage,
) -> Router {
    session_router(surface, conversation, access, closing, Admission::Run, usage)
}

/// The state of a surface, and its screen as it is at this moment: what the API would answer, without the conversation.
pub async fn snapshot(surface: &Surface) -> Result<(ClientState, ScreenBody), Gone> {
    let shown = surface.look(Look { history: false, sight: Sight::Now }).await?;
    Ok((client_state(&surface.facts().await?), plain_body(&shown)))
}

/// The same for one session of a daemon.
fn session_router(
    surface: Surface,
    conversation: Option<Conversation>,
    access: Access,
    closing: Closing,
    admission: Admission,
    usage: Usage,
) -> Router {
    let door = Door {
        surface,
        admission,
        conversation,
        access: Arc::new(access),
        started: Instant::now(),
        closing,
        meters: Arc::default(),
        usage,
        drawn: Arc::default(),
        watchers: Arc::new(Semaphore::new(MOST_WATCHERS)),
        painters: Arc::new(Semaphore::new(MOST_PAINTERS)),
    };
    route::session_router(&door).layer(middleware::from_fn_with_state(door.clone(), access::check)).with_state(door)
}
