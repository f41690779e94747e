//! The trial of "exactly once": many clients, half of them at the socket and half over HTTP, send messages to agents and type
//! into terminal programs while the daemon is killed and started again. Acknowledgements, receipts and histories are held
//! against the book that the agents and programs keep outside of the daemon.
//!
//! A small one is among the tests, the full one is `wh-bench once`.

mod account;
mod client;
mod house;
mod http;
mod line;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

pub use account::{Account, Ends};
pub use client::{Claim, Client, Message, Tries};
pub use house::{House, Target};
pub use http::HttpClient;
pub use line::Line;

use crate::chance::Chance;
use crate::deadline;

/// How long a client insists on one request before it is reported as having no end.
const PATIENCE: Duration = Duration::from_secs(120);

/// How long a trial may stand still, where nothing is answered any more.
const STANDSTILL: Duration = Duration::from_secs(180);

/// What is to be done.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The program.
    pub wh: PathBuf,
    /// How many requests. A tenth of them is sent twice.
    pub requests: usize,
    /// By how many clients at once.
    pub clients: usize,
    /// To how many sessions.
    pub sessions: usize,
    /// How often the daemon is killed meanwhile.
    pub kills: usize,
    /// What chance is drawn from.
    pub seed: u64,
}

impl Plan {
    /// Does it, and says what came of it. `progress` is told now and then. Panics where nothing can be tried at all.
    pub fn run(&self, progress: impl Fn(&str)) -> Account {
        let mut house = House::new(&self.wh);
        house.start();
        let targets: Vec<Target> = (0..self.sessions).map(|number| house.session(&format!("s{number}"))).collect();
        let terminals = Mutex::new(self.terminals(&house, 0));
        let (socket, token) = (house.socket(), house.token());
        // What was said in a session is what its agent goes on with later: something is.
        let mut first = Vec::new();
        for (number, target) in targets.iter().enumerate() {
            let message = Message::new(target, format!("first{number}"));
            let claim = Client::new(&socket, &token).insist(&message, PATIENCE);
            first.push((message, vec![claim]));
        }
        progress(&format!("{} sessions are there", targets.len()));
        let all = Mutex::new(Vec::with_capacity(self.requests));
        let tries = Mutex::new(Tries::default());
        let (next, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let start = Instant::now();
        std::thread::scope(|scope| {
            for client in 0..self.clients {
                let (socket, token, targets, terminals) = (&socket, &token, &targets, &terminals);
                let (all, tries, next, ended) = (&all, &tries, &next, &ended);
                scope.spawn(move || {
                    // Each has the other interface for what it sends a second time.
                    let mut one = Client::new(socket, token);
                    let mut other = Client::over_http(socket, token);
                    if client % 2 == 1 {
                        std::mem::swap(&mut one, &mut other);
                    }
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= self.requests {
                            break;
                        }
                        let mut chance = Chance(self.seed ^ (number as u64) << 20);
                        let typed = chance.below(4) == 0;
                        let target = match typed {
                            true => {
                                let terminals = terminals.lock().expect("nobody panics");
                                terminals[chance.below(terminals.len())].clone()
                            }
                            false => targets[chance.below(targets.len())].clone(),
                        };
                        let message = Message { typed, ..Message::new(&target, format!("r{number}")) };
                        let claims = send(&mut one, &mut other, &message, number);
                        all.lock().expect("nobody panics").push((message, claims));
                        ended.fetch_add(1, Ordering::Relaxed);
                    }
                    let mut tries = tries.lock().expect("nobody panics");
                    tries.add(one.tries);
                    tries.add(other.tries);
                });
            }
            let _last = Last { next: &next, requests: self.requests };
            self.disturb(&mut house, &terminals, &ended, &progress);
            until(&ended, self.requests);
        });
        let took = start.elapsed();
        first.extend(all.into_inner().expect("nobody panics"));
        progress("all requests are answered; the receipts and histories are read");
        let living = terminals.into_inner().expect("nobody panics");
        let ends = ends(&socket, &first, &targets, &living);
        house.stop();
        house.book_closed();
        let tries = *tries.lock().expect("nobody panics");
        let (kills, sessions, clients) = (self.kills, self.sessions, self.clients);
        let mut account = Account { took, kills, sessions, clients, tries, ..Account::default() };
        account.hold(&first, &house.book(), &ends);
        account
    }

