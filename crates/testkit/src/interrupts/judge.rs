//! Compares the receipts of one round with what the model delivered. Pure.

use std::fmt;
use std::time::{Duration, SystemTime};

use super::conversation::{CommandState, Round};
use super::leak;
use crate::model::StreamEnd;

/// The reason of a receipt whose turn was interrupted.
const CANCELLED: &str = "cancelled";

/// Answers that were complete within this time before or after the interrupt count as concurrent with it: the turn may be
/// cancelled or finished. Shorter than a long answer, longer than a short one.
const CONCURRENT: Duration = Duration::from_secs(2);

/// The end of an interrupted turn, by the log of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TurnFate {
    /// The model was never asked.
    CancelledBeforeSubmission,
    /// The agent closed the connection to the model in the middle of the answer.
    CancelledInStream,
    /// The answer was complete before the interrupt, or at about the same time.
    FinishedBefore,
    /// The answer ran to its end long after the interrupt.
    RanOn,
}

/// A receipt or a notice that disagrees with the log of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Contradiction {
    /// The interrupt `finished`, and the answer ran to its end.
    InterruptIgnored,
    /// The prompt was `cancelled`, and the model delivered the whole answer.
    CancelledButComplete,
    /// The prompt `finished`, and the answer was cut or never requested.
    FinishedButCut,
    /// The prompt failed for another reason than the interrupt.
    OtherReason,
    /// The interrupt `failed`, and the turn was cancelled.
    FailedButCancelled,
    /// The interrupt was refused while the turn was under way.
    RefusedWhileWorking,
    /// A receipt did not become final, or the prompt was refused.
    NotFinal,
    /// The prompt was requested from the model more than once.
    RequestedTwice,
    /// A receipt or a notice has an id of the provider or a line of the agent's log.
    Leaked,
}

impl fmt::Display for Contradiction {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::InterruptIgnored => "interrupt `finished`, answer ran to its end",
            Self::CancelledButComplete => "prompt `cancelled`, answer complete",
            Self::FinishedButCut => "prompt `finished`, answer cut or never requested",
            Self::OtherReason => "prompt `failed` for another reason",
            Self::FailedButCancelled => "interrupt `failed`, turn cancelled",
            Self::RefusedWhileWorking => "interrupt refused, turn under way",
            Self::NotFinal => "receipt not final, or prompt refused",
            Self::RequestedTwice => "prompt requested twice",
            Self::Leaked => "provider's id or log line in a text for people",
        })
    }
}

/// The end of the turn, by the log of the model alone.
pub(super) fn fate(round: &Round) -> TurnFate {
    let fates = round.streams.iter().map(|stream| match stream.end {
        Some(StreamEnd::Complete(at)) if apart(at, round.interrupted) <= CONCURRENT => TurnFate::FinishedBefore,
        Some(StreamEnd::Complete(_)) | None => TurnFate::RanOn,
        Some(StreamEnd::Cut(_)) => TurnFate::CancelledInStream,
    });
    fates.max().unwrap_or(TurnFate::CancelledBeforeSubmission)
}

