//! Row 11: requests begun and finished in the store, each synced to disk before its acknowledgement. The store is
//! compared with bare SQLite, which uses the same tables and settings on a thread without other work.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use rusqlite::{Connection, params};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use wh_engine::store::{BeginOutcome, DATABASE_FILE, RequestKey, Store, StoreLimits};

use crate::table::{ComparisonRow, MeasuredQuantiles, ResultUnit, quantile};
use crate::{BenchConfig, BenchResult, print_progress};

/// Number of concurrent clients.
pub(super) const CONCURRENT_CLIENTS: usize = 16;

const FINGERPRINT: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// Results of one contender: requests per second of each round, and the time of each request in seconds.
#[derive(Default)]
pub(super) struct RequestSamples {
    rates: Vec<f64>,
    took: Vec<f64>,
}

impl RequestSamples {
    pub(super) fn add(&mut self, whole: Duration, took: Vec<f64>) {
        self.rates.push(took.len() as f64 / whole.as_secs_f64());
        self.took.extend(took);
    }

    pub(super) fn measured(mut self) -> MeasuredQuantiles {
        MeasuredQuantiles { median: quantile(&mut self.rates, 0.5), p99: quantile(&mut self.took, 0.99) }
    }
}

pub fn requests(config: &BenchConfig) -> BenchResult<Vec<ComparisonRow>> {
    let (rounds, each) = (config.pick(15, 1), config.pick(150, 4));
    let home = home()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let limits = StoreLimits { requests: u64::MAX, ..StoreLimits::default() };
    let store = Store::open_with(home.path().join("wh"), limits)?;
    let mut single = BareSqlite::open(home.path().join("single"), &runtime)?;
    let mut batches = BareSqlite::open(home.path().join("batches"), &runtime)?;
    let samples = alternate(11, rounds, |which, round| match which {
        0 => runtime.block_on(clients(&store, 1, each, round)),
        1 => runtime.block_on(clients(&store, CONCURRENT_CLIENTS, each, round)),
        2 => single.requests(1, each),
        _ => batches.requests(CONCURRENT_CLIENTS, each),
    })?;
    runtime.block_on(store.close())?;
    Ok(sqlite_rows(11, "requests begun and finished", samples))
}

/// Measures four contenders in alternating order: wh with one client and with 16 clients, and bare SQLite with the same
/// numbers of clients. `measure` is called with the index of the contender and the round, and returns the total time
/// and the time of each request.
pub(super) fn alternate(
    row: u8,
    rounds: usize,
    mut measure: impl FnMut(usize, usize) -> BenchResult<(Duration, Vec<f64>)>,
) -> BenchResult<[RequestSamples; 4]> {
    let mut samples: [RequestSamples; 4] = Default::default();
    for round in 0..rounds {
        print_progress(&format!("row {row}: round {} of {rounds}", round + 1));
        for turn in 0..4 {
            let which = (turn + round) % 4;
            let (whole, took) = measure(which, round)?;
            samples[which].add(whole, took);
        }
    }
    Ok(samples)
}

/// Returns the rows for the samples of [`alternate`].
pub(super) fn sqlite_rows(number: u8, what: &str, samples: [RequestSamples; 4]) -> Vec<ComparisonRow> {
    let [one, many, single, batches] = samples.map(RequestSamples::measured);
    let row = |clients: &str, wh, name: &str, bare| ComparisonRow {
        number,
        what: format!("{what}, {clients}"),
        unit: ResultUnit::PerSecond,
        wh,
        other: Some((name.to_owned(), bare)),
    };
    let (one_by_one, together) = ("bare SQLite, one commit per row", "bare SQLite, one commit per 16 rows");
    vec![
        row("one client", one, one_by_one, single),
        row("16 clients", many, one_by_one, single),
        row("16 clients", many, together, batches),
    ]
}

/// Creates a temporary directory on a disk. The default directory for temporary files may be on a file system in
/// memory.
pub(super) fn home() -> BenchResult<TempDir> {
    let parent = std::env::var_os("TMPDIR").map_or_else(|| PathBuf::from("/var/tmp"), PathBuf::from);
    Ok(tempfile::Builder::new().prefix("wh-bench.").tempdir_in(parent)?)
}

