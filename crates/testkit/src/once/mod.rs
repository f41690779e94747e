//! Exactly-once trial: many clients, half of them on the socket and half over HTTP, send messages to agents and type
//! into terminal programs while the daemon is killed and restarted. Acknowledgements, receipts and histories are
//! compared with the log of deliveries that the agents and programs write.
//!
//! A short trial is part of the tests; `wh-bench once` runs the full one.

mod client;
mod http;
mod report;
mod socket_client;
mod trial_daemon;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

pub use client::{DeliveryClaim, RetryCounts, TrialClient, TrialMessage};
pub use http::HttpClient;
pub use report::{DeliveryReport, TrialOutcome};
pub use socket_client::SocketClient;
pub use trial_daemon::{TrialDaemon, TrialTarget};

use crate::deadline;
use crate::random::SeededRandom;

/// Timeout after which a client stops retrying a request and reports the request as unfinished.
const REQUEST_DEADLINE: Duration = Duration::from_secs(120);

/// Time without any progress after which the trial fails.
const PROGRESS_TIMEOUT: Duration = Duration::from_secs(180);

/// Parameters of an exactly-once trial.
#[derive(Debug, Clone)]
pub struct ExactlyOnceTrial {
    /// Path of the wh binary.
    pub wh: PathBuf,
    /// Number of requests. A tenth of them is sent twice.
    pub requests: usize,
    /// Number of concurrent clients.
    pub clients: usize,
    pub sessions: usize,
    /// Number of times that the daemon is killed.
    pub kills: usize,
    /// Seed of the random numbers.
    pub seed: u64,
}

impl ExactlyOnceTrial {
    /// Runs the trial and returns its result. `progress` receives status lines. Panics if the daemon or a session does
    /// not start.
    pub fn run(&self, progress: impl Fn(&str)) -> DeliveryReport {
        let mut daemon = TrialDaemon::new(&self.wh);
        daemon.start();
        let targets: Vec<TrialTarget> =
            (0..self.sessions).map(|number| daemon.create_agent_session(&format!("s{number}"))).collect();
        let terminals = Mutex::new(self.terminals(&daemon, 0));
        let (socket, token) = (daemon.socket(), daemon.token());
        // An agent can only resume a session that has a message, so each session gets one.
        let mut first = Vec::new();
        for (number, target) in targets.iter().enumerate() {
            let message = TrialMessage::new(target, format!("first{number}"));
            let claim = TrialClient::new(&socket, &token).send_until_settled(&message, REQUEST_DEADLINE);
            first.push((message, vec![claim]));
        }
        progress(&format!("{} sessions created", targets.len()));
        let all = Mutex::new(Vec::with_capacity(self.requests));
        let tries = Mutex::new(RetryCounts::default());
        let (next, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let start = Instant::now();
        std::thread::scope(|scope| {
            for client in 0..self.clients {
                let (socket, token, targets, terminals) = (&socket, &token, &targets, &terminals);
                let (all, tries, next, ended) = (&all, &tries, &next, &ended);
                scope.spawn(move || {
                    // Each thread has one client for the socket and one for HTTP. `one` sends all messages, `other`
                    // sends the duplicates.
                    let mut one = TrialClient::new(socket, token);
                    let mut other = TrialClient::over_http(socket, token);
                    if client % 2 == 1 {
                        std::mem::swap(&mut one, &mut other);
                    }
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= self.requests {
                            break;
                        }
                        let mut chance = SeededRandom(self.seed ^ (number as u64) << 20);
                        let typed = chance.below(4) == 0;
                        let target = match typed {
                            true => {
                                let terminals = terminals.lock().expect("no thread panics");
                                terminals[chance.below(terminals.len())].clone()
                            }
                            false => targets[chance.below(targets.len())].clone(),
                        };
                        let message = TrialMessage { typed, ..TrialMessage::new(&target, format!("r{number}")) };
                        let claims = send(&mut one, &mut other, &message, number);
                        all.lock().expect("no thread panics").push((message, claims));
                        ended.fetch_add(1, Ordering::Relaxed);
                    }
                    let mut tries = tries.lock().expect("no thread panics");
                    tries.add(one.tries);
                    tries.add(other.tries);
                });
            }
            let _stop = StopClientsOnDrop { next: &next, requests: self.requests };
            self.kill_repeatedly(&mut daemon, &terminals, &ended, &progress);
            until(&ended, self.requests);
        });
        let took = start.elapsed();
        first.extend(all.into_inner().expect("no thread panics"));
        progress("all requests answered; reading receipts and histories");
        let living = terminals.into_inner().expect("no thread panics");
        let ends = ends(&socket, &first, &targets, &living);
        daemon.stop();
        daemon.wait_for_agents();
        let tries = *tries.lock().expect("no thread panics");
        let (kills, sessions, clients) = (self.kills, self.sessions, self.clients);
        let mut report = DeliveryReport { took, kills, sessions, clients, tries, ..DeliveryReport::default() };
        report.check(&first, &daemon.deliveries(), &ends);
        report
    }