/// Contradictions between the receipts of a round and the log of the model.
pub(super) fn contradictions(round: &Round) -> Vec<Contradiction> {
    let fate = fate(round);
    let cancelled = matches!(fate, TurnFate::CancelledBeforeSubmission | TurnFate::CancelledInStream);
    let mut found = Vec::new();
    match &round.prompt {
        CommandState::Refused(_) | CommandState::Open { .. } => found.push(Contradiction::NotFinal),
        CommandState::Finished { .. } if cancelled => found.push(Contradiction::FinishedButCut),
        CommandState::Finished { .. } => {}
        CommandState::Failed { reason, .. } if reason != CANCELLED => found.push(Contradiction::OtherReason),
        CommandState::Failed { .. } if fate == TurnFate::RanOn => found.push(Contradiction::CancelledButComplete),
        CommandState::Failed { .. } => {}
    }
    let failed = matches!(round.prompt, CommandState::Failed { .. });
    match &round.interrupt {
        // Without its prompt there is nothing to interrupt.
        CommandState::Refused(_) if matches!(round.prompt, CommandState::Refused(_)) => {}
        CommandState::Refused(_) if cancelled || failed || fate == TurnFate::RanOn => {
            found.push(Contradiction::RefusedWhileWorking);
        }
        CommandState::Open { .. } => found.push(Contradiction::NotFinal),
        CommandState::Finished { .. } if fate == TurnFate::RanOn => found.push(Contradiction::InterruptIgnored),
        CommandState::Failed { .. } if cancelled || failed => found.push(Contradiction::FailedButCancelled),
        CommandState::Refused(_) | CommandState::Finished { .. } | CommandState::Failed { .. } => {}
    }
    if round.streams.len() > 1 {
        found.push(Contradiction::RequestedTwice);
    }
    let texts = [&round.prompt, &round.interrupt].into_iter().filter_map(CommandState::text);
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
    use crate::model::PromptStream;

    const START: SystemTime = SystemTime::UNIX_EPOCH;

    fn at(milliseconds: u64) -> SystemTime {
        START + Duration::from_millis(milliseconds)
    }

    fn finished() -> CommandState {
        CommandState::Finished { accepted: at(100), at: at(150) }
    }

    fn failed(reason: &str) -> CommandState {
        CommandState::Failed { accepted: at(90), at: at(160), reason: reason.to_owned() }
    }

    fn open() -> CommandState {
        CommandState::Open { stage: "delivered".to_owned() }
    }

    fn refused() -> CommandState {
        CommandState::Refused("409 nothing to interrupt".to_owned())
    }

    fn round(prompt: CommandState, interrupt: CommandState, ends: &[Option<StreamEnd>]) -> Round {
        let stream = |end: &Option<StreamEnd>| PromptStream { prompt: String::new(), requested: START, end: *end };
        let streams = ends.iter().map(stream).collect();
        Round { marker: "m".to_owned(), delay: Duration::ZERO, interrupted: at(100), prompt, interrupt, streams }
    }

    const CUT: Option<StreamEnd> = Some(StreamEnd::Cut(START));
    const NEVER: &[Option<StreamEnd>] = &[];

    fn complete(milliseconds: u64) -> Option<StreamEnd> {
        Some(StreamEnd::Complete(at(milliseconds)))
    }

    #[test]
    fn receipts_that_agree_with_the_model_are_right() {
        for (round, expected) in [
            (round(failed(CANCELLED), finished(), NEVER), TurnFate::CancelledBeforeSubmission),
            (round(failed(CANCELLED), finished(), &[CUT]), TurnFate::CancelledInStream),
            (round(finished(), finished(), &[complete(90)]), TurnFate::FinishedBefore),
            (round(finished(), finished(), &[complete(200)]), TurnFate::FinishedBefore),
            (round(failed(CANCELLED), finished(), &[complete(110)]), TurnFate::FinishedBefore),
            (round(finished(), refused(), &[complete(90)]), TurnFate::FinishedBefore),
            (round(finished(), failed("too late"), &[complete(90)]), TurnFate::FinishedBefore),
            (round(finished(), failed("not taken"), &[complete(6000)]), TurnFate::RanOn),
        ] {
            assert_eq!((fate(&round), contradictions(&round)), (expected, vec![]), "{round:?}");
        }
    }

    #[test]
    fn receipts_that_contradict_the_model_are_found() {
        use Contradiction::*;
        let uuid = "expected active turn id 01a1b2c3-d4e5-7f60-8a9b-0c1d2e3f4a5b";
        for (round, expected) in [
            (round(finished(), finished(), &[complete(6000)]), vec![InterruptIgnored]),
            (round(finished(), finished(), &[None]), vec![InterruptIgnored]),
            (round(failed(CANCELLED), finished(), &[complete(6000)]), vec![InterruptIgnored, CancelledButComplete]),
            (round(finished(), finished(), &[CUT]), vec![FinishedButCut]),
            (round(finished(), finished(), NEVER), vec![FinishedButCut]),
            (round(failed("error"), finished(), &[CUT]), vec![OtherReason]),
            (round(failed(CANCELLED), failed("no"), &[CUT]), vec![FailedButCancelled]),
            (round(failed(CANCELLED), failed(uuid), NEVER), vec![FailedButCancelled, Leaked]),
            (round(failed(CANCELLED), failed("no"), &[complete(90)]), vec![FailedButCancelled]),
            (round(failed(CANCELLED), refused(), &[CUT]), vec![RefusedWhileWorking]),
            (round(finished(), refused(), &[complete(6000)]), vec![RefusedWhileWorking]),
            (round(open(), finished(), &[CUT]), vec![NotFinal]),
            (round(failed(CANCELLED), open(), &[CUT]), vec![NotFinal]),
            (round(refused(), refused(), NEVER), vec![NotFinal]),
            (round(failed(CANCELLED), finished(), &[CUT, CUT]), vec![RequestedTwice]),
        ] {
            assert_eq!(contradictions(&round), expected, "{round:?}");
        }
    }

    #[test]
    fn the_time_until_both_receipts_are_final_counts() {
        let both = round(failed(CANCELLED), finished(), &[CUT]);
        assert_eq!(both.settled_after(), Some(Duration::from_millis(60)));
        assert_eq!(round(open(), finished(), NEVER).settled_after(), None);
    }
}
