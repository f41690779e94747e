//! The end of a process that has started others: nothing of them is left, or wh says what is.

use wh_pipe::{Left, reaper};

use crate::failure::{Failure, code};

/// Does the work of a process that starts programs. What outlives its supervisor meanwhile is adopted and ended; afterwards
/// everything is. Fails if something could not be ended, whatever came of the work.
pub async fn with_nothing_left<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    reaper::adopt_orphans()
        .map_err(|error| Failure::new(code::FAILED, format!("cannot become a child subreaper: {error}")))?;
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

/// The failure of an end that has left processes behind.
pub fn not_ended(left: &Left) -> Failure {
    let pids = left.0.iter().map(i32::to_string).collect::<Vec<_>>().join(" ");
    Failure::new(code::FAILED, left).hint(format!("see what they are with: ps -fp '{pids}'"))
}