    /// Creates terminal sessions. The sessions end with the daemon, so new sessions are created after each kill.
    fn terminals(&self, daemon: &TrialDaemon, kill: usize) -> Vec<TrialTarget> {
        (0..self.sessions.div_ceil(6))
            .map(|number| daemon.create_terminal_session(&format!("t{kill}-{number}")))
            .collect()
    }

    /// Kills and restarts the daemon at random times.
    fn kill_repeatedly(
        &self,
        daemon: &mut TrialDaemon,
        terminals: &Mutex<Vec<TrialTarget>>,
        ended: &AtomicUsize,
        progress: &impl Fn(&str),
    ) {
        let mut chance = SeededRandom(self.seed);
        let span = self.requests / (self.kills + 1).max(1);
        for kill in 0..self.kills {
            until(ended, kill * span + span / 4 + chance.below(span));
            // With a random delay, the kill can occur in any phase of a request, not only after the end of a request.
            std::thread::sleep(Duration::from_micros(chance.below(20_000) as u64));
            daemon.kill();
            let at = ended.load(Ordering::Relaxed);
            daemon.start();
            *terminals.lock().expect("no thread panics") = self.terminals(daemon, kill + 1);
            progress(&format!(
                "killed the daemon {} of {} times, most recently after {at} requests",
                kill + 1,
                self.kills
            ));
        }
    }
}

/// Waits until the receipts of all messages that agents may have received are final. Then reads the receipts and
/// histories.
fn ends(
    socket: &Path,
    claims: &[(TrialMessage, Vec<DeliveryClaim>)],
    targets: &[TrialTarget],
    living: &[TrialTarget],
) -> TrialOutcome {
    let mut http = HttpClient::new(socket.parent().unwrap_or(socket));
    let mut ends = TrialOutcome::default();
    for (message, claims) in claims {
        let sent = |claim: &DeliveryClaim| matches!(claim, DeliveryClaim::Arrived { .. } | DeliveryClaim::Unknown(_));
        if message.typed || !claims.iter().any(sent) {
            continue;
        }
        let path = format!("control/receipts/{}", message.request_id);
        let end = deadline::wait_until(REQUEST_DEADLINE, || {
            let receipt =
                http.get(&message.target.session_id, &path).ok().filter(|answer| answer.status == 200)?.json();
            let code = receipt["code"].as_str().map(str::to_owned);
            matches!(receipt["stage"].as_str(), Some("finished" | "failed"))
                .then(|| code.unwrap_or_else(|| "finished".to_owned()))
        });
        ends.receipts.insert(message.request_id.clone(), end.unwrap_or_else(|| "not final".to_owned()));
    }
    for target in targets {
        let history = http.get(&target.session_id, "history").map(|answer| answer.json()).unwrap_or_default();
        let sent = history.as_array().into_iter().flatten().filter(|entry| entry["role"] == "user");
        let name = |entry: &serde_json::Value| Some(entry["text"].as_str()?.rsplit(' ').next()?.to_owned());
        ends.histories.insert(target.session_id.clone(), sent.filter_map(name).collect());
    }
    ends.living = living.iter().map(|target| target.session_id.clone()).collect();
    ends
}

/// Stops all clients when dropped, also after a panic.
struct StopClientsOnDrop<'a> {
    next: &'a AtomicUsize,
    requests: usize,
}

impl Drop for StopClientsOnDrop<'_> {
    fn drop(&mut self) {
        self.next.fetch_max(self.requests, Ordering::Relaxed);
    }
}

/// Sends a message. Sends every tenth message twice, either concurrently or one after the other.
fn send(
    one: &mut TrialClient<'_>,
    other: &mut TrialClient<'_>,
    message: &TrialMessage,
    number: usize,
) -> Vec<DeliveryClaim> {
    match number % 20 {
        3 => std::thread::scope(|scope| {
            let second = scope.spawn(|| other.send_until_settled(message, REQUEST_DEADLINE));
            let first = one.send_until_settled(message, REQUEST_DEADLINE);
            vec![first, second.join().expect("no thread panics")]
        }),
        13 => {
            vec![one.send_until_settled(message, REQUEST_DEADLINE), other.send_until_settled(message, REQUEST_DEADLINE)]
        }
        _ => vec![one.send_until_settled(message, REQUEST_DEADLINE)],
    }
}

/// Waits until `wanted` requests are complete. Panics if there is no progress for [`PROGRESS_TIMEOUT`].
#[track_caller]
fn until(ended: &AtomicUsize, wanted: usize) {
    let mut seen = (0, Instant::now());
    let reached = deadline::wait_until(Duration::MAX, || {
        let now = ended.load(Ordering::Relaxed);
        if now != seen.0 {
            seen = (now, Instant::now());
        }
        if seen.1.elapsed() > PROGRESS_TIMEOUT { Some(false) } else { (now >= wanted).then_some(true) }
    });
    assert_eq!(reached, Some(true), "no further request was completed after {} requests", seen.0);
}
