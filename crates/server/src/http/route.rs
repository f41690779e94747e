//! The route table. Each row is next to its handler, in the `routes` function of a module. Routers and OpenAPI
//! documents are built from the rows. The state type of a row determines which server has the route:
//!
//! | rows | served |
//! |---|---|
//! | `Route<ApiState>` | by a single run, and by a daemon below `/sessions/{session}` |
//! | `Route<DaemonApiState>` | by a daemon itself |
//!
//! [`super::access`] checks host, origin and token before any handler runs. A row can also require that the caller may
//! perform an action, see [`Route::admits_to`].

use axum::Router;
use axum::extract::{Request, State};
use axum::handler::Handler;
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::{self, MethodFilter, MethodRouter};
use wh_core::caller::GuardedAction;

use super::fault::Fault;
use super::openapi::{self, OperationBuilder};
use super::peer::Peer;
use super::sessions::{self, DaemonApiState};
use super::{ApiState, health, input, metrics, screen, screenshot, space, state, stream, wait};

/// Row of the route table: one method of one path.
pub(super) struct Route<S> {
    pub method: RouteMethod,
    pub path: &'static str,
    handler: MethodRouter<S>,
    /// Action that the caller must be allowed to perform, checked before the handler runs. `None` if every caller is
    /// allowed, or if the handler checks the caller because the action depends on the body.
    act: Option<GuardedAction>,
    pub operation: OpenApiOperation,
}

/// OpenAPI description of a row: summary, parameters, body and responses.
#[derive(Clone, Copy)]
pub(super) struct OpenApiOperation {
    pub id: &'static str,
    pub summary: &'static str,
    /// Adds parameters, body and responses.
    pub describe: fn(OperationBuilder<'_>) -> OperationBuilder<'_>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RouteMethod {
    Get,
    Post,
    Patch,
    Delete,
}

impl RouteMethod {
    /// Returns the method's name in an OpenAPI document.
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
        method: RouteMethod,
        path: &'static str,
        handler: impl Handler<T, S>,
        id: &'static str,
        summary: &'static str,
        describe: fn(OperationBuilder<'_>) -> OperationBuilder<'_>,
    ) -> Self {
        let handler = routing::on(method.filter(), handler);
        Self { method, path, handler, act: None, operation: OpenApiOperation { id, summary, describe } }
    }
}

impl Route<ApiState> {
    /// Admits only callers that may perform this action.
    pub fn admits_to(self, act: GuardedAction) -> Self {
        Self { act: Some(act), ..self }
    }
}

/// Returns the rows that every run and every session of a daemon serves.
pub(super) fn of_session() -> Vec<Route<ApiState>> {
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

/// Returns the daemon's own rows, without the rows of its sessions.
pub(super) fn of_daemon() -> Vec<Route<DaemonApiState>> {
    [health::daemon_routes(), sessions::routes(), openapi::daemon_routes()].into_iter().flatten().collect()
}

/// Returns the router of a session, without the checks of [`super::access`].
pub(super) fn session_router(api: &ApiState) -> Router<ApiState> {
    let admitted = |route: Route<ApiState>| match route.act {
        None => (route.path, route.handler),
        Some(act) => {
            let admit = move |State(api): State<ApiState>, peer: Peer, request: Request, next: Next| async move {
                api.admit(&peer, act).await?;
                Ok::<Response, Fault>(next.run(request).await)
            };
            (route.path, route.handler.route_layer(middleware::from_fn_with_state(api.clone(), admit)))
        }
    };
    router(of_session().into_iter().map(admitted))
}

/// Returns the router of a daemon, without the checks of [`super::access`].
pub(super) fn daemon_router() -> Router<DaemonApiState> {
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
