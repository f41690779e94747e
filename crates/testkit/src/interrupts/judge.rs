//! Compares the receipts of a round with the log of the model. Pure.

use std::fmt;
use std::time::{Duration, SystemTime};

use super::conversation::{InterruptRound, TrialCommandState};
use super::leak;
use crate::model::StreamEnd;

/// Failure reason in the receipt of an interrupted turn.
const CANCELLED_REASON: &str = "cancelled";

/// Tolerance between the end of an answer and the interrupt. If an answer was complete within this time before or after
/// the interrupt, both a cancelled and a finished turn are correct. Shorter than a long answer and longer than a short
/// answer.
const CONCURRENT_END_WINDOW: Duration = Duration::from_secs(2);

/// End of an interrupted turn according to the log of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum InterruptedTurnEnd {
    /// The model received no request.
    CancelledBeforeSubmission,
    /// The agent closed the connection to the model in the middle of the answer.
    CancelledInStream,
    /// The answer was complete before the interrupt or at about the same time.
    FinishedBefore,
    /// The answer was completed long after the interrupt, or its stream has not ended.
    FinishedAfter,
}

/// Receipt or notice that disagrees with the log of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Contradiction {
    /// The receipt of the interrupt is `finished`, but the answer was completed.
    InterruptIgnored,
    /// The prompt failed as `cancelled`, but the model delivered the whole answer.
    CancelledButComplete,
    /// The receipt of the prompt is `finished`, but the answer was cut off or never requested.
    FinishedButCut,
    /// The prompt failed for a reason other than the interrupt.
    OtherReason,
    /// The receipt of the interrupt is `failed`, but the turn was cancelled.
    FailedButCancelled,
    /// The interrupt was rejected during the turn.
    RefusedWhileWorking,
    /// A receipt did not become final, or the prompt was rejected.
    NotFinal,
    /// The prompt was requested from the model more than once.
    RequestedTwice,
    /// A receipt or notice contains an id that the model provider assigned, or a line of the agent's log.
    Leaked,
}

impl fmt::Display for Contradiction {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::InterruptIgnored => "interrupt `finished`, but did not stop the answer",
            Self::CancelledButComplete => "prompt `cancelled`, but the answer was completed",
            Self::FinishedButCut => "prompt `finished`, but the answer was cut off or never requested",
            Self::OtherReason => "prompt `failed`, but not because of the interrupt",
            Self::FailedButCancelled => "interrupt `failed`, but the turn was cancelled",
            Self::RefusedWhileWorking => "interrupt rejected during the turn",
            Self::NotFinal => "receipt not final, or prompt rejected",
            Self::RequestedTwice => "prompt sent to the model more than once",
            Self::Leaked => "model provider's id or log line in user-visible text",
        })
    }
}

/// Determines the end of the turn from the log of the model alone.
pub(super) fn turn_end(round: &InterruptRound) -> InterruptedTurnEnd {
    let ends = round.streams.iter().map(|stream| match stream.end {
        Some(StreamEnd::Complete(at)) if apart(at, round.interrupted) <= CONCURRENT_END_WINDOW => {
            InterruptedTurnEnd::FinishedBefore
        }
        Some(StreamEnd::Complete(_)) | None => InterruptedTurnEnd::FinishedAfter,
        Some(StreamEnd::Cut(_)) => InterruptedTurnEnd::CancelledInStream,
    });
    ends.max().unwrap_or(InterruptedTurnEnd::CancelledBeforeSubmission)
}

/// Finds contradictions between the receipts of a round and the log of the model.
pub(super) fn contradictions(round: &InterruptRound) -> Vec<Contradiction> {
    let end = turn_end(round);
    let cancelled =
        matches!(end, InterruptedTurnEnd::CancelledBeforeSubmission | InterruptedTurnEnd::CancelledInStream);
    let mut found = Vec::new();
    match &round.prompt {
        TrialCommandState::Refused(_) | TrialCommandState::Open { .. } => found.push(Contradiction::NotFinal),
        TrialCommandState::Finished { .. } if cancelled => found.push(Contradiction::FinishedButCut),
        TrialCommandState::Finished { .. } => {}
        TrialCommandState::Failed { reason, .. } if reason != CANCELLED_REASON => {
            found.push(Contradiction::OtherReason)
        }
        TrialCommandState::Failed { .. } if end == InterruptedTurnEnd::FinishedAfter => {
            found.push(Contradiction::CancelledButComplete)
        }
        TrialCommandState::Failed { .. } => {}
    }
    let failed = matches!(round.prompt, TrialCommandState::Failed { .. });
    match &round.interrupt {
        // If the prompt was rejected, no turn is running that could be interrupted.
        TrialCommandState::Refused(_) if matches!(round.prompt, TrialCommandState::Refused(_)) => {}
        TrialCommandState::Refused(_) if cancelled || failed || end == InterruptedTurnEnd::FinishedAfter => {
            found.push(Contradiction::RefusedWhileWorking);
        }
        TrialCommandState::Open { .. } => found.push(Contradiction::NotFinal),
        TrialCommandState::Finished { .. } if end == InterruptedTurnEnd::FinishedAfter => {
            found.push(Contradiction::InterruptIgnored)
        }
        TrialCommandState::Failed { .. } if cancelled || failed => found.push(Contradiction::FailedButCancelled),
        TrialCommandState::Refused(_) | TrialCommandState::Finished { .. } | TrialCommandState::Failed { .. } => {}
    }
    if round.streams.len() > 1 {
        found.push(Contradiction::RequestedTwice);
    }
    let texts = [&round.prompt, &round.interrupt].into_iter().filter_map(TrialCommandState::text);
    if texts.into_iter().any(|text| leak::find(text).is_some()) {
        found.push(Contradiction::Leaked);
    }
    found.sort();
    found
}

