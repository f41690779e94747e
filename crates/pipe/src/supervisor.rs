//! A guard or keeper as its owner holds it: the line to it, and its end. What it has been told to end and does not, the
//! [`reaper`] ends.

use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

use crate::children::Registration;
use crate::proc::ProcessId;
use crate::protocol::{Order, Report};
use crate::reaper::{self, END_GRACE, KILL_GRACE, Left, Verdict};

/// Longest time from the start of a supervisor to its first report.
const START_LIMIT: Duration = Duration::from_secs(30);

/// Pause after which a supervisor that has not reported yet is continued, should it have been stopped.
const CONTINUE_PAUSE: Duration = Duration::from_millis(100);

/// A supervisor that this process started. Dropping it closes its line, whereupon it ends everything below it in steps.
#[derive(Debug)]
pub struct Supervisor {
    id: ProcessId,
    /// Non-blocking: orders are few and small, so that there is room unless the supervisor is stopped.
    line: UnixStream,
    verdicts: watch::Receiver<Verdict>,
}

impl Supervisor {
    /// Takes over a supervisor that was just started, with the non-blocking line to it.
    pub fn new(registration: Registration, session: Option<String>, line: UnixStream) -> Self {
        let id = registration.id();
        Self { id, line, verdicts: reaper::watch_over(registration, session) }
    }

    /// The process.
    pub fn id(&self) -> ProcessId {
        self.id
    }

    /// Gives an order, without waiting. An end that the supervisor does not bring about in time is brought about without it.
    pub fn give(&self, order: Order) {
        match order {
            Order::End => reaper::end_after(self.id, END_GRACE),
            Order::Kill => reaper::end_after(self.id, KILL_GRACE),
            Order::Signal(_) | Order::SignalForeground(_) => {}
        }
        // One that is gone has nothing left to obey for; one that takes no more is stopped.
        let _ = (&self.line).write_all(&order.encode());
    }

    /// Waits for the first report, which says whether the program was started. A program may stop its supervisor before that;
    /// then it is continued. One that does not report in time, or reports anything but a start, is ended with all that it
    /// started.
    pub async fn first_report(&self, report: impl Future<Output = Option<Report>>) -> io::Result<Report> {
        let reported = async {
            tokio::pin!(report);
            loop {
                match timeout(CONTINUE_PAUSE, &mut report).await {
                    Ok(report) => return report,
                    Err(_) => reaper::wake(),
                }
            }
        };
        let first = timeout(START_LIMIT, reported).await;
        if let Ok(Some(Report::Started(pid))) = first {
            return Ok(Report::Started(pid));
        }
        reaper::end_after(self.id, Duration::ZERO);
        let left = self.ended().await;
        let problem = match first {
            _ if !left.is_empty() => format!("it did not start the program, and {left}"),
            Ok(Some(report)) => return Ok(report),
            Ok(None) => "it ended without starting the program".to_owned(),
            Err(_) => format!("it did not report within {} s that the program runs", START_LIMIT.as_secs()),
        };
        Err(io::Error::other(problem))
    }

    /// To be called with every report. A supervisor whose program has ended ends everything else; it has to do so in time.
    pub fn reported(&self, report: &Report) {
        if matches!(report, Report::Exited(_) | Report::Killed(_)) {
            reaper::end_after(self.id, END_GRACE);
        }
    }

    /// To be called at the end of the supervisor's line, which is its own end, or moments before it. Waits for that end.
    pub async fn line_closed(&self) -> Left {
        reaper::line_closed(self.id);
        self.ended().await
    }

    /// Waits until the supervisor and everything below it are gone, or it is known what could not be ended. Cancel safe. The
    /// future does not hold the supervisor.
    pub fn ended(&self) -> impl Future<Output = Left> + Send + use<> {
        let mut verdicts = self.verdicts.clone();
        async move {
            match verdicts.wait_for(|verdict| *verdict != Verdict::Open).await.as_deref() {
                Ok(Verdict::Left(pids)) => Left(pids.clone()),
                // A verdict that is no longer kept was the last one.
                Ok(Verdict::Open | Verdict::Gone) | Err(_) => Left::default(),
            }
        }
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        reaper::end_after(self.id, END_GRACE);
    }
}
