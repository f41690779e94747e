//! `wh-bench truth`: a correctness trial. Sends messages to agents in their own terminal UI at hostile moments.

use std::io::{self, Write};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Args;
use clap::builder::PossibleValuesParser;
use wh_testkit::Lab;
use wh_testkit::interrupts::LabAgent;
use wh_testkit::truth::{HostileMoment, TruthReport, TruthTrial};

use crate::{BenchConfig, BenchResult, print_progress};

/// Constant part of the timeout of a trial. Each message adds [`SEND_TIMEOUT`].
const TRIAL_TIMEOUT: Duration = Duration::from_secs(600);

/// Time that each message adds to the timeout of the trial.
const SEND_TIMEOUT: Duration = Duration::from_secs(15);

/// Maximum number of faults that are listed on stderr for each agent.
const MAX_LISTED: usize = 50;

/// Send messages to agents in their own terminal UI at hostile moments, and check what becomes of them
///
/// Runs Claude Code, Codex and Gemini CLI one after another in the lab: a network namespace in which they can reach
/// only a scripted model. Needs the CLIs that crates/testkit/install-clis installs. Gemini CLI calls no hooks if TMPDIR
/// is in a directory that others may write.
///
/// The moments: the agent starts, is idle, works, asks or is about to ask for permission; a draft is in the composer, a
/// person types; right after Escape; a picker is open; two clients send at once; 100 KB; several lines; each first
/// character with a special meaning, with and without `literal`; a retried request id. The log of the model and the
/// transcript of the agent show what became of each message. The same moments are then used for messages that are typed
/// as text and Enter.
///
/// Tables go to stdout. The exit code is 1 if a message was lost, doubled or changed, if a receipt is wrong, or if a
/// message answered a question or touched a draft.
#[derive(Debug, Args)]
pub struct TruthCommand {
    /// Minimum number of messages for each agent
    #[arg(long, value_name = "N", default_value_t = 300)]
    sends: usize,

    /// Number of messages for each agent that are typed as text and Enter
    #[arg(long, value_name = "N", default_value_t = 25)]
    naive: usize,

    /// Seed of the random times [default: the current time]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Run only this agent; may be repeated
    #[arg(long = "agent", value_name = "AGENT", value_parser = PossibleValuesParser::new(LabAgent::ALL.map(LabAgent::id)))]
    agents: Vec<String>,

    /// Use only moments whose name contains this text; may be repeated
    #[arg(long = "moment", value_name = "TEXT")]
    moments: Vec<String>,
}

impl TruthCommand {
    pub fn run(&self, config: &BenchConfig) -> BenchResult<()> {
        let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let seed = self.seed.unwrap_or_else(now);
        match Lab::here() {
            Some(lab) => self.inside(config, &lab, seed),
            None => self.enter(config, seed),
        }
    }

    fn agents(&self) -> Vec<LabAgent> {
        let wanted = |agent: &LabAgent| self.agents.is_empty() || self.agents.iter().any(|id| id == agent.id());
        LabAgent::ALL.into_iter().filter(wanted).collect()
    }

    fn moments(&self) -> Vec<HostileMoment> {
        let wanted = |moment: &HostileMoment| {
            self.moments.is_empty() || self.moments.iter().any(|text| moment.to_string().contains(text))
        };
        HostileMoment::all().into_iter().filter(wanted).collect()
    }

    /// Runs this command again inside the lab.
    fn enter(&self, config: &BenchConfig, seed: u64) -> BenchResult<()> {
        print_progress(&format!("truth: --seed {seed}"));
        let wh = config.wh.canonicalize()?;
        let agents = self.agents();
        let mut arguments = vec![
            "truth".to_owned(),
            format!("--sends={}", self.sends),
            format!("--naive={}", self.naive),
            format!("--seed={seed}"),
        ];
        arguments.extend(agents.iter().map(|agent| format!("--agent={}", agent.id())));
        arguments.extend(self.moments.iter().map(|text| format!("--moment={text}")));
        arguments.extend(["--wh".to_owned(), wh.to_string_lossy().into_owned()]);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let sends = u32::try_from((self.sends + self.naive).saturating_mul(agents.len()))?;
        let limit = TRIAL_TIMEOUT.saturating_add(SEND_TIMEOUT.saturating_mul(sends));
        Ok(Lab::reenter(&arguments, limit, |line| {
            let _ = writeln!(io::stdout(), "{line}");
        })?)
    }

    fn inside(&self, config: &BenchConfig, lab: &Lab, seed: u64) -> BenchResult<()> {
        let mut reports = Vec::new();
        for agent in self.agents() {
            let trial = TruthTrial {
                wh: config.wh.clone(),
                agent,
                sends: self.sends,
                naive: self.naive,
                moments: self.moments(),
                seed,
            };
            reports.push(trial.run(lab, |what| print_progress(&format!("truth: {what}"))));
        }
        io::stdout().write_all(TruthReport::tables(&reports).as_bytes())?;
        for report in &reports {
            for fault in report.faults.iter().take(MAX_LISTED) {
                print_progress(&format!("FAULT: {fault}"));
            }
        }
        if reports.iter().all(|report| report.verified.faults() == 0) {
            Ok(())
        } else {
            Err("a message did not arrive as its receipt says, or did harm; see the table".into())
        }
    }
}