/// Runs `many` concurrent clients. Each sends `each` requests one after the other. Returns the total time, and the time
/// of each request.
async fn clients(store: &Store, many: usize, each: usize, round: usize) -> BenchResult<(Duration, Vec<f64>)> {
    let start = Instant::now();
    let tasks: Vec<_> =
        (0..many).map(|client| tokio::spawn(client_of(store.clone(), many, client, each, round))).collect();
    let mut took = Vec::with_capacity(many * each);
    for task in tasks {
        took.extend(task.await??);
    }
    Ok((start.elapsed(), took))
}

async fn client_of(store: Store, many: usize, client: usize, each: usize, round: usize) -> BenchResult<Vec<f64>> {
    let mut took = Vec::with_capacity(each);
    for number in 0..each {
        let [team, session, agent, request] = key(many, client, number + round * each);
        let key = RequestKey { team, session, agent, request };
        let start = Instant::now();
        if store.begin(key.clone(), FINGERPRINT, SystemTime::now()).await? != BeginOutcome::New {
            return Err("a new request was already in the store".into());
        }
        store.finish(key, "ok", Some("accepted".to_owned()), SystemTime::now()).await?;
        took.push(start.elapsed().as_secs_f64());
    }
    Ok(took)
}

fn key(many: usize, client: usize, number: usize) -> [String; 4] {
    let request = format!("req-{many:04}-{client:04}-{:016x}", (number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    ["team".to_owned(), format!("session-{client}"), "codex:abc123".to_owned(), request]
}

/// SQLite database with the tables and settings of the store, but without the store's code.
pub(super) struct BareSqlite {
    connection: Connection,
    begun: usize,
}

impl BareSqlite {
    pub(super) fn open(directory: PathBuf, runtime: &Runtime) -> BenchResult<Self> {
        // The store creates the tables, so that their schema is defined only once.
        runtime.block_on(Store::open(&directory)?.close())?;
        let connection = Connection::open(Path::new(&directory).join(DATABASE_FILE))?;
        connection.execute_batch(
            "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
             PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16384;",
        )?;
        Ok(Self { connection, begun: 0 })
    }

    /// Executes the requests of `many` clients. Requests that the clients would send at the same time are begun in one
    /// commit and finished in another.
    pub(super) fn requests(&mut self, many: usize, each: usize) -> BenchResult<(Duration, Vec<f64>)> {
        let whole = Instant::now();
        let mut took = Vec::with_capacity(many * each);
        let connection = &self.connection;
        for number in self.begun..self.begun + each {
            let start = Instant::now();
            let keys: Vec<[String; 4]> = (0..many).map(|client| key(many, client, number)).collect();
            connection.prepare_cached("BEGIN")?.execute([])?;
            for [team, session, agent, request] in &keys {
                let mut insert = connection.prepare_cached(
                    "INSERT INTO requests (team, session, agent, request, fingerprint, state, began_at, epoch, stamp)
                     VALUES (?1, ?2, ?3, ?4, ?5, 0, ?6, 1, ?7)",
                )?;
                insert.execute(params![team, session, agent, request, FINGERPRINT, 1, 1])?;
            }
            connection.prepare_cached("COMMIT")?.execute([])?;
            connection.prepare_cached("BEGIN")?.execute([])?;
            for [team, session, agent, request] in &keys {
                let mut update = connection.prepare_cached(
                    "UPDATE requests SET state = 1, result = 'ok', detail = 'accepted', settled_at = 1, settled_in = 1, stamp = ?5
                     WHERE team = ?1 AND session = ?2 AND agent = ?3 AND request = ?4 AND state = 0",
                )?;
                update.execute(params![team, session, agent, request, number as i64])?;
            }
            connection.prepare_cached("COMMIT")?.execute([])?;
            took.extend(std::iter::repeat_n(start.elapsed().as_secs_f64(), many));
        }
        self.begun += each;
        Ok((whole.elapsed(), took))
    }
}
