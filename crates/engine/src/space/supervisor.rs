//! Forwards the reports of an agent, and supervises its end: kills an agent that does not end when asked to.

use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};
use tracing::warn;
use wh_agents::interface::ForceStop;
use wh_core::space::ParticipantId;
use wh_core::space::harness::Report;

/// Time for an agent to end gracefully: the harness first stops the agent's work, and then waits for its exit.
const AGENT_END_GRACE: Duration = Duration::from_secs(9);

/// Time for the harness to report the end of an agent after the agent was killed.
const KILL_REPORT_TIMEOUT: Duration = Duration::from_secs(3);

/// Reason reported for the end of an agent that had to be killed.
const KILLED_REASON: &str = "the agent did not end when asked to, and was killed";

/// Urgency of ending an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum EndUrgency {
    None,
    /// End the agent gracefully, within [`AGENT_END_GRACE`].
    Soon,
    /// Kill the agent immediately.
    Now,
}

/// Raises the urgency to `wanted`; never lowers it.
pub(super) fn raise(urgency: &watch::Sender<EndUrgency>, wanted: EndUrgency) {
    urgency.send_if_modified(|urgency| {
        let more = wanted > *urgency;
        *urgency = wanted.max(*urgency);
        more
    });
}

/// Step that follows when the current deadline passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EndEscalation {
    Kill,
    Abort,
}

/// Forwards an agent's reports until the channel of reports closes, and always reports the agent's end. Dropping the
/// sender of `urgency` is a request to end the agent soon.
pub(super) async fn supervise(
    mut reports: mpsc::Receiver<Report>,
    force: ForceStop,
    mut urgency: watch::Receiver<EndUrgency>,
    (reporter, id, generation): (mpsc::Sender<(ParticipantId, u64, Report)>, ParticipantId, u64),
) {
    let (mut requested, mut was_killed, mut gone_reported, mut urgency_open) = (false, false, false, true);
    let mut until: Option<(Instant, EndEscalation)> = None;
    loop {
        let wanted = tokio::select! {
            report = reports.recv() => {
                let Some(report) = report else { break };
                let report = match report {
                    Report::Gone(why) => {
                        gone_reported = true;
                        // The agent may have ended because of a request that this task has not processed yet.
                        requested |= *urgency.borrow() > EndUrgency::None;
                        Report::Gone(end_reason(why, requested, was_killed))
                    }
                    other => other,
                };
                // If the space has ended, this send fails and the agent ends too. Its reports are read until then.
                let _ = reporter.send((id.clone(), generation, report)).await;
                continue;
            }
            changed = urgency.changed(), if urgency_open => match changed {
                Ok(()) => *urgency.borrow_and_update(),
                Err(_) => {
                    urgency_open = false;
                    EndUrgency::Soon
                }
            },
            next = escalation_due(until) => {
                warn!(%id, ?next, "an agent does not end in time");
                was_killed = was_killed || !is_immediate(&urgency);
                match next {
                    EndEscalation::Kill => EndUrgency::Now,
                    EndEscalation::Abort => {
                        force.abort();
                        break;
                    }
                }
            }
        };
        match wanted {
            EndUrgency::None => {}
            EndUrgency::Soon if until.is_some() => {}
            EndUrgency::Soon => {
                (requested, until) = (true, Some((Instant::now() + AGENT_END_GRACE, EndEscalation::Kill)))
            }
            EndUrgency::Now => {
                (requested, until) = (true, Some((Instant::now() + KILL_REPORT_TIMEOUT, EndEscalation::Abort)));
                force.kill();
            }
        }
    }
    if !gone_reported {
        requested |= *urgency.borrow() > EndUrgency::None;
        let why = Some("the agent ended unexpectedly".to_owned());
        let _ = reporter.send((id, generation, Report::Gone(end_reason(why, requested, was_killed)))).await;
    }
}

/// Returns the reason for the agent's end: [`KILLED_REASON`] if the agent had to be killed, `None` if its end was
/// requested, otherwise the reported reason `why`.
fn end_reason(why: Option<String>, requested: bool, was_killed: bool) -> Option<String> {
    match (requested, was_killed) {
        (_, true) => Some(KILLED_REASON.to_owned()),
        (true, false) => None,
        (false, false) => why,
    }
}

fn is_immediate(urgency: &watch::Receiver<EndUrgency>) -> bool {
    *urgency.borrow() == EndUrgency::Now
}

async fn escalation_due(until: Option<(Instant, EndEscalation)>) -> EndEscalation {
    match until {
        Some((at, next)) => {
            sleep_until(at).await;
            next
        }
        None => std::future::pending().await,
    }
}
