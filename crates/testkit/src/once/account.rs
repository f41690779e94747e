//! What was claimed, held against the agents' book.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::time::Duration;

use super::client::{Claim, Message, Tries};

/// The account of a trial.
#[derive(Debug, Clone, Default)]
pub struct Account {
    /// How long it took.
    pub took: Duration,
    /// How often the daemon was killed.
    pub kills: usize,
    /// Sessions that took part.
    pub sessions: usize,
    /// Clients that did.
    pub clients: usize,
    /// Different requests.
    pub requests: usize,
    /// Of these, how many were sent a second time on purpose.
    pub repeated: usize,
    /// What clients heard on the way.
    pub tries: Tries,
    /// Requests that were acknowledged with `ok`.
    pub arrived: usize,
    /// Of these, how many only when they were asked for again.
    pub duplicates: usize,
    /// Of these, how many were typed into terminals.
    pub typed: usize,
    /// Acknowledged messages whose receipt says that a kill cut them off after they were handed over: how many, and how many
    /// had arrived.
    pub cut_off: (usize, usize),
    /// Acknowledged lines that were typed into programs which a kill ended: how many, and how many those had read.
    pub lost_programs: (usize, usize),
    /// Messages of people in the histories of the sessions.
    pub history: usize,
    /// Requests of which it was said that nobody knows, by what was said: how many of them, and how many had arrived.
    pub unknown: BTreeMap<String, (usize, usize)>,
    /// Requests of which it was said that nothing was done, by what was said.
    pub nothing: BTreeMap<String, usize>,
    /// What must not be, in words.
    pub faults: Vec<String>,
}

/// Receipts and histories at the end of the trial, before the daemon is stopped.
#[derive(Debug, Clone, Default)]
pub struct Ends {
    /// The last stage of each acknowledged message, by its name: `finished`, or the code of its failure.
    pub receipts: HashMap<String, String>,
    /// Terminal sessions whose program was never killed.
    pub living: HashSet<String>,
    /// Names of the messages in the history of each session.
    pub histories: HashMap<String, Vec<String>>,
}

impl Account {
    /// Holds all claims about all requests, and what the daemon says in the end, against the book. A request may have been
    /// sent twice, and so have two claims.
    pub fn hold(&mut self, claims: &[(Message, Vec<Claim>)], book: &HashMap<String, Vec<String>>, ends: &Ends) {
        self.requests = claims.len();
        self.repeated = claims.iter().filter(|(_, claims)| claims.len() > 1).count();
        let names: HashSet<&str> = claims.iter().map(|(message, _)| &*message.request_id).collect();
        for name in book.keys().filter(|name| !names.contains(name.as_str())) {
            self.faults.push(format!("{name} was delivered, and nobody had sent it"));
        }
        let nobody = Vec::new();
        for (message, claims) in claims {
            let name = &message.request_id;
            let delivered = book.get(name).unwrap_or(&nobody);
            if delivered.len() > 1 {
                self.faults.push(format!("{name} was delivered {} times: {claims:?}", delivered.len()));
            }
            if delivered.iter().any(|session| *session != message.target.session_id) {
                self.faults.push(format!("{name} went astray to {delivered:?}"));
            }
            self.hold_one(message, claims, !delivered.is_empty(), ends);
        }
        for (session, names) in &ends.histories {
            self.history += names.len();
            let mut seen = HashSet::new();
            for name in names {
                if !seen.insert(name) {
                    self.faults.push(format!("{name} is twice in the history of {session}"));
                }
                let cut_off = ends.receipts.get(name).is_some_and(|end| end == "cut_off");
                if !book.contains_key(name) && !cut_off {
                    self.faults.push(format!("{name} is in the history of {session} and was not handed over"));
                }
            }
        }
    }

    fn hold_one(&mut self, message: &Message, claims: &[Claim], present: bool, ends: &Ends) {
        let name = &message.request_id;
        let arrived: Vec<bool> = claims
            .iter()
            .filter_map(|claim| match claim {
                Claim::Arrived { duplicate } => Some(*duplicate),
                _ => None,
            })
            .collect();
        if !arrived.is_empty() {
            self.arrived += 1;
            self.duplicates += usize::from(arrived.iter().all(|duplicate| *duplicate));
            if arrived.iter().filter(|duplicate| !**duplicate).count() > 1 {
                self.faults.push(format!("{name} was said to be new twice: {claims:?}"));
            }
            let end = ends.receipts.get(name).map(String::as_str);
            let count = |(all, there): &mut (usize, usize)| {
                *all += 1;
                *there += usize::from(present);
            };
            self.typed += usize::from(message.typed);
            match end {
                _ if message.typed && !ends.living.contains(&message.target.session_id) => {
                    count(&mut self.lost_programs)
                }
                Some("cut_off") => count(&mut self.cut_off),
                _ if !present => {
                    self.faults.push(format!("{name} was acknowledged and is absent: {claims:?}, {end:?}"))
                }
                Some("finished") => {}
                _ if message.typed => {}
                _ => self.faults.push(format!("{name} was delivered, and its receipt says {end:?}")),
            }
            return;
        }
        let unknown = claims.iter().find_map(|claim| match claim {
            Claim::Unknown(why) => Some(why),
            _ => None,
        });
        if let Some(why) = unknown {
            if ends.receipts.get(name).is_some_and(|end| end == "finished") {
                self.faults.push(format!("{name} was said to be cut off, and was delivered later: {claims:?}"));
            }
            let (all, there) = self.unknown.entry(why.clone()).or_default();
            *all += 1;
            *there += usize::from(present);
            return;
        }
        for claim in claims {
            if let Claim::Nothing(why) = claim {
                *self.nothing.entry(why.clone()).or_default() += 1;
                if present {
                    self.faults.push(format!("{name} was delivered though nothing was done: {claims:?}"));
                }
                return;
            }
        }
        self.faults.push(format!("{name} was never sent"));
    }
}

