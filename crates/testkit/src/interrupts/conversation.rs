//! One conversation of the trial: a wh with its agent, and the rounds in it.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use serde_json::{Value, json};
use wh_api::wire::control::{ReachedBody, ReceiptBody};

use super::InterruptTrial;
use super::watch::ReceiptWatch;
use crate::chance::Chance;
use crate::http::{Connection, Request, Response};
use crate::model::PromptStream;
use crate::{Lab, PATIENCE, Wh, deadline};

/// The interrupt follows its prompt within this time.
const MAX_DELAY: Duration = Duration::from_millis(200);

/// An answer of six seconds. Longer than the five seconds after which wh ends an interrupted turn by itself, so that a turn
/// that was not cancelled is seen to run on.
const LONG_ANSWER: &str = "slow: 60";

/// An answer of a tenth of a second: its end and the interrupt come at about the same time.
const SHORT_ANSWER: &str = "slow: 1";

/// One round in this many has a short answer.
const SHORT_ANSWER_SHARE: usize = 5;

/// In one round in this many the interrupt follows its prompt at once.
const NO_DELAY_SHARE: usize = 3;

/// A round whose receipts take longer than this to become final was not cancelled at once.
const SLOW: Duration = Duration::from_secs(1);

/// One prompt and its interrupt.
#[derive(Debug, Clone)]
pub(super) struct Round {
    /// A word of the prompt that no other prompt has.
    pub marker: String,
    /// The time from the answer to the prompt until the interrupt was sent; zero where both were sent in one write.
    pub delay: Duration,
    /// The time at which the interrupt was sent.
    pub interrupted: SystemTime,
    pub prompt: CommandState,
    pub interrupt: CommandState,
    /// The answers that the model streamed to the prompt.
    pub streams: Vec<PromptStream>,
}

/// The last known state of a command.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum CommandState {
    /// Rejected with this status and body; there is no receipt.
    Refused(String),
    /// Not final when the deadline passed.
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

impl CommandState {
    /// The times of acceptance and of the final stage.
    pub fn times(&self) -> Option<(SystemTime, SystemTime)> {
        match *self {
            Self::Finished { accepted, at } | Self::Failed { accepted, at, .. } => Some((accepted, at)),
            Self::Refused(_) | Self::Open { .. } => None,
        }
    }

    /// The text that is shown to people: a refusal, or the reason of a failure.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Refused(text) | Self::Failed { reason: text, .. } => Some(text),
            Self::Open { .. } | Self::Finished { .. } => None,
        }
    }

    /// Reads the HTTP answer to a command, and its last receipt.
    fn of(answer: &Response, receipt: Option<&ReceiptBody>) -> Self {
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

impl Round {
    /// The time from the interrupt until both receipts were final.
    pub fn settled_after(&self) -> Option<Duration> {
        let ((_, prompt), (accepted, interrupt)) = (self.prompt.times()?, self.interrupt.times()?);
        Some(prompt.max(interrupt).duration_since(accepted).unwrap_or_default())
    }

    /// True when the agent is free for the next round: it has had the prompt, and both receipts are final.
    pub fn is_over(&self) -> bool {
        let open = |state: &CommandState| matches!(state, CommandState::Open { .. });
        !open(&self.prompt) && !open(&self.interrupt) && !matches!(self.prompt, CommandState::Refused(_))
    }
}

/// A wh with an agent that is ready.
pub(super) struct Conversation<'a> {
    trial: &'a InterruptTrial,
    lab: &'a Lab,
    wh: Wh,
    watch: ReceiptWatch,
}

impl<'a> Conversation<'a> {
    pub fn start(trial: &'a InterruptTrial, lab: &'a Lab) -> Self {
        let wh = Wh::options(&trial.wh).space().environment(lab.env()).directory(&lab.project);
        let wh = wh.flags(&["--agent", trial.agent.id()]).start(&[]);
        wh.wait(r#"screen_contains "Type a message" and idle"#);
        let watch = ReceiptWatch::open(wh.port());
        Self { trial, lab, wh, watch }
    }

    /// Sends a prompt and its interrupt, and waits until both receipts are final. [`Conversation::end`] adds the streams.
    pub fn round(&mut self, number: usize) -> Round {
        let agent = self.trial.agent;
        let mut chance = Chance(self.trial.seed ^ ((number * 3 + agent as usize) as u64) << 20);
        let answer = if chance.below(SHORT_ANSWER_SHARE) == 0 { SHORT_ANSWER } else { LONG_ANSWER };
        let delay = match chance.below(NO_DELAY_SHARE) {
            0 => Duration::ZERO,
            _ => Duration::from_micros(chance.below(MAX_DELAY.as_micros() as usize) as u64),
        };
        let marker = format!("marker-{}-{number:06}", agent.id());
        let (prompt_id, interrupt_id) = (format!("prompt-{number}"), format!("interrupt-{number}"));
        let message = json!({ "message": format!("{answer} {marker}"), "request_id": prompt_id });
        let prompt = Request::post_json("/message", &message).keep_alive();
        let interrupt = Request::post_json("/control/interrupt", &json!({ "request_id": interrupt_id })).keep_alive();

        let mut connection = Connection::open(self.wh.port()).expect("wh listens");
        let (interrupted, answers) = if delay.is_zero() {
            (SystemTime::now(), connection.pipeline([&prompt, &interrupt]))
        } else {
            let prompted = connection.send(&prompt);
            std::thread::sleep(delay);
            let interrupted = SystemTime::now();
            (interrupted, prompted.and_then(|prompted| Ok([prompted, connection.send(&interrupt)?])))
        };
        let [prompted, stopped] = answers.unwrap_or_else(|error| panic!("wh did not answer {marker}: {error}"));
        let mut last = |id: &str, answer: &Response| {
            let receipt = if answer.status == 200 { self.watch.last(id) } else { None };
            CommandState::of(answer, receipt.as_ref())
        };
        let (prompt, interrupt) = (last(&prompt_id, &prompted), last(&interrupt_id, &stopped));
        let round = Round { marker, delay, interrupted, prompt, interrupt, streams: Vec::new() };
        // A turn that runs on would disturb the next round. After one that was cancelled the next prompt follows at once:
        // the agent may still be busy with the cancellation.
        if round.settled_after().is_none_or(|time| time > SLOW) {
            deadline::before(PATIENCE, || self.ended_streams(&round.marker));
        }
        self.lab.model.discard_requests();
        round
    }

    /// The streams of a prompt, if none of them runs.
    fn ended_streams(&self, marker: &str) -> Option<Vec<PromptStream>> {
        let streams = self.lab.model.streams(marker);
        streams.iter().all(|stream| stream.end.is_some()).then_some(streams)
    }

    /// Adds to each round the streams of its prompt, and ends wh. Returns the texts of all notices.
    pub fn end(self, rounds: &mut [Round]) -> Vec<String> {
        for round in rounds.iter_mut() {
            // Not before the end: a request may follow the final receipt of its prompt.
            let streams = deadline::before(PATIENCE, || self.ended_streams(&round.marker));
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
