//! Test bench: a terminal UI on a headless terminal, with a real space and a scripted agent.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use wh_agents::Catalog;
use wh_agents::interface::{Agent, Harness, HarnessTaskChannels, StartOptions};
use wh_client::{DrawProgress, Space, Ui};
use wh_core::input::KeyPress;
use wh_core::space::harness::{AgentOption, Order, Report, ReportedCapabilities, TurnOutcome};
use wh_core::space::item::ItemBody;
use wh_core::space::question::{OptionMeaning, Question, QuestionDetail, QuestionKind, QuestionOption};
use wh_core::space::state::SpaceState;
use wh_core::space::{ParticipantId, TurnId};
use wh_core::terminal::Size;
use wh_engine::space::{Roster, RunningSpace};
use wh_screen::modes::TerminalModes;
use wh_screen::vt::Vt;
use wh_screen::{keys, render};
use wh_tui::{TuiError, TuiExit, TuiOptions, run};

const TEST_TIMEOUT: Duration = Duration::from_secs(20);

pub struct Stage {
    terminal: DuplexStream,
    pub vt: Vt,
    /// Output of the UI so far.
    pub written: Vec<u8>,
    /// Bytes typed so far.
    pub typed: u64,
    pub sizes: watch::Sender<Size>,
    pub drawn: watch::Receiver<DrawProgress>,
    pub ui: Ui,
    pub space: Space,
    pub agent: HarnessTaskChannels,
    pub task: JoinHandle<Result<TuiExit, TuiError>>,
}

pub fn size(columns: u16, rows: u16) -> Size {
    Size { columns, rows }
}

impl Stage {
    pub async fn new(columns: u16, rows: u16) -> Self {
        Self::with(columns, rows, |_| {}).await
    }

    pub async fn with(columns: u16, rows: u16, change: impl FnOnce(&mut TuiOptions)) -> Self {
        let running = RunningSpace::start("test", ParticipantId::from("human"));
        Self::open(running, columns, rows, change).await
    }

    /// Starts with these agents to choose from.
    pub async fn with_agents(columns: u16, rows: u16, agents: Vec<Arc<dyn Agent>>) -> Self {
        let roster = Roster { catalog: Catalog::of(agents), start: StartOptions::new("/home/me/project") };
        let running = RunningSpace::with_roster("test", ParticipantId::from("human"), roster);
        Self::open(running, columns, rows, |options| options.directory = "/home/me/project".into()).await
    }

    async fn open(running: RunningSpace, columns: u16, rows: u16, change: impl FnOnce(&mut TuiOptions)) -> Self {
        let (harness, agent) = Harness::new();
        running.enrol("demo".into(), harness).await;
        let ready = ReportedCapabilities {
            interrupts: true,
            commands: vec![AgentOption { id: "trick".into(), title: "Does a trick".into() }],
            calls: vec!["pause".into(), "resume".into(), "status".into()],
            ..ReportedCapabilities::default()
        };
        agent.reports.send(Report::Ready(ready)).await.unwrap();
        let (terminal, line) = tokio::io::duplex(1 << 20);
        let (sizes, watched) = watch::channel(size(columns, rows));
        let (told, drawn) = watch::channel(DrawProgress::default());
        let (ui, port) = Ui::new();
        let mut options = TuiOptions::new("human".into());
        options.version = "0.0.0".into();
        change(&mut options);
        let space = running.space.clone();
        let task = tokio::spawn(run(line, watched, told, space.clone(), port, options));
        let vt = Vt::new(size(columns, rows), 0);
        let mut stage = Self { terminal, vt, written: Vec::new(), typed: 0, sizes, drawn, ui, space, agent, task };
        let ready = |stage: &Self| stage.screen().contains("1 event") && !stage.screen().contains("starts");
        stage.until("the agent", ready).await;
        stage
    }

    pub fn screen(&self) -> String {
        render::plain(&self.vt.frame())
    }

    pub fn lines(&self) -> Vec<String> {
        self.screen().lines().map(str::to_owned).collect()
    }

    /// The row that contains this text.
    #[track_caller]
    pub fn row(&self, text: &str) -> u16 {
        let row = self.lines().iter().position(|line| line.contains(text));
        row.unwrap_or_else(|| panic!("{text:?} is not on the screen:\n{}", self.screen())) as u16
    }

    fn take(&mut self, bytes: &[u8]) {
        self.written.extend_from_slice(bytes);
        self.vt.feed(bytes);
    }

    /// Reads the UI's output until the condition holds.
    pub async fn until(&mut self, what: &str, holds: impl Fn(&Self) -> bool) {
        let deadline = tokio::time::Instant::now() + TEST_TIMEOUT;
        while !holds(self) {
            let mut buffer = vec![0; 1 << 16];
            match tokio::time::timeout_at(deadline, self.terminal.read(&mut buffer)).await {
                Ok(Ok(read)) if read > 0 => self.take(&buffer[..read]),
                end => panic!("{what} never came ({end:?}):\n{}", self.screen()),
            }
        }
    }

