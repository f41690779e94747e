//! Who hears an agent, and sees to its end: one that was told to end and does not is killed.

use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};
use tracing::warn;
use wh_agents::port::Force;
use wh_core::space::ParticipantId;
use wh_core::space::harness::Report;

/// How long an agent may take to end in steps. Its harness lets it stop its work first, and then end by itself.
const GRACE: Duration = Duration::from_secs(9);

/// How long its harness may take to see that it was killed.
const AFTERMATH: Duration = Duration::from_secs(3);

/// What is said of one that had to be killed.
const KILLED: &str = "it did not end when it was told to, and was killed";

/// How soon an agent is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Haste {
    /// It is not to end.
    None,
    /// In steps, and within [`GRACE`].
    Soon,
    /// At once.
    Now,
}

/// Makes it more urgent, never less.
pub(super) fn hurry(haste: &watch::Sender<Haste>, wanted: Haste) {
    haste.send_if_modified(|haste| {
        let more = wanted > *haste;
        *haste = wanted.max(*haste);
        more
    });
}

/// What is done when its time is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Kill,
    Abort,
}

/// Passes on what an agent says until nothing of it is left; that it is gone is said in any case. Who drops the other end
/// of `haste` wants it to end soon.
pub(super) async fn hear(
    mut reports: mpsc::Receiver<Report>,
    force: Force,
    mut haste: watch::Receiver<Haste>,
    (reporter, id, came): (mpsc::Sender<(ParticipantId, u64, Report)>, ParticipantId, u64),
) {
    let (mut asked, mut late, mut said_so, mut heeds) = (false, false, false, true);
    let mut until: Option<(Instant, Next)> = None;
    loop {
        let wanted = tokio::select! {
            report = reports.recv() => {
                let Some(report) = report else { break };
                let report = match report {
                    Report::Gone(why) => {
                        said_so = true;
                        // It may have heeded it sooner than we have.
                        asked |= *haste.borrow() > Haste::None;
                        Report::Gone(end(why, asked, late))
                    }
                    other => other,
                };
                // Where nobody hears it any more it ends, and that is waited for.
                let _ = reporter.send((id.clone(), came, report)).await;
                continue;
            }
            changed = haste.changed(), if heeds => match changed {
                Ok(()) => *haste.borrow_and_update(),
                Err(_) => {
                    heeds = false;
                    Haste::Soon
                }
            },
            next = time_is_over(until) => {
                warn!(%id, ?next, "an agent does not end");
                late = late || !asked_for_now(&haste);
                match next {
                    Next::Kill => Haste::Now,
                    Next::Abort => {
                        force.abort();
                        break;
                    }
                }
            }
        };
        match wanted {
            Haste::None => {}
            Haste::Soon if until.is_some() => {}
            Haste::Soon => (asked, until) = (true, Some((Instant::now() + GRACE, Next::Kill))),
            Haste::Now => {
                (asked, until) = (true, Some((Instant::now() + AFTERMATH, Next::Abort)));
                force.kill();
            }
        }
    }
    if !said_so {
        asked |= *haste.borrow() > Haste::None;
        let why = Some("it ended without a word".to_owned());
        let _ = reporter.send((id, came, Report::Gone(end(why, asked, late)))).await;
    }
}

/// Why it is gone. An end that was asked for is no failure, whatever the agent says about it; but that it did not heed it
/// is said.
fn end(why: Option<String>, asked: bool, late: bool) -> Option<String> {
    match (asked, late) {
        (_, true) => Some(KILLED.to_owned()),
        (true, false) => None,
        (false, false) => why,
    }
}

fn asked_for_now(haste: &watch::Receiver<Haste>) -> bool {
    *haste.borrow() == Haste::Now
}

async fn time_is_over(until: Option<(Instant, Next)>) -> Next {
    match until {
        Some((at, next)) => {
            sleep_until(at).await;
            next
        }
        None => std::future::pending().await,
    }
}
