//! Running agent with two channels: orders to the agent, and reports from the agent.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tracing::{Instrument, info_span};
use wh_core::space::bounds::ReportBounds;
use wh_core::space::extent::size;
use wh_core::space::harness::{Order, Report};
use wh_core::space::item::NoticeLevel;
use wh_pipe::KillSwitch;

use crate::overflow::{self, MAX_OVERFLOW_BYTES, OverflowLoss};

/// Maximum number of queued orders. If the queue is full, the owner treats the agent as lost.
const MAX_QUEUED_ORDERS: usize = 64;

/// Maximum number of queued reports. If the queue is full, the agent waits; no report is dropped.
const MAX_QUEUED_REPORTS: usize = 256;

/// Handle of a running agent for its owner.
///
/// The owner must read `reports` continuously, even while an order waits for room, because an agent may stop reading
/// orders while its reports are not read. Dropping `orders` ends the agent like [`Order::End`]. The remaining reports
/// still arrive, with [`Report::Gone`] last. When `reports` is closed, no process and no file of the agent is left.
/// Dropping `reports` ends the agent too.
#[derive(Debug)]
pub struct Harness {
    /// Orders to the agent. Dropping the sender ends the agent.
    pub orders: mpsc::Sender<Order>,
    /// Reports from the agent. The owner must read them continuously.
    pub reports: mpsc::Receiver<Report>,
    /// Storage for output beyond the display limits.
    pub overflow: overflow::OverflowStore,
    /// Kill switch for an agent that does not obey [`Order::End`].
    pub force_stop: ForceStop,
    /// First characters of prompts that the agent interprets as commands instead of sending them to the model.
    pub interprets: &'static [char],
}

/// Kill switch for an agent that does not obey [`Order::End`]. Works in every state of the agent and of the harness.
#[derive(Debug, Clone, Default)]
pub struct ForceStop {
    kill_switch: KillSwitch,
    task: Option<AbortHandle>,
}

impl ForceStop {
    /// Kills the agent's processes. The harness then reports the exit of the agent.
    pub fn kill(&self) {
        self.kill_switch.trigger();
    }

    /// Kills the agent's processes and aborts the harness without a final report.
    pub fn abort(&self) {
        self.kill_switch.trigger();
        self.task.iter().for_each(AbortHandle::abort);
    }
}

/// Other end of the channels of a [`Harness`], for the task that runs the agent.
#[derive(Debug)]
pub struct HarnessTaskChannels {
    /// Orders to the agent. The task must end the agent when this channel is closed.
    pub orders: mpsc::Receiver<Order>,
    /// Reports from the agent. The task must end the agent when sending fails.
    pub reports: ReportSender,
    /// Kill switch to pass to every launch of the agent's processes.
    pub kill_switch: KillSwitch,
}

/// Sender of reports. Limits the size of each report and stores the excess in the [overflow
/// storage](overflow::OverflowStore).
#[derive(Debug, Clone)]
pub struct ReportSender {
    sender: mpsc::Sender<Report>,
    bounds: Arc<Mutex<ReportBounds>>,
    overflow: overflow::OverflowStore,
}

/// Error: the receiver of reports is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReportsClosed;

impl ReportSender {
    /// Sends a report. Waits while the queue is full.
    ///
    /// # Errors
    ///
    /// Fails if the receiver is closed.
    pub async fn send(&self, report: Report) -> Result<(), ReportsClosed> {
        for report in self.bounded(report) {
            self.sender.send(report).await.map_err(|_| ReportsClosed)?;
        }
        Ok(())
    }

    /// Waits until the queue has room for a report. Cancel safe.
    ///
    /// # Errors
    ///
    /// Fails if the receiver is closed.
    pub async fn room(&self) -> Result<(), ReportsClosed> {
        self.sender.reserve().await.map(drop).map_err(|_| ReportsClosed)
    }

