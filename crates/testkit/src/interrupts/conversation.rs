//! Conversation of the trial: a wh process with an agent, and its rounds.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use serde_json::{Value, json};
use wh_api::wire::control::{ReachedBody, ReceiptBody};

use super::InterruptTrial;
use super::watch::ReceiptWatch;
use crate::http::{RawConnection, TestRequest, TestResponse};
use crate::model::AnswerStream;
use crate::random::SeededRandom;
use crate::{CONDITION_TIMEOUT, Lab, Wh, deadline};

/// Maximum random delay between a prompt and its interrupt.
const MAX_INTERRUPT_DELAY: Duration = Duration::from_millis(200);

/// Prompt with an answer of six seconds. wh ends an interrupted turn by itself after five seconds. The answer takes
/// longer, so that the trial detects an ignored interrupt.
const LONG_ANSWER_PROMPT: &str = "slow: 60";

/// Prompt with an answer of a tenth of a second, which ends at about the time of the interrupt.
const SHORT_ANSWER_PROMPT: &str = "slow: 1";

/// Average number of rounds for each round with a short answer.
const ROUNDS_PER_SHORT_ANSWER: usize = 5;

/// Average number of rounds for each round in which the interrupt is sent without delay.
const ROUNDS_PER_IMMEDIATE_INTERRUPT: usize = 3;

/// Maximum time between an interrupt and the final receipts of its round for a cancellation that counts as immediate.
const IMMEDIATE_CANCEL_WINDOW: Duration = Duration::from_secs(1);

/// Round of the trial: one prompt and its interrupt.
#[derive(Debug, Clone)]
pub(super) struct InterruptRound {
    /// Unique word in the prompt.
    pub marker: String,
    /// Delay between the HTTP response to the prompt and the sending of the interrupt. Zero if both requests were sent
    /// in one write.
    pub delay: Duration,
    /// Time at which the interrupt was sent.
    pub interrupted: SystemTime,
    pub prompt: TrialCommandState,
    pub interrupt: TrialCommandState,
    /// Answers that the model streamed for the prompt.
    pub streams: Vec<AnswerStream>,
}

/// Last known state of a command.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum TrialCommandState {
    /// Rejected with this HTTP status and body. The command has no receipt.
    Refused(String),
    /// Not final before the timeout.
    Open {
        stage: String,
    },
    Finished {
        accepted: SystemTime,
        at: SystemTime,
    },
    Failed {
        accepted: SystemTime,
        at: SystemTime,
        reason: String,
    },
}

impl TrialCommandState {
    /// Returns the times at which the command was accepted and at which its receipt became final; `None` if the command
    /// was rejected or is not final.
    pub fn times(&self) -> Option<(SystemTime, SystemTime)> {
        match *self {
            Self::Finished { accepted, at } | Self::Failed { accepted, at, .. } => Some((accepted, at)),
            Self::Refused(_) | Self::Open { .. } => None,
        }
    }

    /// Returns the text shown to users: the rejection, or the reason of a failure.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Refused(text) | Self::Failed { reason: text, .. } => Some(text),
            Self::Open { .. } | Self::Finished { .. } => None,
        }
    }

    /// Determines the state from the response to a command and its last receipt.
    fn of(answer: &TestResponse, receipt: Option<&ReceiptBody>) -> Self {
        if answer.status != 200 {
            return Self::Refused(format!("{} {}", answer.status, answer.text()));
        }
        let Some(receipt) = receipt else { return Self::Open { stage: "unknown".to_owned() } };
        let time = |reached: Option<&ReachedBody>| reached?.at.parse::<Timestamp>().ok().map(SystemTime::from);
        let reason = || receipt.reason.clone().unwrap_or_else(|| "unknown".to_owned());
        match (receipt.stage.as_str(), time(receipt.reached.first()).zip(time(receipt.reached.last()))) {
            ("finished", Some((accepted, at))) => Self::Finished { accepted, at },
            ("failed", Some((accepted, at))) => Self::Failed { accepted, at, reason: reason() },
            (stage, _) => Self::Open { stage: stage.to_owned() },
        }
    }
}

impl InterruptRound {
    /// Returns the time between the acceptance of the interrupt and the moment at which both receipts were final.
    /// `None` if a command was rejected or is not final.
    pub fn settled_after(&self) -> Option<Duration> {
        let ((_, prompt), (accepted, interrupt)) = (self.prompt.times()?, self.interrupt.times()?);
        Some(prompt.max(interrupt).duration_since(accepted).unwrap_or_default())
    }

    /// Returns true if the prompt was accepted and no receipt is open, so that the next round can start.
    pub fn is_over(&self) -> bool {
        let open = |state: &TrialCommandState| matches!(state, TrialCommandState::Open { .. });
        !open(&self.prompt) && !open(&self.interrupt) && !matches!(self.prompt, TrialCommandState::Refused(_))
    }
}

