//! Waiting for what happens elsewhere: the runtime that commands run in.

use crate::failure::{Failure, code};

/// Runs to the end, with one thread beside this one.
pub fn block_on<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(|error| Failure::new(code::FAILED, format!("cannot start: {error}")))?;
    let result = runtime.block_on(work);
    // A thread may still sit in a read of the person's terminal; it has nothing left to say.
    runtime.shutdown_background();
    result
}
