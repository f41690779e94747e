//! Protocol of an agent that runs in its own terminal UI. Combines hooks, transcript, title and screen into the same
//! reports as the other protocols, and types prompts and answers through the screen. Pure; [`super::task`] does the IO.

mod observe;
mod operate;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;
use wh_core::space::TurnId;
use wh_core::space::harness::{Call, Report, ReportedCapabilities, TurnOutcome};
use wh_core::space::question::{Answer, Question};
use wh_pipe::lines::MAX_LINE_BYTES;
use wh_pipe::link::{Link, LinkEvent};

use super::activity::ActivityTracker;
use super::codec::{Exchange, Observation, ScreenObservation, TerminalTaskCommand};
use super::dialogs::DialogTracker;
use super::profile::{AgentProfile, TitleReading};
use super::reading::{DialogReading, ScreenPlace};
use super::send::{PromptSend, SendView};
use super::task::{self, TerminalTaskParts};
use super::transcript::{TranscriptFormat, TranscriptReader};
use crate::driver::{
    AgentSetting, ConnectError, Connected, DriverState, DriverSteps, Handshake, Protocol, ProtocolFrame, RequestFailure,
};
use crate::interface::{AgentStartError, ReportSender};

/// Time after the end of a turn in which the last lines of the transcript may arrive.
const TRANSCRIPT_GRACE: Duration = Duration::from_millis(400);

/// Time for which title and screen must show an idle agent before a turn ends without a hook or a line of the
/// transcript.
const IDLE_FALLBACK_WINDOW: Duration = Duration::from_secs(4);

/// Maximum number of prompts that one source has reported and another has not.
const MAX_UNMATCHED_PROMPTS: usize = 64;

/// Prompt of the driver that is being typed.
struct TypedPrompt {
    turn: TurnId,
    send: PromptSend,
    /// True if an interrupt has cancelled the prompt.
    cancelled: bool,
    /// True until the prompt has been looked at for the first time.
    is_new: bool,
}

/// Protocol of an agent in its own terminal UI.
pub struct TerminalProtocol {
    profile: &'static AgentProfile,
    title: String,
    /// True if the agent calls a hook for each prompt.
    has_prompt_hook: bool,
    /// Parts of the IO task; `None` once it has been started.
    parts: Option<TerminalTaskParts>,
    translator: Box<dyn TranscriptReader + Send>,
    screen: Option<ScreenObservation>,
    /// Time of the last input of others.
    typed_at: Option<Instant>,
    prompt: Option<TypedPrompt>,
    dialogs: DialogTracker,
    /// Dialog whose answer is being typed.
    answering: bool,
    guards_text: bool,
    activity: ActivityTracker,
    /// Hooks that wait until a prompt has been typed.
    held_hooks: Vec<u64>,
    /// Process of the agent, as its first hook shows it.
    agent_process: Option<i32>,
    format: TranscriptFormat,
    transcript: Option<PathBuf>,
    /// True while the lines are read that the transcript had when it was opened.
    replays: bool,
    /// True while the agent works on a prompt, as far as the evidence tells.
    works: bool,
    /// Prompts that a hook has reported and the transcript has not, and the other way round.
    hooked_prompts: VecDeque<String>,
    recorded_prompts: VecDeque<String>,
    /// Outcome of the current work, and the time at which it is reported.
    ending: Option<(TurnOutcome, Instant)>,
    /// Time since when title and screen show an idle agent while a turn runs.
    looks_idle_since: Option<Instant>,
}

impl TerminalProtocol {
    /// Creates the protocol of one terminal. `parts` become the IO task at the first connection.
    pub fn new(title: String, format: TranscriptFormat, has_prompt_hook: bool, parts: TerminalTaskParts) -> Self {
        Self {
            profile: parts.profile,
            title,
            has_prompt_hook,
            format,
            parts: Some(parts),
            translator: format.reader(),
            screen: None,
            typed_at: None,
            prompt: None,
            dialogs: DialogTracker::default(),
            answering: false,
            guards_text: false,
            activity: ActivityTracker::default(),
            held_hooks: Vec::new(),
            agent_process: None,
            transcript: None,
            replays: false,
            works: false,
            hooked_prompts: VecDeque::new(),
            recorded_prompts: VecDeque::new(),
            ending: None,
            looks_idle_since: None,
        }
    }

    fn place(&self) -> &ScreenPlace {
        self.screen.as_ref().map_or(&ScreenPlace::Unrecognised, |screen| &screen.reading.place)
    }

    fn dialog_on_screen(&self) -> Option<&DialogReading> {
        match self.place() {
            ScreenPlace::Dialog(dialog) => Some(dialog),
            _ => None,
        }
    }

    fn send_view(&self) -> SendView<'_> {
        let works = self
            .screen
            .as_ref()
            .is_some_and(|screen| screen.reading.shows_work == Some(true) || screen.title == TitleReading::Working);
        SendView { place: self.place(), asked: self.dialogs.is_asking(), works, typed_at: self.typed_at }
    }
}

impl Protocol for TerminalProtocol {
    type Codec = Exchange;
    type ErrorReply = String;
    type PendingQuestion = DialogReading;
    type Tag = ();

    fn title(&self) -> &str {
        &self.title
    }

    fn acknowledges_interrupts(&self) -> bool {
        false
    }

    fn confirms_delivery(&self) -> bool {
        true
    }

    fn can_restart(&self) -> bool {
        false
    }

    fn capabilities(&self) -> ReportedCapabilities {
        ReportedCapabilities { interrupts: true, acknowledges: true, ..ReportedCapabilities::default() }
    }

    fn failure_text(&self, failure: &RequestFailure<String>) -> String {
        failure.describe(Clone::clone)
    }

