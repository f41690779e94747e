//! The route table. A row stands beside its handler, in the `routes` of a module; here they are gathered, and routers and the OpenAPI
//! documents are made of them. The type of a row's state is the listener that serves it:
//!
//! | rows | served |
//! |---|---|
//! | `Route<Door>` | by a single run, of a program or of a space; by a daemon below `/sessions/{session}` |
//! | `Route<DaemonDoor>` | by a daemon itself |
//!
//! [`super::access`] checks host, origin and token before any row; a row says what the caller has to be admitted to beside that.

use axum::Router;
use axum::extract::{Request, State};
use axum::handler::Handler;
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::{self, MethodFilter, MethodRouter};
use wh_core::caller::Act;

use super::fault::Fault;
use super::openapi::{self, Describe};
use super::peer::Peer;
use super::sessions::{self, DaemonDoor};
use super::{Door, health, input, metrics, screen, screenshot, space, state, stream, wait};

/// One method of one path.
pub(super) struct Route<S> {
    pub method: Method,
    pub path: &'static str,
    handler: MethodRouter<S>,
    /// The act that a caller must be admitted to. Absent where everybody may, and where the handler decides by the body.
    act: Option<Act>,
    pub operation: Operation,
}

/// A row as the OpenAPI documents have it.
#[derive(Clone, Copy)]
pub(super) struct Operation {
    pub id: &'static str,
    pub summary: &'static str,
    /// Adds parameters, body and answers.
    pub describe: fn(Describe<'_>) -> Describe<'_>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    Get,
    Post,
    Patch,
    Delete,
}

impl Method {
    /// The name as OpenAPI writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Post => "post",
            Self::Patch => "patch",
            Self::Delete => "delete",
        }
    }

    fn filter(self) -> MethodFilter {
        match self {
            Self::Get => MethodFilter::GET,
            Self::Post => MethodFilter::POST,
            Self::Patch => MethodFilter::PATCH,
            Self::Delete => MethodFilter::DELETE,
        }
    }
}

impl<S: Clone + Send + Sync + 'static> Route<S> {
    pub fn new<T: 'static>(
        method: Method,
        path: &'static str,
        handler: impl Handler<T, S>,
        id: &'static str,
        summary: &'static str,
        describe: fn(Describe<'_>) -> Describe<'_>,
    ) -> Self {
        let handler = routing::on(method.filter(), handler);
        Self { method, path, handler, act: None, operation: Operation { id, summary, describe } }
    }
}

impl Route<Door> {
    /// Admits only callers that may do this in the session.
    pub fn admits_to(self, act: Act) -> Self {
        Self { act: Some(act), ..self }
    }
}

/// Every row of the door onto one session.
pub(super) fn of_session() -> Vec<Route<Door>> {
    let routes = [
        health::routes(),
        input::routes(),
        screen::routes(),
        screenshot::routes(),
        state::routes(),
        wait::routes(),
        stream::routes(),
        metrics::routes(),
        space::routes(),
        openapi::routes(),
    ];
    routes.into_iter().flatten().collect()
}

/// Every row of the door of a daemon, without those of its sessions.
pub(super) fn of_daemon() -> Vec<Route<DaemonDoor>> {
    [health::daemon_routes(), sessions::routes(), openapi::daemon_routes()].into_iter().flatten().collect()
}

/// The rows of one session as a router, without [`super::access`].
pub(super) fn session_router(door: &Door) -> Router<Door> {
    let admitted = |route: Route<Door>| match route.act {
        None => (route.path, route.handler),
        Some(act) => {
            let admit = move |State(door): State<Door>, peer: Peer, request: Request, next: Next| async move {
                door.admit(&peer, act).await?;
                Ok::<Response, Fault>(next.run(request).await)
            };
            (route.path, route.handler.route_layer(middleware::from_fn_with_state(door.clone(), admit)))
        }
    };
    router(of_session().into_iter().map(admitted))
}

/// The rows of a daemon as a router, without [`super::access`].
pub(super) fn daemon_router() -> Router<DaemonDoor> {
    router(of_daemon().into_iter().map(|route| (route.path, route.handler)))
}

fn router<S: Clone + Send + Sync + 'static>(
    routes: impl Iterator<Item = (&'static str, MethodRouter<S>)>,
) -> Router<S> {
    routes
        .fold(Router::new(), |router, (path, handler)| router.route(path, handler))
        .fallback(|| async { Fault::NoSuchPath })
        .method_not_allowed_fallback(|| async { Fault::NoSuchMethod })
}

#[cfg(test)]
mod tests;
