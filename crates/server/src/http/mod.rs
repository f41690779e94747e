//! The HTTP server. The API is documented in `docs/agent-cli-access.md`.

mod access;
mod body;
mod connections;
mod fault;
mod health;
mod input;
mod metrics;
mod openapi;
mod owner;
mod peer;
mod query;
mod render_cache;
mod route;
mod screen;
mod screenshot;
mod serve;
mod sessions;
mod space;
mod stall_timeout;
mod state;
mod stream;
mod usage;
mod wait;

use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::middleware;
use tokio::sync::Semaphore;
use wh_client::{ScreenReadOptions, SessionGone, Surface};
use wh_core::caller::GuardedAction;
use wh_core::session::ScreenTiming;
use wh_wire::control::{ClientState, ScreenBody};

use crate::ShutdownWatch;
use crate::admission::Admission;
use crate::bodies::{client_state, plain_body};
pub use access::{AccessRules, ApiToken};
use fault::Fault;
use metrics::HttpMeters;
use peer::Peer;
use render_cache::RenderCache;
pub use serve::{bind, serve};
pub use sessions::daemon_router;
pub use usage::ApiUsage;
pub use wh_client::Conversation;

/// State of the handlers for one session or run.
#[derive(Clone)]
struct ApiState {
    surface: Surface,
    admission: Admission,
    /// Conversation that the surface shows, if any.
    conversation: Option<Conversation>,
    access: Arc<AccessRules>,
    started: Instant,
    closing: ShutdownWatch,
    meters: Arc<HttpMeters>,
    usage: ApiUsage,
    render_cache: Arc<RenderCache>,
    /// Permits for open event streams.
    stream_permits: Arc<Semaphore>,
    /// Permits for rendering screenshots, which need much memory and CPU time.
    screenshot_permits: Arc<Semaphore>,
}

/// Maximum number of screenshots rendered at the same time. Further requests wait.
const MAX_CONCURRENT_SCREENSHOTS: usize = 2;

/// Maximum number of open event streams.
const MAX_OPEN_STREAMS: usize = 64;

/// Sender name of all HTTP requests: the name of the local user as a member of the default team.
const SENDER: &str = "local";

impl ApiState {
    /// True if `to` contains only the session's own agent, which is the default target.
    fn is_default_target(&self, to: &[String]) -> bool {
        matches!((&self.admission, to), (Admission::Session { session, .. }, [one]) if session.agent() == Some(one))
    }

    /// Refuses a caller that may not perform this action.
    async fn admit(&self, peer: &Peer, act: GuardedAction) -> Result<(), Fault> {
        if self.admission.depends_on_caller(act) {
            self.admission.admit(peer.origin().await, act)?;
        }
        Ok(())
    }
}

/// Returns the router of a single run, for one surface and the conversation that the surface shows, if any. Open event
/// streams end when `closing` becomes true.
pub fn router(
    surface: Surface,
    conversation: Option<Conversation>,
    access: AccessRules,
    closing: ShutdownWatch,
    usage: ApiUsage,
) -> Router {
    session_router(surface, conversation, access, closing, Admission::Run, usage)
}

/// Returns the current state and screen of a surface as response bodies of the API. The state has no fields of a
/// conversation, and the screen has no cells.
pub async fn snapshot(surface: &Surface) -> Result<(ClientState, ScreenBody), SessionGone> {
    let shown = surface.read_screen(ScreenReadOptions { history: false, timing: ScreenTiming::Now }).await?;
    Ok((client_state(&surface.facts().await?), plain_body(&shown)))
}

/// Returns the router of one session of a daemon.
fn session_router(
    surface: Surface,
    conversation: Option<Conversation>,
    access: AccessRules,
    closing: ShutdownWatch,
    admission: Admission,
    usage: ApiUsage,
) -> Router {
    let api = ApiState {
        surface,
        admission,
        conversation,
        access: Arc::new(access),
        started: Instant::now(),
        closing,
        meters: Arc::default(),
        usage,
        render_cache: Arc::default(),
        stream_permits: Arc::new(Semaphore::new(MAX_OPEN_STREAMS)),
        screenshot_permits: Arc::new(Semaphore::new(MAX_CONCURRENT_SCREENSHOTS)),
    };
    route::session_router(&api).layer(middleware::from_fn_with_state(api.clone(), access::check)).with_state(api)
}
