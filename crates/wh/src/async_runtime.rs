//! Runs the async part of a command.

use crate::failure::{CliFailure, code};

/// Runs a future to completion on this thread, with one worker thread.
pub fn block_on<T>(work: impl Future<Output = Result<T, CliFailure>>) -> Result<T, CliFailure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime =
        runtime.map_err(|error| CliFailure::new(code::FAILED, format!("cannot start the async runtime: {error}")))?;
    let result = runtime.block_on(work);
    // A thread may still block in a read of the terminal; it is abandoned.
    runtime.shutdown_background();
    result
}