    /// True if nothing is written for this time.
    pub async fn is_quiet_for(&mut self, time: Duration) -> bool {
        let mut buffer = [0; 64];
        tokio::time::timeout(time, self.terminal.read(&mut buffer)).await.is_err()
    }

    pub async fn sees(&mut self, text: &str) {
        self.until(&format!("{text:?}"), |stage| stage.screen().contains(text)).await;
    }

    pub async fn no_longer_sees(&mut self, text: &str) {
        self.until(&format!("an end of {text:?}"), |stage| !stage.screen().contains(text)).await;
    }

    /// Types bytes, and waits until their effect is drawn.
    pub async fn bytes(&mut self, bytes: &[u8]) {
        self.terminal.write_all(bytes).await.unwrap();
        self.typed += bytes.len() as u64;
        let typed = self.typed;
        let mut drawn = self.drawn.clone();
        let mut buffer = vec![0; 1 << 16];
        let deadline = tokio::time::Instant::now() + TEST_TIMEOUT;
        loop {
            tokio::select! {
                biased;
                read = self.terminal.read(&mut buffer) => {
                    let read = read.unwrap();
                    if read == 0 {
                        return;
                    }
                    self.take(&buffer[..read]);
                }
                reached = drawn.wait_for(|drawn| drawn.typed >= typed) => {
                    let _ = reached;
                    break;
                }
                () = tokio::time::sleep_until(deadline) => panic!("never drawn:\n{}", self.screen()),
            }
        }
    }

    pub async fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes()).await;
    }

    /// Presses keys, given by their names.
    pub async fn press(&mut self, names: &[&str]) {
        for name in names {
            let press: KeyPress = name.parse().unwrap();
            let bytes = keys::encode(&press, &self.vt.modes());
            self.bytes(&bytes).await;
        }
    }

    pub async fn click(&mut self, x: u16, y: u16) {
        self.text(&format!("\x1b[<0;{};{}M\x1b[<0;{};{}m", x + 1, y + 1, x + 1, y + 1)).await;
    }

    pub async fn resize(&mut self, columns: u16, rows: u16) {
        self.vt.resize(size(columns, rows));
        self.sizes.send(size(columns, rows)).unwrap();
    }

    pub async fn report(&mut self, report: Report) {
        self.agent.reports.send(report).await.unwrap();
    }

    pub async fn order(&mut self) -> Order {
        tokio::time::timeout(TEST_TIMEOUT, self.agent.orders.recv()).await.expect("an order").expect("an order")
    }

    /// Sends a message and lets the agent begin its turn.
    pub async fn begin(&mut self, text: &str) -> TurnId {
        self.text(&format!("{text}\r")).await;
        let Order::Prompt { turn, .. } = self.order().await else { panic!("no prompt") };
        self.report(Report::Started(turn.clone())).await;
        turn
    }

    pub async fn end(&mut self, turn: TurnId) {
        self.report(Report::Ended(turn, TurnOutcome::Completed)).await;
    }

    pub async fn ask(&mut self, key: &str, question: Question) {
        self.report(Report::Asked { key: key.into(), question }).await;
    }

    pub async fn think(&mut self, key: &str, text: &str, action: Option<&str>) {
        let body = ItemBody::Thought { text: text.into(), action: action.map(Into::into), tokens: Some(1234) };
        self.report(Report::Item { key: key.into(), body, done: false }).await;
    }

    pub async fn state<T: Send + 'static>(&self, look: impl FnOnce(&SpaceState) -> T + Send + 'static) -> T {
        look(&self.space.watch().await.unwrap().state)
    }

    /// Closes the terminal and returns how the UI ended.
    pub async fn hang_up(self) -> TuiExit {
        drop(self.terminal);
        tokio::time::timeout(TEST_TIMEOUT, self.task).await.expect("an end").unwrap().unwrap()
    }

    /// Waits for the end of the UI. Returns its output and how it ended.
    pub async fn rest(mut self) -> (Vec<u8>, Vt, TuiExit) {
        let mut rest = Vec::new();
        tokio::time::timeout(TEST_TIMEOUT, self.terminal.read_to_end(&mut rest)).await.expect("an end").unwrap();
        self.take(&rest);
        let left = self.task.await.unwrap().unwrap();
        (self.written, self.vt, left)
    }

    pub fn modes(&self) -> TerminalModes {
        self.vt.modes()
    }
}

pub fn permission(title: &str, details: Vec<QuestionDetail>) -> Question {
    let option = |id: &str, label: &str, meaning| QuestionOption { id: id.into(), label: label.into(), meaning };
    Question {
        kind: QuestionKind::Permission,
        title: title.into(),
        details,
        options: vec![
            option("once", "Yes, this once", OptionMeaning::AllowOnce),
            option("always", "Yes, from now on", OptionMeaning::AllowAlways),
            option("no", "No", OptionMeaning::RejectOnce),
        ],
        accepts_text: false,
        preselects: true,
    }
}

/// The key, option and text of an answer.
pub fn answered(order: Order) -> (String, Option<String>, Option<String>) {
    match order {
        Order::Answer { question, answer } => (question, answer.option, answer.text),
        other => panic!("{other:?} is no answer"),
    }
}
