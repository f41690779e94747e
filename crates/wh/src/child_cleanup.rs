//! Ends leftover child processes when wh exits, and reports processes that it cannot end.

use wh_pipe::{Survivors, reaper};

use crate::failure::{CliFailure, code};

/// Runs `work`, which may start programs. Adopts processes that outlive their supervisor, and ends them. Ends all
/// remaining child processes after `work`. Fails if a process cannot be ended, even if `work` succeeded.
pub async fn with_child_cleanup<T>(work: impl Future<Output = Result<T, CliFailure>>) -> Result<T, CliFailure> {
    reaper::adopt_orphans()
        .map_err(|error| CliFailure::new(code::FAILED, format!("cannot become a child subreaper: {error}")))?;
    let outcome = work.await;
    let left = reaper::end_everything().await;
    if left.is_empty() {
        return outcome;
    }
    if let Err(failure) = &outcome {
        failure.report();
    }
    Err(not_ended(&left))
}

/// Returns the failure for processes that could not be ended.
pub fn not_ended(left: &Survivors) -> CliFailure {
    let pids = left.0.iter().map(i32::to_string).collect::<Vec<_>>().join(" ");
    CliFailure::new(code::FAILED, left).hint(format!("inspect the processes with: ps -fp '{pids}'"))
}