    fn redact_ids(&self, text: &str) -> String {
        text.to_owned()
    }

    fn on_message(&mut self, message: Observation, now: DriverState<'_>, steps: &mut DriverSteps<Self>) {
        self.observe(message, now, steps);
        self.advance(now, steps);
    }

    fn prompt(&mut self, turn: &TurnId, text: &str, _steps: &mut DriverSteps<Self>) -> ProtocolFrame<Self> {
        self.prompt = Some(TypedPrompt {
            turn: turn.clone(),
            send: PromptSend::new(text, self.profile),
            cancelled: false,
            is_new: true,
        });
        TerminalTaskCommand::Nothing
    }

    fn interrupt(&mut self, turn: Option<&TurnId>) -> Option<TerminalTaskCommand> {
        self.interrupt_command(turn)
    }

    fn finish_items(&mut self, _steps: &mut DriverSteps<Self>) {
        self.dialogs.forget_announced();
    }

    fn objection(&self, ask: &DialogReading, _part: usize, answer: &Answer) -> Option<String> {
        self.answer_keys(ask, answer).err()
    }

    fn answer(
        &mut self,
        ask: DialogReading,
        answers: Vec<(Question, Answer)>,
        _steps: &mut DriverSteps<Self>,
    ) -> ProtocolFrame<Self> {
        self.answer_command(ask, &answers)
    }

    fn check_mode(&self, mode: &str) -> Result<(), AgentStartError> {
        Err(AgentStartError::Unknown {
            agent: self.title.clone(),
            what: "mode",
            given: mode.to_owned(),
            hint: "change the mode in the agent's own terminal UI".to_owned(),
        })
    }

    fn setting_request(&mut self, _setting: &AgentSetting) -> Option<ProtocolFrame<Self>> {
        None
    }

    fn on_setting_reply(
        &mut self,
        _setting: &AgentSetting,
        _outcome: Result<Value, RequestFailure<String>>,
    ) -> Result<(), String> {
        Err("change it in the agent's own terminal UI".to_owned())
    }

    fn skipping_mode(&self) -> Option<String> {
        None
    }

    fn careful_mode(&self) -> Option<String> {
        None
    }

    fn run_call(&mut self, id: u64, _call: Call, _now: DriverState<'_>, steps: &mut DriverSteps<Self>) {
        let title = &self.title;
        let why = format!("{title} runs in its own terminal UI; use its own command there");
        steps.called(id, Err(why));
    }

    fn wake_at(&self, now: DriverState<'_>) -> Option<Instant> {
        self.next_wake(now)
    }

    fn on_wake(&mut self, now: DriverState<'_>, steps: &mut DriverSteps<Self>) {
        self.advance(now, steps);
    }

    fn on_process_end(&mut self) -> bool {
        false
    }

    fn forget_conversation(&mut self) {}
}

impl Handshake for TerminalProtocol {
    /// Waits until the agent's composer is on the screen.
    async fn connect(&mut self, reports: &ReportSender) -> Result<Connected<Self>, ConnectError> {
        let Some(parts) = self.parts.take() else {
            return Err(ConnectError::Fatal("the agent's terminal UI has ended".to_owned()));
        };
        let exchange = Exchange::default();
        let of_task = exchange.clone();
        let opened = Link::with_task(exchange, MAX_LINE_BYTES, |pipes| task::run(pipes, of_task, parts));
        let (link, mut events) = opened.map_err(|error| ConnectError::Fatal(error.to_string()))?;
        let mut early = Vec::new();
        loop {
            match events.next().await {
                Some(LinkEvent::Message(Observation::Screen(screen))) => {
                    let is_ready = matches!(screen.reading.place, ScreenPlace::Composer(_));
                    self.screen = Some(screen);
                    if is_ready {
                        break;
                    }
                    let reading = self.screen.as_ref().map(|screen| &screen.reading);
                    if let Some(report) = self.activity.starting(reading) {
                        reports.send(Report::Activity(report)).await?;
                    }
                }
                Some(LinkEvent::Closed(closed)) => return Err(ConnectError::Fatal(closed.reason())),
                None => return Err(ConnectError::Fatal("the agent's terminal has ended".to_owned())),
                Some(event) => {
                    // An agent may wait for a hook before it shows its composer.
                    if let LinkEvent::Message(Observation::Hook { number, .. }) = &event
                        && let Err(error) = link.send(TerminalTaskCommand::ContinueHook(*number)).await
                    {
                        return Err(ConnectError::Fatal(error.to_string()));
                    }
                    early.push(event);
                }
            }
        }
        events.put_back(early);
        Ok(Connected { link, events, initial_reports: Vec::new(), own_question: None })
    }
}

impl TerminalProtocol {
    /// Tells the driver that the current work has begun.
    fn begin_work(&mut self, steps: &mut DriverSteps<Self>) {
        self.works = true;
        steps.begun();
    }

    /// Tells the driver that the current work has ended.
    fn finish_work(&mut self, outcome: TurnOutcome, steps: &mut DriverSteps<Self>) {
        self.works = false;
        self.looks_idle_since = None;
        steps.ended(outcome);
    }

    /// Reports the evidence for the activity if it has changed.
    fn report_activity(&mut self, now: DriverState<'_>, steps: &mut DriverSteps<Self>) {
        let waits_for = self.prompt.as_ref().and_then(|prompt| prompt.send.waits_for(&self.send_view(), now.at));
        let title = self.screen.as_ref().map_or(TitleReading::Unknown, |screen| screen.title);
        let works = self.works;
        let reading = self.screen.as_ref().map(|screen| &screen.reading);
        if let Some(report) = self.activity.report((works, self.dialogs.is_open()), reading, title, waits_for) {
            steps.report(Report::Activity(report));
        }
    }
}
