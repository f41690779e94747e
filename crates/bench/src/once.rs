//! `wh-bench once`: a correctness trial. Checks that every control message is executed exactly once, even if the daemon
//! is killed.

use std::io::{self, Write};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use wh_testkit::once::ExactlyOnceTrial;

use crate::{BenchConfig, BenchResult, print_progress};

/// Check that control messages are executed exactly once while the daemon is killed repeatedly
///
/// Clients send requests to sessions of a daemon with a temporary home. A tenth of the requests are sent twice.
/// Requests without a response are retried with the same request_id. The daemon is killed (SIGKILL) and started again
/// at random moments. The agents log every message that they receive. At the end the acknowledgements are compared with
/// the logs: no message may be logged twice, and every message that was acknowledged with `ok` must be logged. A table
/// goes to stdout. Needs python3.
#[derive(Debug, Args)]
pub struct ExactlyOnceCommand {
    /// Number of requests
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    requests: usize,

    /// Number of concurrent clients
    #[arg(long, value_name = "N", default_value_t = 16)]
    clients: usize,

    /// Number of sessions
    #[arg(long, value_name = "N", default_value_t = 24)]
    sessions: usize,

    /// Number of times that the daemon is killed
    #[arg(long, value_name = "N", default_value_t = 10)]
    kills: usize,

    /// Seed of the random choices [default: the current time]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

impl ExactlyOnceCommand {
    pub fn run(&self, config: &BenchConfig) -> BenchResult<()> {
        let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let seed = self.seed.unwrap_or_else(now);
        print_progress(&format!("once: --seed {seed}"));
        let Self { requests, clients, sessions, kills, .. } = *self;
        let plan = ExactlyOnceTrial { wh: config.wh.clone(), requests, clients, sessions, kills, seed };
        let account = plan.run(|what| print_progress(&format!("once: {what}")));
        io::stdout().write_all(account.to_string().as_bytes())?;
        for fault in account.faults.iter().take(50) {
            print_progress(&format!("FAULT: {fault}"));
        }
        if account.faults.is_empty() {
            Ok(())
        } else {
            Err("the acknowledgements do not match the logs of the agents".into())
        }
    }
}