impl fmt::Display for Account {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut row = |what: &str, count: &dyn fmt::Display| writeln!(formatter, "| {what} | {count} |");
        row("", &"")?;
        row("---", &"---")?;
        row("requests", &self.requests)?;
        row("of these sent twice on purpose", &self.repeated)?;
        row("clients", &self.clients)?;
        row("sessions", &self.sessions)?;
        row("the daemon was killed", &self.kills)?;
        row("seconds", &format!("{:.1}", self.took.as_secs_f64()))?;
        row("messages sent, with all retries", &self.tries.sent)?;
        row("answered `busy`, and sent again", &self.tries.busy)?;
        row("answered `timeout`, and sent again", &self.tries.timeout)?;
        row("answered `internal_error` that may pass, and sent again", &self.tries.troubled)?;
        row("connections broken or refused, and sent again", &self.tries.broken)?;
        row("**acknowledged with `ok`**", &self.arrived)?;
        row("of these as a repetition only", &self.duplicates)?;
        row("of these typed into terminals", &self.typed)?;
        let two = |(all, there): (usize, usize)| format!("{all} ({there} in the book)");
        row("acknowledged, then cut off by a kill (`failed`, `cut_off`)", &two(self.cut_off))?;
        row("typed into a program that a kill ended", &two(self.lost_programs))?;
        row("messages in the histories, each handed over", &self.history)?;
        for (why, (all, there)) in &self.unknown {
            row(&format!("**not known whether it arrived** ({why})"), all)?;
            row("of these in the agent's book", there)?;
        }
        for (why, count) in &self.nothing {
            row(&format!("**nothing was done** ({why})"), count)?;
        }
        row("**delivered twice, lost, or otherwise than was said**", &self.faults.len())
    }
}

#[cfg(test)]
mod tests {
    use super::super::house::Target;
    use super::*;

    fn message(name: &str) -> Message {
        let target = Target { session_id: "s".to_owned(), agent_id: "once:s".to_owned() };
        Message { target, request_id: name.to_owned(), prefix: String::new(), sent_at: String::new(), typed: false }
    }

    fn faults(claims: Vec<Claim>, delivered: &[&str]) -> Vec<String> {
        let book = HashMap::from([("r".to_owned(), delivered.iter().map(ToString::to_string).collect())]);
        let mut account = Account::default();
        let arrived = claims.iter().any(|claim| matches!(claim, Claim::Arrived { .. }));
        let end = if arrived { "finished" } else { "cut_off" };
        let receipts = HashMap::from([("r".to_owned(), end.to_owned())]);
        account.hold(&[(message("r"), claims)], &book, &Ends { receipts, ..Ends::default() });
        account.faults
    }

    #[test]
    fn receipts_and_histories_are_held_against_the_book_too() {
        let faults = |end: &str, history: &[&str], delivered: bool| {
            let book: HashMap<_, _> = delivered.then(|| ("r".to_owned(), vec!["s".to_owned()])).into_iter().collect();
            let receipts = HashMap::from([("r".to_owned(), end.to_owned())]);
            let histories = HashMap::from([("s".to_owned(), history.iter().map(ToString::to_string).collect())]);
            let mut account = Account::default();
            let claims = [(message("r"), vec![Claim::Arrived { duplicate: false }])];
            account.hold(&claims, &book, &Ends { receipts, histories, ..Ends::default() });
            account.faults.len()
        };
        assert_eq!(faults("finished", &["r"], true), 0);
        assert_eq!(faults("cut_off", &["r"], false), 0);
        assert_eq!(faults("accepted", &[], false), 1, "never handed over");
        assert_eq!(faults("failed", &[], true), 1, "the receipt is wrong");
        assert_eq!(faults("finished", &["r", "r"], true), 1, "twice in the history");
        assert_eq!(faults("finished", &["r", "x"], true), 1, "not handed over");
    }

    #[test]
    fn what_was_claimed_is_held_against_the_book() {
        let new = Claim::Arrived { duplicate: false };
        let again = Claim::Arrived { duplicate: true };
        let (unknown, nothing) = (Claim::Unknown("cut_off".to_owned()), Claim::Nothing("not_live".to_owned()));
        let none: Vec<String> = Vec::new();
        assert_eq!(faults(vec![new.clone(), again.clone()], &["s"]), none);
        assert_eq!(faults(vec![unknown.clone()], &["s"]), none);
        assert_eq!(faults(vec![unknown], &[]), none);
        assert_eq!(faults(vec![nothing.clone()], &[]), none);
        assert_eq!(faults(vec![nothing.clone(), again.clone()], &["s"]), none);
        assert_eq!(faults(vec![again], &["s", "s"]).len(), 1, "twice");
        assert_eq!(faults(vec![new.clone(), new.clone()], &["s"]).len(), 1, "new twice");
        assert_eq!(faults(vec![new.clone()], &[]).len(), 1, "lost");
        assert_eq!(faults(vec![new], &["t"]).len(), 1, "astray");
        assert_eq!(faults(vec![nothing], &["s"]).len(), 1, "done though not");
        assert_eq!(faults(vec![], &[]).len(), 1, "never sent");
    }
}