/// A wh process with an agent that is ready for prompts.
pub(super) struct InterruptConversation<'a> {
    trial: &'a InterruptTrial,
    lab: &'a Lab,
    wh: Wh,
    watch: ReceiptWatch,
}

impl<'a> InterruptConversation<'a> {
    pub fn start(trial: &'a InterruptTrial, lab: &'a Lab) -> Self {
        let wh = Wh::options(&trial.wh).space().environment(lab.env()).directory(&lab.project);
        let wh = wh.flags(&["--agent", trial.agent.id()]).start(&[]);
        wh.wait(r#"screen_contains "Type a message" and idle"#);
        let watch = ReceiptWatch::open(wh.port());
        Self { trial, lab, wh, watch }
    }

    /// Sends a prompt and its interrupt and waits until both receipts are final. The answer streams are added by
    /// [`InterruptConversation::end`].
    pub fn round(&mut self, number: usize) -> InterruptRound {
        let agent = self.trial.agent;
        let mut chance = SeededRandom(self.trial.seed ^ ((number * 3 + agent as usize) as u64) << 20);
        let answer = if chance.below(ROUNDS_PER_SHORT_ANSWER) == 0 { SHORT_ANSWER_PROMPT } else { LONG_ANSWER_PROMPT };
        let delay = match chance.below(ROUNDS_PER_IMMEDIATE_INTERRUPT) {
            0 => Duration::ZERO,
            _ => Duration::from_micros(chance.below(MAX_INTERRUPT_DELAY.as_micros() as usize) as u64),
        };
        let marker = format!("marker-{}-{number:06}", agent.id());
        let (prompt_id, interrupt_id) = (format!("prompt-{number}"), format!("interrupt-{number}"));
        let message = json!({ "message": format!("{answer} {marker}"), "request_id": prompt_id });
        let prompt = TestRequest::post_json("/message", &message).keep_alive();
        let interrupt =
            TestRequest::post_json("/control/interrupt", &json!({ "request_id": interrupt_id })).keep_alive();

        let mut connection = RawConnection::open(self.wh.port()).expect("wh listens");
        let (interrupted, answers) = if delay.is_zero() {
            (SystemTime::now(), connection.pipeline([&prompt, &interrupt]))
        } else {
            let prompted = connection.send(&prompt);
            std::thread::sleep(delay);
            let interrupted = SystemTime::now();
            (interrupted, prompted.and_then(|prompted| Ok([prompted, connection.send(&interrupt)?])))
        };
        let [prompted, stopped] = answers.unwrap_or_else(|error| panic!("wh did not answer {marker}: {error}"));
        let mut last = |id: &str, answer: &TestResponse| {
            let receipt = if answer.status == 200 { self.watch.last(id) } else { None };
            TrialCommandState::of(answer, receipt.as_ref())
        };
        let (prompt, interrupt) = (last(&prompt_id, &prompted), last(&interrupt_id, &stopped));
        let round = InterruptRound { marker, delay, interrupted, prompt, interrupt, streams: Vec::new() };
        // After an immediate cancellation, the next round starts at once, even if the agent is still busy with the
        // cancellation. Otherwise the answers must end first, because a running turn would affect the next round.
        if round.settled_after().is_none_or(|time| time > IMMEDIATE_CANCEL_WINDOW) {
            deadline::wait_until(CONDITION_TIMEOUT, || self.ended_streams(&round.marker));
        }
        self.lab.model.discard_requests();
        round
    }

    /// Returns the streams of a prompt if all of them have ended.
    fn ended_streams(&self, marker: &str) -> Option<Vec<AnswerStream>> {
        let streams = self.lab.model.streams(marker);
        streams.iter().all(|stream| stream.end.is_some()).then_some(streams)
    }

    /// Adds the answer streams to each round and stops wh. Returns the texts of all notices.
    pub fn end(self, rounds: &mut [InterruptRound]) -> Vec<String> {
        for round in rounds.iter_mut() {
            // The streams are read last because a model request may follow the final receipt of its prompt.
            let streams = deadline::wait_until(CONDITION_TIMEOUT, || self.ended_streams(&round.marker));
            round.streams = streams.unwrap_or_else(|| self.lab.model.streams(&round.marker));
        }
        let messages = self.wh.get("/control/messages?limit=100000").json();
        let messages = messages["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
        let is_notice = |message: &&Value| message["kind"].as_str().is_some_and(|kind| kind.starts_with("system/"));
        messages.iter().filter(is_notice).flat_map(|message| notice_lines(&message["payload"])).collect()
    }
}

fn notice_lines(payload: &Value) -> Vec<String> {
    let lines = payload["lines"].as_array().into_iter().flatten().chain(payload.get("text"));
    lines.filter_map(|line| line.as_str().map(str::to_owned)).collect()
}
