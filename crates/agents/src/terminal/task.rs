//! Task that serves an agent's terminal for the driver: reads the screen, types, listens to hooks and follows the
//! transcript. All decisions are in [`super::protocol`].

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tokio::time::{Instant, sleep_until};
use wh_core::input::{Gesture, KeyCode, KeyPress};
use wh_pipe::lines::{Line, LineReader, MAX_LINE_BYTES};
use wh_pipe::{Exit, LineWriter, TaskPipes};
use wh_wire::hook::HookReply;

use super::codec::{Exchange, Observation, ScreenObservation, TerminalTaskCommand};
use super::dialogs::is_same;
use super::port::{AgentTerminal, TerminalView};
use super::profile::{AgentProfile, TitleReading};
use super::reading::{DialogReading, ScreenPlace};
use super::transcript::{
    FollowEvent, LocatedTranscript, ReceivedPrompt, TranscriptFollower, TranscriptSearch, TranscriptWatch,
};
use crate::hooks::{HookListener, HookResponder, IncomingHook};

/// Minimum interval between two readings of the screen.
const READ_INTERVAL: Duration = Duration::from_millis(20);

/// Interval at which the transcript with an expected prompt is searched.
const SEARCH_INTERVAL: Duration = Duration::from_millis(500);

/// Time after a prompt in which its transcript is searched.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(20);

/// Parts of the task: the terminal, its profile, the hook listener and the search for the transcript.
pub struct TerminalTaskParts {
    pub terminal: Box<dyn AgentTerminal>,
    pub profile: &'static AgentProfile,
    /// Listener for the agent's hooks; `None` if the agent runs without hooks.
    pub hooks: Option<HookListener>,
    /// Search for the transcript of an agent whose hooks do not name it.
    pub search: Option<TranscriptSearch>,
}

struct TerminalTask {
    terminal: Box<dyn AgentTerminal>,
    profile: &'static AgentProfile,
    hooks: Option<HookListener>,
    search: Option<(TranscriptSearch, TranscriptWatch)>,
    /// Prompt that was sent last, with its time, until [`SEARCH_TIMEOUT`] has passed.
    expected: Option<(String, SystemTime)>,
    /// Time of the next search for the transcript with the expected prompt.
    search_at: Option<Instant>,
    /// Path that the search has found last.
    found: Option<PathBuf>,
    exchange: Exchange,
    output: LineWriter,
    transcript: Option<TranscriptFollower>,
    /// Hooks that wait for [`TerminalTaskCommand::ContinueHook`].
    waiting_hooks: HashMap<u64, HookResponder>,
    last_hook: u64,
    sent: Option<ScreenObservation>,
    /// Time at which the screen is read next; `None` if it has not changed.
    read_at: Option<Instant>,
}

/// Error: the driver has closed the link.
struct LinkClosed;

/// Runs the task until the agent has exited or the driver closes the link.
pub async fn run(pipes: TaskPipes, exchange: Exchange, parts: TerminalTaskParts) -> Exit {
    let TerminalTaskParts { terminal, profile, hooks, search } = parts;
    let search = search.and_then(|search| {
        let watch = search.watch().inspect_err(|error| tracing::debug!(%error, "cannot watch for transcripts")).ok()?;
        Some((search, watch))
    });
    let task = TerminalTask {
        terminal,
        profile,
        hooks,
        search,
        expected: None,
        search_at: None,
        found: None,
        exchange,
        output: LineWriter::new(pipes.output),
        transcript: None,
        waiting_hooks: HashMap::new(),
        last_hook: 0,
        sent: None,
        read_at: Some(Instant::now()),
    };
    task.serve(LineReader::new(pipes.input, MAX_LINE_BYTES)).await
}

impl TerminalTask {
    async fn serve(mut self, mut commands: LineReader<wh_pipe::Stdout>) -> Exit {
        loop {
            let read_at = self.read_at;
            let outcome = tokio::select! {
                line = commands.next() => match line {
                    Ok(Some(Line::Complete(line))) => match self.exchange.take_command(line) {
                        Some(command) => self.command(command).await,
                        None => Ok(()),
                    },
                    Ok(Some(Line::TooLong { .. })) => Ok(()),
                    Ok(None) | Err(_) => Err(LinkClosed),
                },
                exit = self.terminal.changed() => match exit {
                    Some(exit) => return exit,
                    None => {
                        self.read_at.get_or_insert_with(|| Instant::now() + READ_INTERVAL);
                        Ok(())
                    }
                },
                () = until(read_at) => self.observe_screen(false).await,
                hook = next_hook(&mut self.hooks) => self.hook(hook).await,
                event = next_line(&mut self.transcript) => self.transcript_event(event).await,
                Ok(()) = next_change(&mut self.search) => self.locate().await,
                () = until(self.search_at) => self.locate().await,
            };
            if outcome.is_err() {
                self.terminal.end().await;
                return Exit::Code(0);
            }
        }
    }

