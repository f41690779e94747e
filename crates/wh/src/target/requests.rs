//! Sends requests to the selected run or session, and to the daemon.

use std::time::Duration;

use serde_json::Value;
use wh_api::{Error, HttpRequest, Routes, TypedRequest, blocking};

use super::resolve::ApiTarget;
use super::{ApiResponse, TargetArguments, ended_run, table};
use crate::ended_runs;
use crate::failure::CliFailure;

impl TargetArguments {
    /// Sends a GET request below `/control`.
    pub fn get(&self, path: &str, query: &[(&str, &str)]) -> Result<ApiResponse, CliFailure> {
        self.ask(&format!("/control/{path}"), query)
    }

    /// Sends a GET request to a full path.
    pub fn ask(&self, path: &str, query: &[(&str, &str)]) -> Result<ApiResponse, CliFailure> {
        self.send(&query.iter().fold(HttpRequest::get(path), |request, (name, value)| request.query(name, value)))
    }

    /// Sends a POST request below `/control`. `duration` is the time that the command itself may take.
    pub fn post(&self, path: &str, body: &Value, duration: Duration) -> Result<ApiResponse, CliFailure> {
        self.post_to(&format!("/control/{path}"), body, duration)
    }

    /// Sends a POST request to a full path.
    pub fn post_to(&self, path: &str, body: &Value, duration: Duration) -> Result<ApiResponse, CliFailure> {
        self.send(&HttpRequest::post(path, body).with_duration(duration))
    }

    /// Sends a request to the run or session. If the run has ended, answers from the run's record.
    fn send(&self, request: &HttpRequest) -> Result<ApiResponse, CliFailure> {
        let (failure, record) = match self.target()? {
            Some(target) => match target.client(self.answer.timeout)?.send(request) {
                Ok(answer) => return ApiResponse::of(answer).map_err(|error| target.failure(error)),
                Err(Error::Ended(record)) => {
                    ended_runs::sweep();
                    (target.failure(Error::Ended(record.clone())), Some(*record))
                }
                Err(error) => return Err(target.failure(error)),
            },
            None => (table::no_run(), ended_runs::last()),
        };
        record.and_then(|record| ended_run::answer(&record, request)).ok_or(failure)
    }
}

/// Client of the daemon's HTTP API. Converts errors to command failures.
#[derive(Debug)]
pub struct DaemonClient {
    target: ApiTarget,
    client: blocking::Client,
}

impl DaemonClient {
    pub(super) fn new(target: ApiTarget, timeout: Duration) -> Result<Self, CliFailure> {
        let client = target.client(timeout)?;
        Ok(Self { target, client })
    }
}

impl Routes for DaemonClient {
    type Response<'a, T: 'a> = Result<T, CliFailure>;

    fn call<T: Send + 'static>(&self, call: TypedRequest<T>) -> Result<T, CliFailure> {
        self.client.call(call).map_err(|error| self.target.failure(error))
    }
}
