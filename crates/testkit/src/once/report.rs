//! Compares acknowledgements with the log of deliveries.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::time::Duration;

use super::client::{DeliveryClaim, RetryCounts, TrialMessage};

/// Result of an exactly-once trial: counts of requests and outcomes, and violations.
#[derive(Debug, Clone, Default)]
pub struct DeliveryReport {
    /// Duration of the trial.
    pub took: Duration,
    /// Number of times that the daemon was killed.
    pub kills: usize,
    pub sessions: usize,
    pub clients: usize,
    /// Number of distinct requests.
    pub requests: usize,
    /// Number of requests that were deliberately sent twice.
    pub repeated: usize,
    /// Counts of attempts and errors of all clients.
    pub tries: RetryCounts,
    /// Number of requests that were acknowledged with `ok`.
    pub arrived: usize,
    /// Number of acknowledged requests for which all received acknowledgements report a duplicate.
    pub duplicates: usize,
    /// Number of acknowledged requests that were typed into terminals.
    pub typed: usize,
    /// Acknowledged messages that a kill of the daemon cut off, according to their receipts: total number, and number
    /// of delivered messages.
    pub cut_off: (usize, usize),
    /// Acknowledged lines typed into programs that were killed with the daemon: total number, and number of lines that
    /// the programs read.
    pub lost_programs: (usize, usize),
    /// Number of user messages in the histories of the sessions.
    pub history: usize,
    /// Requests with unknown outcome, by reason: total number, and number of delivered requests.
    pub unknown: BTreeMap<String, (usize, usize)>,
    /// Number of requests that were not executed, by reason.
    pub not_executed: BTreeMap<String, usize>,
    /// Descriptions of requests that violate exactly-once delivery.
    pub faults: Vec<String>,
}

/// Receipts and histories at the end of the trial, before the daemon is stopped.
#[derive(Debug, Clone, Default)]
pub struct TrialOutcome {
    /// Final stage of the receipt of each message, by request id: `finished`, the failure code, or `not final`.
    pub receipts: HashMap<String, String>,
    /// Ids of the terminal sessions whose program was not killed.
    pub living: HashSet<String>,
    /// Request ids of the messages in the history of each session.
    pub histories: HashMap<String, Vec<String>>,
}

impl DeliveryReport {
    /// Compares all acknowledgements, receipts and histories with the log of deliveries. A request that was sent twice
    /// has two entries in its list of claims.
    pub fn check(
        &mut self,
        claims: &[(TrialMessage, Vec<DeliveryClaim>)],
        deliveries: &HashMap<String, Vec<String>>,
        ends: &TrialOutcome,
    ) {
        self.requests = claims.len();
        self.repeated = claims.iter().filter(|(_, claims)| claims.len() > 1).count();
        let names: HashSet<&str> = claims.iter().map(|(message, _)| &*message.request_id).collect();
        for name in deliveries.keys().filter(|name| !names.contains(name.as_str())) {
            self.faults.push(format!("{name} was delivered but never sent"));
        }
        let nobody = Vec::new();
        for (message, claims) in claims {
            let name = &message.request_id;
            let delivered = deliveries.get(name).unwrap_or(&nobody);
            if delivered.len() > 1 {
                self.faults.push(format!("{name} was delivered {} times: {claims:?}", delivered.len()));
            }
            if delivered.iter().any(|session| *session != message.target.session_id) {
                self.faults.push(format!("{name} was delivered to the wrong session {delivered:?}"));
            }
            self.check_message(message, claims, !delivered.is_empty(), ends);
        }
        for (session, names) in &ends.histories {
            self.history += names.len();
            let mut seen = HashSet::new();
            for name in names {
                if !seen.insert(name) {
                    self.faults.push(format!("{name} occurs twice in the history of {session}"));
                }
                let cut_off = ends.receipts.get(name).is_some_and(|end| end == "cut_off");
                if !deliveries.contains_key(name) && !cut_off {
                    self.faults.push(format!("{name} is in the history of {session} but was not delivered"));
                }
            }
        }
    }

    fn check_message(&mut self, message: &TrialMessage, claims: &[DeliveryClaim], present: bool, ends: &TrialOutcome) {
        let name = &message.request_id;
        let arrived: Vec<bool> = claims
            .iter()
            .filter_map(|claim| match claim {
                DeliveryClaim::Arrived { duplicate } => Some(*duplicate),
                _ => None,
            })
            .collect();
        if !arrived.is_empty() {
            self.arrived += 1;
            self.duplicates += usize::from(arrived.iter().all(|duplicate| *duplicate));
            if arrived.iter().filter(|duplicate| !**duplicate).count() > 1 {
                self.faults.push(format!("{name} was acknowledged as new twice: {claims:?}"));
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
                    self.faults.push(format!("{name} was acknowledged but not delivered: {claims:?}, {end:?}"))
                }
                Some("finished") => {}
                _ if message.typed => {}
                _ => self.faults.push(format!("{name} was delivered but its receipt reports {end:?}")),
            }
            return;
        }
        let unknown = claims.iter().find_map(|claim| match claim {
            DeliveryClaim::Unknown(why) => Some(why),
            _ => None,
        });
        if let Some(why) = unknown {
            if ends.receipts.get(name).is_some_and(|end| end == "finished") {
                self.faults.push(format!("{name} was reported as cut off but delivered later: {claims:?}"));
            }
            let (all, there) = self.unknown.entry(why.clone()).or_default();
            *all += 1;
            *there += usize::from(present);
            return;
        }
        for claim in claims {
            if let DeliveryClaim::NotExecuted(why) = claim {
                *self.not_executed.entry(why.clone()).or_default() += 1;
                if present {
                    self.faults.push(format!("{name} was rejected but delivered: {claims:?}"));
                }
                return;
            }
        }
        self.faults.push(format!("{name} was never sent"));
    }
}

