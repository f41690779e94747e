//! Watches the async runtime from a separate thread. If a task blocks the runtime, no session, server or signal handler
//! can run. The watchdog then exits the process. The supervisors end the programs, and the next daemon restores the
//! sessions.

use std::fmt::{self, Write as _};
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use tokio::runtime::Handle;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;
use wh_pipe::proc::ProcessStat;

use crate::failure::code;

/// Interval between two checks of the runtime.
const TICK_INTERVAL: Duration = Duration::from_millis(500);

/// Number of ticks without an answer after which the runtime counts as stalled (5 s). Ticks without CPU time are not
/// counted.
const STALLED_TICKS: u32 = 10;

/// Number of ticks without an answer after which the runtime counts as stalled even if it got no CPU time (60 s).
const STARVED_TICKS: u32 = 120;

/// CPU time of half a tick, in the units of [`ProcessStat::cpu`]. A worker thread that was runnable but got less CPU
/// time in a tick was starved.
const HALF_TICK_CPU: u64 = TICK_INTERVAL.as_millis() as u64 / 10 / 2;

/// Timeout for writing the last log line.
const LAST_LINE_TIMEOUT: Duration = Duration::from_secs(1);

/// Records the task that was polled last, named by its tracing span.
#[derive(Debug, Clone, Default)]
pub struct LastPolled(Arc<Mutex<PolledSpans>>);

#[derive(Debug, Default)]
struct PolledSpans {
    /// Entered spans that were not exited yet, innermost last.
    entered: Vec<Arc<str>>,
    last: Option<Arc<str>>,
}

impl LastPolled {
    fn lock(&self) -> MutexGuard<'_, PolledSpans> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Display for LastPolled {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let polled = self.lock();
        match (polled.entered.last(), &polled.last) {
            (Some(task), _) => write!(formatter, "task {task} is being polled"),
            (None, Some(task)) => {
                write!(formatter, "an unnamed task is being polled; the last named task was {task}")
            }
            (None, None) => formatter.write_str("no named task has been polled yet"),
        }
    }
}

/// Name and fields of a span, stored in its extensions.
struct SpanLabel(Arc<str>);

impl<S: tracing::Subscriber + for<'a> LookupSpan<'a>> Layer<S> for LastPolled {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut label = SpanLabelBuilder(attributes.metadata().name().to_owned());
        attributes.record(&mut label);
        span.extensions_mut().insert(SpanLabel(label.0.into()));
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let Some(label) = span.extensions().get::<SpanLabel>().map(|label| Arc::clone(&label.0)) else { return };
        let mut polled = self.lock();
        polled.last = Some(Arc::clone(&label));
        polled.entered.push(label);
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let extensions = span.extensions();
        let Some(label) = extensions.get::<SpanLabel>() else { return };
        let mut polled = self.lock();
        if let Some(place) = polled.entered.iter().rposition(|entered| Arc::ptr_eq(entered, &label.0)) {
            polled.entered.remove(place);
        }
    }
}

struct SpanLabelBuilder(String);

impl Visit for SpanLabelBuilder {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let _ = write!(self.0, " {}={value:?}", field.name());
    }
}

/// Starts the watchdog thread, which exits the process when the runtime stalls.
pub fn start(runtime: Handle, last_polled: LastPolled) -> io::Result<()> {
    let exit = move |stall: RuntimeStall| {
        let line = format!(
            "ERROR wh::daemon::watchdog: {stall}; {last_polled}; the daemon exits with code {}\n",
            code::STALLED
        );
        last_line(line);
        // SAFETY: _exit takes a number and does not return. A stalled runtime cannot be shut down cleanly.
        unsafe { nix::libc::_exit(i32::from(code::STALLED)) }
    };
    let watch = move || {
        let mut watchdog = Watchdog::new(runtime);
        loop {
            thread::sleep(TICK_INTERVAL);
            if let Some(stall) = watchdog.tick() {
                exit(stall);
            }
        }
    };
    thread::Builder::new().name("wh-watchdog".to_owned()).spawn(watch).map(drop)
}

/// Writes the last log line to standard error, without the lock of [`io::stderr`], which the stalled thread may hold.
/// Waits at most [`LAST_LINE_TIMEOUT`].
fn last_line(line: String) {
    let (done, written) = mpsc::channel();
    let write = move || {
        let _ = nix::unistd::write(io::stderr().as_fd(), line.as_bytes());
        let _ = done.send(());
    };
    if thread::Builder::new().spawn(write).is_ok() {
        let _ = written.recv_timeout(LAST_LINE_TIMEOUT);
    }
}

/// Number of ticks for which the runtime has not run a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RuntimeStall {
    ticks: u32,
}