    /// Terminal programs, which do not outlive the daemon: there are new ones after each kill.
    fn terminals(&self, house: &House, kill: usize) -> Vec<Target> {
        (0..self.sessions.div_ceil(6)).map(|number| house.terminal(&format!("t{kill}-{number}"))).collect()
    }

    /// Kills the daemon and starts it again, at moments that chance chooses.
    fn disturb(
        &self,
        house: &mut House,
        terminals: &Mutex<Vec<Target>>,
        ended: &AtomicUsize,
        progress: &impl Fn(&str),
    ) {
        let mut chance = Chance(self.seed);
        let span = self.requests / (self.kills + 1).max(1);
        for kill in 0..self.kills {
            until(ended, kill * span + span / 4 + chance.below(span));
            // Anywhere within what a request takes, and not only when one has just ended.
            std::thread::sleep(Duration::from_micros(chance.below(20_000) as u64));
            house.kill();
            let at = ended.load(Ordering::Relaxed);
            house.start();
            *terminals.lock().expect("nobody panics") = self.terminals(house, kill + 1);
            progress(&format!("killed {} of {} times, the last after {at} requests", kill + 1, self.kills));
        }
    }
}

/// Waits until every acknowledged message has come to an end, and reads the ends and the histories.
fn ends(socket: &Path, claims: &[(Message, Vec<Claim>)], targets: &[Target], living: &[Target]) -> Ends {
    let mut http = HttpClient::new(socket.parent().unwrap_or(socket));
    let mut ends = Ends::default();
    for (message, claims) in claims {
        let sent = |claim: &Claim| matches!(claim, Claim::Arrived { .. } | Claim::Unknown(_));
        if message.typed || !claims.iter().any(sent) {
            continue;
        }
        let path = format!("control/receipts/{}", message.request_id);
        let end = deadline::before(PATIENCE, || {
            let receipt =
                http.get(&message.target.session_id, &path).ok().filter(|answer| answer.status == 200)?.json();
            let code = receipt["code"].as_str().map(str::to_owned);
            matches!(receipt["stage"].as_str(), Some("finished" | "failed"))
                .then(|| code.unwrap_or_else(|| "finished".to_owned()))
        });
        ends.receipts.insert(message.request_id.clone(), end.unwrap_or_else(|| "no end".to_owned()));
    }
    for target in targets {
        let history = http.get(&target.session_id, "history").map(|answer| answer.json()).unwrap_or_default();
        let said = history.as_array().into_iter().flatten().filter(|entry| entry["role"] == "user");
        let name = |entry: &serde_json::Value| Some(entry["text"].as_str()?.rsplit(' ').next()?.to_owned());
        ends.histories.insert(target.session_id.clone(), said.filter_map(name).collect());
    }
    // What was typed last is on its way from the terminal to the program.
    ends.living = living.iter().map(|target| target.session_id.clone()).collect();
    ends
}

/// Whatever happens: clients begin nothing more when this goes.
struct Last<'a> {
    next: &'a AtomicUsize,
    requests: usize,
}

impl Drop for Last<'_> {
    fn drop(&mut self) {
        self.next.fetch_max(self.requests, Ordering::Relaxed);
    }
}

/// Sends a message; every tenth a second time: at the same time, or when the first is over.
fn send(one: &mut Client<'_>, other: &mut Client<'_>, message: &Message, number: usize) -> Vec<Claim> {
    match number % 20 {
        3 => std::thread::scope(|scope| {
            let second = scope.spawn(|| other.insist(message, PATIENCE));
            let first = one.insist(message, PATIENCE);
            vec![first, second.join().expect("nobody panics")]
        }),
        13 => vec![one.insist(message, PATIENCE), other.insist(message, PATIENCE)],
        _ => vec![one.insist(message, PATIENCE)],
    }
}

/// Waits until so many requests are over.
#[track_caller]
fn until(ended: &AtomicUsize, wanted: usize) {
    let mut seen = (0, Instant::now());
    let reached = deadline::before(Duration::MAX, || {
        let now = ended.load(Ordering::Relaxed);
        if now != seen.0 {
            seen = (now, Instant::now());
        }
        if seen.1.elapsed() > STANDSTILL { Some(false) } else { (now >= wanted).then_some(true) }
    });
    assert_eq!(reached, Some(true), "nothing moves any more after {} requests", seen.0);
}
