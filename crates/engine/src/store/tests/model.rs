//! Model test: the store agrees with a map for any sequence of calls and reopenings.

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;

const RETENTION_MILLIS: u64 = 100;
const MAX_REQUESTS: usize = 3;

#[derive(Debug, Clone)]
enum Step {
    Begin(u8, u8),
    Finish(u8, u8),
    Undo(u8),
    Lookup(u8),
    Wait(u64),
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    let key = || 0..5u8;
    prop_oneof![
        6 => (key(), any::<u8>()).prop_map(|(key, print)| Step::Begin(key, print)),
        5 => (key(), 0..3u8).prop_map(|(key, result)| Step::Finish(key, result)),
        1 => key().prop_map(Step::Undo),
        2 => key().prop_map(Step::Lookup),
        3 => (0..RETENTION_MILLIS + 20).prop_map(Step::Wait),
        1 => Just(Step::Reopen),
    ]
}

/// Expected state of the store.
#[derive(Default)]
struct Model {
    entries: HashMap<u8, (RequestEntry, u64)>,
    now: u64,
    epoch: u64,
}

impl Model {
    fn known(&mut self) -> &mut HashMap<u8, (RequestEntry, u64)> {
        let now = self.now;
        self.entries
            .retain(|_, (entry, stamp)| entry.state == RequestState::Pending || *stamp + RETENTION_MILLIS > now);
        &mut self.entries
    }

    fn reopen(&mut self) {
        self.epoch += 1;
        let (epoch, now) = (self.epoch, self.now);
        for (entry, stamp) in self.entries.values_mut() {
            if entry.state == RequestState::Pending {
                (entry.state, *stamp) = (RequestState::CutOff { epoch }, now);
            }
        }
    }

    fn begin(&mut self, key: u8, print: u8) -> Result<BeginOutcome, StoreError> {
        let (epoch, now) = (self.epoch, self.now);
        let known = self.known();
        if let Some((entry, _)) = known.get(&key) {
            return Ok(BeginOutcome::Known(entry.clone()));
        }
        if known.len() == MAX_REQUESTS {
            return Err(StoreError::Full { what: "requests", most: MAX_REQUESTS as u64 });
        }
        let entry = RequestEntry {
            fingerprint: print.to_string(),
            at: at(1),
            epoch,
            state: RequestState::Pending,
            receipt: None,
            queued: false,
        };
        known.insert(key, (entry, now));
        Ok(BeginOutcome::New)
    }

    /// True if the result is accepted.
    fn finish(&mut self, key: u8, result: u8) -> bool {
        let now = self.now;
        match self.known().get_mut(&key) {
            Some((entry, stamp)) if entry.state == RequestState::Pending => {
                *stamp = now;
                entry.state = RequestState::Done { result: result.to_string(), detail: None, at: at(2) };
                true
            }
            Some((RequestEntry { state: RequestState::Done { result: before, .. }, .. }, _)) => {
                *before == result.to_string()
            }
            _ => false,
        }
    }

    fn undo(&mut self, key: u8) -> bool {
        let pending = self.known().get(&key).is_some_and(|(entry, _)| entry.state == RequestState::Pending);
        pending && self.entries.remove(&key).is_some()
    }
}

async fn agree(steps: Vec<Step>) -> Result<(), TestCaseError> {
    let mut bench = Bench::new();
    bench.limits.remembered = Duration::from_millis(RETENTION_MILLIS);
    bench.limits.requests = MAX_REQUESTS as u64;
    let (mut store, mut model) = (bench.open(), Model { epoch: 1, ..Model::default() });
    for step in steps {
        match step {
            Step::Begin(key_, print) => {
                let said = store.begin(key(key_), print.to_string(), at(1)).await;
                prop_assert_eq!(said, model.begin(key_, print));
            }
            Step::Finish(key_, result) => {
                let said = store.finish(key(key_), result.to_string(), None, at(2)).await;
                prop_assert_eq!(said.is_ok(), model.finish(key_, result), "{:?}", said);
            }
            Step::Undo(key_) => prop_assert_eq!(store.undo(key(key_)).await, Ok(model.undo(key_))),
            Step::Lookup(key_) => {
                let known = model.known().get(&key_).map(|(entry, _)| entry.clone());
                prop_assert_eq!(store.lookup(key(key_)).await, Ok(known));
            }
            Step::Wait(time) => {
                bench.wait(Duration::from_millis(time));
                model.now += time;
            }
            Step::Reopen => {
                store.close().await.unwrap();
                store = bench.open();
                model.reopen();
                prop_assert_eq!(store.opening().epoch, model.epoch);
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn the_store_agrees_with_a_map(steps in proptest::collection::vec(step(), 1..40)) {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(agree(steps))?;
    }
}
