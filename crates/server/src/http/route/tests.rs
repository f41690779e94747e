//! Checks that every row of the table is served and described by its server, and nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::body::Body;
use axum::http::{Method as HttpMethod, StatusCode, header};
use http_body_util::BodyExt;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use serde_json::Value;
use tokio::sync::watch;

use super::*;
use crate::fakes::{FakeController, FakeDaemon, gone_conversation, gone_surface, new_agent, session};
use crate::http::{AccessRules, ApiUsage, daemon_router as daemon_door, router as run_door};

/// Router of a server, with the expected methods of every path.
struct Listener {
    name: &'static str,
    router: Router,
    paths: BTreeMap<String, BTreeSet<&'static str>>,
}

fn paths<'a, S: 'a>(prefix: &str, routes: &'a [Route<S>]) -> Vec<(String, &'static str)> {
    routes.iter().map(|route| (format!("{prefix}{}", route.path), route.method.name())).collect()
}

fn listener(name: &'static str, router: Router, rows: Vec<(String, &'static str)>) -> Listener {
    let mut paths: BTreeMap<String, BTreeSet<&'static str>> = BTreeMap::new();
    for (path, method) in rows {
        assert!(paths.entry(path.clone()).or_default().insert(method), "{method} {path} is there twice");
    }
    Listener { name, router, paths }
}

fn listeners() -> [Listener; 3] {
    let closing = watch::Sender::new(false).subscribe();
    let run = |conversation| {
        run_door(gone_surface(), conversation, AccessRules::default(), closing.clone(), ApiUsage::default())
    };
    let daemon = Arc::new(FakeDaemon(vec![Arc::new(session("one", &new_agent()))]));
    let daemon = daemon_door(daemon, Arc::new(FakeController::default()), AccessRules::default(), closing.clone());
    let mut of_all = paths("", &of_daemon());
    of_all.extend(paths("/sessions/{session}", &of_session()));
    [
        listener("run of a program", run(None), paths("", &of_session())),
        listener("run of a space", run(Some(gone_conversation())), paths("", &of_session())),
        listener("daemon", daemon, of_all),
    ]
}

struct Answer {
    status: StatusCode,
    allow: BTreeSet<String>,
    body: Value,
}

impl Answer {
    /// True if no row was found, as opposed to a row that answers 404 itself.
    fn is_of_no_row(&self) -> bool {
        ["not_found", "method_not_allowed"].iter().any(|code| self.body["code"] == **code)
    }
}

async fn ask(router: &Router, method: &HttpMethod, path: &str, body: &'static str) -> Answer {
    let path = path.replace("{session}", "one").replace("{id}", "x").replace("{request_id}", "x");
    let request = Request::builder().method(method).uri(path).header(header::HOST, "localhost");
    let request = request.body(Body::from(body)).unwrap();
    let answer = TowerToHyperService::new(router.clone()).call(request).await.unwrap();
    let allow = answer.headers().get(header::ALLOW).map(|allow| allow.to_str().unwrap()).unwrap_or_default();
    let allow = allow.split(',').filter(|method| !method.is_empty()).map(str::to_owned).collect();
    let status = answer.status();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    Answer { status, allow, body: serde_json::from_slice(&body).unwrap_or_default() }
}

#[tokio::test]
async fn every_row_is_served_and_every_other_method_is_405_with_those_that_are() {
    for Listener { name, router, paths } in listeners() {
        for (path, methods) in paths {
            let mut allowed: BTreeSet<String> = methods.iter().map(|method| method.to_uppercase()).collect();
            if allowed.contains("GET") {
                allowed.insert("HEAD".to_owned());
            }
            for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] {
                let answer = ask(&router, &method.parse().unwrap(), &path, "{}").await;
                match allowed.contains(method) {
                    true => assert!(!answer.is_of_no_row(), "{name}: {method} {path}: {}", answer.body),
                    false => {
                        assert_eq!(answer.status, StatusCode::METHOD_NOT_ALLOWED, "{name}: {method} {path}");
                        assert_eq!(answer.allow, allowed, "{name}: {method} {path}");
                    }
                }
            }
        }
        for path in
            ["/", "/control", "/control/screen/", "/sessions/one/control", "/sessions/one/sessions", "/health/x"]
        {
            let answer = ask(&router, &HttpMethod::GET, path, "").await;
            assert_eq!(
                (answer.status, answer.body["code"].as_str()),
                (StatusCode::NOT_FOUND, Some("not_found")),
                "{path}"
            );
        }
    }
}

#[tokio::test]
async fn every_row_is_described_where_it_is_served_and_no_other_is() {
    for Listener { name, router, paths } in listeners() {
        let document = ask(&router, &HttpMethod::GET, "/openapi.json", "").await.body;
        let mut described: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        let mut ids = BTreeSet::new();
        for (path, operations) in document["paths"].as_object().unwrap() {
            for (method, operation) in operations.as_object().unwrap() {
                described.entry(path.clone()).or_default().insert(method);
                assert!(ids.insert(operation["operationId"].as_str().unwrap()), "{name}: {operation}");
            }
        }
        assert_eq!(described, paths, "{name}");
    }
}

#[tokio::test]
async fn a_caller_that_cannot_be_traced_is_admitted_to_the_rows_that_are_for_everybody() {
    let refused = [
        "/agents/{id}/login",
        "/agents/{id}/logout",
        "/agents/{id}/start",
        "/control/answer",
        "/control/command",
        "/control/send_input",
    ];
    for (Listener { name, router, .. }, prefix) in listeners().into_iter().zip(["", "", "/sessions/{session}"]) {
        let mut seen = BTreeSet::new();
        for route in of_session() {
            let method = route.method.name().to_uppercase().parse().unwrap();
            let answer = ask(&router, &method, &format!("{prefix}{}", route.path), "{}").await;
            if answer.status == StatusCode::FORBIDDEN {
                assert_eq!(answer.body["code"], "untraceable", "{name}: {}", answer.body);
                seen.insert(route.path);
            }
        }
        assert_eq!(seen, BTreeSet::from(refused), "{name}");
    }
    let [_, space, _] = listeners();
    let say = async |text: &'static str| ask(&space.router, &HttpMethod::POST, "/message", text).await.status;
    assert_eq!(say(r#"{"message": "/mode plan"}"#).await, StatusCode::FORBIDDEN, "decided by the body");
    assert_eq!(say(r#"{"message": "hello"}"#).await, StatusCode::SERVICE_UNAVAILABLE);
}

#[tokio::test]
async fn no_row_is_served_without_the_checks_at_the_door() {
    let closing = watch::Sender::new(false).subscribe();
    let access = || AccessRules { token: crate::http::ApiToken::new("s3cret"), any_host: false };
    let run = run_door(gone_surface(), None, access(), closing.clone(), ApiUsage::default());
    let daemon =
        daemon_door(Arc::new(FakeDaemon::default()), Arc::new(FakeController::default()), access(), closing.clone());
    let rows = [(run, paths("", &of_session())), (daemon, paths("", &of_daemon()))];
    for (router, paths) in rows {
        for (path, method) in paths {
            let answer = ask(&router, &method.to_uppercase().parse().unwrap(), &path, "{}").await;
            assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{method} {path}");
        }
    }
}
