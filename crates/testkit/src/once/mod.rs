//! The trial of "exactly once": many clients control many sessions while the daemon is killed and started again, and what they
//! were told is held against the book that the agents keep outside of the daemon.
//!
//! A small one is among the tests, the full one is `wh-bench once`.

mod account;
mod client;
mod house;
mod line;

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

pub use account::Account;
pub use client::{Claim, Client, Message, Tries};
pub use house::{House, Target};
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
            for _ in 0..self.clients {
                scope.spawn(|| {
                    let mut one = Client::new(&socket, &token);
                    let mut other = Client::new(&socket, &token);
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= self.requests {
                            break;
                        }
                        let mut chance = Chance(self.seed ^ (number as u64) << 20);
                        let target = &targets[chance.below(targets.len())];
                        let message = Message::new(target, format!("r{number}"));
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
            self.disturb(&mut house, &ended, &progress);
            until(&ended, self.requests);
        });
        let took = start.elapsed();
        house.stop();
        house.book_closed();
        let tries = *tries.lock().expect("nobody panics");
        let (kills, sessions, clients) = (self.kills, self.sessions, self.clients);
        let mut account = Account { took, kills, sessions, clients, tries, ..Account::default() };
        first.extend(all.into_inner().expect("nobody panics"));
        account.hold(&first, &house.book());
        account
    }

    /// Kills the daemon and starts it again, at moments that chance chooses.
    fn disturb(&self, house: &mut House, ended: &AtomicUsize, progress: &impl Fn(&str)) {
        let mut chance = Chance(self.seed);
        let span = self.requests / (self.kills + 1).max(1);
        for kill in 0..self.kills {
            until(ended, kill * span + span / 4 + chance.below(span));
            // Anywhere within what a request takes, and not only when one has just ended.
            std::thread::sleep(Duration::from_micros(chance.below(20_000) as u64));
            house.kill();
            let at = ended.load(Ordering::Relaxed);
            house.start();
            progress(&format!("killed {} of {} times, the last after {at} requests", kill + 1, self.kills));
        }
    }
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