    async fn observe(&self, observation: Observation) -> Result<(), LinkClosed> {
        let line = self.exchange.put_observation(observation);
        self.output.line(line).await.map_err(|_| LinkClosed)
    }

    async fn warn(&self, text: String) -> Result<(), LinkClosed> {
        self.observe(Observation::Warning(text)).await
    }

    fn read(&self, view: &TerminalView) -> ScreenObservation {
        let mut reading = self.profile.read_screen(&view.frame);
        // Gemini CLI draws its composer before it takes a paste as one text. A line break would be a key.
        if matches!(reading.place, ScreenPlace::Composer(_)) && !view.frame.modes.bracketed_paste {
            reading.place = ScreenPlace::Unrecognised;
        }
        ScreenObservation {
            reading,
            title: self.profile.read_title(view.title.as_deref().unwrap_or_default()),
            typed: view.typed,
        }
    }

    /// Reads the screen, and sends it if it has changed or if `always` is set.
    async fn observe_screen(&mut self, always: bool) -> Result<(), LinkClosed> {
        self.read_at = None;
        let Some(view) = self.terminal.view().await else { return Ok(()) };
        let screen = self.read(&view);
        if !always && self.sent.as_ref() == Some(&screen) {
            return Ok(());
        }
        self.sent = Some(screen.clone());
        self.observe(Observation::Screen(screen)).await
    }

    async fn hook(&mut self, hook: IncomingHook) -> Result<(), LinkClosed> {
        self.last_hook += 1;
        let number = self.last_hook;
        self.waiting_hooks.insert(number, hook.reply);
        let (message, process) = (Box::new(hook.message), hook.agent_process);
        self.observe(Observation::Hook { number, message, process }).await
    }

    async fn transcript_event(&mut self, event: FollowEvent) -> Result<(), LinkClosed> {
        match event {
            FollowEvent::Line(line) => self.observe(Observation::TranscriptLine(line)).await,
            FollowEvent::Skipped { bytes } => {
                self.warn(format!("a line of {bytes} bytes of the agent's transcript was skipped")).await
            }
            FollowEvent::Opened | FollowEvent::Gone => Ok(()),
        }
    }

    async fn command(&mut self, command: TerminalTaskCommand) -> Result<(), LinkClosed> {
        match command {
            TerminalTaskCommand::HoldKeyboard => {
                if self.terminal.hold_keyboard().await {
                    // A draft may have been typed since the last reading.
                    self.observe_screen(true).await?;
                    self.observe(Observation::Held).await?;
                }
                Ok(())
            }
            TerminalTaskCommand::ReleaseKeyboard => {
                self.terminal.release_keyboard();
                Ok(())
            }
            TerminalTaskCommand::Type(input) => match self.terminal.type_held(input).await {
                Ok(()) => Ok(()),
                Err(why) => self.observe(Observation::NotTyped(why)).await,
            },
            TerminalTaskCommand::AnswerDialog { dialog, input } => {
                let outcome = self.answer_dialog(&dialog, input).await;
                self.observe(Observation::DialogAnswered(outcome)).await
            }
            TerminalTaskCommand::Interrupt => {
                let outcome = self.interrupt().await;
                self.observe(Observation::Interrupted(outcome)).await
            }
            TerminalTaskCommand::GuardText(guarded) => {
                self.terminal.guard_text(guarded).await;
                Ok(())
            }
            TerminalTaskCommand::Follow(path) => self.follow(&path).await,
            TerminalTaskCommand::ExpectPrompt(text) => {
                self.expected = Some((text, SystemTime::now()));
                self.search_at = self.search.as_ref().map(|_| Instant::now() + SEARCH_INTERVAL);
                Ok(())
            }
            TerminalTaskCommand::ContinueHook(number) => {
                if let Some(responder) = self.waiting_hooks.remove(&number) {
                    responder.reply(HookReply::NoDecision);
                }
                Ok(())
            }
            TerminalTaskCommand::Nothing => Ok(()),
        }
    }

