//! `wh-bench interrupts`: a correctness trial. Compares the receipts of interrupted prompts with the log of the model.

use std::io::{self, Write};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Args;
use clap::builder::PossibleValuesParser;
use wh_testkit::Lab;
use wh_testkit::interrupts::{InterruptReport, InterruptTrial, LabAgent};

use crate::{BenchConfig, BenchResult, print_progress};

/// Constant part of the timeout of a trial. Each round adds [`ROUND_TIMEOUT`].
const TRIAL_TIMEOUT: Duration = Duration::from_secs(600);

/// Time that each round adds to the timeout of the trial.
const ROUND_TIMEOUT: Duration = Duration::from_secs(3);

/// Maximum number of contradictions that are listed on stderr for each agent.
const MAX_LISTED: usize = 50;

/// Check the receipts of interrupted prompts against the log of the model
///
/// Runs Claude Code, Codex and Gemini CLI one after another in the lab: a network namespace in which they can reach
/// only a scripted model. Needs the CLIs that crates/testkit/install-clis installs.
///
/// Each round sends a prompt and an interrupt over HTTP, each with its own request_id. The interrupt follows the prompt
/// after a random time of at most 200 ms, and immediately in a third of the rounds. In a fifth of the rounds the answer
/// is short and ends at about the time of the interrupt. When both receipts are final, the trial compares them with the
/// log of the model. The log shows whether the model received the prompt once, and whether its answer was complete.
///
/// Tables go to stdout. The exit code is 1 if any receipt or notice contradicts the log.
#[derive(Debug, Args)]
pub struct InterruptsCommand {
    /// Number of prompts for each agent, each with one interrupt
    #[arg(long, value_name = "N", default_value_t = 500)]
    rounds: usize,

    /// Seed of the random times [default: the current time]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Run only this agent; may be repeated
    #[arg(long = "agent", value_name = "AGENT", value_parser = PossibleValuesParser::new(LabAgent::ALL.map(LabAgent::id)))]
    agents: Vec<String>,
}

impl InterruptsCommand {
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

    /// Runs this command again inside the lab.
    fn enter(&self, config: &BenchConfig, seed: u64) -> BenchResult<()> {
        print_progress(&format!("interrupts: --seed {seed}"));
        let wh = config.wh.canonicalize()?;
        let agents = self.agents();
        let mut arguments =
            vec!["interrupts".to_owned(), format!("--rounds={}", self.rounds), format!("--seed={seed}")];
        arguments.extend(agents.iter().map(|agent| format!("--agent={}", agent.id())));
        arguments.extend(["--wh".to_owned(), wh.to_string_lossy().into_owned()]);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let rounds = u32::try_from(self.rounds.saturating_mul(agents.len()))?;
        let limit = TRIAL_TIMEOUT.saturating_add(ROUND_TIMEOUT.saturating_mul(rounds));
        Ok(Lab::reenter(&arguments, limit, |line| {
            let _ = writeln!(io::stdout(), "{line}");
        })?)
    }

    fn inside(&self, config: &BenchConfig, lab: &Lab, seed: u64) -> BenchResult<()> {
        let mut reports = Vec::new();
        for agent in self.agents() {
            let trial = InterruptTrial { wh: config.wh.clone(), agent, rounds: self.rounds, seed };
            reports.push(trial.run(lab, |what| print_progress(&format!("interrupts: {what}"))));
        }
        io::stdout().write_all(InterruptReport::tables(&reports).as_bytes())?;
        for report in &reports {
            for (contradiction, round) in report.contradictions.iter().take(MAX_LISTED) {
                print_progress(&format!("CONTRADICTION: {contradiction}: {round}"));
            }
            for (notice, times) in &report.notices {
                print_progress(&format!("notice of {}, {times} times: {notice}", report.agent.title()));
            }
        }
        let found: usize = reports.iter().map(|report| report.contradictions.len()).sum();
        if found == 0 {
            Ok(())
        } else {
            Err(format!("{found} contradictions between receipts and the log of the model; see the list above").into())
        }
    }
}
