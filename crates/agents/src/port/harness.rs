//! A running agent behind two channels: orders in, reports out.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tracing::{Instrument, info_span};
use wh_core::space::bounds::Bounds;
use wh_core::space::extent::size;
use wh_core::space::harness::{Order, Report};
use wh_core::space::item::Level;
use wh_pipe::Leash;

use crate::kept::{self, Loss, MOST_KEPT};

/// Orders that may wait for a busy agent. An agent that lets more wait takes none, and is taken to be gone.
const ORDERS: usize = 64;

/// Reports that may wait to be read. Beyond that the agent waits: nothing it says is dropped.
const REPORTS: usize = 256;

/// A live agent, as its owner holds it: a task behind two channels.
///
/// The owner reads `reports` at all times, also while an order waits for room: an agent may stop taking orders while
/// nobody hears it. Dropping `orders` ends the agent as [`Order::End`] does. What it has to say until then still comes,
/// [`Report::Gone`] last; once `reports` is closed, nothing of the agent is left: no process, no file of its own.
/// Dropping `reports` ends it too.
#[derive(Debug)]
pub struct Harness {
    /// What it is told.
    pub orders: mpsc::Sender<Order>,
    /// What it says.
    pub reports: mpsc::Receiver<Report>,
    /// What it said beyond what is shown.
    pub kept: kept::Kept,
    /// For when it does not end.
    pub force: Force,
    /// First characters of a prompt that the agent interprets itself: such a text does not reach the model as it is.
    pub interprets: &'static [char],
}

/// The last resort against an agent that was told to end and does not: nothing it does, and nothing that its harness waits
/// for, can keep it.
#[derive(Debug, Clone, Default)]
pub struct Force {
    leash: Leash,
    task: Option<AbortHandle>,
}

impl Force {
    /// Kills its processes, at once. Its harness sees that they are gone, and says so.
    pub fn kill(&self) {
        self.leash.pull();
    }

    /// Kills its processes and ends its harness too, without a word.
    pub fn abort(&self) {
        self.leash.pull();
        self.task.iter().for_each(AbortHandle::abort);
    }
}

/// The other ends of a [`Harness`], as the task behind it holds them.
#[derive(Debug)]
pub struct Inside {
    /// What it is told. `None` is an end.
    pub orders: mpsc::Receiver<Order>,
    /// What it says. A report that cannot be sent is an end.
    pub reports: Reports,
    /// What its processes are launched with.
    pub leash: Leash,
}

/// The way of what an agent says. Nothing passes that is too large to be held: the rest of it is [kept](kept::Kept).
#[derive(Debug, Clone)]
pub struct Reports {
    sender: mpsc::Sender<Report>,
    bounds: Arc<Mutex<Bounds>>,
    kept: kept::Kept,
}

/// Nobody hears reports any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unheard;

impl Reports {
    /// Reports, when there is room.
    ///
    /// # Errors
    ///
    /// If nobody hears it.
    pub async fn send(&self, report: Report) -> Result<(), Unheard> {
        for report in self.bounded(report) {
            self.sender.send(report).await.map_err(|_| Unheard)?;
        }
        Ok(())
    }

    /// Waits until there is room for a report. Cancel safe.
    ///
    /// # Errors
    ///
    /// If nobody hears it.
    pub async fn room(&self) -> Result<(), Unheard> {
        self.sender.reserve().await.map(drop).map_err(|_| Unheard)
    }

    /// Waits until nobody hears reports any more. Cancel safe.
    pub async fn closed(&self) {
        self.sender.closed().await;
    }

    fn bounded(&self, report: Report) -> Vec<Report> {
        let passed = self.bounds.lock().unwrap_or_else(PoisonError::into_inner).pass(report);
        let mut lost = passed.beyond.into_iter().filter_map(|beyond| self.kept.take(beyond)).map(|loss| match loss {
            Loss::Oldest => {
                format!("the oldest overflow output was discarded (limit {} per agent)", size(MOST_KEPT))
            }
            Loss::Unwritable(error) => format!("what is beyond what is shown cannot be kept: {error}"),
        });
        let mut reports: Vec<Report> = lost.by_ref().map(|text| Report::Notice(Level::Warning, text)).collect();
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
    /// Both ends of the channels.
    pub fn new() -> (Self, Inside) {
        Self::with_depths(ORDERS, REPORTS)
    }

    /// One whose task this is. Must be called within a runtime.
    pub fn run<F>(work: impl FnOnce(Inside) -> F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (mut harness, inside) = Self::new();
        harness.force.task = Some(tokio::spawn(work(inside).instrument(info_span!("harness"))).abort_handle());
        harness
    }

    /// The same, which reports these things before anything else. Must be called within a runtime.
    pub fn announcing(self, first: Vec<Report>) -> Self {
        let Self { orders, mut reports, kept, force, interprets } = self;
        let (report, heard) = mpsc::channel(REPORTS);
        tokio::spawn(async move {
            for news in first {
                // Nobody hears it: the agent's own reports are dropped, and that ends it.
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
        Self { orders, reports: heard, kept, force, interprets }
    }

    /// The same, with as many orders and reports waiting at most.
    pub fn with_depths(most_orders: usize, most_reports: usize) -> (Self, Inside) {
        let (order, orders) = mpsc::channel(most_orders);
        let (sender, reports) = mpsc::channel(most_reports);
        let kept = kept::Kept::default();
        let inside = Reports { sender, bounds: Arc::default(), kept: kept.clone() };
        let force = Force::default();
        let leash = force.leash.clone();
        (Self { orders: order, reports, kept, force, interprets: &[] }, Inside { orders, reports: inside, leash })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_announced_comes_first_and_the_rest_in_its_order() {
        let (harness, inside) = Harness::new();
        let notice = |text: &str| Report::Notice(Level::Warning, text.to_owned());
        inside.reports.send(notice("own")).await.unwrap();
        let mut harness = harness.announcing(vec![notice("one"), notice("two")]);
        for text in ["one", "two", "own"] {
            assert_eq!(harness.reports.recv().await, Some(notice(text)));
        }
        let reports = inside.reports;
        drop(harness);
        reports.closed().await;

        let (harness, inside) = Harness::new();
        let mut harness = harness.announcing(Vec::new());
        drop(inside);
        assert_eq!(harness.reports.recv().await, None, "its end is passed on");
    }
}
