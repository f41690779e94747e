//! Asking the run or the session that is meant, and the daemon.

use std::time::Duration;

use serde_json::Value;
use wh_api::{Call, Error, Request, Routes, blocking};

use super::target::Target;
use super::{Answer, DoorArguments, ended, table};
use crate::failure::Failure;
use crate::finished;

impl DoorArguments {
    /// Asks for something below `/control`.
    pub fn get(&self, path: &str, query: &[(&str, &str)]) -> Result<Answer, Failure> {
        self.ask(&format!("/control/{path}"), query)
    }

    /// Asks for something by its whole path.
    pub fn ask(&self, path: &str, query: &[(&str, &str)]) -> Result<Answer, Failure> {
        self.send(&query.iter().fold(Request::get(path), |request, (name, value)| request.query(name, value)))
    }

    /// Sends a command below `/control` that may itself take this long.
    pub fn post(&self, path: &str, body: &Value, duration: Duration) -> Result<Answer, Failure> {
        self.post_to(&format!("/control/{path}"), body, duration)
    }

    /// Sends a command by its whole path.
    pub fn post_to(&self, path: &str, body: &Value, duration: Duration) -> Result<Answer, Failure> {
        self.send(&Request::post(path, body).lasting(duration))
    }

    /// Asks the run or the session. A run that has ended a moment ago is asked through the record that it has left.
    fn send(&self, request: &Request) -> Result<Answer, Failure> {
        let (failure, record) = match self.target()? {
            Some(target) => match target.client(self.answer.timeout)?.send(request) {
                Ok(answer) => return Answer::of(answer).map_err(|error| target.failure(error)),
                Err(Error::Ended(record)) => {
                    finished::sweep();
                    (target.failure(Error::Ended(record.clone())), Some(*record))
                }
                Err(error) => return Err(target.failure(error)),
            },
            None => (table::no_run(), finished::last()),
        };
        record.and_then(|record| ended::answer(&record, request)).ok_or(failure)
    }
}

/// A daemon, with the routes of the API. Its errors are failures of a command.
#[derive(Debug)]
pub struct Daemon {
    target: Target,
    client: blocking::Client,
}

impl Daemon {
    pub(super) fn new(target: Target, timeout: Duration) -> Result<Self, Failure> {
        let client = target.client(timeout)?;
        Ok(Self { target, client })
    }
}

impl Routes for Daemon {
    type Answer<'a, T: 'a> = Result<T, Failure>;

    fn call<T: Send + 'static>(&self, call: Call<T>) -> Result<T, Failure> {
        self.client.call(call).map_err(|error| self.target.failure(error))
    }
}
