//! `wh-bench once`: no measurement, but a trial. Is every control message carried out once, whatever happens to the daemon?

use std::io::{self, Write};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use wh_testkit::once::Plan;

use crate::{Outcome, Setting, say};

/// Try that control messages are carried out once, while the daemon is killed
///
/// Clients send requests to sessions of a daemon in a home of its own, a tenth of them twice, and insist under the same
/// request_id; the daemon is killed (SIGKILL) and started again at random moments. The agents keep a book of what they
/// were told. In the end what was acknowledged is held against the book: nothing may be there twice, and nothing that was
/// acknowledged with `ok` may be absent. A table goes to stdout. Needs python3.
#[derive(Debug, Args)]
pub struct Once {
    /// How many requests
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    requests: usize,

    /// From how many clients at once
    #[arg(long, value_name = "N", default_value_t = 16)]
    clients: usize,

    /// To how many sessions
    #[arg(long, value_name = "N", default_value_t = 24)]
    sessions: usize,

    /// How often the daemon is killed
    #[arg(long, value_name = "N", default_value_t = 10)]
    kills: usize,

    /// What chance is drawn from [default: the time]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

impl Once {
    pub fn run(&self, setting: &Setting) -> Outcome<()> {
        let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let seed = self.seed.unwrap_or_else(now);
        say(&format!("once: --seed {seed}"));
        let Self { requests, clients, sessions, kills, .. } = *self;
        let plan = Plan { wh: setting.wh.clone(), requests, clients, sessions, kills, seed };
        let account = plan.run(|what| say(&format!("once: {what}")));
        io::stdout().write_all(account.to_string().as_bytes())?;
        for fault in account.faults.iter().take(50) {
            say(&format!("FAULT: {fault}"));
        }
        if account.faults.is_empty() { Ok(()) } else { Err("not everything was as it was said to be".into()) }
    }
}
