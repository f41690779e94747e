//! Implements `wh explain`, which shows the state of each agent and its evidence.

use std::process::ExitCode;

use clap::Args;
use wh_wire::control::{AgentSession, ClientState};

use crate::failure::{API_CODES, CliFailure, with_exit_codes};
use crate::print::clean_line;
use crate::target::TargetArguments;

/// Show what an agent does, and the evidence for it
///
/// Prints one line for each agent: its state, the time since when, and the observations that prove it. A protocol reports
/// the state itself. For an agent in its own terminal UI, the line names hooks, transcript, title and screen, the most
/// reliable first, and the reason why a message waits. --json prints the same as `sessions` of the state.
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes("  wh explain a\n  wh explain --port 9090", API_CODES))]
pub struct ExplainCommand {
    /// Session name or id [default: the only run or session]
    #[arg(value_name = "SESSION")]
    named: Option<String>,

    #[command(flatten)]
    target: TargetArguments,
}

impl ExplainCommand {
    pub fn run(self) -> Result<ExitCode, CliFailure> {
        let target = self.target.with_session(self.named)?;
        target.get("state", &[])?.show(target.json, |state: ClientState| match &state.sessions {
            Some(agents) if !agents.is_empty() => {
                agents.iter().map(|(name, agent)| format!("{}\n", clean_line(&line(name, agent)))).collect()
            }
            _ => "this is a terminal program, not an agent; its state is that of its process (`wh state`)\n".to_owned(),
        })
    }
}

/// Describes an agent: name, state, time, evidence and the reason for which a message waits.
fn line(name: &str, agent: &AgentSession) -> String {
    let proof = match &agent.observation {
        Some(observation) => observation.clone(),
        None => format!("reported by {}", agent.evidence),
    };
    let waits =
        agent.waits_for.as_ref().map(|reason| format!("; the next message waits: {reason}")).unwrap_or_default();
    format!("{name}: {} since {}: {proof}{waits}", agent.status, agent.since)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_state_time_evidence_and_the_reason_to_wait() {
        let agent = AgentSession {
            status: "working".to_owned(),
            evidence: "hook".to_owned(),
            observation: Some("prompt hook; title: working".to_owned()),
            waits_for: Some("a draft is in the composer".to_owned()),
            since: "2026-11-19T23:00:00Z".to_owned(),
            turn: None,
            question: None,
            reason: None,
            model: None,
            mode: None,
            usage: None,
            last_turn: None,
        };
        let expected = "claude: working since 2026-11-19T23:00:00Z: prompt hook; title: working; the next message waits: \
                        a draft is in the composer";
        assert_eq!(line("claude", &agent), expected);
        let reported = AgentSession { observation: None, waits_for: None, evidence: "protocol".to_owned(), ..agent };
        assert_eq!(line("codex", &reported), "codex: working since 2026-11-19T23:00:00Z: reported by protocol");
    }
}
