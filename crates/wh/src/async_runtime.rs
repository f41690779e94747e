//! Runs the async part of a command.

use crate::failure::{CliFailure, code};

/// Runs a future to completion on this thread. The tasks that it spawns run on one worker thread.
pub fn block_on<T>(work: impl Future<Output = Result<T, CliFailure>>) -> Result<T, CliFailure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime =
        runtime.map_err(|error| CliFailure::new(code::FAILED, format!("cannot start the async runtime: {error}")))?;
    let result = runtime.block_on(work);
    // Does not wait for other threads, because a thread may be blocked in a read of the terminal.
    runtime.shutdown_background();
    result
}