    /// Waits until the receiver of reports is closed. Cancel safe.
    pub async fn closed(&self) {
        self.sender.closed().await;
    }

    fn bounded(&self, report: Report) -> Vec<Report> {
        let passed = self.bounds.lock().unwrap_or_else(PoisonError::into_inner).bound(report);
        let mut lost =
            passed.overflow.into_iter().filter_map(|beyond| self.overflow.apply(beyond)).map(|loss| match loss {
                OverflowLoss::Oldest => {
                    format!(
                        "the agent's long output exceeds the limit of {}; the oldest output was deleted",
                        size(MAX_OVERFLOW_BYTES)
                    )
                }
                OverflowLoss::Unwritable(error) => format!("long output of the agent cannot be stored: {error}"),
            });
        let mut reports: Vec<Report> = lost.by_ref().map(|text| Report::Notice(NoticeLevel::Warning, text)).collect();
        for report in &passed.reports {
            if let Report::Shortened(_, extent) = report {
                tracing::debug!(%extent, "shortened");
            }
        }
        reports.extend(passed.reports);
        reports
    }
}

impl Harness {
    /// Creates a harness and the other end of its channels.
    pub fn new() -> (Self, HarnessTaskChannels) {
        Self::with_capacities(MAX_QUEUED_ORDERS, MAX_QUEUED_REPORTS)
    }

    /// Creates a harness and spawns its task. Must be called within a Tokio runtime.
    pub fn run<F>(work: impl FnOnce(HarnessTaskChannels) -> F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (mut harness, task) = Self::new();
        harness.force_stop.task = Some(tokio::spawn(work(task).instrument(info_span!("harness"))).abort_handle());
        harness
    }

    /// Sends the reports in `first` before all other reports. Must be called within a Tokio runtime.
    pub fn with_first_reports(self, first: Vec<Report>) -> Self {
        let Self { orders, mut reports, overflow, force_stop: force, interprets } = self;
        let (report, heard) = mpsc::channel(MAX_QUEUED_REPORTS);
        tokio::spawn(async move {
            for news in first {
                // Nobody receives reports: returning drops the receiver of the agent's reports, which ends the agent.
                if report.send(news).await.is_err() {
                    return;
                }
            }
            loop {
                let news = tokio::select! {
                    news = reports.recv() => news,
                    () = report.closed() => None,
                };
                let Some(news) = news else { return };
                if report.send(news).await.is_err() {
                    return;
                }
            }
        });
        Self { orders, reports: heard, overflow, force_stop: force, interprets }
    }

    /// Creates a harness like [`new`](Self::new), with these channel capacities.
    pub fn with_capacities(max_orders: usize, max_reports: usize) -> (Self, HarnessTaskChannels) {
        let (order, orders) = mpsc::channel(max_orders);
        let (sender, reports) = mpsc::channel(max_reports);
        let overflow = overflow::OverflowStore::default();
        let bounded = ReportSender { sender, bounds: Arc::default(), overflow: overflow.clone() };
        let force = ForceStop::default();
        let kill_switch = force.kill_switch.clone();
        (
            Self { orders: order, reports, overflow, force_stop: force, interprets: &[] },
            HarnessTaskChannels { orders, reports: bounded, kill_switch },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_announced_comes_first_and_the_rest_in_its_order() {
        let (harness, task) = Harness::new();
        let notice = |text: &str| Report::Notice(NoticeLevel::Warning, text.to_owned());
        task.reports.send(notice("own")).await.unwrap();
        let mut harness = harness.with_first_reports(vec![notice("one"), notice("two")]);
        for text in ["one", "two", "own"] {
            assert_eq!(harness.reports.recv().await, Some(notice(text)));
        }
        let reports = task.reports;
        drop(harness);
        reports.closed().await;

        let (harness, task) = Harness::new();
        let mut harness = harness.with_first_reports(Vec::new());
        drop(task);
        assert_eq!(harness.reports.recv().await, None, "its end is passed on");
    }
}