impl fmt::Display for DeliveryReport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut row = |what: &str, count: &dyn fmt::Display| writeln!(formatter, "| {what} | {count} |");
        row("", &"")?;
        row("---", &"---")?;
        row("requests", &self.requests)?;
        row("of these, deliberately sent twice", &self.repeated)?;
        row("clients", &self.clients)?;
        row("sessions", &self.sessions)?;
        row("kills of the daemon", &self.kills)?;
        row("seconds", &format!("{:.1}", self.took.as_secs_f64()))?;
        row("messages sent, including retries", &self.tries.sent)?;
        row("answered `busy`, and retried", &self.tries.busy)?;
        row("answered `timeout`, and retried", &self.tries.timeout)?;
        row("answered with a transient `internal_error`, and retried", &self.tries.internal_error)?;
        row("connections broken or refused, and retried", &self.tries.broken)?;
        row("**acknowledged with `ok`**", &self.arrived)?;
        row("of these, only a retry was acknowledged", &self.duplicates)?;
        row("of these, typed into terminals", &self.typed)?;
        let two = |(all, there): (usize, usize)| format!("{all} ({there} delivered)");
        row("acknowledged, then cut off by a kill (`failed`, `cut_off`)", &two(self.cut_off))?;
        row("typed into a program that was killed with the daemon", &two(self.lost_programs))?;
        row("messages in the histories, each delivered", &self.history)?;
        for (why, (all, there)) in &self.unknown {
            row(&format!("**delivery unknown** ({why})"), all)?;
            row("of these, delivered", there)?;
        }
        for (why, count) in &self.not_executed {
            row(&format!("**not executed** ({why})"), count)?;
        }
        row("**delivered twice, lost, or wrongly acknowledged**", &self.faults.len())
    }
}

#[cfg(test)]
mod tests {
    use super::super::trial_daemon::TrialTarget;
    use super::*;

    fn message(name: &str) -> TrialMessage {
        let target = TrialTarget { session_id: "s".to_owned(), agent_id: "once:s".to_owned() };
        TrialMessage {
            target,
            request_id: name.to_owned(),
            prefix: String::new(),
            sent_at: String::new(),
            typed: false,
        }
    }

    fn faults(claims: Vec<DeliveryClaim>, delivered: &[&str]) -> Vec<String> {
        let deliveries = HashMap::from([("r".to_owned(), delivered.iter().map(ToString::to_string).collect())]);
        let mut report = DeliveryReport::default();
        let arrived = claims.iter().any(|claim| matches!(claim, DeliveryClaim::Arrived { .. }));
        let end = if arrived { "finished" } else { "cut_off" };
        let receipts = HashMap::from([("r".to_owned(), end.to_owned())]);
        report.check(&[(message("r"), claims)], &deliveries, &TrialOutcome { receipts, ..TrialOutcome::default() });
        report.faults
    }

    #[test]
    fn receipts_and_histories_are_compared_with_the_deliveries() {
        let faults = |end: &str, history: &[&str], delivered: bool| {
            let deliveries: HashMap<_, _> =
                delivered.then(|| ("r".to_owned(), vec!["s".to_owned()])).into_iter().collect();
            let receipts = HashMap::from([("r".to_owned(), end.to_owned())]);
            let histories = HashMap::from([("s".to_owned(), history.iter().map(ToString::to_string).collect())]);
            let mut report = DeliveryReport::default();
            let claims = [(message("r"), vec![DeliveryClaim::Arrived { duplicate: false }])];
            report.check(&claims, &deliveries, &TrialOutcome { receipts, histories, ..TrialOutcome::default() });
            report.faults.len()
        };
        assert_eq!(faults("finished", &["r"], true), 0);
        assert_eq!(faults("cut_off", &["r"], false), 0);
        assert_eq!(faults("accepted", &[], false), 1, "never handed over");
        assert_eq!(faults("failed", &[], true), 1, "the receipt is wrong");
        assert_eq!(faults("finished", &["r", "r"], true), 1, "twice in the history");
        assert_eq!(faults("finished", &["r", "x"], true), 1, "not handed over");
    }

    #[test]
    fn claims_are_compared_with_the_deliveries() {
        let new = DeliveryClaim::Arrived { duplicate: false };
        let again = DeliveryClaim::Arrived { duplicate: true };
        let (unknown, nothing) =
            (DeliveryClaim::Unknown("cut_off".to_owned()), DeliveryClaim::NotExecuted("not_live".to_owned()));
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