impl fmt::Display for RuntimeStall {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the runtime has not run a task for {:?}", TICK_INTERVAL * self.ticks)
    }
}

/// Detector of runtime stalls. Spawns a task on the runtime, and checks at each tick if the task has run. Counts ticks
/// instead of reading the clock: a stopped process or a suspended machine does not count as stalled.
struct Watchdog {
    runtime: Handle,
    answers: Arc<ProbeAnswers>,
    asked: u64,
    /// Number of ticks without an answer in which the worker was not starved of CPU time.
    counted: u32,
    /// Number of all ticks without an answer, including the ticks in which the worker was starved.
    silent: u32,
    cpu: u64,
}

#[derive(Default)]
struct ProbeAnswers {
    count: AtomicU64,
    /// Thread id of the worker that ran the last answering task.
    worker: AtomicI32,
}

impl Watchdog {
    fn new(runtime: Handle) -> Self {
        let mut watchdog = Self { runtime, answers: Arc::default(), asked: 0, counted: 0, silent: 0, cpu: 0 };
        watchdog.ask();
        watchdog
    }

    fn ask(&mut self) {
        self.asked += 1;
        (self.counted, self.silent) = (0, 0);
        let answers = Arc::clone(&self.answers);
        self.runtime.spawn(async move {
            answers.worker.store(nix::unistd::gettid().as_raw(), Ordering::Relaxed);
            answers.count.fetch_add(1, Ordering::Release);
        });
    }

    fn tick(&mut self) -> Option<RuntimeStall> {
        let worker = ProcessStat::of_own_thread(self.answers.worker.load(Ordering::Relaxed)).ok();
        if self.answers.count.load(Ordering::Acquire) == self.asked {
            self.ask();
        } else {
            self.silent += 1;
            // On a loaded machine a runnable worker may get no CPU time. That is not a stall.
            let is_starved = |stat: ProcessStat| stat.state == 'R' && stat.cpu.saturating_sub(self.cpu) < HALF_TICK_CPU;
            let starved = worker.is_some_and(is_starved);
            self.counted += u32::from(!starved);
        }
        self.cpu = worker.map_or(0, |stat| stat.cpu);
        let stalled = self.counted >= STALLED_TICKS || self.silent >= STARVED_TICKS;
        stalled.then_some(RuntimeStall { ticks: self.silent })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use tracing::Instrument;
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
    }

    /// Ticks until the watchdog finds a stall, without the pauses between them.
    fn stall(watchdog: &mut Watchdog) -> RuntimeStall {
        (0..=STARVED_TICKS).find_map(|_| watchdog.tick()).expect("a stall")
    }

    #[test]
    fn a_runtime_that_answers_is_left_alone() {
        let runtime = runtime();
        let mut watchdog = Watchdog::new(runtime.handle().clone());
        for asked in 1..=u64::from(STALLED_TICKS) * 2 {
            assert_eq!(watchdog.asked, asked);
            let deadline = Instant::now() + Duration::from_secs(60);
            while watchdog.answers.count.load(Ordering::Acquire) < asked {
                assert!(Instant::now() < deadline, "it answers");
                thread::yield_now();
            }
            assert_eq!(watchdog.tick(), None);
        }
    }

    #[test]
    fn a_task_that_blocks_the_worker_is_found_and_named() {
        let last_polled = LastPolled::default();
        let subscriber = tracing_subscriber::registry().with(last_polled.clone());
        let runtime = runtime();
        let (release, released) = mpsc::channel::<()>();
        let (tell, told) = mpsc::channel();
        tracing::subscriber::with_default(subscriber, || {
            let dispatch = tracing::dispatcher::get_default(Clone::clone);
            let blocks = async move {
                tell.send(()).unwrap();
                let _ = released.recv();
            };
            let task = blocks.instrument(tracing::info_span!("terminal_session", id = "s1"));
            runtime.spawn(tracing::instrument::WithSubscriber::with_subscriber(task, dispatch));
        });
        told.recv_timeout(Duration::from_secs(60)).expect("it runs");
        let mut watchdog = Watchdog::new(runtime.handle().clone());
        assert_eq!(stall(&mut watchdog).ticks, STALLED_TICKS);
        assert_eq!(last_polled.to_string(), "task terminal_session id=\"s1\" is being polled");
        drop(release);
        let deadline = Instant::now() + Duration::from_secs(60);
        while last_polled.to_string().ends_with("is being polled") && Instant::now() < deadline {
            thread::yield_now();
        }
        assert!(last_polled.to_string().contains("the last named task was terminal_session"), "{last_polled}");
    }
}