    /// Types into a dialog, if it is still on the screen once the keyboard is reserved.
    async fn answer_dialog(&mut self, dialog: &DialogReading, input: Vec<Gesture>) -> Result<(), String> {
        self.hold().await?;
        let outcome = match self.terminal.view().await.map(|view| self.read(&view).reading.place) {
            Some(ScreenPlace::Dialog(shown)) if is_same(Some(&shown), Some(dialog)) => {
                self.terminal.type_held(input).await
            }
            Some(_) => Err("the dialog is no longer on the screen".to_owned()),
            None => Err("the terminal has ended".to_owned()),
        };
        self.terminal.release_keyboard();
        outcome
    }

    /// Presses Escape if the agent works or asks, and holds the keyboard until the agent has taken it. Escape and a
    /// letter would be Alt and the letter.
    async fn interrupt(&mut self) -> Result<(), String> {
        self.hold().await?;
        let outcome = match self.terminal.view().await.map(|view| self.read(&view)) {
            Some(screen) => {
                let works = screen.reading.shows_work == Some(true)
                    || matches!(screen.reading.place, ScreenPlace::Dialog(_))
                    || screen.title == TitleReading::Working;
                if works {
                    let escape = Gesture::Key(KeyPress::from(KeyCode::Escape));
                    let pressed = self.terminal.type_held(vec![escape]).await;
                    tokio::time::sleep(self.profile.escape_quiet).await;
                    pressed
                } else {
                    Err("neither the screen nor the title shows that the agent works".to_owned())
                }
            }
            None => Err("the terminal has ended".to_owned()),
        };
        self.terminal.release_keyboard();
        outcome
    }

    async fn hold(&mut self) -> Result<(), String> {
        if self.terminal.hold_keyboard().await { Ok(()) } else { Err("the terminal has ended".to_owned()) }
    }

    /// Follows another transcript. The lines that it already has are sent first.
    async fn follow(&mut self, path: &Path) -> Result<(), LinkClosed> {
        let mut follower = match TranscriptFollower::from_start(path) {
            Ok(follower) => follower,
            Err(error) => {
                return self.warn(format!("the agent's transcript cannot be followed: {error}")).await;
            }
        };
        while let Some(event) = follower.try_next() {
            self.transcript_event(event).await?;
        }
        self.transcript = Some(follower);
        self.observe(Observation::TranscriptOpened).await
    }

    /// Searches the transcript after a change of the agent's directories.
    async fn locate(&mut self) -> Result<(), LinkClosed> {
        let Some((search, mut watch)) = self.search.take() else { return Ok(()) };
        search.rearm(&mut watch);
        let expected = self.expected.take();
        let located = tokio::task::spawn_blocking(move || {
            let prompt = expected.as_ref().map(|(text, sent_at)| ReceivedPrompt { text, sent_at: *sent_at });
            let located = search.locate(prompt);
            (search, expected, located)
        });
        let Ok((search, expected, located)) = located.await else { return Ok(()) };
        self.search = Some((search, watch));
        let expected = expected.filter(|(_, at)| at.elapsed().is_ok_and(|time| time < SEARCH_TIMEOUT));
        self.search_at = expected.as_ref().map(|_| Instant::now() + SEARCH_INTERVAL);
        self.expected = expected;
        if let LocatedTranscript::Found(path) = located
            && self.found.as_ref() != Some(&path)
        {
            self.found = Some(path.clone());
            return self.observe(Observation::TranscriptFound(path)).await;
        }
        Ok(())
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

async fn next_hook(hooks: &mut Option<HookListener>) -> IncomingHook {
    match hooks {
        Some(listener) => listener.next().await,
        None => std::future::pending().await,
    }
}

async fn next_line(transcript: &mut Option<TranscriptFollower>) -> FollowEvent {
    match transcript {
        Some(follower) => follower.next().await,
        None => std::future::pending().await,
    }
}

async fn next_change(search: &mut Option<(TranscriptSearch, TranscriptWatch)>) -> std::io::Result<()> {
    match search {
        Some((_, watch)) => watch.changed().await,
        None => std::future::pending().await,
    }
}