fn apart(one: SystemTime, other: SystemTime) -> Duration {
    one.duration_since(other).unwrap_or_else(|error| error.duration())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::AnswerStream;

    const START: SystemTime = SystemTime::UNIX_EPOCH;

    fn at(milliseconds: u64) -> SystemTime {
        START + Duration::from_millis(milliseconds)
    }

    fn finished() -> TrialCommandState {
        TrialCommandState::Finished { accepted: at(100), at: at(150) }
    }

    fn failed(reason: &str) -> TrialCommandState {
        TrialCommandState::Failed { accepted: at(90), at: at(160), reason: reason.to_owned() }
    }

    fn open() -> TrialCommandState {
        TrialCommandState::Open { stage: "delivered".to_owned() }
    }

    fn refused() -> TrialCommandState {
        TrialCommandState::Refused("409 nothing to interrupt".to_owned())
    }

    fn round(prompt: TrialCommandState, interrupt: TrialCommandState, ends: &[Option<StreamEnd>]) -> InterruptRound {
        let stream = |end: &Option<StreamEnd>| AnswerStream { prompt: String::new(), requested: START, end: *end };
        let streams = ends.iter().map(stream).collect();
        InterruptRound {
            marker: "m".to_owned(),
            delay: Duration::ZERO,
            interrupted: at(100),
            prompt,
            interrupt,
            streams,
        }
    }

    const CUT: Option<StreamEnd> = Some(StreamEnd::Cut(START));
    const NEVER: &[Option<StreamEnd>] = &[];

    fn complete(milliseconds: u64) -> Option<StreamEnd> {
        Some(StreamEnd::Complete(at(milliseconds)))
    }

    #[test]
    fn receipts_that_agree_with_the_model_are_right() {
        for (round, expected) in [
            (round(failed(CANCELLED_REASON), finished(), NEVER), InterruptedTurnEnd::CancelledBeforeSubmission),
            (round(failed(CANCELLED_REASON), finished(), &[CUT]), InterruptedTurnEnd::CancelledInStream),
            (round(finished(), finished(), &[complete(90)]), InterruptedTurnEnd::FinishedBefore),
            (round(finished(), finished(), &[complete(200)]), InterruptedTurnEnd::FinishedBefore),
            (round(failed(CANCELLED_REASON), finished(), &[complete(110)]), InterruptedTurnEnd::FinishedBefore),
            (round(finished(), refused(), &[complete(90)]), InterruptedTurnEnd::FinishedBefore),
            (round(finished(), failed("too late"), &[complete(90)]), InterruptedTurnEnd::FinishedBefore),
            (round(finished(), failed("not taken"), &[complete(6000)]), InterruptedTurnEnd::FinishedAfter),
        ] {
            assert_eq!((turn_end(&round), contradictions(&round)), (expected, vec![]), "{round:?}");
        }
    }

    #[test]
    fn receipts_that_contradict_the_model_are_found() {
        use Contradiction::*;
        let uuid = "expected active turn id 01a1b2c3-d4e5-7f60-8a9b-0c1d2e3f4a5b";
        for (round, expected) in [
            (round(finished(), finished(), &[complete(6000)]), vec![InterruptIgnored]),
            (round(finished(), finished(), &[None]), vec![InterruptIgnored]),
            (
                round(failed(CANCELLED_REASON), finished(), &[complete(6000)]),
                vec![InterruptIgnored, CancelledButComplete],
            ),
            (round(finished(), finished(), &[CUT]), vec![FinishedButCut]),
            (round(finished(), finished(), NEVER), vec![FinishedButCut]),
            (round(failed("error"), finished(), &[CUT]), vec![OtherReason]),
            (round(failed(CANCELLED_REASON), failed("no"), &[CUT]), vec![FailedButCancelled]),
            (round(failed(CANCELLED_REASON), failed(uuid), NEVER), vec![FailedButCancelled, Leaked]),
            (round(failed(CANCELLED_REASON), failed("no"), &[complete(90)]), vec![FailedButCancelled]),
            (round(failed(CANCELLED_REASON), refused(), &[CUT]), vec![RefusedWhileWorking]),
            (round(finished(), refused(), &[complete(6000)]), vec![RefusedWhileWorking]),
            (round(open(), finished(), &[CUT]), vec![NotFinal]),
            (round(failed(CANCELLED_REASON), open(), &[CUT]), vec![NotFinal]),
            (round(refused(), refused(), NEVER), vec![NotFinal]),
            (round(failed(CANCELLED_REASON), finished(), &[CUT, CUT]), vec![RequestedTwice]),
        ] {
            assert_eq!(contradictions(&round), expected, "{round:?}");
        }
    }

    #[test]
    fn the_time_until_both_receipts_are_final_counts() {
        let both = round(failed(CANCELLED_REASON), finished(), &[CUT]);
        assert_eq!(both.settled_after(), Some(Duration::from_millis(60)));
        assert_eq!(round(open(), finished(), NEVER).settled_after(), None);
    }
}
